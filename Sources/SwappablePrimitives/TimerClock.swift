import Synchronization

/// A clock that makes timed calls itself, on the thread that advances it.
package protocol TimerClock: Clock where Duration == Swift.Duration {
  /// Calls a closure once, after an interval.
  ///
  /// - Returns: A handle that keeps the call scheduled.
  func call(after interval: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer
}

/// A handle to a scheduled call. Canceling it, or releasing it, cancels the call.
package final class ScheduledTimer: Sendable {
  private let isPending = Atomic<Bool>(true)
  private let cancellation: @Sendable () -> Void

  /// Creates a handle to a scheduled call.
  ///
  /// - Parameter cancellation: A closure that cancels the call. It runs at most once, and it may run
  ///   after the call was made.
  package init(cancellation: @escaping @Sendable () -> Void) {
    self.cancellation = cancellation
  }

  deinit {
    cancel()
  }

  /// Cancels the call. A call that has already begun runs to its end.
  package func cancel() {
    if isPending.exchange(false, ordering: .relaxed) { cancellation() }
  }
}

/// Calls a closure once, after an interval of a clock.
///
/// A ``TimerClock`` makes the call itself. With any other clock, a task sleeps and makes the call.
///
/// - Parameters:
///   - interval: The time to wait. A negative interval is like zero.
///   - clock: The clock that measures the interval.
///   - action: The closure to call.
/// - Returns: A handle that keeps the call scheduled.
package func callLater(
  after interval: Duration, on clock: some Clock<Duration>,
  _ action: @escaping @Sendable () -> Void
) -> ScheduledTimer {
  // The clocks of the standard library trap if the seconds of a deadline overflow.
  let interval = min(interval, .seconds(Int64.max / 2))
  if let clock = clock as? any TimerClock { return clock.call(after: interval, action) }
  let deadline = clock.now.advanced(by: interval)
  let claim = CallClaim()
  let task = Task {
    try? await clock.sleep(until: deadline, tolerance: nil)
    if claim.take() { action() }
  }
  // If the handle is released inside the call, the task must not be canceled: observers run in it.
  return ScheduledTimer { if claim.take() { task.cancel() } }
}

/// The right to make or cancel one call. Only the first `take()` receives it.
private final class CallClaim: Sendable {
  private let isOpen = Atomic<Bool>(true)

  func take() -> Bool {
    isOpen.exchange(false, ordering: .relaxed)
  }
}
