package import Dispatch

/// A timer that calls a closure on a dispatch queue. At most one call is pending.
///
/// The continuous clock is served by one timer of Dispatch, which exists while a call is pending or is
/// about to be set again. With any other clock, the clock makes the call.
package final class QueueTimer: Sendable {
  private struct State: @unchecked Sendable {
    // Sendable: the sources of Dispatch may be used from any thread.
    var action: (@Sendable () -> Void)?
    /// The number of calls that were scheduled or canceled, to recognize a call that was replaced.
    var generation = 0
    var source: (any DispatchSourceTimer)?
    var timer: ScheduledTimer?
  }

  private let queue: DispatchQueue
  private let clock: AnyClock
  private let state = Locked(State())

  /// Creates a timer without a pending call.
  ///
  /// - Parameters:
  ///   - queue: The queue on which the calls are made.
  ///   - clock: The clock that measures the intervals.
  package init(queue: DispatchQueue, clock: AnyClock = .continuous) {
    self.queue = queue
    self.clock = clock
  }

  deinit {
    cancel()
  }

  /// Calls a closure on the queue after an interval, instead of the closure that is pending.
  ///
  /// If the pending closure was due at this moment, it is dropped, and the new one may be called early.
  package func schedule(after interval: Duration, _ action: @escaping @Sendable () -> Void) {
    if clock.isContinuous {
      scheduleSource(after: interval, action)
    } else {
      scheduleTimer(after: interval, action)
    }
  }

  /// Drops the pending closure. A closure that is being called runs to its end.
  package func cancel() {
    // The closure and the timer are released outside the lock.
    let (source, action, timer) = state.withLock { state in
      defer { (state.source, state.action, state.timer) = (nil, nil, nil) }
      state.generation += 1
      return (state.source, state.action, state.timer)
    }
    source?.cancel()
    timer?.cancel()
    withExtendedLifetime(action) {}
  }

  private func scheduleSource(
    after interval: Duration, _ action: @escaping @Sendable () -> Void
  ) {
    let replaced = state.withLock { state in
      let replaced = state.action
      state.action = action
      let deadline = DispatchTime.after(interval)
      if let source = state.source {
        source.schedule(deadline: deadline, leeway: .nanoseconds(0))
      } else {
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { [weak self] in self?.fire() }
        source.schedule(deadline: deadline, leeway: .nanoseconds(0))
        source.activate()
        state.source = source
      }
      return replaced
    }
    withExtendedLifetime(replaced) {}
  }

  private func fire() {
    let action = state.withLock { $0.action.take() }
    action?()
  }

  private func scheduleTimer(
    after interval: Duration, _ action: @escaping @Sendable () -> Void
  ) {
    let (generation, replaced) = state.withLock { state in
      defer { (state.action, state.timer) = (action, nil) }
      state.generation += 1
      return (state.generation, (state.action, state.timer))
    }
    withExtendedLifetime(replaced) {}
    let timer = clock.call(after: interval) { [weak self] in self?.enqueue(generation) }
    let unwanted = state.withLock { state -> ScheduledTimer? in
      guard state.generation == generation else { return timer }
      state.timer = timer
      return nil
    }
    unwanted?.cancel()
  }

  private func enqueue(_ generation: Int) {
    queue.async { [weak self] in
      let action = self?.state.withLock { state in
        state.generation == generation ? state.action.take() : nil
      }
      action?()
    }
  }
}

extension DispatchTime {
  /// Returns the moment after an interval from now.
  ///
  /// An interval that is negative counts as zero. An interval of more than a hundred years counts as a
  /// hundred years.
  package static func after(_ interval: Duration) -> DispatchTime {
    let (seconds, attoseconds) = min(max(interval, .zero), .seconds(100 * 366 * 86_400)).components
    return .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
  }
}
