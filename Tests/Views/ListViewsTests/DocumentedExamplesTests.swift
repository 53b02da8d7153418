import DataSourceTesting
import Diffing
import ListViews
import Testing

private func path(_ section: Int, _ element: Int) -> SectionedChangeset.Path {
  SectionedChangeset.Path(section: section, element: element)
}

/// The documented examples of differences, staged reloads and batch updates, on the strict view.
@Suite @MainActor struct DocumentedExamplesTests {
  // MARK: Lists

  /// The stages from one list to the other, which the strict view takes.
  private func changes<Row: Differentiable & Equatable>(
    from old: [Row], to new: [Row]
  ) throws -> [Changeset] {
    let screen = Screen(old)
    let stages = StagedChangeset(from: old, to: new)
    screen.view.reload(using: stages) { screen.rows = $0 }
    try screen.view.check()
    #expect(screen.shown == new)
    #expect(screen.view.batchCount == stages.count)
    return stages.map(\.changeset)
  }

  @Test func `a deletion`() throws {
    #expect(
      try changes(from: [0, 1, 2], to: [0, 2] as [TestElement]) == [Changeset(deletions: [1])])
  }

  @Test func `an update`() throws {
    #expect(
      try changes(from: [0, 1, 2], to: [TestElement(0, 1), 1, 2])
        == [Changeset(updates: [.init(from: 0, to: 0)])])
  }

  @Test func `a reversal`() throws {
    let changes = try changes(from: [0, 1, 2, 3], to: [3, 2, 1, 0] as [TestElement])
    #expect(changes.count == 1)
    #expect(changes.first?.moves.count == 3)
  }

  @Test func `all stages of a list`() throws {
    let changes = try changes(from: [0, 1, 2], to: [2, 4, TestElement(0, 1), 3])
    #expect(changes.count == 3)
    #expect(changes[0] == Changeset(updates: [.init(from: 0, to: 0)]))
    #expect(changes[1] == Changeset(deletions: [1]))
    #expect(changes[2].insertions == [1, 3])
    #expect(changes[2].moves.count == 1)
  }

  @Test func `users by identity and name`() throws {
    let changes = try changes(
      from: [User(id: 0, name: "Vincent"), User(id: 1, name: "Jules")],
      to: [
        User(id: 1, name: "Jules"), User(id: 0, name: "Vincent"), User(id: 2, name: "Butch"),
      ])
    #expect(changes.map(\.insertions) == [[2]])
    #expect(changes.first?.moves.count == 1)
  }

  @Test func `elements of several types`() throws {
    let screen = Screen([AnyDifferentiable("A"), AnyDifferentiable(User(id: 0, name: "Vincent"))])
    let stages = StagedChangeset(
      from: screen.rows,
      to: [AnyDifferentiable(User(id: 0, name: "Jules")), AnyDifferentiable("B")])
    screen.view.reload(using: stages) { screen.rows = $0 }
    try screen.view.check()
    #expect(stages.count == 3)
  }

  @Test func `reloading all data if too much changes`() throws {
    for count in [100, 101] {
      let screen = Screen<TestElement>()
      let stages = StagedChangeset(
        from: screen.rows, to: (0..<count).map { TestElement($0) })
      screen.view.reload(using: stages, interrupt: { $0.changeCount > 100 }) {
        screen.rows = $0
      }
      try screen.view.check()
      #expect(screen.view.batchCount == (count > 100 ? 0 : 1))
      #expect(screen.shown.count == count)
    }
  }

  // MARK: Sections

  /// The stages from one list of sections to the other, which the strict view takes.
  private func changes<Section: DifferentiableSection & Equatable>(
    from old: [Section], to new: [Section]
  ) throws -> [SectionedChangeset] {
    let screen = SectionedScreen(old)
    let stages = StagedChangeset(from: old, to: new)
    screen.view.reload(using: stages) { screen.sections = $0 }
    try screen.view.check()
    #expect(screen.sections == new)
    #expect(screen.view.batchCount == stages.count)
    return stages.map(\.changeset)
  }

  @Test func `a section insertion`() throws {
    let a = ArraySection(model: "a", elements: [] as [Int])
    let b = ArraySection(model: "b", elements: [] as [Int])
    #expect(
      try changes(from: [a], to: [a, b])
        == [SectionedChangeset(sections: Changeset(insertions: [1]))])
  }

  @Test func `a section update`() throws {
    #expect(
      try changes(
        from: [TestSection(model: 0, elements: [])],
        to: [TestSection(model: TestElement(0, 1), elements: [])])
        == [SectionedChangeset(sections: Changeset(updates: [.init(from: 0, to: 0)]))])
  }

  @Test func `all stages of sections`() throws {
    let changes = try changes(
      from: [
        TestSection(model: 0, elements: [1, 2]), TestSection(model: 1, elements: [3]),
        TestSection(model: 2, elements: [4]),
      ],
      to: [
        TestSection(model: TestElement(2, 1), elements: [TestElement(4, 1), 5]),
        TestSection(model: 9, elements: [8]), TestSection(model: 0, elements: [2]),
      ])
    #expect(changes.count == 5)
    #expect(changes[0].elementUpdates.map(\.to) == [path(2, 0)])
    #expect(changes[1].sections.deletions == [1])
    #expect(changes[1].elementDeletions == [path(0, 0)])
    #expect(changes[2].sections.insertions == [1])
    #expect(changes[3].elementInsertions == [path(0, 1)])
    #expect(changes[4].sections.updates.map(\.to) == [0])
  }

  @Test func `inserted sections and elements that move to other sections`() throws {
    let changes = try changes(
      from: [
        ArraySection(model: "a", elements: ["A", "B"]), ArraySection(model: "b", elements: ["C"]),
      ],
      to: [
        ArraySection(model: "c", elements: ["D", "E"]), ArraySection(model: "a", elements: ["A"]),
        ArraySection(model: "b", elements: ["B", "C"]),
      ])
    #expect(
      changes == [
        SectionedChangeset(sections: Changeset(insertions: [0])),
        SectionedChangeset(elementMoves: [.init(from: path(1, 1), to: path(2, 0))]),
      ])
  }

  // MARK: Batch updates

  @Test func `a proposal is committed by its handler`() throws {
    let list = SectionedListDataSource<ArraySection<Int, StoreItem>>()
    let view = StrictListView(sections: { list.sections })
    view.reloadData()
    list.proposalHandler = { [weak view] proposal in
      #expect(list.sections == proposal.origin)
      if let view { list.commit(proposal, to: view) }
      #expect(list.sections == proposal.sections)
    }
    list.propose([ArraySection(model: 0, elements: [.message("Loading")])])
    list.propose([
      ArraySection(model: 0, elements: [.message("Two products")]),
      ArraySection(model: 1, elements: [.product("Lamp"), .product("Chair")]),
    ])
    // Across sections, and out of one that goes.
    list.propose([
      ArraySection(model: 1, elements: [.product("Chair")]),
      ArraySection(model: 0, elements: [.product("Lamp"), .message("One product")]),
    ])
    list.propose([ArraySection(model: 1, elements: [.product("Lamp")])])
    try view.check()
    #expect(view.cells == [[.product("Lamp")]])
    #expect(view.reloadCount == 1)
    #expect(list.item(at: path(0, 0)) == .product("Lamp"))
    #expect(list.item(at: path(0, 1)) == nil)
    #expect(list.item(at: path(1, 0)) == nil)
  }
}

private struct User: Differentiable, Equatable, Identifiable {
  let id: Int
  let name: String
}

private enum StoreItem: Hashable, Differentiable {
  case product(String)
  case message(String)
}
