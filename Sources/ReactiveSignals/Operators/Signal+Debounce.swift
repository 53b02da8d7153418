import SwappablePrimitives

extension Signal {
  /// Makes a signal that sends a value when none has followed it for a while.
  ///
  /// At the end the value that waits is sent at once. The result is a domain of its own, and has a
  /// memory if this signal has. It sends where the clock wakes it; use ``receive(on:policy:)`` to have
  /// the values elsewhere.
  ///
  /// - Parameters:
  ///   - interval: How long nothing must have come.
  ///   - clock: What measures it.
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

/// There is one timer, that is set again for the rest: one for each value would pile up, as a task that
/// is cancelled in its sleep leaves something with its clock until the time is up.
private final class Debouncing<Value: Sendable, Time: Clock<Duration>>: TimedOperation {
  private(set) var waiting: Value?
  var timer: ScheduledTimer?
  private let interval: Duration
  private let clock: Time
  /// When the value that waits came, if that was after the timer was set.
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
    // Where nothing has come since, the timer is believed and not the clock's time: by that, one that
    // wakes too early, or stands, would be asked again and again.
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
