import Dispatch
import SwappablePrimitives

/// Looks whether an object is still there.
final class WeakReference: @unchecked Sendable {
  // Sendable: reading a weak reference is atomic, and it is written once, before it is shared.
  private(set) weak var object: AnyObject?

  init(_ object: AnyObject) {
    self.object = object
  }

  /// Waits until it is gone; its last reference may be that of a thread that is about to end.
  func isReleased(_ timeout: Duration) async -> Bool {
    let deadline = DispatchTime.after(timeout)
    while object != nil {
      guard DispatchTime.now() < deadline else { return false }
      await Task.yield()
    }
    return true
  }
}
