import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rules G1 and G2: sources whose changes a guard may refuse.
@Suite struct GuardedSourceTests {
  private let source = Items([1, 2, 3, 4])
  private let guarded: ChangeGuard<TestElement>.Source
  private let recorder: RecordingObserver<TestElement>

  init() {
    guarded = source.guarded(by: .deletions(atMost: .percent(50)))
    recorder = RecordingObserver(guarded)
  }

  private var pending: ChangeGuard<TestElement>.PendingChange? { guarded.pendingChange.value }

  private func check() throws {
    try recorder.check(against: guarded)
    #expect(guarded.snapshot.hasSameContents(as: source.snapshot))
  }

  @Test func `changes that the guard allows pass`() throws {
    source.append(5)
    source.remove(at: 0)
    #expect(
      recorder.events.map(\.brief) == ["0:[1, 2, 3, 4]", "0-1:[1, 2, 3, 4, 5]", "1-2:[2, 3, 4, 5]"])
    #expect(pending == nil)
    try check()
  }

  @Test func `a refused change is pending, and accepting it shows the latest contents`() throws {
    source.replace(with: [4])
    #expect(recorder.eventCount == 1)
    #expect(pending?.reason == "3 of 4 elements would be deleted; the limit is 50 percent")
    source.append(5)
    source.append(6)
    #expect(recorder.eventCount == 1)
    #expect(pending?.change.changeset.insertions == [1, 2])
    pending?.accept()
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3, 4]", "0-1:[4, 5, 6]"])
    #expect(pending == nil)
    try check()
  }

  @Test func `a later state that the guard allows shows itself`() throws {
    source.replace(with: [])
    #expect(pending != nil)
    source.replace(with: [2, 1, 9])
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3, 4]", "0-1:[2, 1, 9]"])
    #expect(pending == nil)
    try check()
  }

  @Test func `contents that are restored are no event`() {
    source.replace(with: [])
    source.replace(with: [1, 2, 3, 4])
    #expect(recorder.eventCount == 1 && pending == nil)
    source.append(5)
    #expect(recorder.events.last?.brief == "0-1:[1, 2, 3, 4, 5]")
  }

  @Test func `a rejected change is forgotten, and the next one is judged as a whole`() throws {
    source.replace(with: [4])
    let refused = try #require(pending)
    refused.reject()
    #expect(pending == nil && recorder.eventCount == 1)
    // Both calls come too late.
    refused.accept()
    refused.reject()
    #expect(recorder.eventCount == 1)
    source.append(5)
    #expect(pending?.change.changeset.deletions == [0, 1, 2])
    #expect(pending?.change.changeset.insertions == [1])
    source.append(contentsOf: [1, 2])
    #expect(recorder.events.last?.brief == "0-1:[4, 5, 1, 2]")
  }

  @Test func `the first load is never refused`() {
    let late = Items(status: .loading)
    let guarded = late.guarded(by: .changes(atMost: .elements(1)))
    #expect(guarded.status == .loading)
    late.publish([1, 2, 3], status: .loaded)
    #expect(guarded.count == 3 && guarded.status == .loaded)
    late.replace(with: [])
    #expect(guarded.count == 3 && guarded.pendingChange.value != nil)
  }

  @Test(arguments: [(1e300, "1e+300"), (12.5, "12.5"), (-1, "-1"), (.nan, "nan")])
  func `a limit of any size can refuse a change`(percent: Double, text: String) {
    let empty = Items([])
    let guarded = empty.guarded(by: .changes(atMost: .percent(percent)))
    empty.append(1)
    #expect(
      guarded.pendingChange.value?.reason
        == "1 elements would change, and 0 are shown; the limit is \(text) percent")
  }

  @Test func `the status is that of the source, also while a change is pending`() {
    source.replace(with: [])
    source.setStatus(.failed(SourceError(code: "gone", message: "it is gone")))
    #expect(guarded.status.error?.code == "gone")
    #expect(guarded.count == 4 && pending != nil)
  }

  @Test func `a transaction over several sources is judged as one change`() {
    let other = Items([1, 2])
    let all = source.concatenated(with: other)
    let guarded = all.guarded(by: .count(atLeast: 5))
    let recorder = RecordingObserver(guarded)
    withTransaction {
      source.remove(at: 0)
      other.append(7)
    }
    #expect(recorder.events.last?.brief == "0-1:[2, 3, 4, 1, 2, 7]")
    withTransaction {
      source.remove(at: 0)
      other.remove(at: 0)
    }
    #expect(recorder.eventCount == 2)
    #expect(guarded.pendingChange.value?.reason == "4 elements would be left; the limit is 5")
  }

  @Test func `the pending change is known in the pass that refuses it`() {
    let seen = Shared<[String]>([])
    let observation = guarded.pendingChange.observe { [guarded] change in
      seen.append("\(change?.change.changeset.deletions.count ?? 0), shown \(guarded.count)")
    }
    source.replace(with: [4])
    pending?.accept()
    #expect(seen.value == ["0, shown 4", "3, shown 4", "0, shown 1"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an observer of the pending change may accept it`() throws {
    let observation = guarded.pendingChange.observe { $0?.accept() }
    source.replace(with: [4])
    #expect(recorder.events.last?.brief == "0-1:[4]")
    #expect(pending == nil)
    try check()
    withExtendedLifetime(observation) {}
  }

  @Test(.reaches("deletion", "insertion", "update", "acceptance", "rejection"))
  func `random edits and decisions keep the contract`() throws {
    for seed in 1...30 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let source = Items((0..<8).map { TestElement($0) })
      let guarded = source.guarded(
        by: .all([.deletions(atMost: .percent(30)), .count(atLeast: 3)]))
      let recorder = RecordingObserver(guarded)
      for step in 0..<200 {
        let pending = guarded.pendingChange.value
        switch random.below(8) {
        case 0:
          if pending != nil { Coverage.note("acceptance") }
          pending?.accept()
        case 1:
          if pending != nil { Coverage.note("rejection") }
          pending?.reject()
        case 2: source.replace(with: (0..<random.below(9)).map { TestElement($0, step) })
        case 3...4: source.append(TestElement(100 + step))
        default: if source.count > 0 { source.remove(at: random.below(source.count)) }
        }
        if let pending = guarded.pendingChange.value {
          #expect(pending.change.before.hasSameContents(as: guarded.snapshot))
          #expect(pending.change.after.hasSameContents(as: source.snapshot))
        }
      }
      guarded.pendingChange.value?.accept()
      source.append(TestElement(9_999))
      guarded.pendingChange.value?.accept()
      try recorder.check(against: guarded)
      Coverage.note(recorder)
      #expect(guarded.snapshot.hasSameContents(as: source.snapshot))
    }
  }

  @Test func `a guarded source keeps its source alive, and is released`() {
    var guarded: ChangeGuard<TestElement>.Source? = Items([1, 2, 3]).guarded(by: .count(atLeast: 2))
    weak let left = guarded
    weak let collection = guarded?.collection
    #expect(guarded?.count == 3)
    guarded = nil
    #expect(left == nil && collection == nil)
  }

  @Test(.timeLimit(.minutes(10)))
  func `the pending change of a guarded source goes with its contents`() throws {
    let source = Items([1, 2])
    let property = source.guarded(by: .count(atLeast: 2)).pendingChange
    source.remove(at: 0)
    try #require(property.value).accept()
    #expect(property.value == nil)
    let guarded = source.guarded(by: .count(atLeast: 1))
    let log = Log<String>()
    let contents = guarded.observe { [pending = guarded.pendingChange] event in
      log.append("\(event.snapshot.count) \(pending.value != nil)")
    }
    let observation = guarded.pendingChange.observe { [guarded] change in
      log.append("\(guarded.count) \(change != nil)")
    }
    source.remove(at: 0)
    guarded.pendingChange.value?.accept()
    #expect(Set(log.value) == ["1 false", "1 true", "0 false"])
    contents.dispose()
    observation.dispose()
  }

  @Test(.timeLimit(.minutes(10))) func `an earlier pending change does not accept a later one`()
    throws
  {
    let source = Items([1, 2, 3, 4])
    let guarded = source.guarded(by: .count(atLeast: 2))
    let recorder = RecordingObserver(guarded)
    source.replace(with: [1])
    let stale = try #require(guarded.pendingChange.value)
    source.replace(with: [1, 2, 3, 4])
    #expect(guarded.pendingChange.value == nil)
    source.replace(with: [])
    stale.reject()
    #expect(guarded.pendingChange.value != nil)
    stale.accept()
    #expect(recorder.eventCount == 1)
    try #require(guarded.pendingChange.value).accept()
    #expect(guarded.isEmpty)
  }

  @Test(.timeLimit(.minutes(10))) func `inside an observer, the first of two decisions counts`()
    throws
  {
    for isAccepted in [false, true] {
      let source = Items([1, 2])
      let guarded = source.guarded(by: .count(atLeast: 2))
      source.remove(at: 0)
      let pending = try #require(guarded.pendingChange.value)
      let observation = guarded.observe { event in
        guard case .initial = event else { return }
      }
      let deciding = source.observe { event in
        guard case .change = event else { return }
        if isAccepted { pending.accept() }
        pending.reject()
        if !isAccepted { pending.accept() }
      }
      source.update(at: 0) { $0 = TestElement($0.id, 1) }
      #expect(guarded.count == (isAccepted ? 1 : 2))
      #expect(guarded.pendingChange.value == nil)
      observation.dispose()
      deciding.dispose()
    }
  }

  @Test(.timeLimit(.minutes(10))) func `observers that come and go do not release what is refused`()
    throws
  {
    let source = Items([1, 2])
    let guarded = source.guarded(by: .count(atLeast: 2))
    guarded.observe { _ in }.dispose()
    source.remove(at: 0)
    guarded.observe { _ in }.dispose()
    #expect(guarded.count == 2 && guarded.pendingChange.value != nil)
    let later = guarded.filter { _ in true }
    #expect(later.count == 2)
    source.update(at: 0) { $0 = TestElement($0.id, 7) }
    #expect(later.count == 2)
    #expect(guarded.pendingChange.value?.change.after.map(\.content) == [7])
  }

  @Test(.timeLimit(.minutes(10)))
  func `a transaction over a refused and another source shows the other one`() throws {
    let (source, other) = (Items([1, 2]), Items([3]))
    let guarded = source.guarded(by: .count(atLeast: 2))
    let both = guarded.concatenated(with: other)
    let recorder = RecordingObserver(both)
    withTransaction {
      source.remove(at: 0)
      other.append(4)
    }
    #expect(both.snapshot.map(\.id) == [1, 2, 3, 4] && recorder.eventCount == 2)
    withTransaction {
      guarded.pendingChange.value?.accept()
      other.append(5)
    }
    #expect(both.snapshot.map(\.id) == [2, 3, 4, 5])
    try recorder.check(against: both)
  }

  @Test(.timeLimit(.minutes(10))) func `a guard may accept and reject while it is asked`() {
    let source = Items([1, 2])
    let property = Shared<ReadOnlyProperty<ChangeGuard<TestElement>.PendingChange?>?>(nil)
    let guarded = source.guarded(
      by: ChangeGuard { change in
        property.value?.value?.accept()
        return change.after.count < 2 ? "too few" : nil
      })
    property.value = guarded.pendingChange
    source.remove(at: 0)
    #expect(guarded.count == 2)
    source.update(at: 0) { $0 = TestElement($0.id, 1) }
    #expect(guarded.count == 1 && guarded.pendingChange.value == nil)
    property.value = nil
  }
}

