import SwappablePrimitives

extension Signal {
  /// Creates a signal that sends at most one value in each interval.
  ///
  /// A value is sent immediately if no value was sent during the last interval. Of the values that
  /// arrive within an interval, one is pending. It is sent at the end of the interval, which is the
  /// start of the next one. At the end of this signal, the pending value is sent immediately.
  ///
  /// The result has a domain of its own, and has a memory if this signal has one. Values are sent
  /// on the thread on which the clock wakes. To receive them elsewhere, use
  /// ``receive(on:policy:)``.
  ///
  /// - Parameters:
  ///   - interval: The least time between two values.
  ///   - clock: The clock that measures the interval.
  ///   - latest: A Boolean value that indicates whether the latest value is pending, instead of the
  ///     first one that arrived.
  /// - Complexity: O(1) for each value.
  public func throttle(
    for interval: Duration, clock: any Clock<Duration> = ContinuousClock(), latest: Bool = true
  ) -> Signal<Value> {
    timed(Throttling(interval, clock, latest))
  }
}

private final class Throttling<Value: Sendable>: TimedOperation {
  private(set) var waiting: Value?
  /// The running timer. While it runs, no value is sent.
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
