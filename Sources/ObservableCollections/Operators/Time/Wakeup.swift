import ReactiveSignals
import SwappablePrimitives

/// An input without contents, through which a timer or a task makes an operator edit its output.
///
/// It is a root in the domain of the operator. Each call of ``send()`` is a commit there, so it takes its turn among the
/// changes of the source, and the operator is called by one thread at a time.
@usableFromInline
final class Wakeup: Sendable {
  private let root: Node

  fileprivate init(_ root: Node) {
    self.root = root
  }

  /// Calls the operator's `update(_:)`, at once or when the current propagation pass ends.
  func send() { root.send(value: true) }
}

extension OperatorInputs {
  /// Adds an input through which a timer or a task calls the operator. The collection that the operator follows must be
  /// added first.
  @usableFromInline
  func wakeup() -> Wakeup {
    guard let source = collections.first?.input.node else {
      preconditionFailure("an operator can only be woken if it follows a collection")
    }
    let root = Node(domain: source.domain, state: SignalValue(true))
    inputs.append(NodeInput(root))
    return Wakeup(root)
  }
}

/// The timer of an operator.
///
/// There is one timer for any number of deadlines. If the operator asks for an earlier deadline than the running
/// timer has, the timer is replaced. Otherwise it runs on, because the clock keeps the entry of a canceled sleep until its
/// time is up. Releasing the alarm cancels the timer.
@usableFromInline
final class Alarm: Sendable {
  /// The deadline that no timer reaches.
  @usableFromInline static var never: Duration { .seconds(Int64.max) }

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

  private let wakeup: Wakeup
  private let clock: AnyClock
  private let state = Locked(State())

  init(_ wakeup: Wakeup, _ clock: any Clock<Duration>) {
    self.wakeup = wakeup
    self.clock = AnyClock(clock)
  }

  /// The time since the alarm was created.
  ///
  /// If a timer has fired too early, its deadline counts. With a clock that wakes too early, or does not advance, the
  /// timer would be started again and again.
  @usableFromInline var now: Duration {
    max(clock.now.offset, state.withLock { $0.passed })
  }

  /// Returns the deadline after an interval, or ``never`` if there is no interval.
  @usableFromInline
  func deadline(after interval: Duration?, from now: Duration) -> Duration {
    guard let interval, interval < Self.never else { return Self.never }
    return min(now + interval, Self.never)
  }

  /// Calls the operator's `update(_:)` at a deadline, or at an earlier one for which a timer is running.
  ///
  /// - Parameter deadline: A time since the alarm was created, which is later than ``now``.
  @usableFromInline
  func ring(at deadline: Duration) {
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
    if fired.isCurrent { wakeup.send() }
    withExtendedLifetime(fired.timer) {}
  }
}

extension OperatorInputs {
  /// Adds an alarm. The collection that the operator follows must be added first.
  @usableFromInline
  func alarm(_ clock: any Clock<Duration>) -> Alarm {
    Alarm(wakeup(), clock)
  }
}
