import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// The rows of sections: rules O1 to O8.
@Suite struct SectionRowsTests {
  typealias Section = ListSection<Int, TestElement>
  typealias Row = Section.Row

  /// The rows of sections, in terms of arrays.
  static func rows(_ sections: [Section]) -> [Row] {
    sections.flatMap { section in
      [.header(section.key, count: section.elements.count)] + section.elements.map { .element($0) }
    }
  }

  @Test(.reaches(.changes), arguments: [false, true]) func `rows follow the sections of a list`(
    ordered: Bool
  ) throws {
    try checkOperator(
      { source in
        source.sections(by: { $0.content % 4 }, order: ordered ? .ascending(\.self) : nil).rows()
      },
      is: { Self.rows(GroupingTests.sections($0, ordered: ordered) { $0.content % 4 }) },
      seeds: 0..<12, steps: 40)
  }

  @Test(.reaches(.changes)) func `rows follow sections that no grouping has made`() throws {
    @Sendable func section(_ element: TestElement) -> Section {
      Section(
        key: element.id,
        elements: (0..<element.content % 5).map { TestElement($0, element.content / 5) })
    }
    try checkOperator(
      { $0.map { section($0) }.rows() }, is: { Self.rows($0.map(section)) }, seeds: 0..<12,
      steps: 40)
  }

  @Test(.reaches(.changes)) func `rows follow a new order of the sections`() throws {
    try checkOperator(
      {
        $0.sections(by: { $0.content % 7 }).sorted(by: { $0.elements.count < $1.elements.count })
          .rows()
      },
      is: {
        Self.rows(
          GroupingTests.sections($0) { $0.content % 7 }
            .sorted { $0.elements.count < $1.elements.count })
      }, seeds: 0..<12, steps: 40)
  }

  @Test(arguments: [false, true])
  func `each change between short lists with repeated identities`(ordered: Bool) {
    let lists = everyList(upTo: 3, of: [TestElement(1, 0), TestElement(1, 1), TestElement(2, 0)])
    for old in lists {
      for new in lists {
        let items = Items(old)
        let rows = items.sections(
          by: { $0.id + $0.content }, order: ordered ? .ascending(\.self) : nil
        ).rows()
        let recorder = RecordingObserver(rows)
        items.replace(with: new)
        let sections = GroupingTests.sections(new, ordered: ordered) { $0.id + $0.content }
        #expect(rows.snapshot.hasSameContents(as: Snapshot(Self.rows(sections))), "\(old), \(new)")
        #expect(throws: Never.self) { try recorder.check(against: rows) }
      }
    }
  }

