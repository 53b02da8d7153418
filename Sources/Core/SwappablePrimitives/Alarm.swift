/// One timer for any number of deadlines.
///
/// If an earlier deadline is asked for than the running timer has, the timer is replaced. Otherwise it runs on, because
/// the clock keeps the entry of a canceled sleep until its time is up. Releasing the alarm cancels the timer.
@usableFromInline
package final class Alarm: Sendable {
  /// The deadline that no timer reaches.
  @usableFromInline package static var never: Duration { .seconds(Int64.max) }

  private struct State: Sendable {
    /// The running timer, or `nil` while it is being started.
    var timer: ScheduledTimer?
    /// The deadline of the running timer, or `nil` if none is running.
    var deadline: Duration?
    /// The number of timers that were started, to recognize one that was replaced.
    var generation = 0
    /// The latest deadline whose timer has fired.
    var passed = Duration.zero
  }

  private let action: @Sendable (Alarm) -> Void
  private let clock: AnyClock
  private let state = Locked(State())

  /// Creates an alarm.
  ///
  /// - Parameters:
  ///   - clock: The clock that measures the time.
  ///   - action: The closure that is called at a deadline. It receives the alarm.
  package init(_ clock: AnyClock, action: @escaping @Sendable (Alarm) -> Void) {
    (self.clock, self.action) = (clock, action)
  }

  /// The time since the alarm was created.
  ///
  /// If a timer has fired too early, its deadline counts. With a clock that wakes too early, or does not advance, the
  /// timer would be started again and again.
  @usableFromInline package var now: Duration {
    max(clock.now.offset, state.withLock { $0.passed })
  }

  /// Returns the deadline after an interval, or ``never`` if there is no interval.
  @usableFromInline
  package func deadline(after interval: Duration?, from now: Duration) -> Duration {
    guard let interval, interval < Self.never else { return Self.never }
    return min(now + interval, Self.never)
  }

  /// Calls the closure at a deadline, or at an earlier one for which a timer is running.
  ///
  /// - Parameter deadline: A time since the alarm was created, which is later than ``now``.
  @usableFromInline
  package func ring(at deadline: Duration) {
    if deadline >= Self.never { return }
    let (generation, replaced) = state.withLock { state -> (Int?, ScheduledTimer?) in
      if let running = state.deadline, running <= deadline { return (nil, nil) }
      defer { (state.timer, state.deadline) = (nil, deadline) }
      state.generation += 1
      return (state.generation, state.timer)
    }
    guard let generation else { return }
    replaced?.cancel()
    let timer = clock.call(after: deadline - clock.now.offset) { [weak self] in
      self?.fire(generation)
    }
    // It may have fired already.
    let unwanted = state.withLock { state -> ScheduledTimer? in
      guard state.generation == generation, state.deadline != nil else { return timer }
      state.timer = timer
      return nil
    }
    withExtendedLifetime(unwanted) {}
  }

  private func fire(_ generation: Int) {
    let fired = state.withLock { state -> (isCurrent: Bool, timer: ScheduledTimer?) in
      guard state.generation == generation, let deadline = state.deadline else {
        return (false, nil)
      }
      state.passed = max(state.passed, deadline)
      defer { (state.timer, state.deadline) = (nil, nil) }
      return (true, state.timer)
    }
    if fired.isCurrent { action(self) }
    withExtendedLifetime(fired.timer) {}
  }
}
