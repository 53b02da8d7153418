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
    let throttling = Throttling<Value>(interval, clock, latest)
    return timed { throttling.take($0, for: $1, ends: &$2) }
  }
}

/// The value that waits; used by the drainer of the throttled signal alone.
private final class Throttling<Value: Sendable> {
  private let interval: Duration
  private let clock: any Clock<Duration>
  private let latest: Bool
  private var waiting: Value?
  /// Runs as long as nothing may be sent.
  private var timer: Disposable?

  init(_ interval: Duration, _ clock: any Clock<Duration>, _ latest: Bool) {
    self.interval = interval
    self.clock = clock
    self.latest = latest
  }

  func take(
    _ item: TimedItem<Value>, for node: BoundarySignalNode<TimedItem<Value>, Value>,
    ends: inout Bool
  ) -> Value? {
    switch item {
    case .event(let event):
      if event.isEnd {
        timer = nil
        ends = true
        return waiting
      }
      if timer == nil {
        startTimer(for: node)
        return event.value
      }
      if latest || waiting == nil { waiting = event.value }
      return nil
    case .due:
      timer = nil
      guard let value = waiting else { return nil }
      waiting = nil
      startTimer(for: node)
      return value
    }
  }

  private func startTimer(for node: BoundarySignalNode<TimedItem<Value>, Value>) {
    timer = callLater(after: interval, on: clock) { [weak node] in node?.post(.due) }
  }
}