  @Test func `an element that enters another section is moved`() {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1)])
    let changes = Shared<[Changeset]>([])
    let observation = items.sections(by: \.content).rows().observe { event in
      if case .change(let change) = event { changes.value.append(change.changeset) }
    }
    items[1].content = 1
    #expect(
      changes.value == [
        Changeset(
          moves: [.init(from: 2, to: 3)],
          updates: [.init(from: 0, to: 0), .init(from: 3, to: 2), .init(from: 2, to: 3)])
      ])
    observation.dispose()
  }

  @Test func `a row is kept if its section is inserted or deleted`() {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1)])
    let changes = Shared<[Changeset]>([])
    let observation = items.sections(by: \.content, order: .ascending { $0 }).rows().observe {
      event in
      if case .change(let change) = event { changes.value.append(change.changeset) }
    }
    items[1].content = 2
    items[0].content = 1
    // Only the headers of the sections come and go.
    #expect(changes.value.map(\.insertions) == [[4], []])
    #expect(changes.value.map(\.deletions) == [[], [0]])
    observation.dispose()
  }

  @Test func `a section that passes another one moves as few rows as possible`() {
    let sections = ArrayDataSource([
      Section(key: 1, elements: (0..<50).map { TestElement($0, 0) }),
      Section(key: 2, elements: [TestElement(100, 0)]),
    ])
    let changes = Shared<[Changeset]>([])
    let observation = sections.rows().observe { event in
      if case .change(let change) = event { changes.value.append(change.changeset) }
    }
    sections.move(from: 0, to: 1)
    #expect(changes.value.map(\.changeCount) == [2])
    observation.dispose()
  }

  @Test func `a section that is moved and edited keeps its elements`() {
    func section(_ key: Int, _ elements: Range<Int>, _ content: Int = 0) -> Section {
      Section(key: key, elements: elements.map { TestElement($0, content) })
    }
    let sections = ArrayDataSource([section(1, 0..<3), section(2, 10..<15)])
    let changes = Shared<[Changeset]>([])
    let observation = sections.rows().observe { event in
      if case .change(let change) = event { changes.value.append(change.changeset) }
    }
    sections.transaction { draft in
      draft.move(from: 0, to: 1)
      draft[1] = section(1, 1..<4, 9)
    }
    #expect(
      changes.value.map {
        [$0.deletions.count, $0.insertions.count, $0.moves.count, $0.updates.count]
      }
        == [[1, 1, 3, 2]])
    observation.dispose()
  }

  @Test func `equal keys that are not equal to themselves have one header`() throws {
    let items = Items((0..<6).map { TestElement($0, $0) })
    let rows = items.sections { $0.content % 2 == 0 ? Double.nan : Double($0.content) }.rows()
    let recorder = RecordingObserver(rows)
    items.move(from: 0, to: 5)
    items.remove(at: 2)
    #expect(rows.count == 5 + 3)
    try recorder.check(against: rows)
  }

  @Test func `rows show the status of their source`() {
    let items = Items([], status: .loading)
    let rows = items.sections(by: \.content).rows()
    #expect(!rows.state.hasLoaded)
    items.publish([TestElement(1, 1)], status: .loaded)
    #expect(rows.state.hasLoaded && rows.count == 2)
  }

  @Test(arguments: [1_000, 100_000])
  func `one edit compares few elements of a long list`(count: Int) {
    let items = ArrayDataSource((0..<count).map { Counted(id: $0, group: $0 % 10) })
    let rows = items.sections(by: \.group).rows()
    let events = Shared(0)
    let observation = rows.observe { _ in events.value += 1 }
    func comparisons(_ edit: () -> Void) -> Int {
      Counted.comparisons.value = 0
      edit()
      return Counted.comparisons.value
    }
    // The first edit makes trees of the arrays.
    items[0].content = 1
    #expect(comparisons { items[count / 2].content = 1 } < 20)
    #expect(comparisons { items[count / 2].group = 3 } < 20)
    #expect(comparisons { items.move(from: 3, to: count - 3) } < 20)
    #expect(comparisons { items.remove(at: count / 3) } < 20)
    #expect(comparisons { items.insert(Counted(id: -1, group: 5), at: count / 4) } < 20)
    #expect(events.value == 7)
    observation.dispose()
  }

  /// An element that counts how often contents are compared.
  private struct Counted: Differentiable, Sendable {
    static let comparisons = Shared(0)
    let id: Int
    var group: Int
    var content = 0

    var differenceIdentifier: Int { id }

    func isContentEqual(to source: Counted) -> Bool {
      Counted.comparisons.value += 1
      return group == source.group && content == source.content
    }
  }
}

/// The rows of sections that several threads edit.
@Suite(.tags(.concurrency)) struct SectionRowsConcurrencyTests {
  @Test func `rows follow edits of several threads`() throws {
    let items = Items((0..<50).map { TestElement($0, $0 % 8) })
    let rows = items.sections(by: { $0.content }, order: .ascending(\.self)).rows()
    let recorder = RecordingObserver(rows)
    let workers = (0..<3).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for step in 0..<200 {
          items.transaction { draft in
            draft.insert(
              TestElement(1_000 * (number + 1) + step, random.below(12)),
              at: random.below(draft.count + 1))
            if draft.count > 60 { draft.remove(at: random.below(draft.count)) }
            draft[random.below(draft.count)].content = random.below(12)
          }
          if step % 20 == number { _ = items.sections(by: { $0.content }).rows().snapshot }
        }
      }
    }
    for worker in workers { try worker.join() }
    rows.flushAndWait()
    try recorder.check(against: rows)
    let sections = GroupingTests.sections(Array(items.snapshot), ordered: true) { $0.content }
    #expect(rows.snapshot.hasSameContents(as: Snapshot(SectionRowsTests.rows(sections))))
  }
}
