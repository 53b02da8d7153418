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
    timed(Debouncing(interval, clock))
  }
}

/// The state of a debounced signal.
///
/// There is only one timer, which is restarted for the remaining time. A timer for each value would
/// use more and more memory, because the clock keeps the entry of a canceled sleep until its time
/// is up.
private final class Debouncing<Value: Sendable, Time: Clock<Duration>>: TimedOperation {
  private(set) var waiting: Value?
  var timer: ScheduledTimer?
  private let interval: Duration
  private let clock: Time
  /// The time at which the pending value arrived, if it arrived after the timer was started.
  private var arrival: Time.Instant?

  init(_ interval: Duration, _ clock: Time) {
    self.interval = interval
    self.clock = clock
  }

  func take(_ value: Value, for root: Node) -> Value? {
    waiting = value
    if timer == nil {
      startTimer(interval, for: root)
    } else {
      arrival = clock.now
    }
    return nil
  }

  func timeIsUp(for root: Node) -> Value? {
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

  private func startTimer(_ time: Duration, for root: Node) {
    timer = callLater(after: time, on: clock) { [weak root] in
      root?.send(value: TimedItem<Value>.due)
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

  func take(_ value: Value, for root: Node) -> Value? {
    if timer == nil {
      startTimer(for: root)
      return value
    }
    if latest || waiting == nil { waiting = value }
    return nil
  }

  func timeIsUp(for root: Node) -> Value? {
    timer = nil
    guard let value = waiting else { return nil }
    waiting = nil
    startTimer(for: root)
    return value
  }

  private func startTimer(for root: Node) {
    timer = callLater(after: interval, on: clock) { [weak root] in
      root?.send(value: TimedItem<Value>.due)
    }
  }
}

/// A step of a timed operator.
enum TimedItem<Value: Sendable>: Sendable {
  case event(SignalEvent<Value>)
  /// The timer has fired.
  case due
}

/// The state of a timed operator. The delivering thread of its signal owns it.
protocol TimedOperation<Value>: AnyObject {
  associatedtype Value: Sendable

  /// The pending value, which is sent when the timer fires.
  var waiting: Value? { get }
  /// The running timer.
  var timer: ScheduledTimer? { get set }

  /// Takes a value, and returns a value to send immediately.
  func take(_ value: Value, for root: Node) -> Value?

  /// Returns the value to send because the timer has fired.
  func timeIsUp(for root: Node) -> Value?
}

extension Signal {
  /// Creates a signal in a domain of its own. It receives the values of this signal and timer
  /// events.
  ///
  /// At the end of this signal, the pending value is sent immediately.
  func timed(_ operation: some TimedOperation<Value>) -> Signal<Value> {
    let root = Node(domain: Domain(), state: nil, remembers: false) { [node] _ in node.start() }
    let kernel = SignalKernel<TimedItem<Value>, Value>(take: { [weak root] item, _, ends in
      guard let root else { return nil }
      switch item {
      case .due: return operation.timeIsUp(for: root)
      case .event(let event):
        if !event.isEnd { return operation.take(event.value, for: root) }
        operation.timer = nil
        ends = true
        return operation.waiting
      }
    })
    let timed = kernel.node(over: [root], remembers: node.remembers)
    let observation = node.observeEvents(keeping: self) { [weak root] in
      root?.send(value: TimedItem<Value>.event($0))
    }
    return Signal(timed, upstream: [observation])
  }
}
