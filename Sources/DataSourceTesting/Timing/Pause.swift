import Dispatch
package import ReactiveSignals
import SwappablePrimitives

/// A pause point that holds one thread.
package final class Pause: Sendable {
  /// The point at which a thread is held.
  package let point: PausePoint
  private let thread: ThreadID?
  private let notice = ChangeNotice()
  private let state: Locked<State>
  private let gate = DispatchSemaphore(value: 0)

  private struct State: Sendable {
    /// The number of arrivals up to and including the one to hold.
    var remaining: Int
    var isHeld = false
    var isReleased = false
  }

  init(_ point: PausePoint, arrival: Int, thread: ThreadID?) {
    self.point = point
    self.thread = thread
    state = Locked(State(remaining: arrival))
  }

  /// A Boolean value that indicates whether a thread is, or was, held here.
  package var isReached: Bool { state.withLock { $0.isHeld } }

  /// Blocks until a thread is held here.
  ///
  /// - Throws: A ``WaitTimeout`` if no thread is held in time.
  package func waitUntilReached(timeout: Duration = .seconds(60)) throws(WaitTimeout) {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = notice.count
      if isReached { return }
      guard notice.wait(after: seen, until: deadline) || isReached else { throw late(timeout) }
    }
  }

  /// Waits until a thread is held here.
  ///
  /// - Throws: A ``WaitTimeout`` if no thread is held in time.
  package func waitUntilReached(timeout: Duration = .seconds(60)) async throws(WaitTimeout) {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = notice.count
      if isReached { return }
      let isNoticed = await notice.wait(after: seen, until: deadline)
      guard isNoticed || isReached else { throw late(timeout) }
    }
  }

  /// Releases the thread. If none has arrived yet, none is held.
  package func release() {
    let isFirst = state.withLock { state in
      let isFirst = !state.isReleased
      state.isReleased = true
      return isFirst
    }
    if isFirst { gate.signal() }
  }

  /// Counts an arrival, and returns whether to hold the thread.
  func counts(_ point: PausePoint, _ thread: ThreadID) -> Bool {
    guard point == self.point, self.thread == nil || self.thread == thread else { return false }
    return state.withLock { state in
      guard !state.isReleased, state.remaining > 0 else { return false }
      state.remaining -= 1
      return state.remaining == 0
    }
  }

  func hold() {
    state.withLock { $0.isHeld = true }
    notice.notify()
    gate.wait()
  }

  private func late(_ timeout: Duration) -> WaitTimeout {
    let remaining = state.withLock { $0.remaining }
    return WaitTimeout(
      "waited \(timeout) for a thread at \(point); \(remaining) more arrivals were needed")
  }
}
