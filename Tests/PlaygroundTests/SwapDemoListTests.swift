import Swappable
import TerminalViews
import TestSupport
import Testing

@testable import SwapDemo

@Suite struct SwapDemoListTests {
  /// The shown list and model, without a terminal.
  private struct Shown {
    var model = ListModel(sourceName: "old")
    var list = TerminalListState<Item>(columns: [])

    mutating func apply(_ event: CollectionEvent<Item>) {
      list.apply(event)
      model.show(event)
      list.columns = model.columns
    }
  }

  /// Returns the state after a swap from one list to another.
  private func shown(_ old: [Item], _ new: [Item]) -> Shown {
    let container = SwappableContainer(ArrayDataSource(old))
    let shown = Shared(Shown())
    let observation = container.observe { shown.value.apply($0) }
    let handle = container.swap(to: ArrayDataSource(new))
    shown.value.model.swapped(to: "new", handle.outcomeIfKnown)
    observation.dispose()
    return shown.value
  }

  @Test func `rows of both sources stay`() {
    let shown = shown(Item.list([1, 2, 3]), Item.list([3, 4, 1], counts: [3: 99]))
    #expect(shown.list.contents.map(\.id) == [3, 4, 1])
    #expect(shown.model.revisions == [3: 0, 4: 1, 1: 0])
    #expect(shown.list.mark(ofRow: 0) == .updated)
    #expect(shown.list.mark(ofRow: 1) == .inserted)
    #expect(shown.model.sourceName == "new")
  }

  @Test func `a swap to equal contents has no event`() {
    let shown = shown(Item.list([1, 2]), Item.list([1, 2]))
    #expect(shown.model.swapSentence == "swapped to new: the contents are equal, no event")
    #expect(shown.list.revision == 0)
  }

  @Test func `the sentence of a swap remains until the next swap`() {
    let new = ArrayDataSource(Item.list([1, 2]))
    let other = ArrayDataSource(Item.list([1]))
    let container = SwappableContainer(ArrayDataSource(Item.list([1])))
    let shown = Shared(Shown())
    let observation = container.observe { event in shown.modify { $0.apply(event) } }
    #expect(shown.value.model.swapSentence == "initial: 1 row")
    func swap(to source: ArrayDataSource<Item>, _ name: String) {
      // As in the demo, the model knows of the swap before the change is delivered.
      shown.modify { $0.model.swapped(to: name, .swapped) }
      container.swap(to: source)
    }
    swap(to: new, "new")
    let sentence = "swapped to new: 1 inserted (Bread at 2); 1 row stays"
    #expect(shown.value.model.swapSentence == sentence)
    #expect(shown.value.model.editSentence == "")
    for count in [20, 30] {
      new.update(identifiedBy: 1) { $0.count = count }
      #expect(shown.value.model.swapSentence == sentence)
      #expect(shown.value.model.editSentence.hasSuffix("-> \(count)); 2 rows stay"))
    }
    #expect(shown.value.model.editSentence.hasPrefix("new edited: 1 updated (Apples 20 -> 30)"))
    swap(to: other, "other")
    #expect(shown.value.model.swapSentence.hasPrefix("swapped to other: 1 updated"))
    #expect(shown.value.model.editSentence == "")
    shown.modify { $0.model.swapped(to: "other", .unchanged) }
    #expect(shown.value.model.editSentence == "other is already shown")
    #expect(shown.value.model.swapSentence.hasPrefix("swapped to other: 1 updated"))
    observation.dispose()
  }

  @Test func `a row that passes others and keeps its number is not moved from 2 to 2`() {
    func item(_ id: Int, _ name: String) -> Item { Item(id: id, name: name, count: 1, shelf: "A") }
    let before = Snapshot([item(1, "Tea"), item(2, "Apples"), item(3, "Milk")])
    let after = Snapshot([item(3, "Milk"), item(2, "Apples"), item(4, "Salt")])
    let change = CollectionChange(
      before: before, after: after, revisionBefore: 0, revision: 1,
      changeset: Changeset(
        deletions: [0], insertions: [2], moves: [Changeset.Move(from: 1, to: 1)]))
    #expect(Words.describe(change).contains("1 moved (Apples past others, again at 2)"))
  }

  @Test func `a new order is described, also if it changes nothing`() {
    let order = Property(ItemOrder.stored.elementOrder)
    let source = ArrayDataSource(Item.list([3, 1, 2]))
    let list = source.sorted(by: order)
    let shown = Shared(Shown())
    let observation = list.observe { event in shown.modify { $0.apply(event) } }
    func sort(_ next: ItemOrder, isChange: Bool) {
      shown.modify { $0.model.sorted(next, isChange: isChange) }
      order.value = next.elementOrder
      #expect(shown.value.model.order == next)
    }
    sort(.name, isChange: true)
    #expect(shown.value.list.contents.map(\.name) == ["Apples", "Bread", "Coffee"])
    let sentence = "sorted by name: 1 moved (Coffee from 1 to 3); 3 rows stay"
    #expect(shown.value.model.editSentence == sentence)
    source.update(identifiedBy: 2) { $0.count = 7 }
    #expect(shown.value.model.editSentence.hasPrefix("old edited: 1 updated (Bread 9 -> 7)"))
    source.replace(with: Item.list([1, 2, 3]))
    sort(.stored, isChange: false)
    #expect(shown.value.model.editSentence.hasSuffix("in this order already, no event"))
    source.remove(identifiedBy: 1)
    #expect(shown.value.model.editSentence.hasPrefix("old edited: 1 deleted"))
    observation.dispose()
  }

  @Test func `orders follow each other in a circle`() {
    #expect(ItemOrder.stored.next == .name)
    #expect(ItemOrder.name.next == .count)
    #expect(ItemOrder.count.next == .stored)
  }

  @Test func `every size is filled with the keys in the last line`() {
    var shown = shown(Item.list([1, 2, 3]), Item.list(Array(1...9)))
    for rows in 1...40 {
      for columns in [1, 2, 5, 19, 20, 40, 60, 80, 200] {
        let layout = Layout(
          model: shown.model, status: .loaded, revision: 1, count: 9, names: ["old", "new"],
          hints: ["hint"], size: TerminalSize(rows: rows, columns: columns))
        let frame = layout.frame { part in
          shown.list.resize(to: part, hasStatus: false)
          return shown.list.frame().lines
        }
        #expect(frame.size == TerminalSize(rows: rows, columns: columns))
        #expect(frame.lines.count == rows)
        #expect(frame.lines.last?.text.hasSuffix("q quit") == true)
        if rows > 12, columns >= 60 {
          #expect(frame.lines.filter { $0.text.contains("revision 1") }.count >= 6)
        }
        if rows > 12 { #expect(shown.list.visibleRows == 0..<9) }
      }
    }
  }

  @Test func `random edits change the list and keep it short`() {
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
