package import Dispatch
import Synchronization

/// A clock that makes timed calls itself, on the thread that advances it.
package protocol TimerClock: Clock where Duration == Swift.Duration {
  /// Calls a closure once, after an interval.
  ///
  /// - Returns: A handle that keeps the call scheduled.
  func call(after interval: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer
}

/// A handle to a scheduled call. Canceling it, or releasing it, cancels the call.
package final class ScheduledTimer: Sendable {
  private let isPending = Atomic<Bool>(true)
  private let cancellation: @Sendable () -> Void

  /// Creates a handle to a scheduled call.
  ///
  /// - Parameter cancellation: A closure that cancels the call. It runs at most once, and it may run
  ///   after the call was made.
  package init(cancellation: @escaping @Sendable () -> Void) {
    self.cancellation = cancellation
  }

  deinit {
    cancel()
  }

  /// Cancels the call. A call that has already begun runs to its end.
  package func cancel() {
    schedulePoint()
    if isPending.exchange(false, ordering: .relaxed) { cancellation() }
  }
}

/// Calls a closure once, after an interval of a clock.
///
/// A ``TimerClock`` makes the call itself. With any other clock, a task sleeps and makes the call.
///
/// - Parameters:
///   - interval: The time to wait. A negative interval is like zero.
///   - clock: The clock that measures the interval.
///   - action: The closure to call.
/// - Returns: A handle that keeps the call scheduled.
package func callLater(
  after interval: Duration, on clock: some Clock<Duration>,
  _ action: @escaping @Sendable () -> Void
) -> ScheduledTimer {
  // The clocks of the standard library trap if the seconds of a deadline overflow.
  let interval = min(interval, .seconds(Int64.max / 2))
  if let clock = clock as? any TimerClock { return clock.call(after: interval, action) }
  let deadline = clock.now.advanced(by: interval)
  let claim = CallClaim()
  let task = Task {
    try? await clock.sleep(until: deadline, tolerance: nil)
    if claim.take() { action() }
  }
  // If the handle is released inside the call, the task must not be canceled: observers run in it.
  return ScheduledTimer { if claim.take() { task.cancel() } }
}

/// The right to make or cancel one call. Only the first `take()` receives it.
private final class CallClaim: Sendable {
  private let isOpen = Atomic<Bool>(true)

  func take() -> Bool {
    schedulePoint()
    return isOpen.exchange(false, ordering: .relaxed)
  }
}

/// A clock of any type. Its instants count from the moment at which the clock is wrapped.
package struct AnyClock: TimerClock {
  package struct Instant: InstantProtocol {
    /// The time since the clock was wrapped.
    package var offset: Duration

    package init(offset: Duration) {
      self.offset = offset
    }

    package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    package func duration(to other: Instant) -> Duration { other.offset - offset }
    package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  /// The continuous clock of the system. One timer of the process makes all its calls.
  package static let continuous = AnyClock { AlarmClock.shared.call(after: $0, $1) }

  /// The continuous clock of the system, for regular checks of many things. A call may come half a second late.
  package static let regular = AnyClock {
    AlarmClock.shared.call(after: $0, isRegular: true, $1)
  }

  package let minimumResolution: Duration
  private let elapsed: @Sendable () -> Duration
  private let sleepUntil:
    @Sendable (_ offset: Duration, _ tolerance: Duration?) async throws -> Void
  private let callAfter:
    @Sendable (_ interval: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer

  /// Wraps a clock, or the continuous clock of the system, whose calls a closure may make.
  package init(
    _ clock: some Clock<Duration> = ContinuousClock(),
    calling callAfter: (
      @Sendable (Duration, @escaping @Sendable () -> Void) -> ScheduledTimer
    )? = nil
  ) {
    let start = clock.now
    minimumResolution = clock.minimumResolution
    elapsed = { start.duration(to: clock.now) }
    sleepUntil = { try await clock.sleep(until: start.advanced(by: $0), tolerance: $1) }
    self.callAfter = callAfter ?? { callLater(after: $0, on: clock, $1) }
  }

  package var now: Instant { Instant(offset: elapsed()) }

  package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await sleepUntil(deadline.offset, tolerance)
  }

  package func call(
    after interval: Duration, _ action: @escaping @Sendable () -> Void
  ) -> ScheduledTimer {
    callAfter(interval, action)
  }
}

/// A timer that calls a closure on a dispatch queue. At most one call is pending.
package final class QueueTimer: Sendable {
  private struct State: Sendable {
    var action: (@Sendable () -> Void)?
    /// The number of calls that were scheduled or canceled, to recognize a call that was replaced.
    var generation = 0
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
  package func schedule(after interval: Duration, _ action: @escaping @Sendable () -> Void) {
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

  /// Drops the pending closure. A closure that is being called runs to its end.
  package func cancel() {
    // The closure and the timer are released outside the lock.
    let (action, timer) = state.withLock { state in
      defer { (state.action, state.timer) = (nil, nil) }
      state.generation += 1
      return (state.action, state.timer)
    }
    timer?.cancel()
    withExtendedLifetime(action) {}
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

extension Duration {
  /// The whole milliseconds of the duration, up to 2^52 seconds.
  package var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return min(max(seconds, -1 << 52), 1 << 52) * 1000 + attoseconds / 1_000_000_000_000_000
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
