package import Dispatch

/// Time as the watcher and the sources see it; tests put another one in its place.
package struct WatchTimer: Sendable {
  /// Calls a closure once on a queue, some time from now.
  package var call:
    @Sendable (
      _ delay: Duration, _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
    ) -> Void

  package init(
    call: @escaping @Sendable (Duration, DispatchQueue, @escaping @Sendable () -> Void) -> Void
  ) {
    self.call = call
  }

  /// The system's time.
  package static let live = WatchTimer { delay, queue, body in
    let (seconds, attoseconds) = delay.components
    let nanoseconds = Int(clamping: seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: body)
  }

  /// The time of a clock, which may be one that a test moves by hand.
  package init(clock: any Clock<Duration>) {
    self.init { delay, queue, body in
      Task {
        try await clock.sleep(for: delay)
        queue.async(execute: body)
      }
    }
  }
}
