package import DataSourceTesting
import Dispatch
package import ReactiveSignals
package import SwappablePrimitives

/// A controller that holds threads at the engine's pause points, to reproduce a race.
///
///     let control = PauseControl()
///     let names = ArrayDataSource(["Ada"], pauseHook: control.hook)
///     let pause = control.arm(.committed)
///     … another thread edits …
///     try pause.waitUntilReached()
///     … the race …
///     pause.release()
package final class PauseControl: Sendable {
  private let armed = Locked<[Pause]>([])

  package init() {}

  deinit {
    releaseAll()
  }

  /// The hook to pass to the engine.
  package var hook: PauseHook {
    { [weak self] point in self?.arrive(at: point) }
  }

  /// Holds the next thread that arrives at a point.
  ///
  /// - Parameters:
  ///   - point: The point.
  ///   - arrival: The number of the arrival to hold, counted from 1.
  ///   - thread: The thread whose arrivals count, or `nil` to count all threads.
  /// - Returns: A pause that waits for the thread and releases it. Releasing this object releases
  ///   the thread as well.
  package func arm(
    _ point: PausePoint, arrival: Int = 1, thread: ThreadID? = nil
  ) -> Pause {
    precondition(arrival > 0, "arrival must be at least 1, but is \(arrival)")
    let pause = Pause(point, arrival: arrival, thread: thread)
    armed.withLock { $0.append(pause) }
    return pause
  }

  /// Releases all held threads, and holds no more threads.
  package func releaseAll() {
    let pauses = armed.withLock { armed in
      let pauses = armed
      armed = []
      return pauses
    }
    for pause in pauses { pause.release() }
  }

  private func arrive(at point: PausePoint) {
    // Each pause counts the arrivals since it was armed. The first one that is due holds the
    // thread.
    let pauses = armed.withLock { $0 }
    let thread = ThreadID.current
    for pause in pauses where pause.counts(point, thread) {
      pause.hold()
    }
  }
}

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
  /// - Throws: A ``TimeoutError`` if no thread is held in time.
  package func waitUntilReached(timeout: Duration = .seconds(60)) throws(TimeoutError) {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = notice.count
      if isReached { return }
      guard notice.waitBlocking(after: seen, until: deadline) || isReached else {
        throw late(timeout)
      }
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

  private func late(_ timeout: Duration) -> TimeoutError {
    let remaining = state.withLock { $0.remaining }
    return TimeoutError(
      "waited \(timeout) for a thread at \(point), but \(remaining) arrivals are missing")
  }
}
