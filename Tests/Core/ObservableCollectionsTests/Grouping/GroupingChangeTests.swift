import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Every change between short lists for sections, groups and indexes, and changes of every size: rules O1, O8, X1 and X2.
@Suite struct GroupingChangeTests {
  private typealias Model = ArraySection<Int, TestElement>
  private typealias Section = ListSection<Int, TestElement>

  /// Sections, groups and collections of keys over one list, and everything that observes them.
  private final class Watch {
    let key: @Sendable (TestElement) -> Int
    let items = Items([])
    let sections: [(source: LiveCollection<Section>, isOrdered: Bool)]
    let groups: LiveCollection<LiveIndex<Int, TestElement>.Group>
    let held: [(key: Int, source: LiveCollection<TestElement>)]
    private let recorders: [RecordingObserver<Section>]
    private let heldRecorders: [RecordingObserver<TestElement>]
    private let groupRecorder: RecordingObserver<TestElement>
    private let observations = DisposeBag()
    private let problems = Log<String>()

    init(
      keys: [Int],
      key: @escaping @Sendable (TestElement) -> Int
    ) {
      self.key = key
      sections = [
        (items.sections(by: key), false),
        (items.sections(by: key, order: .ascending(\.self)), true),
      ]
      groups = items.grouped(by: key)
      let index = items.indexed(by: key)
      held = keys.map { ($0, index[$0]) }
      recorders = sections.map { RecordingObserver($0.source, keeps: 3) }
      heldRecorders = held.map { RecordingObserver($0.source, keeps: 3) }
      groupRecorder = RecordingObserver(groups.map { TestElement($0.key, $0.count) }, keeps: 3)
      for (source, _) in sections { watch(source) }
    }

    /// Checks that each change of the sections and their elements leads to the next contents.
    private func watch(_ source: LiveCollection<Section>) {
      source.observe { [problems] event in
        guard case .change(let change) = event else { return }
        let models = [change.before, change.after].map { sections in
          sections.map { Model(model: $0.key, elements: $0.elements) }
        }
        let changeset = change.sectionedChangeset()
        if changeset.applying(to: models[0], with: models[1]) != models[1] {
          problems.append("\(changeset) does not lead from \(models[0]) to \(models[1])")
        }
        let isEmpty = change.after.contains { $0.elements.isEmpty }
        if isEmpty { problems.append("a section of \(models[1]) is empty") }
      }.store(in: observations)
    }

    /// What is wrong with the present contents.
    var problem: String? {
      let elements = Array(items.snapshot)
      for (source, isOrdered) in sections {
        let expected = GroupingTests.sections(elements, ordered: isOrdered, key)
        if !source.snapshot.hasSameContents(as: Snapshot(expected)) {
          return "the sections are \(source.snapshot) and not \(expected)"
        }
      }
      let expected = GroupingTests.sections(elements, key)
      if groups.snapshot.map(\.key) != expected.map(\.key)
        || groups.snapshot.map(\.count) != expected.map(\.elements.count)
      {
        return "the groups are \(groups.snapshot.map { ($0.key, $0.count) })"
      }
      for (name, source) in held {
        let expected = Snapshot(elements.filter { key($0) == name })
        if !source.snapshot.hasSameContents(as: expected) {
          return "the elements of \(name) are \(source.snapshot) and not \(expected)"
        }
      }
      return problems.value.first
    }

    func finish() throws {
      try groupRecorder.check()
      for (recorder, section) in zip(recorders, sections) {
        try recorder.check(against: section.source)
        Coverage.note(recorder, of: "sections")
      }
      for (recorder, collection) in zip(heldRecorders, held) {
        try recorder.check(against: collection.source)
        Coverage.note(recorder, of: "elements")
      }
    }
  }

  /// Elements whose keys change so often that everything is built anew.
  private func filling(_ number: Int) -> [TestElement] {
    (100..<120).map { TestElement($0, 10 + ($0 + number) % 3) }
  }

