import Dispatch

/// Threads for tasks that may block, for example while they read a file. They are not those of Swift's tasks, of which
/// there are only as many as processors.
///
/// As long as the tasks are quick, few of them run at the same time: more would only compete for the processors. A task that
/// runs for a while may be blocked, so another one may run beside it, up to a limit.
package final class BlockingThreads: TaskExecutor {
  /// The threads of all sources that are read.
  package static let reading = BlockingThreads(width: 8, limit: 64)

  private struct State: Sendable {
    /// The jobs in the order of arrival. The jobs before `next` have started.
    var waiting: [UnownedJob] = []
    var next = 0
    var threads = 0
    /// The time at which each thread has taken its job.
    var starts: [Int: AnyClock.Instant] = [:]
    var lastThread = 0
    var isTimerSet = false

    var hasWaiting: Bool { next < waiting.count }

    mutating func takeNext() -> UnownedJob? {
      guard hasWaiting else {
        (waiting, next) = ([], 0)
        return nil
      }
      // If jobs are always pending, the ones that have started go from time to time.
      if next >= 32, next > waiting.count / 2 {
        waiting.removeFirst(next)
        next = 0
      }
      defer { next += 1 }
      return waiting[next]
    }
  }

  private let width: Int
  private let limit: Int
  private let patience: Duration
  private let clock: AnyClock
  private let timer: QueueTimer
  private let state = Locked(State())

  /// Creates threads.
  ///
  /// - Parameters:
  ///   - width: The number of jobs that run at the same time, as long as they end.
  ///   - limit: The largest number of jobs that run at the same time.
  ///   - patience: The time after which a job counts as blocked.
  ///   - clock: The clock that measures the patience.
  package init(
    width: Int, limit: Int, patience: Duration = .milliseconds(20), clock: AnyClock = .continuous
  ) {
    (self.width, self.limit, self.patience, self.clock) = (width, limit, patience, clock)
    timer = QueueTimer(queue: DispatchQueue(label: "swappable.blocking-threads"), clock: clock)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isWanted = state.withLock { state in
      state.waiting.append(job)
      guard state.threads < width else { return false }
      state.threads += 1
      return true
    }
    if isWanted {
      addThread()
    } else {
      setTimer()
    }
  }

  /// Starts a thread that is already counted.
  private func addThread() {
    let number = state.withLock { state in
      state.lastThread += 1
      return state.lastThread
    }
    // A new queue gets a thread even if all other threads are blocked.
    DispatchQueue(label: "swappable.blocking-thread").async { [self] in
      while let job = nextJob(of: number) { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }

  /// Returns the next job of a thread, or `nil` to end it.
  private func nextJob(of thread: Int) -> UnownedJob? {
    let now = clock.now
    return state.withLock { state in
      let job = state.takeNext()
      state.starts[thread] = job.map { _ in now }
      if job == nil { state.threads -= 1 }
      return job
    }
  }

  /// Replaces the threads that are blocked, after a while, as long as jobs are pending.
  private func setTimer() {
    let isWanted = state.withLock { state in
      guard state.hasWaiting, !state.isTimerSet else { return false }
      state.isTimerSet = true
      return true
    }
    guard isWanted else { return }
    timer.schedule(after: patience) { [self] in
      let now = clock.now
      let missing = state.withLock { state in
        state.isTimerSet = false
        let blocked = state.starts.values.count { $0.duration(to: now) >= patience }
        let missing = min(
          state.waiting.count - state.next, width + blocked - state.threads,
          limit - state.threads)
        state.threads += max(missing, 0)
        return max(missing, 0)
      }
      for _ in 0..<missing { addThread() }
      setTimer()
    }
  }
}
