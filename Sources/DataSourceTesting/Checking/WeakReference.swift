import Dispatch
import SwappablePrimitives

/// A weak reference that can wait for the release of its object.
final class WeakReference: @unchecked Sendable {
  // Sendable: reading a weak reference is atomic, and it is written once, before it is shared.
  private(set) weak var object: AnyObject?

  init(_ object: AnyObject) {
    self.object = object
  }

  /// Waits until the object is released. A thread that is about to end may hold its last reference.
  func isReleased(_ timeout: Duration) async -> Bool {
    let deadline = DispatchTime.after(timeout)
    while object != nil {
      guard DispatchTime.now() < deadline else { return false }
      await Task.yield()
    }
    return true
  }
}