  private func check(_ lists: [[TestElement]], rebuilds: Bool) throws {
    let watch = Watch(keys: [0, 1, 7]) { $0.content }
    // An ordinary run takes one of seven changes.
    let stride = TestRun.isLong ? 1 : 7
    for (position, before) in lists.enumerated() {
      for (number, after) in lists.enumerated() where (number + position) % stride == 0 {
        watch.items.replace(with: before + (rebuilds ? filling(number) : []))
        watch.items.replace(with: after + (rebuilds ? filling(number + 1) : []))
        if let problem = watch.problem {
          Issue.record("from \(before) to \(after): \(problem)")
          return
        }
      }
    }
    try watch.finish()
  }

  @Test(arguments: [false, true])
  func `each change between short lists with repeated identities`(rebuilds: Bool) throws {
    let elements = [TestElement(1, 0), TestElement(1, 1), TestElement(2, 0)]
    let length = TestRun.isLong && !rebuilds ? 4 : rebuilds ? 2 : 3
    try check(everyList(upTo: length, of: elements), rebuilds: rebuilds)
  }

  @Test func `each change between orders of four elements`() throws {
    let lists = everyList(upTo: 4, of: [1, 2, 3, 4]).filter { Set($0).count == $0.count }
      .map { list in list.map { TestElement($0, ($0 + list.count) % 2) } }
    try check(lists, rebuilds: false)
  }

  @Test func `each change of the keys of four elements`() throws {
    let keys = everyList(upTo: 4, of: [0, 1, 2]).filter { $0.count == 4 }
    let lists = keys.map { keys in keys.enumerated().map { TestElement($0.offset, $0.element) } }
    try check(lists, rebuilds: false)
  }

  /// The list is so long that small changes are followed one by one, and large ones are not.
  @Test(
    .reaches(
      "sections: insertion", "sections: update", "sections: move", .changes(of: ["elements"])),
    arguments: UInt64(0)..<(TestRun.isLong ? 8 : 3))
  func `a long list follows small and large changes`(seed: UInt64)
    throws
  {
    let watch = Watch(keys: [0, 1, 5, 6, 50]) { ($0.id + $0.content) % 7 }
    for size in [1, 3, 25, 60] {
      var editor = RandomEditor<TestElement>(
        seed: seed, size: 400, editsPerStep: size, allowsDuplicates: seed.isMultiple(of: 2),
        kinds: RandomEdit.small)
      watch.items.replace(with: editor.makeElements())
      for step in 0..<40 {
        try editor.step(watch.items)
        if let problem = watch.problem {
          Issue.record("seed \(seed), size \(size), step \(step): \(problem)")
          return
        }
      }
    }
    try watch.finish()
  }

  /// Most groups have one element, so sections come and go beside each other.
  @Test(
    .reaches(
      .changes(of: ["sections"]), "elements: deletion", "elements: insertion", "elements: update"),
    arguments: UInt64(0)..<8)
  func `sections that come and go beside each other stay whole`(seed: UInt64) throws {
    let watch = Watch(keys: [0, 3]) { $0.id % 9 }
    var editor = RandomEditor<TestElement>(
      seed: seed, size: 8, editsPerStep: 5, allowsDuplicates: seed.isMultiple(of: 2))
    for step in 0..<150 {
      try editor.step(watch.items)
      if let problem = watch.problem {
        Issue.record("seed \(seed), step \(step): \(problem)")
        return
      }
    }
    try watch.finish()
  }

  @Test(.reaches(.changes))
  func `sections and groups over two lists and a parameter follow all of them`() throws {
    let key: @Sendable (TestElement) -> Int = { $0.content % 3 }
    @Sendable func shown(
      _ first: [TestElement], _ second: [TestElement], _ limit: Int
    ) -> [TestElement] {
      SetOracle.union(first, second).filter { $0.id % 5 >= limit }
    }
    try checkOperator(
      overSeveralInputs: { first, second, limit in
        first.union(second).filter(by: limit) { $0.id % 5 >= $1 }
          .sections(by: key, order: .descending(\.self))
      },
      is: { first, second, limit in
        GroupingTests.sections(shown(first, second, limit), ordered: true, key).reversed()
      }, seeds: 0..<(TestRun.isLong ? 24 : 8))
    try checkOperator(
      overSeveralInputs: { first, second, limit in
        first.union(second).filter(by: limit) { $0.id % 5 >= $1 }
          .grouped(by: key).flatMap { $0.elements }
      },
      is: { first, second, limit in
        GroupingTests.sections(shown(first, second, limit), key).flatMap(\.elements)
      }, seeds: 0..<(TestRun.isLong ? 24 : 8))
  }

