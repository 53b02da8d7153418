import SwappablePrimitives

extension Signal {
  /// Creates a signal that sends a value after no other value has followed it for an interval.
  ///
  /// At the end of this signal, the pending value is sent immediately. The result has a domain of
  /// its own, and has a memory if this signal has one. Values are sent on the thread on which the
  /// clock wakes. To receive them elsewhere, use ``receive(on:policy:)``.
  ///
  /// - Parameters:
  ///   - interval: The time that must pass without another value.
  ///   - clock: The clock that measures the interval.
  /// - Complexity: O(1) for each value.
  public func debounce(
    for interval: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Signal<Value> {
    debounced(for: interval, clock: clock)
  }

  private func debounced(for interval: Duration, clock: some Clock<Duration>) -> Signal<Value> {
    timed(Debouncing(interval, clock))
  }
}

/// The state of a debounced signal.
///
/// There is only one timer, which is restarted for the remaining time. Timers for each value would
/// accumulate: a task that is canceled in its sleep leaves an entry with its clock until the time
/// is up.
private final class Debouncing<Value: Sendable, Time: Clock<Duration>>: TimedOperation {
  private(set) var waiting: Value?
  var timer: ScheduledTimer?
  private let interval: Duration
  private let clock: Time
  /// The time at which the pending value arrived, if that was after the timer was started.
  private var arrival: Time.Instant?

  init(_ interval: Duration, _ clock: Time) {
    self.interval = interval
    self.clock = clock
  }

  func take(_ value: Value, for root: TimedRoot<Value>) -> Value? {
    waiting = value
    if timer == nil {
      startTimer(interval, for: root)
    } else {
      arrival = clock.now
    }
    return nil
  }

  func timeIsUp(for root: TimedRoot<Value>) -> Value? {
    // If no value has arrived since, trust the timer instead of comparing times. With a clock that
    // wakes too early, or does not advance, the timer would be restarted again and again.
    if let arrival {
      self.arrival = nil
      // The clock may have been set back.
      let rest = min(interval, interval - arrival.duration(to: clock.now))
      if rest > .zero {
        startTimer(rest, for: root)
        return nil
      }
    }
    timer = nil
    defer { waiting = nil }
    return waiting
  }

  private func startTimer(_ time: Duration, for root: TimedRoot<Value>) {
    timer = callLater(after: time, on: clock) { [weak root] in root?.send(.due) }
  }
}
