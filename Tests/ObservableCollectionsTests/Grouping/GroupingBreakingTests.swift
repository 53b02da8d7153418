import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Groupings that are used at awkward moments, and keys that lie.
@Suite(.tags(.concurrency)) struct GroupingBreakingTests {
  private typealias Index = LiveIndex<Int, TestElement>

  // MARK: Asking for groups

  @Test func `keys that are asked for inside an observer are up to date`() throws {
    var editor = RandomEditor<TestElement>(seed: 5)
    let items = Items(editor.makeElements())
    let index = items.indexed { $0.content }
    let made = Log<
      (key: Int, source: LiveCollection<TestElement>, RecordingObserver<TestElement>)
    >()
    let wrong = Shared(0)
    let late = Shared<Index?>(nil)
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

  @Test func `the closure that returns keys may ask for groups and edit the source`() throws {
    try Worker.run {
      let items = Items((0..<40).map { TestElement($0, $0 % 4) })
      let index = Shared<Index?>(nil)
      let calls = Shared(0)
      let key: @Sendable (TestElement) -> Int = { [weak items] element in
        let number = calls.modify {
          $0 += 1; return $0
        }
        if number > 40, number % 7 == 0, number < 400 {
          items?.append(TestElement(1_000 + number, number % 6))
          _ = index.value?[number % 8].snapshot.count
        }
        return element.content
      }
      index.value = items.indexed(by: key)
      let sections = items.sections(by: key)
      let recorder = RecordingObserver(sections)
      let held = index.value?[2]
      for step in 0..<60 {
        items[step % 40].content = step % 5
        items.append(TestElement(5_000 + step, step % 6))
      }
      #expect(held?.snapshot.map(\.id) == items.snapshot.filter { $0.content == 2 }.map(\.id))
      let expected = GroupingTests.sections(Array(items.snapshot)) { $0.content }
      #expect(sections.snapshot.hasSameContents(as: Snapshot(expected)))
      #expect(throws: Never.self) { try recorder.check(against: sections) }
      index.value = nil
    }
  }

  // MARK: Lifetimes

  @Test func `an observer may hold its own group and let go of it`() {
    let items = Items([TestElement(1, 1)])
    let events = Shared(0)
    weak var group: LiveCollection<TestElement>?
    let observation = Shared<Disposable?>(nil)
    do {
      let elements = items.grouped { $0.content }.snapshot[0].elements
      group = elements
      observation.value = elements.observe { event in
        events.modify { $0 += 1 }
        #expect(elements.count == event.snapshot.count)
        if event.snapshot.count == 3 { observation.exchange(nil)?.dispose() }
      }
    }
    for id in 2..<6 { items.append(TestElement(id, 1)) }
    #expect(events.value == 3 && group == nil)
  }

  @Test func `everything may be released inside an observer of a group`() throws {
    for releasing in 0..<3 {
      let items = Items((0..<20).map { TestElement($0, $0 % 4) })
      struct Held: Sendable {
        var sections: LiveCollection<ListSection<Int, TestElement>>?
        var groups: LiveCollection<Index.Group>?
        var index: Index?
        var collections: [LiveCollection<TestElement>] = []
        var observations: [Disposable] = []
      }
      let held = Shared(Held())
      let index = items.indexed { $0.content }
      held.modify { held in
        held.sections = items.sections { $0.content }
        held.groups = items.grouped { $0.content }
        held.index = index
        held.collections = (0..<4).map { index[$0] }
      }
      weak let sections = held.value.sections
      @Sendable func release(_ event: CollectionEvent<TestElement>) {
        if case .change = event { held.exchange(Held()) }
      }
      let sources: [LiveCollection<TestElement>] = [
        items.collection, held.value.collections[2], index[2].filter { $0.id > 3 },
      ]
      let observation = sources[releasing].observe(release)
      held.modify { $0.observations = $0.collections.map { $0.observe { _ in } } }
      items.append(TestElement(30, 2))
      #expect(held.value.collections.isEmpty)
      items.transaction { draft in for offset in 0..<draft.count { draft[offset].content = 3 } }
      #expect(index[3].count == 21 && index[2].isEmpty)
      #expect(sections == nil)
      observation.dispose()
    }
  }

  @Test func `a grouping is released with its last user`() {
    let released = Shared(0)
    let items = Items((0..<20).map { TestElement($0, $0 % 4) })
    do {
      let token = Token { released.modify { $0 += 1 } }
      let key: @Sendable (TestElement) -> Int = { element in
        withExtendedLifetime(token) {}
        return element.content
      }
      var groups: LiveCollection<Index.Group>? = items.grouped(by: key)
      var group = groups?.snapshot.first
      var elements: LiveCollection<TestElement>? = group?.elements
      groups = nil
      items.append(TestElement(30, 0))
      #expect(elements?.count == 6 && group?.elements === elements)
      group = nil
      items.append(TestElement(31, 0))
      #expect(elements?.count == 7)
      let observation = elements?.observe { _ in }
      elements = nil
      items.removeAll()
      #expect(released.value == 0)
      observation?.dispose()
    }
    #expect(released.value == 1)
    #expect(!items.collection.node.isFollowed)
  }

  @Test func `groups of a released list share one new grouping`() throws {
    let (calls, isArmed) = (Shared(0), Shared(false))
    let kept = Shared<Index.Group?>(nil)
    let other = Shared<LiveCollection<TestElement>?>(nil)
    let items = Items((0..<1_000).map { TestElement($0, $0 % 100) })
    let key: @Sendable (TestElement) -> Int = { element in
      calls.modify { $0 += 1 }
      if isArmed.exchange(false) { try? Worker.run { other.value = kept.value?.elements } }
      return element.content
    }
    let counts = items.grouped(by: key).snapshot.map { $0.elements.count }
    #expect(counts == Array(repeating: 10, count: 100) && calls.value == 2_000)
    kept.value = items.grouped(by: key).snapshot.first
    let elements = try #require(kept.value?.elements)
    // Another thread, and the closure that returns keys, ask for the same group.
    isArmed.value = true
    items.append(TestElement(1_000, 0))
    #expect(elements.count == 11 && calls.value == 4_001)
    let isSame = elements === other.value
    #expect(isSame)
    (kept.value, other.value) = (nil, nil)
  }

  @Test func `a group of a released list keeps no element that has gone`() {
    final class Content: Sendable {}
    struct Item: Differentiable, Sendable {
      let id: Int
      let content: Content
      var differenceIdentifier: Int { id }
      func isContentEqual(to source: Item) -> Bool { content === source.content }
    }
    weak var first: Content?
    var group: LiveIndex<Int, Item>.Group?
    let items: ArrayDataSource<Item>
    do {
      let content = Content()
      first = content
      items = ArrayDataSource([Item(id: 1, content: content), Item(id: 2, content: Content())])
      group = items.grouped(by: \.id).snapshot.last
    }
    items.removeAll()
    #expect(first == nil && group?.key == 2)
    group = nil
  }

  @Test func `a group stays equal while its number of elements does`() throws {
    let items = Items((0..<20).map { TestElement($0, $0 % 4) })
    let groups = items.grouped { $0.content }
    let recorder = RecordingObserver(groups)
    let elements = try #require(groups.snapshot.first).elements
    let elementRecorder = RecordingObserver(elements)
    let followers = groups.map { TestElement($0.key, $0.count) }
    let domain = items.collection.node.domain
    let before = domain.visits
    items.transaction { draft in
      draft.remove(at: 0)
      draft.insert(TestElement(30, 0), at: 0)
    }
    // The groups, and the elements of the first one.
    #expect(domain.visits - before == 2)
    items.move(from: 0, to: 1)
    #expect(elements.snapshot.map(\.id) == [30, 4, 8, 12, 16])
    // The groups, and what follows them: the move changes only the order of the groups.
    #expect(domain.visits - before == 4)
    #expect(recorder.eventCount == 2 && followers.count == 4)
    items.transaction { draft in
      draft[0].content = 2
      draft[1].content = 1
    }
    #expect(groups.snapshot.map(\.count) == [6, 5, 5, 4])
    try elementRecorder.check(against: elements)
    try recorder.check(against: groups)
  }

  @Test func `a group that was released is found again with its elements`() {
    let items = Items((0..<300).map { TestElement($0, $0) })
    let index = items.indexed { $0.content }
    for round in 0..<4 {
      for key in 0..<300 { #expect(index[key].snapshot.map(\.id) == [key]) }
      // Emptied groups are forgotten when many others come.
      items.removeAll()
      items.replace(with: (0..<300).map { TestElement($0 + 1_000 * (round + 1), $0 + 1_000) })
      items.replace(with: (0..<300).map { TestElement($0, $0) })
    }
  }

  /// An observer whose changes are merged sees a group end and another one with the same key begin.
  @Test func `merged changes over a group that ended and began again lead to its elements`() {
    typealias Model = ArraySection<Int, TestElement>
    let items = Items([TestElement(-1, -1)])
    let jobs = Log<@Sendable () -> Void>()
    let wrong = Shared(0)
    let observation = items.sections { $0.content }
      .observe(on: Scheduler { work in jobs.append(work) }) { event in
        guard case .change(let change) = event else { return }
        let (before, after) = (
          change.before.map { Model(model: $0.key, elements: $0.elements) },
          change.after.map { Model(model: $0.key, elements: $0.elements) }
        )
        if change.sectionedChangeset().applying(to: before, with: after) != after {
          wrong.modify { $0 += 1 }
        }
      }
    /// Many keys come and go, so that unused groups are removed.
    func useOtherKeys(_ count: Int) {
      for key in 10..<10 + count {
        items.append(TestElement(key, key))
        items.remove(at: items.count - 1)
      }
    }
    for round in 0..<150 {
      useOtherKeys(80)
      items.append(TestElement(round, 5))
      for job in jobs.exchangeAll() { job() }
      items.remove(at: 1)
      useOtherKeys(40 + round % 70)
      items.append(TestElement(round + 1_000, 5))
      items.append(TestElement(round + 2_000, 5))
      for job in jobs.exchangeAll() { job() }
      items.removeSubrange(1..<items.count)
    }
    #expect(wrong.value == 0)
    observation.dispose()
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

extension Shared {
  /// Returns all entries, and removes them.
  fileprivate func exchangeAll<Entry>() -> [Entry] where Value == [Entry] {
    modify { entries in
      defer { entries = [] }
      return entries
    }
  }
}