  @Test(.reaches(.changes))
  func `sections that tie in their order have the order of their first elements`() throws {
    let order = ElementOrder<Int>.ascending { $0 % 2 }
    try checkOperator(
      { $0.sections(by: { $0.id % 6 }, order: order) },
      is: { elements in
        let sections = GroupingTests.sections(elements) { $0.id % 6 }
        return sections.filter { $0.key % 2 == 0 } + sections.filter { $0.key % 2 != 0 }
      })
  }

  @Test func `an element that leaves one section and enters another is a move by one event`() throws
  {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1), TestElement(4, 1)])
    let changes = Log<SectionedChangeset>()
    let observation = items.sections(by: \.content, order: .ascending(\.self)).observe { event in
      if case .change(let change) = event { changes.append(change.sectionedChangeset()) }
    }
    func path(_ section: Int, _ element: Int) -> SectionedChangeset.Path {
      SectionedChangeset.Path(section: section, element: element)
    }
    // By a deletion and an insertion of one identity.
    items.transaction { draft in
      draft.remove(at: 0)
      draft.append(TestElement(1, 1))
    }
    // From the last element of one section to the first one of a new section.
    items[0].content = 2
    let expected = [
      SectionedChangeset(
        elementMoves: [.init(from: path(0, 0), to: path(1, 2))],
        elementUpdates: [.init(from: path(0, 0), to: path(1, 2))])
    ]
    #expect(Array(changes.value.prefix(1)) == expected)
    #expect(changes.value.count == 2)
    let last = try #require(changes.value.last)
    #expect(last.sections.deletions == [0] && last.sections.insertions == [1])
    observation.dispose()
  }

  /// A group of equal elements with one other, long enough to be edited in place or short.
  @Test(arguments: [6, 400])
  func `a move within equal elements of a group is no change of it`(count: Int) throws {
    let other = count / 2
    // The elements of two groups take turns.
    let items = Items(
      (0..<2 * count).map { offset in
        offset % 2 == 0
          ? TestElement(offset == 2 * other ? 1 : 0, 0) : TestElement(100 + offset, 1)
      })
    let index = items.indexed(by: \.content)
    let recorder = RecordingObserver(index[0])
    let sections = RecordingObserver(items.sections(by: \.content, order: .ascending(\.self)))
    // Past an equal element, forwards and backwards.
    items.move(from: 0, to: 3)
    items.move(from: 2 * count - 2, to: 2 * other + 2)
    #expect(recorder.changes.isEmpty)
    // Past the other element, from a place next to an equal one.
    let from = try #require(items.snapshot.firstIndex { $0.content == 0 })
    items.move(from: from, to: 2 * count - 1)
    #expect(recorder.changes.count == 1)
    items.move(from: 2 * count - 1, to: 0)
    #expect(recorder.changes.count == 2)
    #expect(recorder.snapshot.elementsEqual(items.snapshot.filter { $0.content == 0 }))
    #expect(recorder.violations.isEmpty && sections.violations.isEmpty)
    #expect(sections.eventCount == 3)
  }

  @Test func `one pass removes a section, and changes several others in any order`() {
    // Sections of long lists, which are edited in place, in the order of their keys.
    let items = Items((0..<4_000).map { TestElement($0, $0 % 50) } + [TestElement(4_000, 60)])
    let sections = items.sections(by: \.content, order: .descending(\.self))
    let recorder = RecordingObserver(sections, keeps: 3)
    for step in 0..<60 {
      items.transaction { draft in
        // Up to six sections change, and in two of three steps, the section 60 comes or goes.
        for offset in 0..<step % 4 {
          draft[(step * 7 + offset * 13) % 4_000].content = offset * 11 % 50
        }
        if step % 3 < 2 { draft[4_000].content = step % 3 == 0 ? 5 : 60 }
      }
      let expected = GroupingTests.sections(Array(items.snapshot), ordered: true, \.content)
        .reversed()
      #expect(sections.snapshot.elementsEqual(expected))
    }
    #expect(recorder.violations.isEmpty)
  }
}
