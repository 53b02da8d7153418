import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// The changes of sections as values: rule X3.
@Suite struct SectionedChangeTests {
  private typealias Model = ArraySection<Int, TestElement>
  private typealias Sections = Snapshot<ListSection<Int, TestElement>>

  private func models(_ sections: Sections) -> [Model] {
    sections.map { Model(model: $0.key, elements: $0.elements) }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
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
    }
    observation.dispose()
  }

  @Test func `merged changes are one change`() {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1)])
    let queue = Shared<[@Sendable () -> Void]>([])
    let changes = Shared<[SectionedChangeset]>([])
    let observation = items.sections(by: \.content, order: .ascending(\.self))
      .observe(on: Scheduler { work in queue.value.append(work) }) { event in
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
    let (from, to) = (ElementPath(section: 0, element: 1), ElementPath(section: 1, element: 0))
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
}
