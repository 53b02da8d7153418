import ReactiveSignals
import SwappablePrimitives

/// A queue that performs one run at a time.
///
/// If callers request runs while one is active, exactly one more run follows. If no run is requested
/// any more, all callers receive the result of the last run, in the order of their requests.
///
/// A queue goes through the phases idle, running and answering. The lock guards the whole state.
/// Callers are always answered outside the lock.
final class RunQueue<Outcome: Sendable>: Sendable {
  typealias Answer = @Sendable (Result<Outcome, any Error>) -> Void

  private struct Caller {
    let id: Int
    let answer: Answer
    /// A Boolean value that indicates whether its run was canceled. It is answered next.
    var isCancelled = false
  }

  private enum Phase {
    case idle
    /// A run is active.
    case running
    /// The last run has ended, and callers receive its result.
    case answering
  }

  private struct State {
    var phase = Phase.idle
    var lastID = 0
    /// The callers that wait, in the order of their requests. Canceled ones precede the others.
    var callers: [Caller] = []
    /// A Boolean value that indicates whether one more run follows, even without callers.
    var isRequestedAgain = false
    var task: Task<Result<Outcome, any Error>, Never>?
    var isCancelled = false

    /// Removes the canceled callers, and returns them.
    mutating func takeCancelled() -> [Caller] {
      defer { callers.removeAll { $0.isCancelled } }
      return callers.filter { $0.isCancelled }
    }
  }

  private let state = Locked(State())
  private let run: @Sendable () async throws -> Outcome
  private let cancellation: @Sendable () -> any Error
  private let statusDidChange: @Sendable (_ isRunning: Bool) -> Void
  private let runDidEnd: @Sendable (Result<Outcome, any Error>) -> Void

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - cancellation: Returns the error for canceled callers. It is called once for each run.
  ///   - statusDidChange: Is called before the first run, and after all callers were answered.
  ///   - runDidEnd: Is called at the end of each run, before callers are answered. It receives the
  ///     result for the callers of this run, even if there are none.
  ///   - run: The work of a run. `cancel()` cancels its task.
  init(
    cancellation: @escaping @Sendable () -> any Error,
    statusDidChange: @escaping @Sendable (_ isRunning: Bool) -> Void,
    runDidEnd: @escaping @Sendable (Result<Outcome, any Error>) -> Void = { _ in },
    run: @escaping @Sendable () async throws -> Outcome
  ) {
    (self.cancellation, self.statusDidChange) = (cancellation, statusDidChange)
    (self.runDidEnd, self.run) = (runDidEnd, run)
  }

  /// Requests a run.
  ///
  /// - Parameter answer: A closure that is called once, when all requested runs have ended. It receives
  ///   the result of the last one.
  func request(_ answer: @escaping Answer) {
    request(id: nextID(), answer)
  }

  /// Requests a run, and waits until all requested runs have ended.
  ///
  /// If the calling task is already canceled, this method requests no run.
  ///
  /// - Returns: The result of the last run.
  /// - Throws: The error of the last run, or `CancellationError` if the calling task is canceled. In
  ///   that case, the run continues.
  func request() async throws -> Outcome {
    try Task.checkCancellation()
    let id = nextID()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        request(id: id) { continuation.resume(with: $0) }
        // The task may have been canceled before the request was recorded.
        if Task.isCancelled { leave(id) }
      }
    } onCancel: {
      leave(id)
    }
  }

  /// Cancels the active run, and drops the run that was to follow.
  ///
  /// When the run has ended, all current callers receive the cancellation error, in order. If no
  /// run is active, this method does nothing.
  func cancel() {
    let task = state.withLock { state -> Task<Result<Outcome, any Error>, Never>? in
      guard state.phase != .idle else { return nil }
      for index in state.callers.indices { state.callers[index].isCancelled = true }
      state.isRequestedAgain = false
      // While callers are answered, no run is active, and the next one has not begun.
      guard state.phase == .running else { return nil }
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }

  private func nextID() -> Int {
    state.withLock {
      $0.lastID += 1
      return $0.lastID
    }
  }

  private func request(id: Int, _ answer: @escaping Answer) {
    let isFirst = state.withLock { state in
      state.callers.append(Caller(id: id, answer: answer))
      guard state.phase == .idle else {
        state.isRequestedAgain = true
        return false
      }
      state.phase = .running
      return true
    }
    guard isFirst else { return }
    statusDidChange(true)
    Task { await runAll() }
  }

  /// Removes a caller whose task was canceled, and answers it.
  private func leave(_ id: Int) {
    let caller = state.withLock { state -> Caller? in
      state.callers.firstIndex { $0.id == id }.map { state.callers.remove(at: $0) }
    }
    caller?.answer(.failure(CancellationError()))
  }

  private func runAll() async {
    while true {
      let result = await runOnce()
      let end = endRun()
      let outcome = end.wasCancelled ? .failure(cancellation()) : result
      runDidEnd(outcome)
      for caller in end.callers { caller.answer(caller.isCancelled ? outcome : result) }
      guard end.isLast else { continue }
      answerCancelled()
      statusDidChange(false)
      // Callers may request runs and cancel them until the queue is idle.
      var step = nextStep()
      while step == .answer {
        answerCancelled()
        step = nextStep()
      }
      if step == .stop { return }
      statusDidChange(true)
    }
  }

  private func runOnce() async -> Result<Outcome, any Error> {
    // Create the task under the lock. `cancel()` then either finds this task, or has set
    // `isCancelled`, which the task reads first.
    let task = state.withLock { locked in
      let task = Task { await self.runInTask() }
      locked.task = task
      return task
    }
    return await task.value
  }

  private func runInTask() async -> Result<Outcome, any Error> {
    if state.withLock({ $0.isCancelled }) { withUnsafeCurrentTask { $0?.cancel() } }
    do { return .success(try await run()) } catch { return .failure(error) }
  }

  /// Updates the state at the end of a run, and returns the callers to answer.
  ///
  /// If another run follows at once, `isLast` is false.
  private func endRun() -> (wasCancelled: Bool, callers: [Caller], isLast: Bool) {
    let (end, task) = state.withLock { state in
      defer { (state.isCancelled, state.isRequestedAgain, state.task) = (false, false, nil) }
      guard !state.isRequestedAgain else {
        return ((state.isCancelled, state.takeCancelled(), false), state.task)
      }
      defer { (state.phase, state.callers) = (.answering, []) }
      return ((state.isCancelled, state.callers, true), state.task)
    }
    // Release the result of the task outside the lock.
    withExtendedLifetime(task) {}
    return end
  }

  /// Answers the callers whose run was canceled before it began.
  private func answerCancelled() {
    let cancelled = state.withLock { $0.takeCancelled() }
    guard !cancelled.isEmpty else { return }
    let error = cancellation()
    for caller in cancelled { caller.answer(.failure(error)) }
  }

  private enum Step {
    case answer, run, stop
  }

  /// Decides about the next step, and makes the queue idle if nothing is left to do.
  private func nextStep() -> Step {
    state.withLock { state in
      if state.callers.contains(where: \.isCancelled) { return .answer }
      state.phase = state.isRequestedAgain ? .running : .idle
      defer { state.isRequestedAgain = false }
      return state.isRequestedAgain ? .run : .stop
    }
  }
}
