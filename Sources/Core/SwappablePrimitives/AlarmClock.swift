package import Dispatch

/// A clock that makes all timed calls of the process with one timer.
///
/// A wait may last a sixteenth longer. The regular checks of a thousand files are then made at a few moments of each
/// second, not at a thousand.
package final class AlarmClock: @unchecked Sendable {
  // Sendable: the sources of Dispatch may be used from any thread. All other properties are constants, or have a lock.

  package static let shared = AlarmClock()

  private struct Call {
    var queue: DispatchQueue?
    var body: @Sendable () -> Void
  }

  /// The calls that are due at one microsecond.
  private struct Moment {
    var time: UInt64
    var calls: [Int: Call]
  }

  private struct State: Sendable {
    /// The moments, sorted by time.
    var moments: [Moment] = []
    var lastCall = 0
    /// The timer of the injected clock.
    var timer: ScheduledTimer?

    /// Returns the index of the first moment that is not before a time.
    func index(of time: UInt64) -> Int {
      moments.partitioningIndex { $0.time >= time }
    }
  }

  private let state = Locked(State())
  private let now: @Sendable () -> Duration
  private let source: any DispatchSourceTimer
  /// The clock that replaces the one of the system in tests.
  private let clock: AnyClock?

  package init(clock: AnyClock? = nil) {
    self.clock = clock
    let start = ContinuousClock.now
    now = { clock.map { $0.now.offset } ?? start.duration(to: .now) }
    source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "swappable.alarm-clock"))
    source.setEventHandler { [weak self] in self?.fire() }
    source.activate()
  }

  deinit { source.cancel() }

  /// The number of pending calls.
  package var count: Int { state.withLock { $0.moments.reduce(0) { $0 + $1.calls.count } } }

  /// Calls a closure once, after a delay.
  ///
  /// - Parameter queue: The queue of the call. Without it, the closure delays all calls of the process, so it must not block.
  package func call(
    after delay: Duration, on queue: DispatchQueue? = nil, _ body: @escaping @Sendable () -> Void
  ) -> ScheduledTimer {
    let time = time(after: delay)
    let number = state.withLock { state in
      state.lastCall += 1
      let index = state.index(of: time)
      if index == state.moments.count || state.moments[index].time != time {
        state.moments.insert(Moment(time: time, calls: [:]), at: index)
      }
      state.moments[index].calls[state.lastCall] = Call(queue: queue, body: body)
      if index == 0, state.moments[0].calls.count == 1 { setTimer(&state) }
      return state.lastCall
    }
    return ScheduledTimer { [self] in cancel(number, at: time) }
  }

  private func cancel(_ number: Int, at time: UInt64) {
    // The closure is released outside the lock.
    let canceled = state.withLock { state -> Call? in
      let index = state.index(of: time)
      guard index < state.moments.count, state.moments[index].time == time else { return nil }
      let call = state.moments[index].calls.removeValue(forKey: number)
      if state.moments[index].calls.isEmpty {
        state.moments.remove(at: index)
        if index == 0 { setTimer(&state) }
      }
      return call
    }
    withExtendedLifetime(canceled) {}
  }

  private func fire() {
    let now = Self.microseconds(now())
    let due = state.withLock { state in
      let end = state.index(of: now + 1)
      defer {
        state.moments.removeFirst(end)
        setTimer(&state)
      }
      return Array(state.moments[..<end])
    }
    for moment in due {
      for call in moment.calls.values {
        if let queue = call.queue { queue.async(execute: call.body) } else { call.body() }
      }
    }
  }

  /// Sets the timer to the first moment, or cancels it.
  private func setTimer(_ state: inout State) {
    let wait = state.moments.first.map { Duration.microseconds($0.time) - now() }
    if let clock {
      state.timer = wait.map { clock.call(after: $0) { [weak self] in self?.fire() } }
    } else {
      source.schedule(
        deadline: wait.map(DispatchTime.after) ?? .distantFuture, leeway: .nanoseconds(0))
    }
  }

  /// Returns the microsecond in which a wait ends.
  private func time(after delay: Duration) -> UInt64 {
    // A wait lasts for a hundred years at most.
    let delay = min(max(delay, .zero), .seconds(1 << 32))
    let wait = Self.microseconds(delay + .nanoseconds(999))
    let time = Self.microseconds(now()) + 1 + wait
    // Round up to a power of two, so waits of different lengths end together.
    let step: UInt64 = wait < 64 ? 1 : 1 << (UInt64(wait.leadingZeroBitCount ^ 63) - 4)
    return (time + step - 1) & ~(step - 1)
  }

  private static func microseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    return UInt64(clamping: seconds) * 1_000_000
      + UInt64(clamping: attoseconds / 1_000_000_000_000)
  }
}
