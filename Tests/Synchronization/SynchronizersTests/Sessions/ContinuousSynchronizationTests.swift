import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import Synchronizers
import TestTags
import Testing
import TestSupport

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct ContinuousSynchronizationTests {
  private let clock = ManualClock()
  private let remote = InMemoryRemote(Letter.list("A"))

  /// A session that counts completed synchronizations.
  private struct Live {
    let session: SynchronizationSession<HookedRemote<Letter>>
    let isReachable = Shared(true)
    let task: Task<Void, Never>
    let outcomes: AsyncStream<Bool>
    private let observation: AnyObject

    init(
      _ remote: InMemoryRemote<Letter>, _ clock: ManualClock,
      client: ArrayDataSource<Letter> = ArrayDataSource(),
      hook: @escaping CallHook = { _, _ in }
    ) {
      let isReachable = isReachable
      session = SynchronizationSession(
        client: client,
        remote: HookedRemote(remote) { call, moment in
          if !isReachable.value { throw Refusal() }
          try await hook(call, moment)
        },
        options: .init(clock: clock))
      let (outcomes, told) = AsyncStream<Bool>.makeStream()
      self.outcomes = outcomes
      observation = session.lastOutcome.observe { outcome in
        switch outcome {
        case .success: told.yield(true)
        case .failure: told.yield(false)
        case nil: break
        }
      }
      task = Task { [session] in
        await session.synchronizeContinuously(
          every: .seconds(60), afterEdit: .seconds(2),
          afterFailure: RetryPolicy(retries: 3, backoff: Backoff(first: .seconds(1))))
      }
    }

    /// Waits for the end of the next synchronization, and returns `true` if it succeeded.
    func next() async -> Bool? {
      for await outcome in outcomes { return outcome }
      return nil
    }

    func end() async {
      task.cancel()
      await task.value
    }
  }

  private func isAsleep(until seconds: Int, _ count: Int = 1) async throws {
    try await clock.waitForSleepers(count)
    #expect(clock.nextDeadline?.offset == .seconds(seconds))
    #expect(clock.sleeperCount == count)
  }

  @Test func `the first synchronization begins at once and others at intervals`() async throws {
    let live = Live(remote, clock)
    #expect(await live.next() == true)
    #expect(live.session.client.text == "A")
    for turn in 1...3 {
      try await isAsleep(until: 60 * turn)
      remote.contents[0] = Letter(key: "A", content: "\(turn)")
      clock.advance(by: .seconds(60))
      #expect(await live.next() == true)
      #expect(live.session.client.text == "A\(turn)")
    }
    await live.end()
    #expect(clock.sleeperCount == 0)
  }

  @Test func `an edit is sent after a pause in editing`() async throws {
    let live = Live(remote, clock)
    #expect(await live.next() == true)
    try await isAsleep(until: 60)
    live.session.client.append(Letter(key: "B", content: ""))
    try await isAsleep(until: 2, 2)
    clock.advance(by: .seconds(1))
    live.session.client.append(Letter(key: "C", content: ""))
    clock.advance(by: .seconds(1))
    // The client was still being edited.
    try await isAsleep(until: 4, 2)
    #expect(remote.contents.text == "A")
    clock.advance(by: .seconds(2))
    #expect(await live.next() == true)
    #expect(remote.contents.text == "A B C")
    // Changes that the synchronization makes are not edits.
    try await isAsleep(until: 64)
    await live.end()
  }

  @Test func `an edit during a synchronization is not missed`() async throws {
    let client = ArrayDataSource<Letter>()
    let isEdited = Shared(false)
    let live = Live(remote, clock, client: client) { call, moment in
      guard call == .fetch, moment == .after, !isEdited.value else { return }
      isEdited.value = true
      client.append(Letter(key: "B", content: ""))
    }
    #expect(await live.next() == true)
    #expect(remote.contents.text == "A")
    try await isAsleep(until: 2, 2)
    clock.advance(by: .seconds(2))
    #expect(await live.next() == true)
    #expect(Set(remote.contents.snapshot) == Set(Letter.list("A B")))
    try await isAsleep(until: 62)
    await live.end()
  }

  @Test func `failures are retried after growing pauses until the policy gives up`() async throws {
    let live = Live(remote, clock)
    #expect(await live.next() == true)
    try await isAsleep(until: 60)
    live.isReachable.value = false
    live.session.client.append(Letter(key: "B", content: ""))
    try await isAsleep(until: 2, 2)
    clock.advance(by: .seconds(2))
    #expect(await live.next() == false)
    for seconds in [3, 5, 9] {
      try await isAsleep(until: seconds)
      clock.advanceToNextDeadline()
      #expect(await live.next() == false)
    }
    // The policy gave up until the next edit.
    try await isAsleep(until: 69)
    live.session.client.append(Letter(key: "C", content: ""))
    try await isAsleep(until: 11, 2)
    clock.advance(by: .seconds(2))
    #expect(await live.next() == false)
    // The pauses begin again.
    try await isAsleep(until: 12)
    live.isReachable.value = true
    clock.advance(by: .seconds(1))
    #expect(await live.next() == true)
    #expect(remote.contents.text == "A B C")
    await live.end()
  }

  @Test func `a retry succeeds when the remote is back`() async throws {
    let live = Live(remote, clock)
    #expect(await live.next() == true)
    try await isAsleep(until: 60)
    live.isReachable.value = false
    clock.advance(by: .seconds(60))
    #expect(await live.next() == false)
    try await isAsleep(until: 61)
    live.isReachable.value = true
    clock.advance(by: .seconds(1))
    #expect(await live.next() == true)
    try await isAsleep(until: 121)
    await live.end()
  }

  @Test(arguments: [false, true])
  func `canceling the task ends the loop`(isFailing: Bool) async throws {
    let live = Live(remote, clock)
    #expect(await live.next() == true)
    try await isAsleep(until: 60)
    if isFailing {
      live.isReachable.value = false
      clock.advance(by: .seconds(60))
      #expect(await live.next() == false)
      try await isAsleep(until: 61)
    }
    await live.end()
    #expect(clock.sleeperCount == 0)
  }
}
