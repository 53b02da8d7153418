import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Sections, groups and indexes: rules O1 to O8 and X1.
@Suite struct GroupingTests {
  typealias Section = ListSection<Int, TestElement>

  /// The sections of a list, in terms of arrays.
  static func sections(
    _ elements: [TestElement], ordered: Bool = false, _ key: (TestElement) -> Int
  ) -> [Section] {
    var keys: [Int] = []
    for element in elements where !keys.contains(key(element)) { keys.append(key(element)) }
    if ordered { keys.sort() }
    return keys.map { name in
      Section(key: name, elements: elements.filter { key($0) == name })
    }
  }

  @Test(.reaches(.changes), arguments: [false, true]) func `sections follow their input`(
    ordered: Bool
  ) throws {
    let calls = Shared(0)
    try checkOperator(
      { source in
        source.sections(
          by: {
            calls.value += 1
            return $0.content % 4
          }, order: ordered ? .ascending(\.self) : nil)
      }, is: { Self.sections($0, ordered: ordered) { $0.content % 4 } },
      seeds: 0..<(TestRun.isLong ? 40 : 14), steps: 40, calls: { calls.value })
  }

  @Test(.reaches(.changes)) func `groups follow their input`() throws {
    try checkOperator(
      { $0.grouped(by: { $0.content % 3 }).map { TestElement($0.key, $0.count) } },
      is: {
        Self.sections($0) { $0.content % 3 }.map { TestElement($0.key, $0.elements.count) }
      })
  }

  @Test(arguments: [false, true])
  func `each change between short lists with repeated identities`(ordered: Bool) {
    let lists = everyList(upTo: 3, of: [TestElement(1, 0), TestElement(1, 1), TestElement(2, 0)])
    for old in lists {
      for new in lists {
        let items = Items(old)
        let sections = items.sections(
          by: { $0.id + $0.content }, order: ordered ? .descending(\.self) : nil)
        items.replace(with: new)
        var expected = Self.sections(new) { $0.id + $0.content }
        if ordered { expected.sort { $0.key > $1.key } }
        #expect(sections.snapshot.hasSameContents(as: Snapshot(expected)), "\(old) to \(new)")
      }
    }
  }

