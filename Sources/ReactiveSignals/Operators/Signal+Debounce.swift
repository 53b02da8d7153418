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
    let debouncing = Debouncing<Value, _>(interval, clock)
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
  /// The time is up.
  case due
}

/// The value that waits; used by the drainer of the debounced signal alone.
///
/// There is one timer, that is set again for the rest: one for each value would pile up, as a task that
/// is cancelled in its sleep leaves something with its clock until the time is up.
private final class Debouncing<Value: Sendable, Time: Clock<Duration>> {
  private let interval: Duration
  private let clock: Time
  private var waiting: Value?
  /// When the value that waits came, if that was after the timer was set.
  private var arrival: Time.Instant?
  private var timer: Disposable?

  init(_ interval: Duration, _ clock: Time) {
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
      if timer == nil {
        startTimer(interval, for: node)
      } else {
        arrival = clock.now
      }
      return nil
    case .due:
      // Where nothing has come since, the timer is believed and not the clock's time: by that, one that
      // wakes too early, or stands, would be asked again and again.
      if let arrival {
        self.arrival = nil
        // The clock may have been set back.
        let rest = min(interval, interval - arrival.duration(to: clock.now))
        if rest > .zero {
          startTimer(rest, for: node)
          return nil
        }
      }
      timer = nil
      defer { waiting = nil }
      return waiting
    }
  }

  private func startTimer(
    _ time: Duration, for node: BoundarySignalNode<TimedItem<Value>, Value>
  ) {
    timer = callLater(after: time, on: clock) { [weak node] in node?.post(.due) }
  }
}
