import ReactiveSignals

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
    /// Those whose run was cancelled while it was under way; they are answered at its end.
    var cancelled: [Caller] = []
    /// Whether one more run is to follow.
    var isAskedForAgain = false
    var task: Task<Result<Outcome, any Error>, Never>?
    var isCancelled = false
  }

  private let state = Locked(State())
  private let run: @Sendable () async throws -> Outcome
  private let cancellation: @Sendable () -> any Error
  private let statusDidChange: @Sendable (_ isRunning: Bool) -> Void

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - cancellation: What those who asked are told after `cancel()`.
  ///   - statusDidChange: Called before the first run, and after all were answered.
  ///   - run: The job; its task is cancelled by `cancel()`.
  init(
    cancellation: @escaping @Sendable () -> any Error,
    statusDidChange: @escaping @Sendable (_ isRunning: Bool) -> Void,
    run: @escaping @Sendable () async throws -> Outcome
  ) {
    self.cancellation = cancellation
    self.statusDidChange = statusDidChange
    self.run = run
  }

  /// Asks for a run.
  ///
  /// - Parameter answer: Called once, at the end of the last run.
  func request(_ answer: @escaping Answer) {
    request(id: nextID(), answer)
  }

  /// Asks for a run and waits for the end of the last one.
  ///
  /// - Throws: What the run throws; `CancellationError` where the task that waits is cancelled, while
  ///   the run goes on.
  func request() async throws -> Outcome {
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
  /// All who have asked by now are answered that it was cancelled, when the run has ended. Does
  /// nothing where there is none.
  func cancel() {
    let (task, dropped) = state.withLock {
      state -> (Task<Result<Outcome, any Error>, Never>?, [Caller]) in
      switch state.phase {
      case .idle: return (nil, [])
      case .answering:
        // The run is over; what was asked for since has not begun.
        defer { state.callers = [] }
        return (nil, state.callers)
      case .running:
        state.cancelled += state.callers
        state.callers = []
        state.isAskedForAgain = false
        state.isCancelled = true
        return (state.task, [])
      }
    }
    task?.cancel()
    for caller in dropped { caller.answer(.failure(cancellation())) }
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
      switch state.phase {
      case .idle:
        state.phase = .running
        return true
      case .running:
        state.isAskedForAgain = true
        return false
      case .answering: return false
      }
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
      // Those who asked before it was cancelled, and those who wait for the last run.
      let (cancelled, callers) = state.withLock { state -> ([Caller], [Caller]) in
        defer {
          state.cancelled = []
          state.isCancelled = false
          state.task = nil
        }
        if state.isAskedForAgain {
          state.isAskedForAgain = false
          return (state.cancelled, [])
        }
        state.phase = .answering
        defer { state.callers = [] }
        return (state.cancelled, state.callers)
      }
      for caller in cancelled { caller.answer(.failure(cancellation())) }
      for caller in callers { caller.answer(result) }
      let isOver = state.withLock { $0.phase == .answering }
      guard isOver else { continue }
      statusDidChange(false)
      let isAskedForAgain = state.withLock { state in
        state.phase = state.callers.isEmpty ? .idle : .running
        return state.phase == .running
      }
      guard isAskedForAgain else { return }
      statusDidChange(true)
    }
  }

  private func runOnce() async -> Result<Outcome, any Error> {
    let run = run
    let task = Task { () -> Result<Outcome, any Error> in
      do { return .success(try await run()) } catch { return .failure(error) }
    }
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
    return await task.value
  }
}
