import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import Testing

/// Tests of edits that change the tree of a list in place.
struct InPlaceEditTests {
  /// An element with memory of its own.
  private final class Label: Sendable {
    let text: String
    init(_ text: String) { self.text = text }
  }

  private struct Item: Identifiable, Differentiable, Sendable, Equatable {
    let id: Int
    var label: Label

    init(_ id: Int, _ text: String) { (self.id, label) = (id, Label(text)) }

    static func == (one: Item, other: Item) -> Bool {
      one.id == other.id && one.label.text == other.label.text
    }
  }

  private static func root<Element>(_ list: CollectionProperty<Element>) -> ObjectIdentifier? {
    if case .tree(let root) = list.collection.current.state.snapshot.storage {
      return ObjectIdentifier(root)
    }
    return nil
  }

  @Test func `A tree that nobody else has is edited in place`() {
    // The root of this tree has room, so it is not split.
    let list = CollectionProperty((0..<1_500).map { Item($0, "a") })
    list.update(at: 1_000) { $0.label = Label("b") }
    let root = Self.root(list)
    list.update(at: 500) { $0.label = Label("c") }
    #expect((root == Self.root(list)) == !isThreadSanitized)
    list.remove(at: 7)
    #expect((root == Self.root(list)) == !isThreadSanitized)
    list.insert(Item(5_000, "d"), at: 900)
    #expect((root == Self.root(list)) == !isThreadSanitized)
    list.move(from: 3, to: 1_300)
    #expect(root != nil && (root == Self.root(list)) == !isThreadSanitized)
    let held = list.snapshot
    let copy = Array(held)
    list.update(at: 600) { $0.label = Label("e") }
    #expect(Self.root(list) != root)
    #expect(Array(held) == copy)
  }

  @Test func `Events and held snapshots stay exact`() {
    var random = SystemRandomNumberGenerator()
    let list = CollectionProperty((0..<400).map { Item($0, "a") })
    let evens = list.filter { $0.id.isMultiple(of: 2) }
    let sorted = evens.sorted { $0.label.text }
    let folded = [list.collection, evens, sorted].map { FoldedList($0) }
    var held: [(snapshot: Snapshot<Item>, array: [Item])] = []
    var model = (0..<400).map { Item($0, "a") }
    for step in 0..<3_000 {
      let offset = Int.random(in: 0..<model.count, using: &random)
      let item = Item(10_000 + step, "\(step % 97)")
      switch Int.random(in: 0..<6, using: &random) {
      case 0 where model.count > 200:
        list.remove(at: offset)
        model.remove(at: offset)
      case 1:
        list.insert(item, at: offset)
        model.insert(item, at: offset)
      case 2:
        let target = Int.random(in: 0..<model.count, using: &random)
        list.move(from: offset, to: target)
        model.insert(model.remove(at: offset), at: target)
      case 3:
        struct Failure: Error {}
        #expect(throws: Failure.self) {
          try list.transaction { draft in
            draft.insert(item, at: offset)
            // Other readers still see the list before the transaction.
            #expect(list.snapshot.count == model.count)
            #expect(Array(evens.snapshot) == model.filter { $0.id.isMultiple(of: 2) })
            throw Failure()
          }
        }
      default:
        list.update(at: offset) { $0.label = item.label }
        model[offset].label = item.label
      }
      #expect(Array(list.snapshot) == model)
      if Int.random(in: 0..<8, using: &random) == 0 { held.append((list.snapshot, model)) }
      if held.count > 5 { held.remove(at: Int.random(in: 0..<5, using: &random)) }
      for (snapshot, array) in held { #expect(snapshot.elementsEqual(array)) }
    }
    #expect(Array(evens.snapshot) == model.filter { $0.id.isMultiple(of: 2) })
    #expect(folded.allSatisfy { $0.problem == nil })
    #expect(folded[0].elements == model && folded[2].elements == Array(sorted.snapshot))
  }

  @Test func `Threads read whole revisions while others edit`() {
    let list = CollectionProperty((0..<3_000).map { Item($0, "0") })
    let done = Locked(false)
    let faults = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 3) { thread in
      if thread == 0 {
        // Each revision has one item more with the number of the revision, and keeps the sum of the identities.
        for step in 1...4_000 {
          list.update(at: (step * 7_919) % 3_000) { $0.label = Label("\(step)") }
        }
        done.withLock { $0 = true }
      } else {
        while !done.withLock({ $0 }) {
          let state = list.collection.current.state
          let newest = state.snapshot.reduce(0) { max($0, Int($1.label.text) ?? -1) }
          let isWhole = state.snapshot.enumerated().allSatisfy { $0 == $1.id }
          if newest != state.revision || !isWhole { faults.withLock { $0 += 1 } }
        }
      }
    }
    #expect(faults.withLock { $0 } == 0)
  }
}
