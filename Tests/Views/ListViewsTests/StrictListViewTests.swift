import DataSourceTesting
import Diffing
import ListViews
import Testing

private func path(_ section: Int, _ element: Int) -> SectionedChangeset.Path {
  SectionedChangeset.Path(section: section, element: element)
}

/// Tests of batches that make UIKit's views trap or show wrong rows.
@Suite @MainActor struct StrictListViewTests {
  /// Two sections of two items each.
  private let screen = SectionedScreen([
    TestSection(model: 0, elements: [1, 2]), TestSection(model: 1, elements: [3, 4]),
  ])
  private var view: StrictListView<TestSection> { screen.view }

  /// The rule that a batch breaks, if any.
  private func ruleBroken(
    by operations: (StrictListView<TestSection>) -> Void,
    setting change: (inout [TestSection]) -> Void = { _ in }
  ) -> String? {
    view.performBatchUpdates {
      change(&screen.sections)
      operations(view)
    } completion: { _ in
    }
    let rule = view.violations.first?.rule
    #expect(view.violations.count < 2)
    // The view continues with the current data.
    #expect(view.cells == screen.sections.map(\.elements))
    return rule
  }

  @Test func `correct batches are accepted`() throws {
    #expect(
      ruleBroken {
        $0.deleteItems(at: [path(0, 1)])
        $0.insertItems(at: [path(1, 0)])
        $0.moveItem(at: path(1, 1), to: path(0, 0))
      } setting: {
        $0 = [TestSection(model: 0, elements: [4, 1]), TestSection(model: 1, elements: [5, 3])]
      } == nil)
    #expect(
      ruleBroken {
        $0.moveSection(at: 1, to: 0)
        $0.deleteSections(at: [0])
        $0.insertSections(at: [1, 2])
      } setting: {
        $0 = [$0[1], TestSection(model: 7, elements: [7]), TestSection(model: 8, elements: [8])]
      } == nil)
    #expect(
      ruleBroken {
        $0.reloadSections(at: [2])
        $0.reloadItems(at: [path(0, 0)])
      } setting: {
        $0[2] = TestSection(model: TestElement(8, 1), elements: [])
        $0[0].elements[0].content = 1
      } == nil)
    #expect(ruleBroken { _ in } == nil)
    try view.check()
    #expect(view.batchCount == 4)
  }

  // MARK: B1

  @Test func `an operation outside a batch breaks B1`() {
    view.deleteItems(at: [path(0, 0)])
    #expect(view.violations.map(\.rule) == ["B1"])
  }

  @Test func `a batch inside a batch breaks B1`() {
    #expect(ruleBroken { $0.performBatchUpdates({}, completion: { _ in }) } == "B1")
  }

  @Test func `reloadData inside a batch breaks B1`() {
    #expect(ruleBroken { $0.reloadData() } == "B1")
  }

  // MARK: B2

  @Test func `data that changes outside a batch breaks B2`() {
    screen.sections[0].elements[0].content = 1
    #expect(ruleBroken { _ in } == "B2")
  }

  @Test func `data that changes before the batch breaks B2 even if the counts fit`() {
    screen.sections[0].elements.remove(at: 0)
    #expect(
      ruleBroken {
        $0.insertItems(at: [path(0, 0)])
      } setting: {
        $0[0].elements.insert(1, at: 0)
      } == "B2")
  }

  // MARK: B3

  @Test(
    arguments: [
      { $0.deleteItems(at: [path(0, 2)]) }, { $0.deleteItems(at: [path(2, 0)]) },
      { $0.reloadItems(at: [path(0, -1)]) }, { $0.moveItem(at: path(0, 2), to: path(0, 0)) },
      { $0.moveItem(at: path(0, 0), to: path(0, 2)) }, { $0.insertItems(at: [path(1, 2)]) },
      { $0.insertItems(at: [path(2, 0)]) }, { $0.deleteSections(at: [2]) },
      { $0.insertSections(at: [2]) }, { $0.reloadSections(at: [2]) },
      { $0.moveSection(at: 2, to: 0) }, { $0.moveSection(at: 0, to: 2) },
    ] as [@MainActor @Sendable (StrictListView<TestSection>) -> Void])
  func `offsets out of range break B3`(
    operation: @MainActor @Sendable (StrictListView<TestSection>) -> Void
  ) {
    #expect(ruleBroken(by: operation) == "B3")
  }

  @Test func `deletions are offsets before the batch and insertions after it`() {
    #expect(
      ruleBroken {
        $0.deleteItems(at: [path(0, 1)])
        $0.insertItems(at: [path(0, 1)])
      } setting: {
        $0[0].elements[1] = 9
      } == nil)
    #expect(
      ruleBroken {
        $0.deleteItems(at: [path(0, 0), path(0, 1)])
      } setting: {
        $0[0].elements = []
      } == nil)
  }

  // MARK: B4

  @Test(
    arguments: [
      { $0.deleteItems(at: [path(0, 0), path(0, 0)]) },
      {
        $0.deleteItems(at: [path(0, 0)])
        $0.moveItem(at: path(0, 0), to: path(0, 1))
      },
      {
        $0.moveItem(at: path(0, 0), to: path(0, 1))
        $0.moveItem(at: path(0, 0), to: path(1, 1))
      },
      {
        $0.moveItem(at: path(0, 0), to: path(0, 1))
        $0.reloadItems(at: [path(0, 0)])
      },
      {
        $0.deleteItems(at: [path(0, 0)])
        $0.reloadItems(at: [path(0, 0)])
      },
      { $0.reloadItems(at: [path(0, 0), path(0, 0)]) },
      { $0.insertItems(at: [path(0, 0), path(0, 0)]) },
      {
        $0.insertItems(at: [path(0, 0)])
        $0.moveItem(at: path(0, 1), to: path(0, 0))
      },
      {
        $0.insertItems(at: [path(0, 0)])
        $0.reloadItems(at: [path(0, 0)])
      },
      { $0.deleteSections(at: [0, 0]) }, { $0.insertSections(at: [0, 0]) },
      { $0.reloadSections(at: [0, 0]) },
      {
        $0.deleteSections(at: [0])
        $0.moveSection(at: 0, to: 1)
      },
      {
        $0.moveSection(at: 0, to: 1)
        $0.reloadSections(at: [0])
      },
      {
        $0.insertSections(at: [0])
        $0.moveSection(at: 1, to: 0)
      },
      {
        $0.insertSections(at: [0])
        $0.reloadSections(at: [0])
      },
    ] as [@MainActor @Sendable (StrictListView<TestSection>) -> Void])
  func `two operations on one offset break B4`(
    operation: @MainActor @Sendable (StrictListView<TestSection>) -> Void
  ) {
    #expect(ruleBroken(by: operation) == "B4")
  }

  // MARK: B5

  @Test(
    arguments: [
      {
        $0.deleteSections(at: [0])
        $0.insertSections(at: [0])
        $0.deleteItems(at: [path(0, 0)])
      },
      {
        $0.deleteSections(at: [0])
        $0.insertSections(at: [0])
        $0.insertItems(at: [path(0, 0)])
      },
      {
        $0.moveSection(at: 0, to: 1)
        $0.deleteItems(at: [path(0, 0)])
      },
      {
        $0.moveSection(at: 0, to: 1)
        $0.moveItem(at: path(1, 0), to: path(1, 0))
      },
      {
        $0.reloadSections(at: [0])
        $0.reloadItems(at: [path(0, 0)])
      },
      {
        $0.reloadSections(at: [0])
        $0.insertItems(at: [path(0, 0)])
      },
    ] as [@MainActor @Sendable (StrictListView<TestSection>) -> Void])
  func `items of a section that changes as a whole break B5`(
    operation: @MainActor @Sendable (StrictListView<TestSection>) -> Void
  ) {
    #expect(ruleBroken(by: operation) == "B5")
  }

  // MARK: B6

  @Test func `wrong counts break B6`() {
    #expect(ruleBroken { $0.deleteItems(at: [path(0, 0)]) } == "B6")
  }

  @Test func `the count of each section must be correct`() {
    #expect(
      ruleBroken {
        $0.deleteItems(at: [path(0, 0)])
        $0.insertItems(at: [path(0, 0)])
      } setting: {
        $0[0].elements.append($0[1].elements.removeLast())
      } == "B6")
  }

  @Test func `a wrong count of sections breaks B6`() {
    #expect(ruleBroken { $0.deleteSections(at: [1]) } == "B6")
  }

  @Test func `data that changes without an operation breaks B6`() {
    #expect(
      ruleBroken { _ in
      } setting: {
        $0[0].elements.removeAll()
      } == "B6")
  }

  @Test func `moves between sections count in both`() {
    #expect(
      ruleBroken {
        $0.moveItem(at: path(0, 0), to: path(1, 0))
      } setting: {
        $0[0].elements.swapAt(0, 1)
      } == "B6")
  }

  // MARK: B7

  @Test func `a missing reload of an item breaks B7`() {
    #expect(
      ruleBroken { _ in
      } setting: {
        $0[0].elements[0].content = 1
      } == "B7")
  }

  @Test func `a missing reload of a heading breaks B7`() {
    #expect(
      ruleBroken { _ in
      } setting: {
        $0[1].model.content = 1
      } == "B7")
  }

  @Test func `a move to the wrong place breaks B7`() {
    #expect(
      ruleBroken {
        $0.moveItem(at: path(0, 0), to: path(1, 0))
      } setting: {
        let moved = $0[0].elements.removeFirst()
        $0[1].elements.append(moved)
      } == "B7")
  }

  @Test func `sections in the wrong order break B7`() {
    #expect(
      ruleBroken { _ in
      } setting: {
        $0.swapAt(0, 1)
      } == "B7")
  }

  @Test func `outdated headings at the end break B7`() {
    screen.sections[0].elements[0].content = 1
    #expect(throws: ContractError.self) { try view.check() }
    #expect(view.violations.map(\.rule) == ["B7"])
  }

  // MARK: Reactions and completions

  @Test func `the view traps if its reaction says so`() async {
    await #expect(processExitsWith: .failure) {
      await MainActor.run {
        let view = StrictListView(reaction: .trap, rows: { [1, 2] })
        view.performBatchUpdates({ view.deleteItems(at: [0]) }, completion: { _ in })
      }
    }
  }

  @Test func `an error has the number of the batch`() {
    _ = ruleBroken { _ in }
    _ = ruleBroken { $0.deleteSections(at: [5]) }
    #expect(
      view.violations.first?.description
        == "B3: section 5 is out of range 0..<2 before the batch (step 1)")
  }

  @Test func `completions can be held`() {
    var told: [Bool] = []
    view.holdsCompletions = true
    view.performBatchUpdates({}, completion: { told.append($0) })
    view.performBatchUpdates({}, completion: { told.append($0) })
    #expect(told.isEmpty)
    view.completeBatches(isFinished: false)
    #expect(told == [false, false])
    view.completeBatches()
    #expect(told.count == 2)
  }
}
