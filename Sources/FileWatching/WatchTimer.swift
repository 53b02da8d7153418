package import Dispatch
package import SwappablePrimitives

/// The timer of the file watcher and of the file sources.
package struct WatchTimer: Sendable {
  /// Calls a closure once on a queue, after a delay. The call is canceled if its handle is released.
  package var call:
    @Sendable (
      _ delay: Duration, _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
    ) -> ScheduledTimer

  package init(
    call:
      @escaping @Sendable (Duration, DispatchQueue, @escaping @Sendable () -> Void) ->
      ScheduledTimer
  ) {
    self.call = call
  }

  /// The time of the system.
  package static let live = WatchTimer { AlarmClock.shared.call(after: $0, on: $1, $2) }

  /// Creates a timer that follows a clock.
  package init(clock: some Clock<Duration>) {
    self.init { delay, queue, body in
      callLater(after: delay, on: clock) { queue.async(execute: body) }
    }
  }
}
