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
  if let clock = clock as? any TimerClock { return clock.call(after: interval, action) }
  let deadline = clock.now.advanced(by: interval)
  let task = Task {
    try? await clock.sleep(until: deadline, tolerance: nil)
    if !Task.isCancelled { action() }
  }
  return Disposable { task.cancel() }
}
