package import Dispatch

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A clock that makes all timed calls of the process with one thread, which sleeps until the next one.
///
/// A wait may last a sixteenth longer. The regular checks of a thousand files are then made at a few moments of each
/// second, not at a thousand.
package final class AlarmClock: @unchecked Sendable {
  // Sendable: the mutable properties are accessed only while `mutex` is locked.

  package static let shared = AlarmClock()

  private struct Call {
    let queue: DispatchQueue?
    let body: @Sendable () -> Void
  }

  /// The calls that are due at one microsecond.
  private struct Moment {
    let time: UInt64
    var calls: [Int: Call]
  }

  /// The moments, sorted by time.
  private var moments: [Moment] = []
  private var lastCall = 0
  /// A Boolean value that indicates whether the thread runs. It ends when no call is pending.
  private var isRunning = false
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  /// Wakes the thread.
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let start = ContinuousClock.now

  package init() {
    pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      // The time of the system may be set while the thread sleeps.
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// The number of pending calls.
  package var count: Int { withLock { moments.reduce(0) { $0 + $1.calls.count } } }
  /// The number of moments at which the thread wakes for them.
  package var momentCount: Int { withLock { moments.count } }

  /// Calls a closure once, after a delay.
  ///
  /// - Parameters:
  ///   - delay: The delay.
  ///   - isRegular: A Boolean value that indicates whether the call is one of many for which no user waits. It may come half
  ///     a second later, together with others.
  ///   - queue: The queue of the call. Without it, the closure delays all calls of the process, so it must not block.
  package func call(
    after delay: Duration, isRegular: Bool = false, on queue: DispatchQueue? = nil,
    _ body: @escaping @Sendable () -> Void
  ) -> ScheduledTimer {
    let time = time(after: delay, isRegular: isRegular)
    let number = withLock {
      lastCall += 1
      let index = index(of: time)
      if index == moments.count || moments[index].time != time {
        moments.insert(Moment(time: time, calls: [:]), at: index)
      }
      moments[index].calls[lastCall] = Call(queue: queue, body: body)
      if !isRunning {
        isRunning = true
        DispatchQueue(label: "swappable.alarm-clock").async { [self] in run() }
      } else if index == 0, moments[0].calls.count == 1 {
        pthread_cond_signal(condition)
      }
      return lastCall
    }
    return ScheduledTimer { [self] in cancel(number, at: time) }
  }

  private func cancel(_ number: Int, at time: UInt64) {
    // The closure is released outside the lock.
    let canceled = withLock { () -> Call? in
      let index = index(of: time)
      guard index < moments.count, moments[index].time == time else { return nil }
      let call = moments[index].calls.removeValue(forKey: number)
      if moments[index].calls.isEmpty { moments.remove(at: index) }
      if moments.isEmpty { pthread_cond_signal(condition) }
      return call
    }
    withExtendedLifetime(canceled) {}
  }

  // MARK: - The thread

  private func run() {
    while let due = nextCalls() {
      for call in due.calls.values {
        if let queue = call.queue { queue.async(execute: call.body) } else { call.body() }
      }
    }
  }

  /// Sleeps until the first calls are due.
  ///
  /// - Returns: The calls, or `nil` if none is pending.
  private func nextCalls() -> Moment? {
    withLock {
      // No call is held while the thread sleeps: it may be canceled, and is released then.
      while let time = moments.first?.time {
        let now = now
        if time <= now { return moments.removeFirst() }
        sleep(microseconds: time - now)
      }
      isRunning = false
      return nil
    }
  }

  /// Unlocks the mutex, and sleeps until a call is added before the first one.
  private func sleep(microseconds: UInt64) {
    var time = timespec()
    #if !canImport(Darwin)
      clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    let end = Int(microseconds) + time.tv_nsec / 1_000
    time.tv_sec += end / 1_000_000
    time.tv_nsec = end % 1_000_000 * 1_000
    #if canImport(Darwin)
      pthread_cond_timedwait_relative_np(condition, mutex, &time)
    #else
      pthread_cond_timedwait(condition, mutex, &time)
    #endif
  }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Returns the index of the first moment that is not before a time.
  private func index(of time: UInt64) -> Int { moments.partitioningIndex { $0.time >= time } }

  /// Returns the microsecond in which a wait ends.
  private func time(after delay: Duration, isRegular: Bool) -> UInt64 {
    // A wait lasts for a hundred years at most.
    let delay = min(max(delay, .zero), .seconds(1 << 32))
    let wait = Self.microseconds(delay + .nanoseconds(999))
    let time = now + 1 + wait
    // Round up to a power of two, so waits of different lengths end together.
    var step: UInt64 = wait < 64 ? 1 : 1 << (UInt64(wait.leadingZeroBitCount ^ 63) - 4)
    if isRegular, wait >= 1 << 19 { step = 1 << 19 }
    return (time + step - 1) & ~(step - 1)
  }

  private var now: UInt64 { Self.microseconds(start.duration(to: .now)) }

  private static func microseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    return UInt64(clamping: seconds) * 1_000_000
      + UInt64(clamping: attoseconds / 1_000_000_000_000)
  }
}
