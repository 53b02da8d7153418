import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import Synchronization
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct RecordingObserverTests {
  private typealias Event = CollectionEvent<TestElement>

  private func change(
    _ before: [TestElement], _ after: [TestElement], _ changeset: Changeset? = nil,
    from revisionBefore: Int = 0, to revision: Int = 1
  ) -> CollectionEvent<TestElement> {
    .change(
      CollectionChange(
        before: Snapshot(before), after: Snapshot(after), revisionBefore: revisionBefore,
        revision: revision, changeset: changeset ?? Changeset(from: before, to: after)))
  }

  /// The rules that some events break.
  private func rules(
    _ events: CollectionEvent<TestElement>..., replaysEvery: Int? = 1
  ) -> [String] {
    let recorder = RecordingObserver<TestElement>(replaysEvery: replaysEvery)
    for event in events { recorder.receive(event) }
    return recorder.violations.map(\.rule)
  }

  // MARK: Each rule is seen to be broken

  @Test func `correct events break no rule`() {
    let three: [TestElement] = [1, 2, 3]
    #expect(
      rules(
        .initial(Snapshot(three), revision: 4), change(three, [3, 1], from: 4, to: 5),
        change([3, 1], [3, TestElement(1, 1)], from: 5, to: 9)) == [])
  }

  @Test func `a change before the initial breaks E1`() {
    #expect(rules(change([], [1])) == ["E1"])
  }

  @Test func `a second initial breaks E1`() {
    #expect(rules(.initial([], revision: 0), .initial([], revision: 0)) == ["E1"])
  }

  @Test func `a revision that does not follow the previous one breaks E2`() {
    #expect(rules(.initial([], revision: 0), change([], [1], from: 1, to: 2)) == ["E2"])
  }

  @Test func `a revision that does not grow breaks E2`() {
    #expect(rules(.initial([], revision: 1), change([], [1], from: 1, to: 1)) == ["E2"])
  }

  @Test func `a snapshot before the change that is not the previous one breaks E2`() {
    #expect(rules(.initial([1], revision: 0), change([2], [2, 3])) == ["E2"])
  }

  @Test func `an empty change breaks E3`() {
    #expect(rules(.initial([1], revision: 0), change([1], [1])) == ["E3", "E3"])
  }

  @Test func `equal contents before and after break E3`() {
    let twins = Changeset(moves: [.init(from: 1, to: 0)])
    #expect(rules(.initial([1, 1], revision: 0), change([1, 1], [1, 1], twins)) == ["E3"])
  }

  @Test func `a changeset that leads elsewhere breaks E4 and E5`() {
    let wrong = Changeset(deletions: [0])
    #expect(rules(.initial([1, 2], revision: 0), change([1, 2], [1], wrong)) == ["E4", "E5"])
  }

  @Test func `an update left out breaks E4`() {
    let after = [TestElement(1, 1), 2, 3]
    let wrong = Changeset(insertions: [2])
    #expect(rules(.initial([1, 2], revision: 0), change([1, 2], after, wrong)).contains("E4"))
  }

  @Test func `offsets out of bounds break C1, C2, C3 and C4`() {
    let initial = Event.initial([1, 2], revision: 0)
    #expect(rules(initial, change([1, 2], [1], Changeset(deletions: [2]))) == ["C1"])
    #expect(rules(initial, change([1, 2], [1, 2, 3], Changeset(insertions: [3]))) == ["C2"])
    let move = Changeset(moves: [.init(from: 2, to: 0)])
    #expect(rules(initial, change([1, 2], [2, 1], move)) == ["C3"])
    let update = Changeset(updates: [.init(from: 2, to: 2)])
    #expect(rules(initial, change([1, 2], [1, 3], update)) == ["C4"])
  }

  @Test func `more moves than needed break C3`() {
    let moves = Changeset(moves: [.init(from: 1, to: 0), .init(from: 0, to: 1)])
    #expect(rules(.initial([1, 2], revision: 0), change([1, 2], [2, 1], moves)) == ["C3"])
  }

  @Test func `an update of equal content breaks C4`() {
    let changeset = Changeset(insertions: [1], updates: [.init(from: 0, to: 0)])
    #expect(rules(.initial([1], revision: 0), change([1], [1, 2], changeset)) == ["C4"])
  }

  @Test func `counts that do not fit break C5`() {
    #expect(
      rules(.initial([1], revision: 0), change([1], [1, 2, 3], Changeset(insertions: [1])))
        == ["C5"])
  }

  @Test func `an identity deleted and inserted breaks C7`() {
    let changeset = Changeset(deletions: [0], insertions: [1])
    #expect(rules(.initial([1, 2], revision: 0), change([1, 2], [2, 1], changeset)) == ["C7"])
  }

  @Test func `a call inside a call breaks T3`() {
    let recorder = RecordingObserver<Meddler>()
    let isArmed = Atomic<Bool>(true)
    let meddler = Meddler(id: 1, content: 1) {
      if isArmed.exchange(false, ordering: .relaxed) { recorder.receive(.initial([], revision: 0)) }
    }
    let before = [Meddler(id: 1, content: 0) {}]
    recorder.receive(.initial(Snapshot(before), revision: 0))
    recorder.receive(
      .change(
        CollectionChange(
          before: Snapshot(before), after: [meddler], revisionBefore: 0, revision: 1,
          changeset: Changeset(updates: [.init(from: 0, to: 0)]))))
    #expect(recorder.violations.first?.rule == "T3")
  }

  @Test func `contents that differ from the source break E4`() {
    let source = ArrayDataSource<TestElement>([1])
    let recorder = RecordingObserver(source, seed: 42)
    recorder.dispose()
    source.append(2)
    let violation = #expect(throws: ContractError.self) {
      try recorder.check(against: source)
    }
    #expect(violation?.rule == "E4")
    #expect(
      violation?.description == """
        E4: the events do not lead to the contents of the source, but to 1 elements instead of 2; \
        the change from the expected contents:
        - [1] 2
        1 deleted (seed 42, step 1)
        """)
  }

  @Test func `contents of the right length that differ are no number instead of the same one`() {
    let source = ArrayDataSource<TestElement>([1, 2])
    let recorder = RecordingObserver(source, seed: 42)
    recorder.dispose()
    source.move(from: 0, to: 1)
    let violation = #expect(throws: ContractError.self) {
      try recorder.check(against: source)
    }
    #expect(
      violation?.description == """
        E4: the events do not lead to the contents of the source, but to other elements, or another \
        order; the change from the expected contents:
        > [0] → [1] 2
        1 moved (seed 42, step 1)
        """)
  }

  @Test func `an error describes the difference in limited length`() {
    let before = (0..<10_000).map { TestElement($0) }
    var after = before
    after.swapAt(0, 9_999)
    for index in 5..<9_000 { after[index].content = 1 }
    let recorder = RecordingObserver<TestElement>()
    recorder.receive(.initial(Snapshot(before), revision: 0))
    recorder.receive(change(before, after, Changeset(updates: [.init(from: 5, to: 5)])))
    #expect(recorder.violations.map(\.rule) == ["E4", "E5"])
    for violation in recorder.violations {
      #expect(violation.message.contains("~ [6] 6: content: 1 → 0\n"))
      #expect(violation.message.contains("8994 updated, 2 moved"))
      #expect(violation.message.utf8.count < 2_000)
    }
  }

  @Test func `a revision missed at the end breaks E2`() {
    let source = ArrayDataSource<TestElement>([1])
    let recorder = RecordingObserver(source)
    recorder.dispose()
    source.append(2)
    source.remove(at: 1)
    let violation = #expect(throws: ContractError.self) {
      try recorder.check(against: source)
    }
    #expect(violation?.rule == "E2")
  }

  // MARK: How much is checked and kept

  @Test func `deferred replays are checked at the end`() {
    let wrong = change([1, 2], [1], Changeset(deletions: [0]))
    #expect(rules(.initial([1, 2], revision: 0), wrong, replaysEvery: nil) == ["E4", "E5"])
    #expect(rules(.initial([1, 2], revision: 0), wrong, replaysEvery: 2) == [])
    #expect(rules(.initial([1, 2], revision: 0), wrong, replaysEvery: 1) == ["E4", "E5"])
  }

  @Test func `older events are dropped above the limit`() throws {
    let source = ArrayDataSource<TestElement>()
    let recorder = RecordingObserver(source, replaysEvery: nil, keeps: 3)
    for id in 0..<10 { source.append(TestElement(id)) }
    #expect(recorder.events.map(\.revision) == [8, 9, 10])
    #expect(recorder.eventCount == 11)
    try recorder.check(against: source)
  }

  // MARK: Waiting

  @Test func `a recorder waits for events of other threads`() async throws {
    let source = ArrayDataSource<TestElement>()
    let recorder = RecordingObserver(source)
    let editing = Task.detached { for id in 0..<100 { source.append(TestElement(id)) } }
    try await recorder.wait(forEvents: 50)
    try await recorder.wait(forContents: (0..<100).map { TestElement($0) })
    await editing.value
    try recorder.check(against: source)
    #expect(recorder.changes.count == 100)
  }

  @Test func `waiting ends at the timeout with a description of the contents`() async {
    let source = ArrayDataSource<TestElement>([7])
    let recorder = RecordingObserver(source)
    let timeout = await #expect(throws: TimeoutError.self) {
      try await recorder.wait(forEvents: 2, timeout: .milliseconds(1))
    }
    #expect(timeout?.description.contains("[7]") == true)
    #expect(throws: TimeoutError.self) { try blockForASecondEvent(recorder) }
  }

  private func blockForASecondEvent(_ recorder: RecordingObserver<TestElement>) throws {
    try recorder.waitBlocking(forEvents: 2, timeout: .milliseconds(1))
  }

  @Test func `waiting ends when the task is canceled`() async {
    let recorder = RecordingObserver(ArrayDataSource<TestElement>())
    let task = Task { try await recorder.wait(forEvents: 2) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `merged changes may skip revisions`() async throws {
    let source = ArrayDataSource<TestElement>()
    let work = Locked<[@Sendable () -> Void]>([])
    let recorder = RecordingObserver(
      source, on: DeliveryScheduler { job in work.withLock { $0.append(job) } })
    func run() {
      while let job = work.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
    }
    run()
    for id in 0..<5 { source.append(TestElement(id)) }
    run()
    #expect(recorder.changes.map(\.revision) == [5])
    try recorder.check(against: source)
  }
}

/// Does something when it is compared.
private struct Meddler: Differentiable, Sendable {
  let id: Int
  let content: Int
  let onComparison: @Sendable () -> Void

  var differenceIdentifier: Int { id }

  func isContentEqual(to source: Meddler) -> Bool {
    onComparison()
    return content == source.content
  }
}
