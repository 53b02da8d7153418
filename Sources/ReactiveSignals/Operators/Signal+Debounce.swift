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
    let debouncing = Debouncing<Value>(interval, clock)
    return timed { debouncing.take($0, for: $1, ends: &$2) }
  }

  /// Makes a signal in a domain of its own, to which values come and times that are up.
  func timed(
    _ take: @escaping BoundarySignalNode<TimedItem<Value>, Value>.Step
  ) -> Signal<Value> {
    let timed = BoundarySignalNode([node], remembers: node.remembers, take)
    let feed = node.observeEvents(keeping: self) { [weak timed] in timed?.post(.event($0)) }
    return Signal(timed, upstream: [feed])
  }
}

/// What comes to a timed operator.
enum TimedItem<Value: Sendable>: Sendable {
  case event(SignalEvent<Value>)
  /// The time is up that was numbered so.
  case due(Int)
}

/// The value that waits; used by the drainer of the debounced signal alone.
private final class Debouncing<Value: Sendable> {
  private let interval: Duration
  private let clock: any Clock<Duration>
  private var waiting: Value?
  private var number = 0
  private var timer: Disposable?

  init(_ interval: Duration, _ clock: any Clock<Duration>) {
    self.interval = interval
    self.clock = clock
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
      waiting = event.value
      number += 1
      timer = callLater(after: interval, on: clock) { [weak node, number] in
        node?.post(.due(number))
      }
      return nil
    case .due(let due):
      guard due == number else { return nil }
      defer { waiting = nil }
      return waiting
    }
  }
}
