package import Dispatch

/// Time as the watcher and the sources see it; tests put another one in its place.
package struct WatchTimer: Sendable {
  /// A call that is due, until it was made.
  package struct Alarm: Sendable {
    private let take: @Sendable () -> Void

    package init(cancel: @escaping @Sendable () -> Void) {
      take = cancel
    }

    /// Takes it back and lets go of its closure; one that is being called runs on.
    package func cancel() { take() }
  }

  /// Calls a closure once on a queue, some time from now.
  package var call:
    @Sendable (
      _ delay: Duration, _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
    ) -> Alarm

  package init(
    call: @escaping @Sendable (Duration, DispatchQueue, @escaping @Sendable () -> Void) -> Alarm
  ) {
    self.call = call
  }

  /// The system's time.
  package static let live = WatchTimer { AlarmClock.shared.call(after: $0, on: $1, $2) }

  /// The time of a clock, which may be one that a test moves by hand.
  package init(clock: any Clock<Duration>) {
    self.init { delay, queue, body in
      let task = Task {
        try await clock.sleep(for: delay)
        queue.async(execute: body)
      }
      return Alarm { task.cancel() }
    }
  }
}
