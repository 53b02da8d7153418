import Dispatch
package import ReactiveSignals
package import SwappablePrimitives

/// Holds threads at the engine's pause points, so that a race is played out on purpose.
///
///     let control = PauseControl()
///     let names = CollectionProperty(["Ada"], pauseHook: control.hook)
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

  /// What the engine is given.
  package var hook: PauseHook {
    { [weak self] point in self?.arrive(at: point) }
  }

  /// Holds the next thread that comes to a point.
  ///
  /// - Parameters:
  ///   - point: Where.
  ///   - arrival: Which of those that come from now on, counted from one.
  ///   - thread: Whose arrivals count; nil: anybody's.
  /// - Returns: Waits for it and releases it; letting the control go releases it too.
  package func arm(
    _ point: PausePoint, arrival: Int = 1, thread: ThreadID? = nil
  ) -> Pause {
    precondition(arrival > 0, "arrival \(arrival) of a pause point is awaited")
    let pause = Pause(point, arrival: arrival, thread: thread)
    armed.withLock { $0.append(pause) }
    return pause
  }

  /// Lets everybody go on who is held, and holds nobody any more.
  package func releaseAll() {
    let pauses = armed.withLock { armed in
      let pauses = armed
      armed = []
      return pauses
    }
    for pause in pauses { pause.release() }
  }

  private func arrive(at point: PausePoint) {
    // Each counts the arrivals that it was armed for; the first to be due holds the thread.
    let pauses = armed.withLock { $0 }
    let thread = ThreadID.current
    for pause in pauses where pause.counts(point, thread) {
      pause.hold()
    }
  }
}
