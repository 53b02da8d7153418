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
  /// The group whose other loops may read because of the same cause.
  let group: ReadGroup?
  private let threads: any TaskExecutor
  private let state: Locked<State>

  /// Creates a loop.
  ///
  /// - Parameters:
  ///   - clock: The clock that measures the pauses.
  ///   - threads: The threads of the runs.
  ///   - longestRest: The longest rest after a run, for requests that wait for it.
  ///   - group: The group of the loop.
  package init(
    clock: AnyClock, threads: any TaskExecutor = BlockingThreads.reading,
    longestRest: Duration = .milliseconds(100), group: ReadGroup? = nil
  ) {
    (self.clock, self.threads, self.group) = (clock, threads, group)
    state = Locked(State(schedule: ReadSchedule(longestRest: longestRest)))
  }

  deinit { end() }

  /// Cancels the task that runs, and lets requests lead to no more runs.
  package func end() {
    // The closure and the timer are released outside the lock.
    let ended = state.withLock { state in
      defer { (state.run, state.timer) = (nil, nil) }
      return (state.task, state.run, state.timer)
    }
    ended.0?.cancel()
  }

  /// A Boolean value that indicates whether a requested run has not begun.
  package var isRequested: Bool { state.withLock { $0.schedule.isRequested } }

  package var isStarted: Bool { state.withLock { $0.run != nil } }

  /// Lets requests lead to runs.
  package func start(_ run: @escaping Run) {
    state.withLock { $0.run = run }
    ReadPause.add(self)
  }

  /// Cancels the task that runs, if there is one.
  fileprivate func interrupt() { state.withLock { $0.task }?.cancel() }

  fileprivate var isRunning: Bool { state.withLock { $0.schedule.isRunning } }

  /// Asks for a run. Before ``start(_:)`` and after ``end()``, this method does nothing.
  package func request(_ request: ReadSchedule.Request) { _ = handle(.request(request)) }

  /// - Parameter number: The number of the pause after which the input comes. If it was replaced, nothing happens.
  /// - Returns: A Boolean value that indicates whether to run now.
  private func handle(_ input: ReadSchedule.Input, after number: Int? = nil) -> Bool {
    let now = clock.now
    let (action, pauseNumber, replaced) = state.withLock {
      state -> (ReadSchedule.Action, Int, ScheduledTimer?) in
      guard state.run != nil, number ?? state.pause == state.pause else { return (.none, 0, nil) }
      let action = state.schedule.handle(input, at: now)
      guard case .schedule = action else { return (action, 0, nil) }
      state.pause += 1
      // From now on, another request leads to no run of its own, so the group counts this one.
      if action == .schedule(after: .zero) { group?.begin() }
      return (action, state.pause, state.timer.take())
    }
    withExtendedLifetime(replaced) {}
    // The clock may be one of the user, so it is called without the lock.
    if case .schedule(let pause) = action { wait(pause, pauseNumber) }
    return action == .run
  }

  private func wait(_ pause: Duration, _ number: Int) {
    if pause == .zero { return begin(number) }
    let timer = clock.call(after: pause) { [weak self] in
      self?.group?.begin()
      self?.begin(number)
    }
    let unwanted = state.withLock { state -> ScheduledTimer? in
      guard state.pause == number, state.run != nil else { return timer }
      state.timer = timer
      return nil
    }
    withExtendedLifetime(unwanted) {}
  }

  /// Begins a run that the group counts already.
  private func begin(_ number: Int) {
    guard let run = state.withLock({ $0.pause == number ? $0.run : nil }) else {
      group?.end()
      return
    }
    let isHeld = ReadPause.holds { [weak self, group] in
      if let self { begin(number) } else { group?.end() }
    }
    if isHeld { return }
    let task = Task.detached(executorPreference: threads) { [weak self, group] in
      defer { group?.end() }
      // A request from here on leads to another run.
      guard self?.handle(.due, after: number) == true else { return }
      let pause = await run()
      _ = self?.handle(.finished(again: pause), after: number)
    }
    let isEnded = state.withLock { state in
      if state.pause == number { state.task = task }
      return state.run == nil
    }
    if isEnded || ReadPause.isOn { task.cancel() }
  }
}

/// A pause of all loops of the process, for a program that is about to be stopped.
///
/// A stopped program that is in the middle of a read may hold a lock of a database, so others could not write.
package enum ReadPause {
  private struct Member: Sendable {
    weak let loop: ReadLoop?
  }

  private struct State: Sendable {
    var isOn = false
    /// The runs that were to begin during the pause.
    var held: [@Sendable () -> Void] = []
    var members: [Member] = []
    /// The number of members at which those that are gone are removed.
    var limit = 64
  }

  private static let state = Locked(State())

  package static var isOn: Bool { state.withLock { $0.isOn } }

  fileprivate static func add(_ loop: ReadLoop) {
    state.withLock { state in
      if state.members.count >= state.limit {
        state.members.removeAll { $0.loop == nil }
        state.limit = max(64, state.members.count * 2)
      }
      state.members.append(Member(loop: loop))
    }
  }

  /// Keeps a run for the end of the pause.
  ///
  /// - Returns: `false` if there is no pause.
  fileprivate static func holds(_ run: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      if state.isOn { state.held.append(run) }
      return state.isOn
    }
  }

  /// Interrupts all reads, and waits until they have ended. None begins before ``end()``.
  ///
  /// - Parameter limit: The longest time to wait, because a server may not answer.
  package static func begin(within limit: Duration) {
    let loops = state.withLock { state in
      state.isOn = true
      return state.members.compactMap(\.loop)
    }
    for loop in loops { loop.interrupt() }
    let deadline = ContinuousClock.now + limit
    while loops.contains(where: \.isRunning), .now < deadline { ThreadID.sleep(milliseconds: 1) }
  }

  /// Ends the pause. The reads that were interrupted are made again.
  package static func end() {
    let held = state.withLock { state in
      defer { (state.isOn, state.held) = (false, []) }
      return state.held
    }
    for run in held { run() }
  }
}
