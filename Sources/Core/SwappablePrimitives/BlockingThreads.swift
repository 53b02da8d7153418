import Dispatch

/// Threads for tasks that may block, for example while they read a file. They are not those of Swift's tasks, of which
/// there are only as many as processors.
///
/// As long as the tasks are quick, few of them run at the same time: more would only compete for the processors. If none
/// of them ends for a while, all may be blocked, so one more starts, up to a limit.
package final class BlockingThreads: TaskExecutor {
  /// The threads of all sources that are read.
  package static let reading = BlockingThreads(width: 8, limit: 64)

  private struct State: Sendable {
    /// The jobs in the order of arrival. The jobs before `next` have started.
    var waiting: [UnownedJob] = []
    var next = 0
    var threads = 0
    var finished = 0
    /// The number of finished jobs when the timer was set, or `nil` if no timer is set.
    var finishedAtTimer: Int?

    mutating func takeNext() -> UnownedJob? {
      guard next < waiting.count else {
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
  private let timer: QueueTimer
  private let state = Locked(State())

  /// Creates threads.
  ///
  /// - Parameters:
  ///   - width: The number of jobs that run at the same time, as long as they end.
  ///   - limit: The largest number of jobs that run at the same time.
  ///   - patience: If no job ends for this time, one more starts.
  ///   - clock: The clock that measures the patience.
  package init(
    width: Int, limit: Int, patience: Duration = .milliseconds(20), clock: AnyClock = .continuous
  ) {
    (self.width, self.limit, self.patience) = (width, limit, patience)
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
      // All threads may be blocked.
      setTimer()
    }
  }

  /// Starts a thread that is already counted.
  private func addThread() {
    // A new queue gets a thread even if all other threads are blocked.
    DispatchQueue(label: "swappable.blocking-thread").async { [self] in
      while let job = nextJob() {
        job.runSynchronously(on: asUnownedTaskExecutor())
        state.withLock { $0.finished += 1 }
      }
    }
  }

  /// Returns the next job, or `nil` to end the thread.
  private func nextJob() -> UnownedJob? {
    state.withLock { state in
      let job = state.takeNext()
      if job == nil { state.threads -= 1 }
      return job
    }
  }

  /// Starts another thread after a while if jobs are pending and none has ended.
  private func setTimer() {
    let isWanted = state.withLock { state in
      guard state.next < state.waiting.count, state.finishedAtTimer == nil else { return false }
      state.finishedAtTimer = state.finished
      return true
    }
    guard isWanted else { return }
    timer.schedule(after: patience) { [self] in
      let isStuck = state.withLock { state in
        defer { state.finishedAtTimer = nil }
        guard state.finishedAtTimer == state.finished, state.next < state.waiting.count,
          state.threads < limit
        else { return false }
        state.threads += 1
        return true
      }
      if isStuck { addThread() }
      setTimer()
    }
  }
}
