import ReactiveSignals
import SwappablePrimitives

/// Runs one job at a time. Asked for while it runs, exactly one more run follows, however often it was
/// asked for; all who asked are answered at the end of the last one, in order.
final class RunQueue<Outcome: Sendable>: Sendable {
  typealias Answer = @Sendable (Result<Outcome, any Error>) -> Void

  private struct Caller {
    let id: Int
    let answer: Answer
  }

  private enum Phase {
    case idle
    /// A run is under way.
    case running
    /// The run is over, and those who asked are being answered.
    case answering
  }

  private struct State {
    var phase = Phase.idle
    var lastID = 0
    /// Those who wait for the last run.
    var callers: [Caller] = []
    /// Those who asked before it was cancelled; they are answered next.
    var cancelled: [Caller] = []
    /// Whether one more run is to follow, also where nobody waits for it any more.
    var isAskedForAgain = false
    var task: Task<Result<Outcome, any Error>, Never>?
    var isCancelled = false
  }

  private let state = Locked(State())
  private let run: @Sendable () async throws -> Outcome
  private let cancellation: @Sendable () -> any Error
  private let statusDidChange: @Sendable (_ isRunning: Bool) -> Void
  private let runDidEnd: @Sendable (Result<Outcome, any Error>) -> Void

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - cancellation: What those who asked are told after `cancel()`; called once for all whom one run
  ///     leaves so.
  ///   - statusDidChange: Called before the first run, and after all were answered.
  ///   - runDidEnd: Called at the end of each run, before anybody is answered, with what those who
  ///     asked for that run are told, or would be.
  ///   - run: The job; its task is cancelled by `cancel()`.
  init(
    cancellation: @escaping @Sendable () -> any Error,
    statusDidChange: @escaping @Sendable (_ isRunning: Bool) -> Void,
    runDidEnd: @escaping @Sendable (Result<Outcome, any Error>) -> Void = { _ in },
    run: @escaping @Sendable () async throws -> Outcome
  ) {
    self.cancellation = cancellation
    self.statusDidChange = statusDidChange
    self.runDidEnd = runDidEnd
    self.run = run
  }

  /// Asks for a run.
  ///
  /// - Parameter answer: Called once, at the end of the last run.
  func request(_ answer: @escaping Answer) {
    request(id: nextID(), answer)
  }

  /// Asks for a run and waits for the end of the last one. A task that is cancelled already asks for
  /// nothing.
  ///
  /// - Throws: What the run throws; `CancellationError` where the task that waits is cancelled, while
  ///   the run goes on.
  func request() async throws -> Outcome {
    try Task.checkCancellation()
    let id = nextID()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        request(id: id) { continuation.resume(with: $0) }
        // Cancelled before it was a caller.
        if Task.isCancelled { leave(id) }
      }
    } onCancel: {
      leave(id)
    }
  }

  /// Cancels the run that is under way and drops the one that is to follow.
  ///
  /// All who have asked by now are answered that it was cancelled, in order, when the run has ended.
  /// Does nothing where there is none.
  func cancel() {
    let task = state.withLock { state -> Task<Result<Outcome, any Error>, Never>? in
      guard state.phase != .idle else { return nil }
      state.cancelled += state.callers
      state.callers = []
      state.isAskedForAgain = false
      // A run that is over is cancelled no more: what was asked for since has not begun.
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
        state.isAskedForAgain = true
        return false
      }
      state.phase = .running
      return true
    }
    guard isFirst else { return }
    statusDidChange(true)
    Task { await runAll() }
  }

  /// Takes a caller out and tells it that its own task was cancelled.
  private func leave(_ id: Int) {
    let caller = state.withLock { state -> Caller? in
      if let index = state.callers.firstIndex(where: { $0.id == id }) {
        return state.callers.remove(at: index)
      }
      if let index = state.cancelled.firstIndex(where: { $0.id == id }) {
        return state.cancelled.remove(at: index)
      }
      return nil
    }
    caller?.answer(.failure(CancellationError()))
  }

  private func runAll() async {
    while true {
      let result = await runOnce()
      let end = endRun()
      let outcome = end.wasCancelled ? .failure(cancellation()) : result
      runDidEnd(outcome)
      for caller in end.cancelled { caller.answer(outcome) }
      for caller in end.callers { caller.answer(result) }
      guard end.isLast else { continue }
      answerCancelled()
      statusDidChange(false)
      // Others may ask and cancel all the time until it is idle.
      var step = nextStep()
      while step == .answer {
        answerCancelled()
        step = nextStep()
      }
      if step == .rest { return }
      statusDidChange(true)
    }
  }

  private func runOnce() async -> Result<Outcome, any Error> {
    // Made while locked: whoever cancels finds either no task, which then sees that, or this one.
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

  /// Decides who is answered at the end of a run, and whether another one follows at once.
  private func endRun() -> (
    wasCancelled: Bool, cancelled: [Caller], callers: [Caller], isLast: Bool
  ) {
    let (end, task) = state.withLock { state in
      let (wasCancelled, cancelled, task) = (state.isCancelled, state.cancelled, state.task)
      state.isCancelled = false
      state.cancelled = []
      state.task = nil
      guard !state.isAskedForAgain else {
        state.isAskedForAgain = false
        return ((wasCancelled, cancelled, [Caller](), false), task)
      }
      state.phase = .answering
      let callers = state.callers
      state.callers = []
      return ((wasCancelled, cancelled, callers, true), task)
    }
    // The result that it holds is let go of outside the lock.
    withExtendedLifetime(task) {}
    return end
  }

  /// Answers those whose run was cancelled before it had begun.
  private func answerCancelled() {
    let cancelled = state.withLock { state in
      let cancelled = state.cancelled
      state.cancelled = []
      return cancelled
    }
    guard !cancelled.isEmpty else { return }
    let error = cancellation()
    for caller in cancelled { caller.answer(.failure(error)) }
  }

  private enum Step {
    case answer, run, rest
  }

  /// Becomes idle, unless somebody is to be answered first or it is to run again.
  private func nextStep() -> Step {
    state.withLock { state in
      if !state.cancelled.isEmpty { return .answer }
      state.phase = state.isAskedForAgain ? .running : .idle
      defer { state.isAskedForAgain = false }
      return state.isAskedForAgain ? .run : .rest
    }
  }
}