  @Test func `an element whose key changes moves to another section`() throws {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1)])
    let changes = Shared<[SectionedChangeset]>([])
    let observation = items.sections(by: \.content).observe { event in
      if case .change(let change) = event { changes.value.append(change.sectionedChangeset()) }
    }
    items[1].content = 1
    let change = try #require(changes.value.first)
    let (from, to) = (
      SectionedChangeset.Path(section: 0, element: 1),
      SectionedChangeset.Path(section: 1, element: 0)
    )
    #expect(
      change
        == SectionedChangeset(
          elementMoves: [.init(from: from, to: to)], elementUpdates: [.init(from: from, to: to)]))
    items.removeSubrange(1..<3)
    #expect(changes.value.last == SectionedChangeset(sections: .init(deletions: [1])))
    #expect(changes.value.count == 2)
    observation.dispose()
  }

  @Test func `an element moves only between sections that are kept`() {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1)])
    let changes = Shared<[SectionedChangeset]>([])
    let observation = items.sections(by: \.content, order: .ascending { $0 }).observe { event in
      if case .change(let change) = event { changes.value.append(change.sectionedChangeset()) }
    }
    // The section 2 is inserted with the element.
    items[1].content = 2
    // The section 0 is deleted, and its element enters the section 1.
    items[0].content = 1
    #expect(
      changes.value == [
        SectionedChangeset(
          sections: Changeset(insertions: [2]),
          elementDeletions: [SectionedChangeset.Path(section: 0, element: 1)]),
        SectionedChangeset(
          sections: Changeset(deletions: [0]),
          elementInsertions: [SectionedChangeset.Path(section: 0, element: 0)]),
      ])
    observation.dispose()
  }

  @Test(
    .reaches("section: deletion", "section: insertion", .changes(of: ["element"])),
    arguments: 0..<20 as Range<UInt64>)
  func `the changes of sections lead from each contents to the next`(seed: UInt64) throws {
    typealias Model = ArraySection<Int, TestElement>
    @Sendable func models(_ sections: Snapshot<Section>) -> [Model] {
      sections.map { Model(model: $0.key, elements: $0.elements) }
    }
    var editor = RandomEditor(seed: seed, allowsDuplicates: seed.isMultiple(of: 2))
    let items = Items(editor.makeElements())
    let sections = items.sections(by: { $0.content % 5 }, order: .ascending(\.self))
    let shown = Shared<[Model]>([])
    let wrong = Shared(0)
    let queue = Shared<[@Sendable () -> Void]>([])
    let merged = Shared<[Model]>([])
    let observations = [
      sections.observe { event in
        if case .change(let change) = event {
          let changeset = change.sectionedChangeset()
          Coverage.note(changeset)
          let next = changeset.applying(to: models(change.before), with: models(change.after))
          if next != models(change.after) || models(change.before) != shown.value {
            wrong.value += 1
          }
        }
        shown.value = models(event.snapshot)
      },
      sections.observe(on: DeliveryScheduler { work in queue.value.append(work) }) { event in
        if case .change(let change) = event {
          let next = change.sectionedChangeset().applying(
            to: merged.value, with: models(change.after))
          if next != models(change.after) { wrong.value += 1 }
        }
        merged.value = models(event.snapshot)
      },
    ]
    for step in 0..<60 {
      try editor.step(items)
      if step % 4 == 3 {
        let jobs = queue.value
        queue.value = []
        for job in jobs { job() }
        #expect(merged.value == models(sections.snapshot))
      }
      #expect(shown.value == models(sections.snapshot))
    }
    #expect(wrong.value == 0)
    for observation in observations { observation.dispose() }
  }

  @Test(.reaches(.changes), arguments: 0..<20 as Range<UInt64>)
  func `the collection of each key follows the input`(seed: UInt64) throws {
    var editor = RandomEditor(seed: seed, allowsDuplicates: seed.isMultiple(of: 2))
    let items = Items(editor.makeElements())
    let index = items.indexed { $0.content % 6 }
    var held = [index[0], index[1], index[5], index[77]]
    let keys = [0, 1, 5, 77]
    let recorders = held.map { RecordingObserver($0, seed: seed) }
    for step in 0..<60 {
      if step % 10 == 9 { items.removeAll() }
      try editor.step(items)
      for (key, collection) in zip(keys, held) {
        let expected = Array(items.snapshot).filter { $0.content % 6 == key }
        #expect(collection.snapshot.hasSameContents(as: Snapshot(expected)))
        #expect(index[key] === collection)
      }
      let late = index[step % 6]
      #expect(
        late.snapshot.hasSameContents(
          as: Snapshot(Array(items.snapshot).filter { $0.content % 6 == step % 6 })))
    }
    for (recorder, collection) in zip(recorders, held) {
      try recorder.check(against: collection)
      Coverage.note(recorder)
    }
    held = []
  }

  @Test func `a change in a group visits no node of the other groups`() {
    let items = Items((0..<100_000).map { TestElement($0, $0 % 1_000) })
    let index = items.indexed { $0.content }
    let counts = Shared(Array(repeating: 0, count: 10))
    let observations = (0..<10).map { key in
      index[key].observe { event in if case .change = event { counts.value[key] += 1 } }
    }
    let domain = items.collection.node.domain
    let before = domain.visits
    items[500].content = 999
    // The index alone.
    #expect(domain.visits - before == 1)
    items[7].content = 8
    // The index, and the groups that the element has left and entered.
    #expect(domain.visits - before == 4)
    #expect(counts.value == [0, 0, 0, 0, 0, 0, 0, 1, 1, 0])
    for observation in observations { observation.dispose() }
  }

  @Test func `the collection of an emptied group is filled again`() throws {
    let items = Items([TestElement(1, 1)])
    let groups = items.grouped { $0.content }
    let group = try #require(groups.snapshot.first)
    let elements = group.elements
    let recorder = RecordingObserver(elements)
    items.removeAll()
    #expect(groups.isEmpty)
    #expect(elements.isEmpty)
    for key in 2..<300 { items.append(TestElement(key, key)) }
    items.append(TestElement(2, 1))
    #expect(elements.snapshot.map(\.id) == [2])
    #expect(group.elements === elements)
    try recorder.check(against: elements)
  }

  @Test func `groups show the status of their source`() {
    let items = Items([], status: .loading)
    let index = items.indexed { $0.content }
    let (one, two) = (index[1], index[2])
    #expect(!one.state.hasLoaded)
    items.publish([TestElement(1, 1)], status: .loaded)
    #expect(one.status == .loaded && two.status == .loaded && two.state.hasLoaded)
    #expect(one.count == 1 && two.isEmpty)
  }

  @Test func `a list of groups and its elements follow the status, with and without a change`()
    throws
  {
    let error = SourceError(code: "gone", message: "it is gone")
    let items = Items([TestElement(1, 1), TestElement(2, 1)], status: .loading)
    let groups = items.grouped(by: \.content)
    let elements = try #require(groups.snapshot.first).elements
    let steps = Shared<[SourceStatus]>([])
    let observation = elements.observeStatus { status in steps.modify { $0.append(status) } }
    #expect(groups.status == .loading && elements.status == .loading && elements.count == 2)
    items.publish([TestElement(1, 1), TestElement(2, 1), TestElement(3, 1)], status: .loaded)
    #expect(groups.status == .loaded && groups.snapshot.map(\.count) == [3] && elements.count == 3)
    items.setStatus(.failed(error))
    #expect(groups.status == .failed(error) && elements.status == .failed(error))
    items.removeAll()
    #expect(groups.isEmpty && elements.isEmpty && elements.state.hasLoaded)
    #expect(steps.value == [.loading, .loaded, .failed(error)])
    observation.dispose()
  }

  @Test func `equal keys that are not equal to themselves are one section`() {
    let items = Items((0..<6).map { TestElement($0, $0) })
    let sections = items.sections { $0.content % 2 == 0 ? Double.nan : Double($0.content) }
    #expect(sections.count == 4)
    items[1].content = 8
    #expect(sections.snapshot.map(\.elements.count) == [4, 1, 1])
    items.removeAll()
    #expect(sections.isEmpty)
  }

  @Test func `keys that nobody holds are forgotten`() {
    weak var index: AnyObject?
    do {
      let items = Items([])
      let groups = items.indexed { $0.content }
      for key in 0..<1_000 {
        items.append(TestElement(key, key))
        items.removeAll()
        #expect(groups[key].isEmpty)
      }
      index = groups[5]
    }
    #expect(index == nil)
  }

  // MARK: Asking for groups

  @Test(.reaches("deletion", "insertion"))
  func `keys that are asked for inside an observer are up to date`() throws {
    var editor = RandomEditor<TestElement>(seed: 5)
    let items = Items(editor.makeElements())
    let index = items.indexed { $0.content }
    let made = Log<
      (key: Int, source: LiveCollection<TestElement>, RecordingObserver<TestElement>)
    >()
    let wrong = Shared(0)
    let late = Shared<LiveIndex<Int, TestElement>?>(nil)
    let observation = items.observe { event in
      // One index exists before this observer, and one is made after it.
      for index in [index, late.value].compactMap({ $0 }) {
        let key = event.revision % 5
        let collection = index[key]
        let expected = Snapshot(event.snapshot.filter { $0.content == key })
        if !collection.snapshot.hasSameContents(as: expected) { wrong.modify { $0 += 1 } }
        made.append((key, collection, RecordingObserver(collection, keeps: 3)))
      }
    }
    late.value = items.indexed { $0.content }
    for _ in 0..<60 { try editor.step(items) }
    for (key, source, recorder) in made.value {
      #expect(source.snapshot.elementsEqual(items.snapshot.filter { $0.content == key }))
      try recorder.check(against: source)
      Coverage.note(recorder)
    }
    #expect(wrong.value == 0 && made.value.count > 60)
    observation.dispose()
  }

  @Test func `a key that is asked for inside a transaction shows what is committed`() throws {
    let items = Items([TestElement(1, 1)])
    let index = items.indexed { $0.content }
    let made = items.transaction { draft in
      draft.append(TestElement(2, 1))
      draft.append(TestElement(3, 8))
      let made = [index[1], index[8]]
      #expect(made.map { $0.snapshot.map(\.id) } == [[1], []])
      return made
    }
    let recorders = made.map { RecordingObserver($0) }
    #expect(made.map { $0.snapshot.map(\.id) } == [[1, 2], [3]])
    items.removeAll()
    for (collection, recorder) in zip(made, recorders) { try recorder.check(against: collection) }
  }

  // MARK: Many and strange keys

  @Test func `there may be as many groups as elements`() throws {
    let count = TestRun.isLong ? 1_000_000 : 20_000
    let items = Items((0..<count).map { TestElement($0, $0) })
    let groups = items.grouped(by: \.content, order: .descending(\.self))
    #expect(groups.count == count && groups.snapshot[0].key == count - 1)
    let last = groups.snapshot[0].elements
    items[3].content = count - 1
    #expect(last.snapshot.map(\.id) == [3, count - 1] && groups.count == count - 1)
    items.transaction { draft in
      for offset in 0..<draft.count { draft[offset].content = offset % 3 }
    }
    #expect(groups.snapshot.map(\.key) == [2, 1, 0] && last.isEmpty)
    items.removeAll()
    #expect(groups.isEmpty)
  }

  @Test(arguments: [0, 1, 2]) func `keys that lie lose no element and stop nothing`(kind: Int) {
    let calls = Shared(0)
    let items = Items((0..<300).map { TestElement($0, $0 % 40) })
    let key: @Sendable (TestElement) -> LyingKey = {
      LyingKey(value: $0.content, lie: kind, calls: calls)
    }
    let sections = items.sections(by: key)
    let ordered = items.sections(by: key, order: .ascending(\.value))
    let index = items.indexed(by: key)
    let held = (0..<10).map { index[LyingKey(value: $0, lie: kind, calls: calls)] }
    for step in 0..<200 {
      items.transaction { draft in
        draft.remove(at: step * 7 % draft.count)
        draft.append(TestElement(1_000 + step, step % 50))
        draft[step % draft.count].content = step % 13
        if step % 40 == 0 {
          for offset in 0..<60 { draft[offset].content = (step + offset) % 9 }
        }
      }
      let ids = items.snapshot.map(\.id).sorted()
      #expect(sections.snapshot.flatMap { $0.elements.map(\.id) }.sorted() == ids)
      #expect(ordered.snapshot.flatMap { $0.elements.map(\.id) }.sorted() == ids)
    }
    withExtendedLifetime(held) {}
  }
}

/// A key whose hash values, or answers to comparisons, change from call to call.
private struct LyingKey: Hashable, Sendable {
  let value: Int
  let lie: Int
  let calls: Shared<Int>

  private var isLie: Bool {
    calls.modify {
      $0 += 1; return $0 % 5 == 0
    }
  }

  static func == (one: LyingKey, other: LyingKey) -> Bool {
    if one.lie == 2, one.isLie { return false }
    if one.lie == 1, one.isLie { return true }
    return one.value == other.value
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(lie == 0 && isLie ? 0 : value % 3)
  }
}
