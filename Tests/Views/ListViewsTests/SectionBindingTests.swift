import DataSourceTesting
import Diffing
import ListViews
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Bindings of views to the sections of a list: rules X1 to X3, B1 to B7.
@Suite @MainActor struct SectionBindingTests {
  typealias Shown = ArraySection<Int, TestElement>

  private let screen = SectionedScreen<Shown>([])

  /// Binds the screen to sections.
  private func bind(
    _ sections: LiveCollection<ListSection<Int, TestElement>>,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false }
  ) -> Disposable {
    sections.bind(to: screen.view, interrupt: interrupt) { [screen] sections in
      screen.sections = sections.map { Shown(model: $0.key, elements: $0.elements) }
    }
  }

  @Test(.reaches(.changes), arguments: 0..<20 as Range<UInt64>)
  func `a view follows random edits of sections`(seed: UInt64) async throws {
    var editor = RandomEditor(seed: seed, size: 24, allowsDuplicates: seed.isMultiple(of: 2))
    let items = ArrayDataSource(editor.makeElements())
    let sections = items.sections(
      by: { $0.content % 4 }, order: seed.isMultiple(of: 3) ? .ascending(\.self) : nil)
    let edits = RecordingObserver(counting: items)
    let binding = bind(sections, interrupt: { seed == 19 && $0.changeCount > 3 })
    for step in 0..<60 {
      try editor.step(items)
      // Otherwise, several changes are merged.
      if step % 3 != 2 { await sections.flush() }
      if step % 3 != 1 { continue }
      try screen.view.check()
      let shown = sections.snapshot.map { Shown(model: $0.key, elements: $0.elements) }
      #expect(screen.sections == shown)
      #expect(screen.view.cells == shown.map(\.elements))
      #expect(screen.view.headings.map(\.model) == shown.map(\.model))
    }
    Coverage.note(edits)
    binding.dispose()
  }

  @Test func `an element that enters another section is moved and reloaded`() async throws {
    let items = ArrayDataSource([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1)])
    let sections = items.sections(by: \.content)
    var changes: [SectionedChangeset] = []
    let binding = bind(
      sections,
      interrupt: {
        changes.append($0)
        return false
      })
    await sections.flush()
    items[1].content = 1
    await sections.flush()
    try screen.view.check()
    let (from, to) = (
      SectionedChangeset.Path(section: 0, element: 1),
      SectionedChangeset.Path(section: 1, element: 0)
    )
    #expect(
      changes == [
        SectionedChangeset(elementUpdates: [.init(from: from, to: from)]),
        SectionedChangeset(elementMoves: [.init(from: from, to: to)]),
      ])
    binding.dispose()
  }

  @Test func `a section is not reloaded if its elements change`() async throws {
    let items = ArrayDataSource((0..<10).map { TestElement($0, $0 % 2) })
    let sections = items.sections(by: \.content)
    var reloads = 0
    let binding = bind(
      sections,
      interrupt: {
        reloads += $0.sections.updates.count
        return false
      })
    await sections.flush()
    items.append(TestElement(10, 1))
    await sections.flush()
    // Several changes are merged into one, whose sections are compared.
    items.remove(at: 0)
    items.append(TestElement(11, 1))
    items[0].content = 0
    await sections.flush()
    try screen.view.check()
    #expect(reloads == 0)
    #expect(screen.view.cells.map { $0.map(\.id) } == [[1, 2, 4, 6, 8], [3, 5, 7, 9, 10, 11]])
    binding.dispose()
  }

  @Test func `a swap moves elements between sections`() async throws {
    let container = SwappableContainer<TestElement>()
    container.swap(to: ArrayDataSource([TestElement(1, 0), TestElement(2, 0), TestElement(3, 1)]))
    let sections = container.sections(by: \.content, order: .ascending(\.self))
    let binding = bind(sections)
    await sections.flush()
    container.swap(to: ArrayDataSource([TestElement(2, 1), TestElement(3, 1), TestElement(4, 5)]))
    await sections.flush()
    try screen.view.check()
    #expect(screen.view.headings.map(\.model) == [1, 5])
    #expect(screen.view.cells.map { $0.map(\.id) } == [[2, 3], [4]])
    #expect(screen.view.reloadCount == 2)
    binding.dispose()
  }

  @Test(arguments: [1_000, 20_000])
  func `one edit compares no elements of other rows`(count: Int) async throws {
    let items = ArrayDataSource((0..<count).map { Counted(id: $0, group: $0 % 10) })
    let sections = items.sections(by: \.group)
    let view = BatchCounter()
    var shown = 0
    let binding = sections.bind(to: view) { shown = $0.count }
    await sections.flush()
    items[0].content = 1
    await sections.flush()
    for edit in 0..<4 {
      Counted.uses.value = 0
      switch edit {
      case 0: items[count / 2].content = 1
      case 1: items[count / 2].group = 3
      case 2: items.remove(at: count / 3)
      default: items.insert(Counted(id: -1, group: 5), at: count / 4)
      }
      await sections.flush()
      #expect(Counted.uses.value < 40, "\(edit)")
    }
    // A move is one batch, and its update another one.
    #expect(shown == 10 && view.batchCount == 1 + 5)
    binding.dispose()
  }

  /// An element that counts how often contents are compared and identities are hashed.
  private struct Counted: Differentiable, Sendable {
    nonisolated static let uses = Shared(0)

    struct Identifier: Hashable, Sendable {
      let number: Int

      func hash(into hasher: inout Hasher) {
        Counted.uses.value += 1
        hasher.combine(number)
      }
    }

    let id: Int
    var group: Int
    var content = 0

    var differenceIdentifier: Identifier { Identifier(number: id) }

    func isContentEqual(to source: Counted) -> Bool {
      Counted.uses.value += 1
      return group == source.group && content == source.content
    }
  }
}

/// A view that only counts batches.
@MainActor private final class BatchCounter: BatchUpdatingSectionedListView {
  private(set) var batchCount = 0

  func reloadData() {}

  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (Bool) -> Void
  ) {
    batchCount += 1
    updates()
    completion(true)
  }

  func deleteSections(at sections: [Int]) {}
  func insertSections(at sections: [Int]) {}
  func reloadSections(at sections: [Int]) {}
  func moveSection(at source: Int, to destination: Int) {}
  func deleteItems(at paths: [SectionedChangeset.Path]) {}
  func insertItems(at paths: [SectionedChangeset.Path]) {}
  func reloadItems(at paths: [SectionedChangeset.Path]) {}
  func moveItem(at source: SectionedChangeset.Path, to destination: SectionedChangeset.Path) {}
}
