import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// The changes of sections as values: rule X3.
@Suite struct SectionedChangeTests {
  private typealias Model = ArraySection<Int, TestElement>
  private typealias Sections = Snapshot<ListSection<Int, TestElement>>

  private func models(_ sections: Sections) -> [Model] {
    sections.map { Model(model: $0.key, elements: $0.elements) }
  }

  @Test(
    .reaches("section: deletion", "section: insertion", "section: move", .changes(of: ["element"])),
    arguments: 0..<20 as Range<UInt64>)
  func `the inverse of a change leads back`(seed: UInt64) throws {
    var editor = RandomEditor(seed: seed, allowsDuplicates: seed.isMultiple(of: 2))
    let items = Items(editor.makeElements())
    let changes = Shared<[CollectionChange<ListSection<Int, TestElement>>]>([])
    let observation = items.sections { $0.content % 4 }.observe { event in
      if case .change(let change) = event { changes.value.append(change) }
    }
    for _ in 0..<40 { try editor.step(items) }
    #expect(!changes.value.isEmpty)
    for change in changes.value {
      let (before, after) = (models(change.before), models(change.after))
      let changeset = change.sectionedChangeset()
      #expect(changeset.applying(to: before, with: after) == after)
      #expect(changeset.inverse.applying(to: after, with: before) == before)
      #expect(changeset.inverse.inverse == changeset)
      Coverage.note(changeset)
    }
    observation.dispose()
  }

  @Test func `merged changes are one change`() {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1)])
    let queue = Shared<[@Sendable () -> Void]>([])
    let changes = Shared<[SectionedChangeset]>([])
    let observation = items.sections(by: \.content, order: .ascending(\.self))
      .observe(on: DeliveryScheduler { work in queue.value.append(work) }) { event in
        if case .change(let change) = event { changes.value.append(change.sectionedChangeset()) }
      }
    func deliver() -> [SectionedChangeset] {
      let jobs = queue.value
      queue.value = []
      for job in jobs { job() }
      defer { changes.value = [] }
      return changes.value
    }
    #expect(deliver() == [])
    // An element passes through a section that disappears again.
    items[1].content = 7
    items[1].content = 1
    let (from, to) = (
      SectionedChangeset.Path(section: 0, element: 1),
      SectionedChangeset.Path(section: 1, element: 0)
    )
    #expect(
      deliver() == [
        SectionedChangeset(
          elementMoves: [.init(from: from, to: to)], elementUpdates: [.init(from: from, to: to)])
      ])
    // Changes that cancel each other out are no change.
    items[0].content = 9
    items[0].content = 0
    #expect(deliver() == [])
    observation.dispose()
  }

  /// An observer whose changes are merged sees a group end and another one with the same key begin.
  @Test func `merged changes over a group that ended and began again lead to its elements`() {
    let items = Items([TestElement(-1, -1)])
    let jobs = Log<@Sendable () -> Void>()
    let wrong = Shared(0)
    let observation = items.sections { $0.content }
      .observe(on: DeliveryScheduler { work in jobs.append(work) }) { event in
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
    for round in stride(from: 0, to: 150, by: TestRun.isLong ? 1 : 3) {
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
