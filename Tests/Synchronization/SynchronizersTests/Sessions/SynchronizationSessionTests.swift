import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import Synchronizers
import TestTags
import Testing
import TestSupport

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SynchronizationSessionTests {
  private let remote = InMemoryRemote<Letter>()

  private func expectInStep(_ client: Client, _ text: String) {
    #expect(client.contents.text == text)
    #expect(client.session.shadow.text == text)
    #expect(remote.contents.text == text)
    #expect(client.session.unsynchronizedChanges.isEmpty)
  }

  /// Returns the error that a body must throw.
  private func failure(
    _ body: () async throws -> some Any
  ) async throws -> SynchronizationError {
    try #require(await #expect(throws: SynchronizationError.self) { _ = try await body() })
  }

  // MARK: Synchronization

  @Test func `a synchronization fetches, merges, pushes and moves the shadow`() async throws {
    let client = try await Client.inStep("A B C", remote)
    let status = Log<SynchronizationSession<HookedRemote<Letter>>.Status>([])
    let observation = client.session.status.observe { status.append($0) }
    defer { observation.dispose() }
    try await client.edit("A1 B D")
    remote.contents.replace(with: Letter.list("A B2 C"))
    client.trap.trace.value = []
    let disk = client.disk
    client.trap.at(.push, .before) {
      // The push is saved before it begins.
      #expect(disk.value?.push?.merged.text == "A1 B2 D")
    }

    let outcome = try await client.session.synchronize()

    expectInStep(client, "A1 B2 D")
    #expect(client.trap.trace.value == ["fetch", "save", "push", "save"])
    let steps: [SynchronizationError.Step] = [.fetching, .merging, .saving, .pushing, .saving]
    #expect(status.value == [.idle] + steps.map { .synchronizing($0) } + [.idle])
    #expect(outcome.changesForClient == Changeset(updates: [.init(from: 1, to: 1)]))
    #expect(
      outcome.changesForRemote
        == Changeset(deletions: [2], insertions: [2], updates: [.init(from: 0, to: 0)]))
    #expect(outcome.conflicts.isEmpty && outcome.repeatedMerges == 0)
    let saved = try #require(client.disk.value)
    #expect(saved.client.text == "A1 B2 D" && saved.shadow.text == "A1 B2 D" && saved.push == nil)
  }

  @Test(arguments: [
    ("A B C", "A1 C D", "A B C", MergeConflict<Letter>.Preference.mine, "A1 C D"),
    ("A1 B1 C", "A B C D1", "A B C D", .theirs, "A1 B1 C"),
    ("A1 B1 C", "A2 B2 D E F", "A B C1", .mine, "A2 B2 C D E F"),
    ("A B C", "A B C D", "A B C", .theirs, "A B C D"),
    ("A B", "A B", "A B", .theirs, "A B"),
  ])
  func `the documented examples hold`(
    remote text: String, edited: String, shadow: String,
    preference: MergeConflict<Letter>.Preference, both: String
  ) async throws {
    let client = try await Client.inStep(shadow, remote, options: .init(prefer: preference))
    remote.contents.replace(with: Letter.list(text))
    try await client.edit(edited)
    try await client.session.synchronize()
    expectInStep(client, both)
  }

  @Test func `equal sides cause no push, save or event`() async throws {
    let client = try await Client.inStep("A B", remote)
    let recorder = RecordingObserver(client.contents)
    let outcome = try await client.session.synchronize()
    #expect(outcome.changesForClient.isEmpty && outcome.changesForRemote.isEmpty)
    #expect(client.trap.trace.value == ["fetch"])
    #expect(recorder.eventCount == 1)
  }

  @Test func `the first contents of the client go to the remote`() async throws {
    remote.contents.replace(with: Letter.list("B C"))
    let session = SynchronizationSession(
      client: ArrayDataSource(Letter.list("A B1")), remote: remote)
    #expect(session.unsynchronizedChanges.insertions == [0, 1])
    let outcome = try await session.synchronize()
    #expect(session.client.text == "A B C")
    #expect(remote.contents.text == "A B C")
    #expect(outcome.conflicts.map(\.conflict.kind) == [.added])
  }

  @Test func `observers of the client receive one change for each synchronization`() async throws {
    let client = try await Client.inStep("A B C D", remote)
    let recorder = RecordingObserver(client.contents)
    for text in ["D A1 X", "X1 Y D", ""] {
      remote.contents.replace(with: Letter.list(text))
      try await client.session.synchronize()
    }
    #expect(recorder.eventCount == 4)
    try recorder.check(against: client.contents)
  }

  @Test(.reaches(.changes), arguments: 0..<10)
  func `edits that change and exchange identities are synchronized`(
    seed: UInt64
  ) async throws {
    var editors = (0..<2).map { _ in
      RandomEditor(
        seed: seed, allowsDuplicates: false,
        kinds: [.insert, .remove, .move, .update, .replaceIdentity, .exchange])
    }
    let remote = InMemoryRemote<TestElement>()
    let clients = (0..<2).map { _ in ArrayDataSource<TestElement>([]) }
    let sessions = clients.map { SynchronizationSession(client: $0, remote: remote) }
    let recorders = clients.map { RecordingObserver($0, seed: seed) }
    clients[0].append(contentsOf: editors[0].makeElements())
    editors[1].random = SeededGenerator(seed: seed &+ 1_000)
    for _ in 0..<20 {
      for index in clients.indices { try editors[index].step(clients[index]) }
      for session in sessions + sessions { try await session.synchronize() }
      #expect(Set(clients[0].snapshot) == Set(clients[1].snapshot), "seed \(seed)")
    }
    for (recorder, client) in zip(recorders, clients) {
      try recorder.check(against: client)
      Coverage.note(recorder)
    }
  }

  @Test func `offline edits are sent when the remote is back`() async throws {
    let client = try await Client.inStep("A B C", remote)
    for text in ["A1 B C", "A1 C", "C A1 D"] {
      client.trap.at(.fetch, .before) { throw Refusal() }
      try await client.edit(text)
      let error = try await failure { try await client.session.synchronize() }
      #expect(error.code == .fetch && error.step == .fetching && error.underlying is Refusal)
      #expect(client.contents.text == text)
      #expect(client.session.shadow.text == "A B C")
    }
    remote.contents.append(Letter(key: "E", content: ""))
    try await client.session.synchronize()
    expectInStep(client, "C A1 D E")
  }

  @Test func `a resolver is called once even if the remote moves on`() async throws {
    let asked = Log<String>([])
    let client = try await Client.inStep(
      "A B C", remote,
      options: .init { conflict in
        asked.append("\(conflict.kind) \(conflict.mine?.description ?? "-")")
        return .mine
      })
    remote.contents.replace(with: Letter.list("A1 B C"))
    try await client.edit("A2 B2 C")
    client.trap.at(.push, .before) { [remote] in
      remote.contents.replace(with: Letter.list("A1 B3 C"))
    }
    let outcome = try await client.session.synchronize()
    expectInStep(client, "A2 B2 C")
    #expect(outcome.repeatedMerges == 1)
    #expect(outcome.conflicts.count == 2)
    // The conflict about A was resolved before the push. The conflict about B is new after it.
    #expect(asked.value == ["edited A2", "edited B2"])
    #expect(
      client.trap.trace.value
        == ["save", "fetch", "save", "push", "fetch", "save", "push", "save"])
  }

  @Test func `the session gives up if the remote moves on each time`() async throws {
    let client = try await Client.inStep("A", remote, options: .init(mergeLimit: 2))
    let restless = SynchronizationSession(
      remote: HookedRemote(remote) { [remote] call, moment in
        guard call == .push, moment == .before else { return }
        remote.contents.append(Letter(key: "Z", content: "\(remote.contents.count)"))
      }, options: .init(mergeLimit: 2))
    restless.client.append(Letter(key: "X", content: ""))
    let error = try await failure { try await restless.synchronize() }
    #expect(error.code == .movedOn)
    #expect(error.description.contains("each of 3 pushes"))
    #expect(restless.client.text == "X" && restless.shadow.isEmpty)
    #expect(client.contents.text == "A")
  }

  // MARK: Failures and cancellation

  @Test(arguments: [Moment.before, .after], [false, true])
  func `a failed push takes effect once`(moment: Moment, isCancelled: Bool) async throws {
    let client = try await Client.inStep("A B", remote)
    try await client.edit("A B X")
    client.trap.at(.push, moment) {
      if isCancelled { client.session.cancel() }
      throw isCancelled ? CancellationError() : Refusal()
    }
    let error = try await failure { try await client.session.synchronize() }
    #expect(error.code == (isCancelled ? .cancelled : .push))
    #expect(client.contents.text == "A B X" && client.session.shadow.text == "A B")
    #expect(client.disk.value?.push?.merged.text == "A B X")

    // Another client deletes the pushed elements, and this one continues to edit.
    remote.contents.remove(identifiedBy: "X")
    remote.contents.append(Letter(key: "Y", content: ""))
    try await client.edit("A1 B X")
    try await client.session.synchronize()
    // If the push had arrived, the element stays deleted.
    expectInStep(client, moment == .after ? "A1 B Y" : "A1 B X Y")
  }

  @Test func `an edit after a lost answer stays`() async throws {
    let client = try await Client.inStep("A B", remote)
    try await client.edit("A B X")
    client.trap.at(.push, .after) { throw Refusal() }
    _ = try await failure { try await client.session.synchronize() }
    remote.contents.append(Letter(key: "Y", content: ""))
    try await client.edit("A1 B")
    let recorder = RecordingObserver(client.contents)
    try await client.session.synchronize()
    expectInStep(client, "A1 B Y")
    #expect(recorder.eventCount == 2)
  }

  @Test func `changes of a lost answer arrive with the next change`() async throws {
    let client = try await Client.inStep("A B", remote)
    remote.contents.append(Letter(key: "R", content: ""))
    try await client.edit("A X B")
    client.trap.at(.push, .after) { throw Refusal() }
    _ = try await failure { try await client.session.synchronize() }
    #expect(remote.contents.text == "A X B R")

    // The push is accepted. Then a fetch fails, and then a push.
    try await client.edit("A X B Z")
    remote.contents.append(Letter(key: "Q", content: ""))
    let recorder = RecordingObserver(client.contents)
    for call in [Call.fetch, .push] {
      client.trap.at(call, .after) { throw Refusal() }
      _ = try await failure { try await client.session.synchronize() }
      #expect(client.contents.text == "A X B Z")
      #expect(client.session.unsynchronizedChanges.insertions.count == 1)
    }
    #expect(recorder.eventCount == 1)
    // A restart in between has all changes.
    let copy = try await Client(InMemoryRemote(), disk: Disk(client.disk.value))
    #expect(Set(copy.contents.snapshot) == Set(Letter.list("A X B Z R")))

    try await client.edit("A X B1 Z")
    try await client.session.synchronize()
    expectInStep(client, remote.contents.text)
    #expect(Set(client.contents.snapshot) == Set(Letter.list("A X B1 Z R Q")))
    // The edit and the synchronization.
    #expect(recorder.eventCount == 3)
    try recorder.check(against: client.contents)
  }

  @Test func `a remote may change pushed contents`() async throws {
    struct Sorting: SynchronizationRemote {
      let base = InMemoryRemote(Letter.list("B D"))
      func fetch(unlessAt version: Int?) async throws -> RemoteContents<Letter, Int>? {
        await base.fetch(unlessAt: version)
      }
      func push(_ push: RemotePush<Letter, Int>) async throws -> RemotePush<Letter, Int>.Answer {
        guard case .accepted = await base.push(push) else { return .outdated }
        base.contents.replace(with: base.contents.snapshot.sorted { $0.key < $1.key })
        return .accepted(nil)
      }
    }
    let session = SynchronizationSession(
      client: ArrayDataSource(Letter.list("C A")), remote: Sorting())
    for _ in 1...2 { try await session.synchronize() }
    #expect(session.client.text == "A B C D")
    #expect(session.shadow.text == "A B C D")
  }

  @Test func `a push accepted after cancellation is committed`() async throws {
    let client = try await Client.inStep("A", remote)
    try await client.edit("A X")
    client.trap.at(.push, .after) { client.session.cancel() }
    let error = try await failure { try await client.session.synchronize() }
    #expect(error.code == .cancelled)
    expectInStep(client, "A X")
    #expect(client.disk.value?.shadow.text == "A X")
    #expect(try client.session.lastOutcome.value?.get().changesForRemote.insertions == [1])
  }

  @Test func `cancellation prevents the push`() async throws {
    let client = try await Client.inStep("A", remote)
    try await client.edit("A X")
    client.trap.trace.value = []
    client.trap.at(.save, .after) { client.session.cancel() }
    let error = try await failure { try await client.session.synchronize() }
    #expect(error.code == .cancelled && error.step == nil)
    #expect(!client.trap.trace.value.contains("push"))
    try await client.session.save()
    #expect(client.disk.value?.push == nil)
    try await client.session.synchronize()
    expectInStep(client, "A X")
  }

  @Test func `canceling a wait ends only the wait`() async throws {
    let client = try await Client.inStep("A", remote)
    try await client.edit("A X")
    let (pushes, goesOn) = (Signpost(), AsyncStream<Void>.makeStream())
    client.trap.at(.push, .before) {
      pushes.open()
      for await _ in goesOn.stream { break }
    }
    let waiting = Task { try await client.session.synchronize() }
    try await Task.detached { try Worker.run { pushes.pass() } }.value
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    goesOn.continuation.finish()
    try await client.session.synchronize()
    expectInStep(client, "A X")
  }

  @Test func `a cancellation error of the remote is a failure`() async throws {
    let client = try await Client.inStep("A", remote)
    client.trap.at(.fetch, .after) { throw CancellationError() }
    #expect(try await failure { try await client.session.synchronize() }.code == .fetch)
    try await client.session.synchronize()
  }

  @Test func `a rejected push is forgotten`() async throws {
    let client = try await Client.inStep("A", remote)
    try await client.edit("A X")
    client.trap.at(.push, .before) { throw Rejection(reason: "X is forbidden") }
    let error = try await failure { try await client.session.synchronize() }
    #expect(error.code == .rejected && error.description.contains("X is forbidden"))
    try await client.edit("A Y")
    #expect(client.disk.value?.push == nil)
    try await client.session.synchronize()
    expectInStep(client, "A Y")
  }

  @Test func `a remote must return contents if the session has no version`() async throws {
    struct Senseless: SynchronizationRemote {
      func fetch(unlessAt version: Int?) async throws -> RemoteContents<Letter, Int>? { nil }
      func push(_ push: RemotePush<Letter, Int>) async throws -> RemotePush<Letter, Int>.Answer {
        .outdated
      }
    }
    let session = SynchronizationSession(remote: Senseless())
    #expect(try await failure { try await session.synchronize() }.code == .invalidAnswer)
  }

  @Test func `fetch and push are retried by the clock`() async throws {
    let clock = ManualClock()
    let client = try await Client.inStep(
      "A", remote,
      options: .init(
        retry: RetryPolicy(retries: 1, backoff: Backoff(first: .seconds(3))), clock: clock))
    try await client.edit("A X")
    client.trap.at(.fetch, .before) {
      client.trap.at(.push, .after) { throw Refusal() }
      throw Refusal()
    }
    let running = Task { try await client.session.synchronize() }
    for _ in 1...2 {
      try await clock.waitForSleepers(1)
      clock.advance(by: .seconds(3))
    }
    _ = try await running.value
    expectInStep(client, "A X")
  }

  // MARK: Edits during a synchronization

  @Test func `an edit during a push stays and is sent next`() async throws {
    let client = try await Client.inStep("A B C", remote)
    remote.contents.replace(with: Letter.list("A B C Y"))
    try await client.edit("A X B C")
    client.trap.at(.push, .after) { client.contents.replace(with: Letter.list("A X1 C")) }
    let recorder = RecordingObserver(client.contents)
    let outcome = try await client.session.synchronize()
    #expect(remote.contents.text == "A X B C Y")
    #expect(client.session.shadow.text == "A X B C Y")
    #expect(client.contents.text == "A X1 C Y")
    // The edit and the changes of the synchronization.
    #expect(recorder.eventCount == 3)
    #expect(outcome.changesForClient.insertions == [3])
    try await client.session.synchronize()
    expectInStep(client, "A X1 C Y")
    #expect(recorder.eventCount == 3)
    try recorder.check(against: client.contents)
  }

  @Test func `a conflict with an edit during a push is reported`() async throws {
    let client = try await Client.inStep("A B", remote)
    remote.contents.replace(with: Letter.list("A2 B"))
    try await client.edit("A B1")
    client.trap.at(.push, .after) { client.contents.replace(with: Letter.list("A3 B1")) }
    let outcome = try await client.session.synchronize()
    #expect(outcome.conflicts.map(\.conflict.kind) == [.edited])
    #expect(client.contents.text == "A3 B1")
    try await client.session.synchronize()
    expectInStep(client, "A3 B1")
  }

  @Test func `client and shadow change together`() async throws {
    let client = try await Client.inStep("A B", remote)
    let unequal = Log<String>([])
    let session = client.session
    let observation = client.contents.observe { [weak session] _ in
      guard let session else { return }
      let changes = session.unsynchronizedChanges
      if !changes.isEmpty { unequal.append("\(changes)") }
    }
    defer { observation.dispose() }
    for count in 1...5 {
      remote.contents[0] = Letter(key: "A", content: "\(count)")
      try await session.synchronize()
    }
    #expect(unequal.value == [])
  }

  @Test func `observers may edit and synchronize`() async throws {
    let client = try await Client.inStep("A B", remote)
    let session = client.session
    let tasks = Log<Task<Void, any Error>>([])
    let observations = [
      client.contents.observe { [weak session] event in
        guard case .change(let change) = event, change.after.count == 3 else { return }
        session?.client.append(Letter(key: "Z", content: ""))
        tasks.append(Task { _ = try await session?.synchronize() })
      },
      session.status.observe { [weak session] status in
        guard status == .synchronizing(.merging) else { return }
        session?.client.update(identifiedBy: "B") { $0.content = "9" }
      },
    ]
    remote.contents.append(Letter(key: "C", content: ""))
    try await session.synchronize()
    for task in tasks.value { try await task.value }
    try await session.synchronize()
    expectInStep(client, "A B9 C Z")
    for observation in observations { observation.dispose() }
  }

  @Test func `requests during a synchronization cause one more`() async throws {
    let client = try await Client.inStep("A", remote)
    let session = client.session
    let calls = Log<Task<Void, any Error>>([])
    client.trap.at(.fetch, .after) {
      let isAsking = AsyncStream<Void>.makeStream()
      for _ in 1...5 {
        calls.append(
          Task {
            isAsking.continuation.yield()
            try await session.synchronize()
          })
      }
      var asked = 0
      for await _ in isAsking.stream {
        asked += 1
        if asked == 5 { break }
      }
    }
    try await session.synchronize()
    for call in calls.value { try await call.value }
    #expect((2...7).contains(client.trap.trace.value.count))
    #expect(session.status.value == .idle)
  }

  // MARK: Saving

  @Test func `edits are saved at once`() async throws {
    let client = try await Client.inStep("A", remote)
    client.contents.append(Letter(key: "B", content: ""))
    try await client.session.save()
    #expect(client.disk.value?.client.text == "A B")
    #expect(client.disk.value?.shadow.text == "A")
    client.trap.trace.value = []
    try await client.session.save()
    #expect(client.trap.trace.value == [])
  }

  @Test func `a failed save is reported and the next save succeeds`() async throws {
    let (disk, isFull) = (Disk<Letter>(nil), Shared(true))
    let session = try await SynchronizationSession(
      remote: remote,
      store: HookedStore(disk) { call, _ in if call == .save, isFull.value { throw Refusal() } })
    session.client.append(Letter(key: "B", content: ""))
    #expect(try await failure { try await session.save() }.code == .save)
    #expect(session.saveFailure.value?.description.contains("HookedStore") == true)
    isFull.value = false
    try await session.save()
    #expect(disk.value?.client.text == "B")
    #expect(session.saveFailure.value == nil)
  }

  @Test func `a push that cannot be saved does not begin`() async throws {
    let client = try await Client.inStep("A", remote)
    try await client.edit("A B")
    client.trap.at(.save, .before) { throw Refusal() }
    client.trap.trace.value = []
    let error = try await failure { try await client.session.synchronize() }
    #expect(error.code == .save && error.step == .saving && error.underlying is Refusal)
    #expect(client.session.saveFailure.value?.code == .save)
    #expect(client.trap.trace.value == ["fetch", "save"])
    #expect(remote.contents.text == "A" && client.session.shadow.text == "A")
    try await client.session.synchronize()
    expectInStep(client, "A B")
  }

  @Test func `a commit stays even if it cannot be saved`() async throws {
    let client = try await Client.inStep("A", remote)
    remote.contents.append(Letter(key: "B", content: ""))
    client.trap.at(.save, .before) {
      // The save of the observer has failed. The awaited one fails, too.
      client.trap.at(.save, .before) { throw Refusal() }
      throw Refusal()
    }
    let error = try await failure { try await client.session.synchronize() }
    #expect(error.code == .save)
    expectInStep(client, "A B")
    guard case .failure(let last) = client.session.lastOutcome.value else {
      Issue.record("the last outcome is no failure")
      return
    }
    #expect(last.code == .save)
    try await client.session.save()
    #expect(client.disk.value?.client.text == "A B")
  }

  // MARK: Loading

  @Test func `a session continues from the saved state`() async throws {
    var client = try await Client.inStep("A B", remote)
    try await client.edit("A X B1")
    client = try await Client(remote, disk: client.disk)
    #expect(client.contents.text == "A X B1")
    #expect(client.session.unsynchronizedChanges.insertions == [1])
    try await client.session.synchronize()
    #expect(client.trap.trace.value == ["fetch", "save", "push", "save"])
    expectInStep(client, "A X B1")
  }

  @Test func `contents of the client before loading stay`() async throws {
    let disk = Disk<Letter>(
      SynchronizationState(
        client: Snapshot(Letter.list("A B1")), shadow: Snapshot(Letter.list("A B")), version: 7))
    let contents = ArrayDataSource<Letter>(status: .loading)
    contents.append(Letter(key: "X", content: ""))
    contents.append(Letter(key: "B", content: "5"))
    let session = try await SynchronizationSession(
      client: contents, remote: remote, store: HookedStore(disk))
    #expect(session.client === contents)
    #expect(Set(contents.snapshot) == Set(Letter.list("A B1 X")))
    #expect(contents.status == .loaded)
    try await session.save()
    #expect(disk.value?.client.count == 3)
  }

  @Test func `a store that cannot be read stays unchanged`() async throws {
    let trace = Log<String>([])
    let store = HookedStore<Letter>(Disk(nil)) { call, _ in
      trace.append(call.rawValue)
      throw Refusal()
    }
    let error = try await failure {
      try await SynchronizationSession(remote: remote, store: store)
    }
    #expect(error.code == .load && error.underlying is Refusal)
    #expect(error.description.contains("stays unchanged"))
    #expect(trace.value == ["load"])
  }

  // MARK: Lifetime

  @Test func `an unreferenced session is released`() async throws {
    let contents = ArrayDataSource(Letter.list("A"))
    let disk = Disk<Letter>(nil)
    weak var gone: SynchronizationSession<InMemoryRemote<Letter>>?
    do {
      let session = try await SynchronizationSession(
        client: contents, remote: remote, store: HookedStore(disk))
      try await session.synchronize()
      gone = session
    }
    #expect(gone == nil)
    let saved = disk.value?.client.text
    contents.append(Letter(key: "B", content: ""))
    #expect(disk.value?.client.text == saved)
  }

  @Test func `releasing a running session cancels its run`() async throws {
    let contents = ArrayDataSource(Letter.list("A"))
    let (fetches, ends) = (Signpost(), Signpost())
    let hooked = HookedRemote(remote) { call, moment in
      guard call == .fetch, moment == .before else { return }
      fetches.open()
      // Wait for the cancellation.
      for await _ in AsyncStream<Void>.makeStream().stream {}
      #expect(Task.isCancelled)
      ends.open()
      try Task.checkCancellation()
    }
    do {
      let session = SynchronizationSession(client: contents, remote: hooked)
      let waiting = Task { [weak session] in try await session?.synchronize() }
      try await Task.detached { try Worker.run { fetches.pass() } }.value
      waiting.cancel()
      _ = try? await waiting.value
    }
    try await Task.detached { try Worker.run { ends.pass() } }.value
    #expect(remote.contents.count == 0)
  }

  @Test func `two sessions on one remote converge`() async throws {
    let clients = [try await Client.inStep("A B", remote), try await Client.inStep("A B", remote)]
    try await clients[0].edit("A1 B X")
    try await clients[1].edit("Y B1 A")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in clients { group.addTask { try await client.session.synchronize() } }
      try await group.waitForAll()
    }
    for client in clients { try await client.session.synchronize() }
    for client in clients { expectInStep(client, remote.contents.text) }
    #expect(Set(remote.contents.snapshot) == Set(Letter.list("A1 B1 X Y")))
  }
}
