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
  public func debounced(
    for interval: Duration, clock: some Clock<Duration> = ContinuousClock()
  ) -> Signal<Value> {
    // There is only one timer, which is restarted for the remaining time. A timer for each value would
    // use more and more memory, because the clock keeps the entry of a canceled sleep until its time
    // is up. `arrival` is the time of the pending value, if it arrived after the timer was started.
    var arrival: AnyClock.Instant?
    return timed(by: clock) { value, timer in
      timer.waiting = value
      if timer.isRunning { arrival = timer.now } else { timer.start(for: interval) }
      return nil
    } timeIsUp: { timer in
      // If no value has arrived since, trust the timer instead of comparing times. With a clock that
      // wakes too early, or does not advance, the timer would be restarted again and again.
      if let time = arrival.take() {
        // The clock may have been set back.
        let rest = min(interval, interval - time.duration(to: timer.now))
        if rest > .zero {
          timer.start(for: rest)
          return nil
        }
      }
      return timer.waiting.take()
    }
  }
}

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
  public func throttled(
    for interval: Duration, clock: some Clock<Duration> = ContinuousClock(), latest: Bool = true
  ) -> Signal<Value> {
    timed(by: clock) { value, timer in
      if !timer.isRunning {
        timer.start(for: interval)
        return value
      }
      if latest || timer.waiting == nil { timer.waiting = value }
      return nil
    } timeIsUp: { timer in
      if timer.waiting != nil { timer.start(for: interval) }
      return timer.waiting.take()
    }
  }
}

extension Signal {
  /// Creates a signal in a domain of its own. It receives the values of this signal and timer
  /// events.
  ///
  /// At the end of this signal, the pending value is sent immediately.
  ///
  /// - Parameters:
  ///   - take: A closure that takes a value, and returns a value to send immediately.
  ///   - timeIsUp: A closure that returns the value to send because the timer has fired.
  private func timed(
    by clock: some Clock<Duration>,
    _ take: @escaping (Value, OperatorTimer<Value>) -> Value?,
    timeIsUp: @escaping (OperatorTimer<Value>) -> Value?
  ) -> Signal<Value> {
    let root = Node(domain: Domain(), state: nil, remembers: false) { [node] _ in node.start() }
    let timer = OperatorTimer<Value>(root, AnyClock(clock))
    let kernel = SignalKernel<TimedItem<Value>, Value>(take: { item, _, ends in
      switch item {
      case .due:
        timer.stop()
        return timeIsUp(timer)
      case .event(let event):
        if !event.isEnd { return take(event.value, timer) }
        timer.stop()
        ends = true
        return timer.waiting
      }
    })
    let timed = kernel.node(over: [root], remembers: node.remembers)
    let observation = node.observeEvents(keeping: self) { [weak root] in
      root?.send(value: TimedItem<Value>.event($0))
    }
    return Signal(timed, upstream: [observation])
  }
}

/// A step of a timed operator.
private enum TimedItem<Value: Sendable>: Sendable {
  case event(SignalEvent<Value>)
  /// The timer has fired.
  case due
}

/// The timer of a timed operator and its pending value. The delivering thread of its signal owns them.
private final class OperatorTimer<Value: Sendable> {
  /// The pending value, which is sent when the timer fires.
  var waiting: Value?
  private var timer: ScheduledTimer?
  private let clock: AnyClock
  private weak var root: Node?

  init(_ root: Node, _ clock: AnyClock) {
    self.root = root
    self.clock = clock
  }

  var now: AnyClock.Instant { clock.now }

  var isRunning: Bool { timer != nil }

  func start(for interval: Duration) {
    timer = clock.call(after: interval) { [weak root] in root?.send(value: TimedItem<Value>.due) }
  }

  func stop() { timer = nil }
}
