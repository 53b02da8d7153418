import Synchronization

/// A clock that calls back by itself, so that what is timed by it happens on the thread that moves it.
package protocol TimerClock: Clock where Duration == Swift.Duration {
  /// Calls a closure once, later.
  ///
  /// - Returns: What calls it off; letting it go does too.
  func call(after interval: Duration, _ action: @escaping @Sendable () -> Void) -> Disposable
}

/// Calls a closure once, when a time has passed on a clock.
///
/// - Returns: What calls it off; letting it go does too.
func callLater(
  after interval: Duration, on clock: some Clock<Duration>,
  _ action: @escaping @Sendable () -> Void
) -> Disposable {
  // Clocks of the standard library trap where a deadline has more seconds than fit.
  let interval = min(interval, .seconds(Int64.max / 2))
  if let clock = clock as? any TimerClock { return clock.call(after: interval, action) }
  let deadline = clock.now.advanced(by: interval)
  let call = TimedCall()
  let task = Task {
    try? await clock.sleep(until: deadline, tolerance: nil)
    if call.isOpen.exchange(false, ordering: .relaxed) { action() }
  }
  // Who lets go of it inside the call must not cancel the task that observers run in.
  return Disposable { if call.isOpen.exchange(false, ordering: .relaxed) { task.cancel() } }
}

/// A call that is either made or called off, by whoever is first.
private final class TimedCall: Sendable {
  let isOpen = Atomic<Bool>(true)
}
