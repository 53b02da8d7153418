import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct SelectionTests {
  struct Row: Identifiable, Hashable, Sendable, Differentiable {
    var id: Int
    var text = 0
  }

  typealias Selection = LiveCollection<Row>.Selection

  private let rows = ArrayDataSource((0..<5).map { Row(id: $0) })

  private func ids(_ list: LiveCollection<Row>) -> [Int] { list.snapshot.map(\.id) }

  @Test func `elements are selected by their identity`() throws {
    let selection = rows.selection()
    let (count, third) = (selection.count, selection.contains(3))
    let (events, others) = (
      RecordingObserver(selection.selected), RecordingObserver(selection.unselected)
    )
    selection.select(3)
    selection.toggle(1)
    #expect(ids(selection.selected) == [1, 3] && ids(selection.unselected) == [0, 2, 4])
    #expect(count.value == 2 && third.value && "\(selection)" == "2 of 5 selected")
    selection.select(3)
    selection.deselect(4)
    selection.select(17)
    #expect(events.changes.count == 2)
    rows.move(from: 3, to: 0)
    rows.update(at: 0) { $0.text = 7 }
    #expect(Array(selection.selected.snapshot) == [Row(id: 3, text: 7), Row(id: 1)])
    #expect(events.changes.map(\.changeset.moves.count) == [0, 0, 1, 0])
    #expect(events.changes.last?.changeset.updates.count == 1)
    selection.toggle(3)
    #expect(ids(selection.selected) == [1] && !third.value)
    selection.invert()
    #expect(ids(selection.selected) == [3, 0, 2, 4])
    selection.deselectAll { $0.id > 2 }
    #expect(ids(selection.selected) == [0, 2])
    selection.selectAll { $0.id == 4 }
    #expect(ids(selection.selected) == [0, 2, 4])
    selection.selectAll()
    #expect(selection.unselected.snapshot.isEmpty)
    selection.deselectAll()
    #expect(count.value == 0)
    try events.check(against: selection.selected)
    try others.check(against: selection.unselected)
  }

  @Test func `identities that are gone are forgotten or remembered`() {
    let (forgetting, remembering) = (rows.selection(), rows.selection(whenGone: .remember))
    for selection in [forgetting, remembering] {
      selection.select(2)
      selection.select(9)
      #expect(ids(selection.selected) == [2])
    }
    rows.remove(at: 2)
    rows.append(Row(id: 9))
    rows.append(Row(id: 2))
    #expect(ids(forgetting.selected) == [])
    #expect(ids(remembering.selected) == [9, 2])
    rows.removeAll()
    remembering.deselectAll()
    rows.append(Row(id: 9))
    #expect(ids(remembering.selected) == [])
    // An element that is replaced in one step has not gone.
    forgetting.select(9)
    rows.transaction { draft in
      draft.removeAll()
      draft.append(Row(id: 1))
      draft.append(Row(id: 9, text: 1))
    }
    #expect(ids(forgetting.selected) == [9])
  }

  @Test func `one element can be selected, and its neighbor after it`() {
    let (single, neighbor) = (rows.selection(.single), rows.selection(.singleOrNeighbor))
    for selection in [single, neighbor] {
      selection.select(1)
      selection.toggle(3)
      #expect(ids(selection.selected) == [3])
      selection.invert()
      #expect(ids(selection.selected) == [3])
    }
    rows.remove(at: 3)
    #expect(ids(single.selected) == [] && ids(neighbor.selected) == [4])
    rows.transaction { draft in
      draft.remove(at: 3)
      draft.remove(at: 2)
    }
    #expect(ids(neighbor.selected) == [1])
    rows.removeAll()
    #expect(ids(neighbor.selected) == [])
    rows.append(contentsOf: [Row(id: 7), Row(id: 8)])
    single.selectAll()
    #expect(ids(single.selected) == [7] && ids(neighbor.selected) == [])
  }

  @Test(arguments: [Selection.Mode.single, .multiple])
  func `the selection follows identities that are exchanged or passed on`(mode: Selection.Mode) {
    let selection = rows.selection(mode)
    selection.select(1)
    rows.transaction { draft in
      draft[1] = Row(id: 2, text: 1)
      draft[2] = Row(id: 1, text: 1)
    }
    #expect(Array(selection.selected.snapshot) == [Row(id: 2, text: 1)])
    rows.transaction { draft in
      draft[0] = Row(id: 2, text: 2)
      draft[1] = Row(id: 9, text: 2)
    }
    #expect(Array(selection.selected.snapshot) == [Row(id: 9, text: 2)])
    rows.replace(with: [Row(id: 1), Row(id: 1, text: 1), Row(id: 3)])
    selection.deselectAll()
    selection.select(1)
    rows[0] = Row(id: 7)
    #expect(ids(selection.selected) == (mode == .single ? [7] : [7, 1]))
  }

  @Test func `many requests in a transaction are one event, and none is kept`() {
    rows.replace(with: (0..<3_000).map { Row(id: $0) })
    let selection = rows.selection()
    let events = RecordingObserver(selection.selected)
    struct Stop: Error {}
    try? withTransaction {
      for id in 0..<100 { selection.select(id) }
      throw Stop()
    }
    withTransaction { for id in 0..<3_000 { selection.select(id) } }
    #expect(selection.count.value == 3_000 && events.changes.count == 1)
  }

  @Test func `elements with one identity are selected together`() {
    rows.replace(with: [Row(id: 1), Row(id: 2), Row(id: 1, text: 1)])
    let selection = rows.selection()
    selection.toggle(1)
    #expect(ids(selection.selected) == [1, 1] && ids(selection.unselected) == [2])
    rows.remove(at: 0)
    #expect(Array(selection.selected.snapshot) == [Row(id: 1, text: 1)])
    selection.invert()
    #expect(ids(selection.selected) == [2])
  }

  @Test func `a transaction changes the list and the selection together, or neither`() {
    struct Stop: Error {}
    let selection = rows.selection()
    let events = RecordingObserver(selection.selected)
    withTransaction {
      rows.append(Row(id: 5))
      selection.select(5)
      selection.select(0)
      selection.deselect(0)
    }
    #expect(events.changes.count == 1 && ids(selection.selected) == [5])
    try? withTransaction {
      rows.remove(at: 5)
      selection.selectAll()
      throw Stop()
    }
    #expect(events.changes.count == 1 && ids(selection.selected) == [5])
    for number in 0..<100 { selection.toggle(number % 3) }
    #expect(ids(selection.selected) == [1, 2, 5])
  }

  /// What a selection should contain.
  private struct Model {
    var rows: [Row]
    var selected: Set<Int> = []
    let whenGone: Selection.Departure

    mutating func setRows(_ new: [Row]) {
      rows = new
      if whenGone == .forget { selected.formIntersection(rows.map(\.id)) }
    }

    func isHere(_ id: Int) -> Bool { whenGone == .remember || rows.contains { $0.id == id } }
  }

  @Test(arguments: [Selection.Departure.forget, .remember])
  func `a selection over swaps and edits equals a model at each event`(
    whenGone: Selection.Departure
  ) throws {
    var random = SeededGenerator(seed: TestRun.seed ?? 66)
    func makeRows() -> [Row] {
      (0..<40).shuffled(using: &random).prefix(20).map { Row(id: $0, text: random.below(3)) }
    }
    var source = ArrayDataSource(makeRows())
    let container = SwappableContainer(source)
    let selection = container.selection(whenGone: whenGone)
    var model = Model(rows: Array(container.snapshot), whenGone: whenGone)
    let events = RecordingObserver(selection.selected)
    // At each event, both lists and the rows are one state.
    let splits = Shared(0)
    let observation = container.observe { [container] _ in
      let parts = Set(selection.selected.snapshot).union(selection.unselected.snapshot)
      if parts != Set(container.snapshot) { splits.modify { $0 += 1 } }
    }
    for step in 1...3_000 {
      switch random.below(9) {
      case 0...2:
        source = ArrayDataSource(makeRows())
        container.swap(to: source)
      case 3: source.replace(with: makeRows())
      case 4: source.append(Row(id: 40 + random.below(3)))
      case 5: if source.snapshot.count > 9 { source.remove(at: random.below(9)) }
      case 6:
        let id = random.below(43)
        selection.toggle(id)
        if model.isHere(id) { model.selected.formSymmetricDifference([id]) }
      case 7:
        let limit = random.below(40)
        selection.selectAll { $0.id < limit }
        model.selected.formUnion(model.rows.map(\.id).filter { $0 < limit })
      default:
        selection.invert()
        model.selected.formSymmetricDifference(model.rows.map(\.id))
      }
      model.setRows(Array(container.snapshot))
      let expected = model.rows.filter { model.selected.contains($0.id) }
      try #require(Array(selection.selected.snapshot) == expected, "step \(step)")
      try #require(selection.count.value == expected.count)
    }
    #expect(splits.value == 0)
    try events.check(against: selection.selected)
    withExtendedLifetime(observation) {}
  }
}
