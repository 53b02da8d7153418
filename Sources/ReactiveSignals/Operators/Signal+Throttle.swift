import SwappablePrimitives

extension Signal {
  /// Makes a signal that sends at most one value in each interval.
  ///
  /// A value that comes when none was sent for the interval is sent at once. Of those that come within
  /// it one waits, and is sent at its end, where the next interval begins. At the end of the signal
  /// the value that waits is sent at once. The result is a domain of its own, and has a memory if this
  /// signal has. It sends where the clock wakes it; use ``receive(on:policy:)`` to have the values
  /// elsewhere.
  ///
  /// - Parameters:
  ///   - interval: How far apart two values are at least.
  ///   - clock: What measures it.
  ///   - latest: Which value waits: the newest, or else the first that came.
  /// - Complexity: O(1) for each value.
  public func throttle(
    for interval: Duration, clock: any Clock<Duration> = ContinuousClock(), latest: Bool = true
  ) -> Signal<Value> {
    timed(Throttling(interval, clock, latest))
  }
}

private final class Throttling<Value: Sendable>: TimedOperation {
  private(set) var waiting: Value?
  /// Runs as long as nothing may be sent.
  var timer: ScheduledTimer?
  private let interval: Duration
  private let clock: any Clock<Duration>
  private let latest: Bool

  init(_ interval: Duration, _ clock: any Clock<Duration>, _ latest: Bool) {
    self.interval = interval
    self.clock = clock
    self.latest = latest
  }

  func take(_ value: Value, for root: TimedRoot<Value>) -> Value? {
    if timer == nil {
      startTimer(for: root)
      return value
    }
    if latest || waiting == nil { waiting = value }
    return nil
  }

  func timeIsUp(for root: TimedRoot<Value>) -> Value? {
    timer = nil
    guard let value = waiting else { return nil }
    waiting = nil
    startTimer(for: root)
    return value
  }

  private func startTimer(for root: TimedRoot<Value>) {
    timer = callLater(after: interval, on: clock) { [weak root] in root?.send(.due) }
  }
}
