import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rule T1, one collection on one thread.
@Suite struct TransactionTests {
  /// The compiler checks this.
  @Test func `the result of a transaction may be discarded`() {
    let items = Items([1, 2, 3])
    items.transaction { $0.remove(at: 0) }
    withTransaction { items.remove(at: 0) }
    #expect(items.snapshot.map(\.id) == [3])
  }

  @Test func `several edits are one revision and one event`() throws {
    let items = Items([1, 2])
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      draft.append(3)
      draft.remove(at: 0)
      draft[0].content = 7
    }
    #expect(recorder.events.map(\.brief) == ["0:[1, 2]", "0-1:[2.7, 3]"])
    try recorder.check(against: items)
  }

  @Test(arguments: 0..<6) func `a transaction without a net change is no event`(edit: Int) {
    let items = Items([1, 2, 3, 1])
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      switch edit {
      case 0: draft.insert(draft.remove(at: 1), at: 1)
      case 1:
        draft[1].content = 5
        draft[1].content = 0
      case 2:
        draft.move(from: 0, to: 2)
        draft.move(from: 2, to: 0)
      case 3:
        // Two equal elements are exchanged.
        draft.move(from: 3, to: 0)
        draft.move(from: 1, to: 3)
      case 4:
        let all = draft.elements
        draft.removeAll()
        draft.append(contentsOf: all)
      default:
        draft.insert(9, at: 2)
        draft.remove(at: 2)
      }
    }
    #expect(Array(items.snapshot) == [1, 2, 3, 1])
    #expect(recorder.eventCount == 1)
    #expect(items.revision == 0)
  }

  @Test func `only the draft shows uncommitted edits`() {
    let items = Items([1])
    items.transaction { draft in
      draft.append(2)
      #expect(draft.elements == [1, 2])
      #expect(Array(items.snapshot) == [1])
      #expect(items.count == 1)
      #expect(RecordingObserver(items).events.map(\.brief) == ["0:[1]"])
    }
    #expect(Array(items.snapshot) == [1, 2])
  }

  @Test func `an observer created inside a transaction receives its commit`() throws {
    let items = Items([1])
    let recorder = items.transaction { draft in
      draft.append(2)
      return RecordingObserver(items)
    }
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]"])
  }

  @Test func `nested transactions and edits join the outer transaction`() {
    let items = Items([1])
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      draft.append(2)
      items.append(3)
      items.transaction { inner in
        #expect(inner.elements == [1, 2, 3])
        inner.remove(at: 0)
      }
      #expect(draft.elements == [2, 3])
      #expect(recorder.eventCount == 1)
    }
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[2, 3]"])
  }

  @Test func `a body that throws changes nothing`() {
    let items = Items([1])
    let recorder = RecordingObserver(items)
    #expect(throws: Refusal()) {
      try items.transaction { draft in
        draft.removeAll()
        throw Refusal()
      }
    }
    #expect(Array(items.snapshot) == [1])
    #expect(recorder.eventCount == 1)
    items.append(2)
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]"])
  }

  @Test func `a nested body that throws rolls back its own part if the error is caught`() {
    let items = Items([1])
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      draft.append(2)
      #expect(throws: Refusal()) {
        try items.transaction { inner in
          inner.removeAll()
          draft.append(9)
          throw Refusal()
        }
      }
      #expect(draft.elements == [1, 2])
      draft.append(3)
    }
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2, 3]"])
  }

  @Test func `an error thrown through both bodies rolls back everything`() {
    let items = Items([1])
    let recorder = RecordingObserver(items)
    #expect(throws: Refusal()) {
      try items.transaction { draft in
        draft.append(2)
        try items.transaction { inner in
          inner.append(3)
          throw Refusal()
        }
      }
    }
    #expect(Array(items.snapshot) == [1])
    #expect(recorder.eventCount == 1)
  }

  @Test func `a status set inside a body that throws is rolled back`() {
    let items = Items([1])
    #expect(throws: Refusal()) {
      try items.transaction { _ in
        items.setStatus(.loading)
        throw Refusal()
      }
    }
    #expect(items.status == .loaded)
  }

  @Test func `another collection edited inside a transaction delivers immediately`() {
    let (one, other) = (Items([1]), Items([7]))
    let recorder = RecordingObserver(other)
    one.transaction { _ in
      other.append(8)
      #expect(recorder.events.map(\.brief) == ["0:[7]", "0-1:[7, 8]"])
    }
  }

  @Test func `a draft used after its transaction traps`() async {
    await #expect(processExitsWith: .failure) {
      let items = ArrayDataSource([1])
      var escaped: CollectionDraft<Int>?
      items.transaction { escaped = $0 }
      escaped?.append(2)
    }
  }

  @Test(.reaches(.changes)) func `random nested transactions keep the contract`() throws {
    for seed in UInt64(0)..<40 {
      var editor = RandomEditor(
        seed: seed, kinds: RandomEdit.allCases + [.nest, .nestAndThrow, .cancelOut])
      let items = Items([])
      let recorder = RecordingObserver(items, seed: seed)
      for _ in 0..<50 { try editor.step(items) }
      try recorder.check(against: items)
      Coverage.note(recorder)
    }
  }
}