/// Rule G1, while threads change the source, accept and reject.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct GuardedSourceConcurrencyTests {
  @Test(.reaches("deletion", "insertion"))
  func `a refused state is never visible, whatever happens meanwhile`() throws {
    let source = Items((0..<20).map { TestElement($0) })
    let edits = RecordingObserver(counting: source)
    let guarded = source.guarded(by: .count(atLeast: 10))
    let recorder = RecordingObserver(guarded)
    let faults = Shared<[Int]>([])
    let observation = guarded.observe { event in
      if event.snapshot.count < 10 { faults.append(event.snapshot.count) }
    }
    let editing = (0..<2).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for n in 0..<1_000 {
          source.transaction { draft in
            if random.oneIn(2), draft.count > 0 {
              draft.remove(at: random.below(draft.count))
            } else {
              draft.append(TestElement(1_000 * (number + 1) + n))
            }
          }
        }
      }
    }
    let rejecting = Worker {
      for _ in 0..<2_000 { guarded.pendingChange.value?.reject() }
    }
    for worker in editing + [rejecting] { try worker.join() }
    #expect(faults.value == [])
    source.replace(with: (0..<12).map { TestElement($0) })
    try recorder.check(against: guarded)
    Coverage.note(edits)
    #expect(guarded.snapshot.hasSameContents(as: source.snapshot))
    withExtendedLifetime(observation) {}
  }

  @Test func `a guarded source accepts and rejects while it changes`() throws {
    let source = Items([1, 2, 3])
    let guarded = source.guarded(by: .count(atLeast: 3))
    let recorder = RecordingObserver(guarded)
    for round in 0..<TestRun.rounds(300, long: 5_000) {
      let workers = [
        Worker { source.replace(with: [TestElement(round)]) },
        Worker { guarded.pendingChange.value?.accept() },
        Worker { guarded.pendingChange.value?.reject() },
      ]
      for worker in workers { try worker.join() }
      source.append(contentsOf: [TestElement(-1), TestElement(-2)])
    }
    #expect(guarded.snapshot.map(\.id) == source.snapshot.map(\.id))
    #expect(guarded.pendingChange.value == nil)
    try recorder.check(against: guarded)
  }
}
