import Swappable
import Testing

@testable import SwapDemo

@Suite struct SwapDemoListTests {
  /// A model that has seen a container being swapped from one list to another.
  @MainActor
  private func model(_ old: [Item], _ new: [Item]) -> ListModel {
    let container = SwappableContainer(ArrayDataSource(old))
    var model = ListModel(sourceName: "old")
    var observation: Disposable?
    observation = container.observe { event in
      MainActor.assumeIsolated { model.show(event) }
    }
    let handle = container.swap(to: ArrayDataSource(new))
    model.swapped(to: "new", handle.outcomeIfKnown)
    observation?.dispose()
    observation = nil
    return model
  }

  @Test @MainActor func rowsFoundInBothSourcesStay() {
    let model = model(Item.list([1, 2, 3]), Item.list([3, 4, 1], counts: [3: 99]))
    #expect(model.rows.map(\.item.id) == [3, 4, 1])
    #expect(model.rows.map(\.since) == [0, 1, 0])
    #expect(model.rows[1].marks == [.inserted])
    #expect(model.rows.filter { $0.marks.contains(.updated) }.map(\.item.id) == [3])
    #expect(model.sourceName == "new")
  }

  @Test @MainActor func aSwapToEqualContentsTellsOfNothing() {
    let model = model(Item.list([1, 2]), Item.list([1, 2]))
    #expect(model.lastEvent == "swapped to new: nothing differs, nothing to tell")
    #expect(model.revision == 0)
  }

  @Test @MainActor func everySizeIsFilledWithTheKeysInTheLastLine() {
    let model = model(Item.list([1, 2, 3]), Item.list(Array(1...9)))
    for rows in 1...40 {
      for columns in [1, 2, 5, 19, 20, 40, 60, 80, 200] {
        let layout = Layout(
          model: model, names: ["old", "new"], hints: ["hint"], rows: rows, columns: columns)
        let lines = layout.lines()
        #expect(lines.count == rows)
        #expect(lines.last?.text.hasSuffix("q quit") == true)
        if rows > 12 { #expect(lines.filter { $0.text.contains("revision 1") }.count >= 6) }
      }
    }
  }

  @Test func onlyLinesThatDifferAreSent() {
    var screen = Screen(isColourless: true)
    let size = (rows: 3, columns: 10)
    let first = screen.update(to: ["a", "b", "c"].map { Screen.Line($0) }, size: size)
    #expect(first.contains("\u{1B}[2J"))
    #expect(screen.update(to: ["a", "b", "c"].map { Screen.Line($0) }, size: size) == "")
    #expect(
      screen.update(to: ["a", "x", "c"].map { Screen.Line($0) }, size: size)
        == "\u{1B}[2;1Hx\u{1B}[K")
    #expect(screen.update(to: ["a"].map { Screen.Line($0) }, size: size).contains("\u{1B}[3;1H"))
  }

  @Test func randomEditsChangeTheListAndKeepItShort() {
    for seed in 0..<20 as Range<UInt64> {
      var edits = RandomEdits(seed: seed)
      var items: [Item] = []
      for _ in 0..<500 {
        let old = items
        edits.next(for: items).apply(to: &items)
        #expect(items != old, "seed \(seed)")
        #expect(items.count <= 9, "seed \(seed)")
        #expect(Set(items.map(\.id)).count == items.count, "seed \(seed)")
      }
    }
  }
}
