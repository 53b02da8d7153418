package import SwappablePrimitives

/// Runs a closure that reads: when it is asked to, and after pauses.
///
/// One run takes place at a time. A request that arrives meanwhile leads to one more run. The release of the loop cancels
/// the task that runs. The closure must not retain the owner of the loop.
package final class ReadLoop: Sendable {
  /// A run. It returns the pause before the next one without a request, if there is one.
  package typealias Run = @Sendable () async -> Duration?

  private struct State: Sendable {
    var schedule: ReadSchedule
    var run: Run?
    var timer: ScheduledTimer?
    var task: Task<Void, Never>?
    /// The number of the pause that is pending. A pause that was replaced has a smaller one.
    var pause = 0
  }

  package let clock: AnyClock
  private let threads: any TaskExecutor
  private let state: Locked<State>

  /// Creates a loop.
  ///
  /// - Parameters:
  ///   - clock: The clock that measures the pauses.
  ///   - threads: The threads of the runs.
  ///   - longestRest: The longest rest after a run, for requests that wait for it.
  package init(
    clock: AnyClock, threads: any TaskExecutor = BlockingThreads.reading,
    longestRest: Duration = .milliseconds(100)
  ) {
    (self.clock, self.threads) = (clock, threads)
    state = Locked(State(schedule: ReadSchedule(longestRest: longestRest)))
  }

  deinit { state.withLock { $0.task }?.cancel() }

  /// A Boolean value that indicates whether a requested run has not begun.
  package var isRequested: Bool {
    switch state.withLock({ $0.schedule.state }) {
    case .planned, .running(_, .some): true
    case .idle, .running(_, nil): false
    }
  }

  /// Lets requests lead to runs.
  ///
  /// - Returns: `false` if the loop has started before.
  package func start(_ run: @escaping Run) -> Bool {
    state.withLock { state in
      guard state.run == nil else { return false }
      state.run = run
      return true
    }
  }

  /// Asks for a run. Before ``start(_:)``, this method does nothing.
  package func request(_ request: ReadSchedule.Request) {
    let now = clock.now
    state.withLock { if $0.run != nil { _ = handle(.request(request), at: now, &$0) } }
  }

  /// Performs the action under the lock, so no old pause replaces a new one.
  ///
  /// - Returns: A Boolean value that indicates whether to run now.
  private func handle(
    _ input: ReadSchedule.Input, at now: AnyClock.Instant, _ state: inout State
  ) -> Bool {
    let action = state.schedule.handle(input, at: now)
    switch action {
    case .none, .run: break
    case .schedule(let pause):
      state.pause += 1
      let number = state.pause
      state.timer = nil
      if pause == .zero {
        begin(number, &state)
      } else {
        state.timer = clock.call(after: pause) { [weak self] in self?.pauseEnded(number) }
      }
    }
    return action == .run
  }

  private func pauseEnded(_ number: Int) {
    state.withLock { if $0.pause == number { begin(number, &$0) } }
  }

  private func begin(_ number: Int, _ state: inout State) {
    guard let run = state.run else { return }
    state.task = Task.detached(executorPreference: threads) { [weak self] in
      // A request from here on leads to another run.
      guard self?.handle(.due, of: number) == true else { return }
      let pause = await run()
      self?.handle(.finished(again: pause), of: number)
    }
  }

  /// Handles the beginning or the end of a run, unless the run was replaced.
  @discardableResult
  private func handle(_ input: ReadSchedule.Input, of number: Int) -> Bool {
    let now = clock.now
    return state.withLock { $0.pause == number && handle(input, at: now, &$0) }
  }
}
