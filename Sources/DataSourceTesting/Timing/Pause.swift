import Dispatch
package import ReactiveSignals
import SwappablePrimitives

/// One pause that was armed.
package final class Pause: Sendable {
  /// Where a thread is held.
  package let point: PausePoint
  private let thread: ThreadID?
  private let notice = ChangeNotice()
  private let state: Locked<State>
  private let gate = DispatchSemaphore(value: 0)

  private struct State: Sendable {
    /// How many are still to come until the one that is held.
    var remaining: Int
    var isHeld = false
    var isReleased = false
  }

  init(_ point: PausePoint, arrival: Int, thread: ThreadID?) {
    self.point = point
    self.thread = thread
    state = Locked(State(remaining: arrival))
  }

  /// Whether a thread has come that is, or was, held here.
  package var isReached: Bool { state.withLock { $0.isHeld } }

  /// Blocks until a thread is held here.
  ///
  /// - Throws: `WaitTimeout`.
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
  /// - Throws: `WaitTimeout`.
  package func waitUntilReached(timeout: Duration = .seconds(60)) async throws(WaitTimeout) {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = notice.count
      if isReached { return }
      let isNoticed = await notice.wait(after: seen, until: deadline)
      guard isNoticed || isReached else { throw late(timeout) }
    }
  }

  /// Lets the thread go on; if none has come yet, none will be held.
  package func release() {
    let isFirst = state.withLock { state in
      let isFirst = !state.isReleased
      state.isReleased = true
      return isFirst
    }
    if isFirst { gate.signal() }
  }

  /// Counts an arrival, and tells whether it is the one to hold.
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