/// Rule T1, for several collections.
@Suite struct SeveralCollectionsTests {
  private let one = Items([1])
  private let other = Items([7])

  @Test func `both collections are committed before any observer is called`() {
    let seen = Log<String>([])
    let bag = DisposeBag()
    one.observe { [other] _ in seen.append("\(other.snapshot)") }.store(in: bag)
    withTransaction {
      one.append(2)
      other.append(8)
      one.append(3)
      #expect(Array(one.snapshot) == [1])
    }
    #expect(seen.value == ["[7]", "[7, 8]"])
    #expect(one.revision == 1)
  }

  @Test func `an assignment to a part of an element begins with the edited element`() {
    let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 0)])
    func fail(_ element: inout TestElement) throws {
      element.content += 100
      throw Refusal()
    }
    list.transaction { draft in
      list[0].content = 5
      list[0].content += 1
      #expect(draft[0].content == 6 && list[0].content == 0)
      draft.move(from: 1, to: 0)
      list[0].content = 7
      #expect(throws: Refusal()) { try fail(&list[1]) }
    }
    #expect(Array(list.snapshot) == [TestElement(2, 7), TestElement(1, 106)])
    withTransaction {
      list[0].content += 1
      list.remove(at: 0)
      list[0].content += 1
    }
    #expect(Array(list.snapshot) == [TestElement(1, 107)])
    list[0].content += 1
    #expect(list[0] == TestElement(1, 108) && list.revision == 3)
  }

  @Test func `a change of a part goes to the element that was read, wherever it is then`() {
    func change(_ element: inout TestElement, _ edits: () -> Void) {
      edits()
      element.content = 9
    }
    let list = ArrayDataSource<TestElement>()
    /// Returns the contents after edits that are made while an element is being changed.
    func contents(
      _ elements: [TestElement], at index: Int, _ edits: () -> Void
    ) -> [TestElement] {
      list.replace(with: elements)
      change(&list[index], edits)
      let alone = Array(list.snapshot)
      list.replace(with: elements)
      list.transaction { _ in change(&list[index], edits) }
      #expect(Array(list.snapshot) == alone)
      list.replace(with: elements)
      list.transaction { draft in change(&draft[index], edits) }
      #expect(Array(list.snapshot) == alone)
      return alone
    }
    let (one, two) = (TestElement(1, 0), TestElement(2, 0))
    #expect(contents([one, two], at: 0) { list.insert(3, at: 0) } == [3, TestElement(1, 9), two])
    #expect(contents([one, two], at: 0) { list.move(from: 0, to: 1) } == [two, TestElement(1, 9)])
    #expect(contents([one, two], at: 1) { list.remove(at: 0) } == [TestElement(2, 9)])
    // The element is gone.
    #expect(contents([one, two], at: 0) { list.remove(at: 0) } == [two])
    #expect(contents([one, two], at: 1) { list.remove(at: 1) } == [one])
    #expect(contents([one, two], at: 1) { list[1] = 3 } == [one, 3])
    #expect(contents([one], at: 0) { list.removeAll() } == [])
    // Another element has the same identity.
    let other = TestElement(1, 5)
    #expect(contents([one], at: 0) { list.insert(other, at: 0) } == [other, TestElement(1, 9)])
    #expect(contents([one, other], at: 1) { list.remove(at: 0) } == [TestElement(1, 9)])
    #expect(contents([one, other], at: 0) { list.remove(at: 0) } == [other])
    let last = TestElement(1, 7)
    #expect(
      contents([one], at: 0) {
        list.insert(other, at: 0)
        list[1] = last
      } == [other, TestElement(1, 9)])
    #expect(
      contents([one, other], at: 0) {
        list.remove(at: 0)
        list[0] = last
      } == [last])
    #expect(contents([one, two, one], at: 2) { list.remove(at: 2) } == [one, two])
    #expect(contents([one, one], at: 0) { list.remove(at: 0) } == [one])
    #expect(
      contents([one, two, one], at: 0) { list.move(from: 0, to: 1) }
        == [two, TestElement(1, 9), one])
    // Another element has the identity now.
    #expect(
      contents([one], at: 0) {
        list[0] = two
        list.append(last)
      } == [two, last])
    // Edits that are rolled back do not count.
    #expect(
      contents([one, two], at: 1) {
        try? list.transaction { draft in
          draft.remove(at: 1)
          draft.insert(other, at: 0)
          throw Refusal()
        }
      } == [one, TestElement(2, 9)])
    list.replace(with: [one, two])
    swap(&list[1], &list[0])
    #expect(Array(list.snapshot) == [two, one])
    list.transaction { draft in swap(&draft[0], &draft[1]) }
    #expect(Array(list.snapshot) == [one, two])
  }

  @Test func `a change of a part in a long list goes to the element that was read`() {
    let list = ArrayDataSource((0..<3000).map { TestElement($0, 0) })
    func change(_ element: inout TestElement, _ edits: () -> Void) {
      edits()
      element.content = 9
    }
    change(&list[2000]) {
      list.removeSubrange(10..<20)
      list.insert(contentsOf: [-1, -2], at: 5)
      list.move(from: 2500, to: 3)
      list[2].content = 4
    }
    #expect(list.snapshot.indices.filter { list[$0].content == 9 } == [1993])
    #expect(list[1993] == TestElement(2000, 9))
  }

  @Test func `elements that other threads insert are not overwritten`() async {
    let list = ArrayDataSource([TestElement(0, 0)])
    await withTaskGroup { group in
      for thread in 0..<4 {
        group.addTask {
          for step in 0..<500 {
            if thread == 0 {
              list[list.count - 1].content += 1
            } else {
              list.insert(TestElement(1 + thread * 1000 + step, 0), at: 0)
            }
          }
        }
      }
    }
    let ids = Set((1...3).flatMap { thread in (0..<500).map { 1 + thread * 1000 + $0 } }).union([0])
    #expect(list.count == 1501 && Set(list.snapshot.map(\.id)) == ids)
    #expect(list.snapshot.reduce(0) { $0 + $1.content } == 500)
  }

  @Test func `a body that throws changes neither collection`() {
    let recorders = [RecordingObserver(one), RecordingObserver(other)]
    #expect(throws: Refusal()) {
      try withTransaction {
        one.append(2)
        other.transaction { $0.removeAll() }
        throw Refusal()
      }
    }
    #expect(Array(one.snapshot) == [1] && Array(other.snapshot) == [7])
    #expect(recorders.map(\.eventCount) == [1, 1])
    one.append(4)
    other.append(9)
    #expect(recorders.map(\.eventCount) == [2, 2])
  }

  @Test func `a nested transaction that throws rolls back its own part`() {
    withTransaction {
      one.append(2)
      #expect(throws: Refusal()) {
        try withTransaction {
          one.append(3)
          other.append(8)
          throw Refusal()
        }
      }
      other.append(9)
    }
    #expect(Array(one.snapshot) == [1, 2])
    #expect(Array(other.snapshot) == [7, 9])
  }

  @Test func `a nested transaction that ends is rolled back with the outer one`() {
    #expect(throws: Refusal()) {
      try withTransaction {
        one.append(2)
        withTransaction {
          one.append(3)
          other.append(8)
        }
        #expect(Array(other.snapshot) == [7])
        throw Refusal()
      }
    }
    #expect(Array(one.snapshot) == [1] && Array(other.snapshot) == [7])
  }

  @Test func `a transaction of one collection that throws rolls back only that collection`() {
    withTransaction {
      _ = #expect(throws: Refusal()) {
        try one.transaction { draft in
          draft.append(2)
          other.append(8)
          throw Refusal()
        }
      }
    }
    #expect(Array(one.snapshot) == [1])
    #expect(Array(other.snapshot) == [7, 8])
  }

  @Test func `a transaction joins an open draft and leaves it open`() {
    let recorder = RecordingObserver(one)
    one.transaction { draft in
      draft.append(2)
      withTransaction {
        one.append(3)
        other.append(8)
      }
      #expect(Array(other.snapshot) == [7, 8])
      #expect(Array(one.snapshot) == [1])
      draft.append(4)
    }
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2, 3, 4]"])
  }

  @Test func `a transaction that throws rolls back its part of an open draft`() {
    one.transaction { draft in
      draft.append(2)
      #expect(throws: Refusal()) {
        try withTransaction {
          one.append(3)
          withTransaction { one.append(4) }
          throw Refusal()
        }
      }
      #expect(draft.elements == [1, 2])
    }
    #expect(Array(one.snapshot) == [1, 2])
  }

  @Test func `edits through an open draft are rolled back, too`() {
    one.transaction { draft in
      draft.append(2)
      #expect(throws: Refusal()) {
        try withTransaction {
          draft.append(3)
          throw Refusal()
        }
      }
      #expect(draft.elements == [1, 2])
    }
  }

  @Test func `a boundary over both collections sends one event`() throws {
    let joined = one.concatenated(with: other)
    let recorder = RecordingObserver(joined)
    withTransaction {
      one.append(2)
      other.remove(at: 0)
      one.append(3)
      other.append(8)
    }
    #expect(recorder.events.map(\.brief) == ["0:[1, 7]", "0-1:[1, 2, 3, 8]"])
    try recorder.check(against: joined)
  }

  @Test
  func `an element that goes from one collection to the other moves in the boundary`() throws {
    let joined = one.concatenated(with: other)
    let recorder = RecordingObserver(joined)
    withTransaction { other.append(one.remove(at: 0)) }
    let change = try #require(recorder.changes.first)
    #expect(change.changeset.deletions.isEmpty && change.changeset.insertions.isEmpty)
    #expect(change.changeset.moves.count == 1)
  }

  @Test func `each boundary of a chain sends one event`() throws {
    let third = Items([9])
    let inner = one.concatenated(with: other)
    let outer = third.concatenated(with: inner, other.filter { $0.id > 7 })
    let recorders = [RecordingObserver(inner), RecordingObserver(outer)]
    withTransaction {
      third.append(10)
      one.append(2)
      other.append(8)
    }
    #expect(recorders[0].events.map(\.brief) == ["0:[1, 7]", "0-1:[1, 2, 7, 8]"])
    #expect(
      recorders[1].events.map(\.brief) == ["0:[9, 1, 7]", "0-1:[9, 10, 1, 2, 7, 8, 8]"])
    for recorder in recorders { try recorder.check() }
  }

  @Test func `an edit without a net effect sends nothing`() {
    let recorders = [RecordingObserver(one), RecordingObserver(other)]
    withTransaction {
      one.append(2)
      one.remove(at: 1)
      other.append(8)
    }
    #expect(recorders.map(\.eventCount) == [1, 2])
  }

  @Test func `edits made by observers reach boundaries immediately`() throws {
    let third = Items([9])
    let inner = third.concatenated(with: Items([10]))
    let outer = one.concatenated(with: other)
    let recorders = [RecordingObserver(inner), RecordingObserver(outer)]
    let seen = Log<[Int]>([])
    let observation = one.observe { event in
      guard case .change = event else { return }
      third.append(11)
      withTransaction { _ = third.remove(at: 0) }
      seen.append(recorders.map(\.eventCount))
    }
    withTransaction {
      one.append(2)
      other.append(8)
    }
    #expect(seen.value == [[3, 1]])
    #expect(recorders[1].events.map(\.brief) == ["0:[1, 7]", "0-1:[1, 2, 7, 8]"])
    observation.dispose()
    for recorder in recorders { try recorder.check() }
  }

  @Test func `a transaction inside an observer joins the queue`() throws {
    let recorder = RecordingObserver(other)
    let observation = one.observe { [one, other] event in
      guard case .change = event, event.revision == 1 else { return }
      withTransaction {
        one.append(3)
        other.append(8)
      }
    }
    one.append(2)
    #expect(Array(one.snapshot) == [1, 2, 3])
    #expect(recorder.snapshot.map(\.id) == [7, 8])
    observation.dispose()
  }

  @Test func `edits of the first event of an observer do not join a transaction of its thread`() {
    let (property, log) = (Property(0), Items([]))
    try? withTransaction {
      _ = property.observe { log.append(TestElement($0, 0)) }
      throw Refusal()
    }
    #expect(log.count == 1)
  }

  @Test func `a transaction that throws inside an observer rolls back its own part`() {
    let (input, number, items) = (SignalInput<Int>(), Property(0), Items([]))
    let observation = input.signal.observe { _ in
      try? withTransaction {
        number.value = 2
        items.append(TestElement(2, 0))
        throw Refusal()
      }
    }
    withTransaction {
      number.value = 1
      items.append(TestElement(1, 0))
      input.send(0)
    }
    #expect(number.value == 1)
    #expect(items.snapshot.map(\.id) == [1])
    withExtendedLifetime(observation) {}
  }

  @Test func `a transaction is one event behind a chain of joins over both roots`() {
    // Each join waits for the one before it, so the cost grows faster than the chain.
    let (items, other) = (Items([TestElement(1, 1)]), Items([]))
    var last = items.concatenated(with: other)
    for _ in 1..<(TestRun.isLong ? 200 : 30) { last = last.concatenated(with: other) }
    let events = RecordingObserver(last)
    let start = ContinuousClock.now
    withTransaction {
      items.append(TestElement(2, 2))
      other.append(TestElement(3, 3))
    }
    print("a chain of joins: \(ContinuousClock.now - start)")
    #expect(events.changes.count == 1)
  }
}
