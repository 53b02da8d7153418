import Dispatch
package import ReactiveSignals
package import SwappablePrimitives

/// A controller that holds threads at the engine's pause points, to reproduce a race.
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
    precondition(arrival > 0, "arrival \(arrival) of a pause point is awaited")
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
