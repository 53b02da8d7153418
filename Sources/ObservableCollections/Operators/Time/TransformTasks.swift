import SwappablePrimitives

/// The tasks of an asynchronous operator. Releasing them cancels all that run.
final class TransformTasks<Input: Sendable, Output: Sendable>: @unchecked Sendable {
  // Sendable: the operator owns all properties that change, and only one thread at a time calls an operator. The tasks
  // use only `finished` and `wakeup`.

  /// The result of a job, which may have been canceled.
  struct JobResult: Sendable {
    let job: Int
    let outcome: Result<Output, any Error>
  }

  private let wakeup: Wakeup
  private let limit: Int
  private let transform: @Sendable (Input) async throws -> Output
  /// The results that the operator has not taken.
  private let finished = Locked<[JobResult]>([])

  /// The jobs that were added and not started, in order. Some may have been canceled.
  private var waiting: [Int] = []
  /// The number of jobs at the beginning of `waiting` that were taken.
  private var takenCount = 0
  /// The tasks of the jobs that run and were not canceled.
  private var tasks: [Int: Task<Void, Never>] = [:]
  /// The number of tasks that have not returned, including canceled ones.
  private var runningCount = 0

  init(
    _ wakeup: Wakeup, limit: Int, transform: @escaping @Sendable (Input) async throws -> Output
  ) {
    self.wakeup = wakeup
    self.limit = limit
    self.transform = transform
  }

  deinit {
    for task in tasks.values { task.cancel() }
  }

  /// Adds a job after those that wait.
  func enqueue(_ job: Int) { waiting.append(job) }

  /// Returns whether a job has been started, and was not canceled.
  func isRunning(_ job: Int) -> Bool { tasks[job] != nil }

  /// Takes the next job out, if another one may run.
  ///
  /// - Parameter isWanted: A closure that returns whether a job was not canceled.
  func takeWaiting(where isWanted: (Int) -> Bool) -> Int? {
    // Canceled jobs must not fill the memory while no other can start.
    if waiting.count - takenCount > 2 * wantedLimit {
      waiting = waiting.dropFirst(takenCount).filter(isWanted)
      takenCount = 0
      wantedLimit = max(64, waiting.count)
    }
    guard runningCount < limit else { return nil }
    while takenCount < waiting.count {
      defer { takenCount += 1 }
      if isWanted(waiting[takenCount]) { return waiting[takenCount] }
    }
    (waiting, takenCount) = ([], 0)
    return nil
  }

  /// The number of jobs that waited when canceled ones were removed the last time.
  private var wantedLimit = 64

  /// Starts a job.
  func start(_ job: Int, _ input: Input) {
    runningCount += 1
    let transform = transform
    tasks[job] = Task { [weak self] in
      let outcome: Result<Output, any Error>
      do {
        outcome = .success(try await transform(input))
      } catch {
        outcome = .failure(error)
      }
      self?.finish(JobResult(job: job, outcome: outcome))
    }
  }

  /// Cancels the task of a job, if it runs.
  func cancel(_ job: Int) { tasks.removeValue(forKey: job)?.cancel() }

  /// Takes the results that are there.
  func takeResults() -> [JobResult] {
    let results = finished.withLock { finished in
      defer { finished = [] }
      return finished
    }
    runningCount -= results.count
    for result in results { tasks[result.job] = nil }
    return results
  }

  /// Stores a result. The first one that the operator has not taken wakes it.
  private func finish(_ result: JobResult) {
    let isFirst = finished.withLock { finished in
      finished.append(result)
      return finished.count == 1
    }
    if isFirst { wakeup.send() }
  }
}
