import DataSourceTesting
import Diffing
import ListViews
import TestSupport
import Testing

@Suite @MainActor struct CheckSinkTests {
  private func violation(_ flaw: PlainListView.Flaw?) async -> ContractError? {
    do {
      try await checkSink(
        seeds: 0..<4, timeout: flaw == .neverCompletes ? .milliseconds(50) : .seconds(60),
        makeView: { PlainListView(flaw) },
        setData: { view, rows in view.set(rows.map(\.description)) },
        shown: { $0.lines },
        cell: { $0.description })
      return nil
    } catch {
      return error as? ContractError
    }
  }

  @Test func `a correct view passes`() async {
    #expect(await violation(nil) == nil)
    #expect(await violation(.completesLate) == nil)
  }

  @Test(arguments: [
    PlainListView.Flaw.forgetsMoves, .ignoresReloads, .ignoresInsertions, .ignoresReloadData,
    .setsDataLate, .takesMovesOutLast,
  ])
  func `a view that shows wrong rows breaks B7`(flaw: PlainListView.Flaw) async {
    #expect(await violation(flaw)?.rule == "B7")
  }

  @Test(arguments: [
    PlainListView.Flaw.completesTwice, .neverCompletes, .runsBlockTwice, .neverRunsBlock,
  ])
  func `a view that performs batches wrongly breaks B8`(flaw: PlainListView.Flaw) async {
    #expect(await violation(flaw)?.rule == "B8")
  }

  @Test func `the strict view passes`() async throws {
    let seeds: Range<UInt64> = 0..<(TestRun.isLong ? 4 : 2)
    try await checkSink(
      seeds: seeds, makeView: { Screen<TestElement>() }, setData: { $0.rows = $1 },
      shown: { $0.shown }, cell: { $0 })
    try await checkSectionedSink(
      seeds: seeds, makeView: { SectionedScreen<TestSection>([]) }, setData: { $0.sections = $1 },
      shown: { $0.shown }, heading: { $0 }, cell: { $0 })
  }

  @Test func `a sectioned view that loses moves between sections fails`() async {
    await #expect(throws: ContractError.self) {
      try await checkSectionedSink(
        seeds: 0..<4,
        makeView: {
          let screen = SectionedScreen<TestSection>([])
          screen.forgetsMoves = true
          return screen
        },
        setData: { $0.sections = $1 },
        shown: { $0.shown },
        heading: { $0 }, cell: { $0 })
    }
  }
}

/// The strict view with its data, as one view.
extension Screen: BatchUpdatingListView {
  func reloadData() { view.reloadData() }
  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (Bool) -> Void
  ) {
    view.performBatchUpdates(updates, completion: completion)
  }
  func deleteItems(at offsets: [Int]) { view.deleteItems(at: offsets) }
  func insertItems(at offsets: [Int]) { view.insertItems(at: offsets) }
  func reloadItems(at offsets: [Int]) { view.reloadItems(at: offsets) }
  func moveItem(at source: Int, to destination: Int) {
    view.moveItem(at: source, to: destination)
  }
}

extension SectionedScreen where Section == TestSection {
  var shown: [[TestElement]] { view.shown }
}

extension StrictListView where Section == TestSection {
  /// Headings and cells; none where a rule was broken, for what was is drawn anew.
  var shown: [[TestElement]] {
    violations.isEmpty ? zip(headings, cells).map { [$0.model] + $1 } : []
  }
}

extension SectionedScreen: BatchUpdatingSectionedListView {
  func reloadData() { view.reloadData() }
  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (Bool) -> Void
  ) {
    view.performBatchUpdates(updates, completion: completion)
  }
  func deleteSections(at sections: [Int]) { view.deleteSections(at: sections) }
  func insertSections(at sections: [Int]) { view.insertSections(at: sections) }
  func reloadSections(at sections: [Int]) { view.reloadSections(at: sections) }
  func moveSection(at source: Int, to destination: Int) {
    view.moveSection(at: source, to: destination)
  }
  func deleteItems(at paths: [SectionedChangeset.Path]) { view.deleteItems(at: paths) }
  func insertItems(at paths: [SectionedChangeset.Path]) { view.insertItems(at: paths) }
  func reloadItems(at paths: [SectionedChangeset.Path]) { view.reloadItems(at: paths) }
  func moveItem(at source: SectionedChangeset.Path, to destination: SectionedChangeset.Path) {
    if !forgetsMoves { view.moveItem(at: source, to: destination) }
  }
}
