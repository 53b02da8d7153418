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

/// Tests of what lists keep alive after edits that change their trees in place.
struct InPlaceEditMemoryTests {
  private final class Label: Sendable {
    let action = Locked<(@Sendable () -> Void)?>(nil)

    deinit { action.withLock { $0 }?() }
  }

  private struct Item: Identifiable, Differentiable, Sendable, Equatable {
    let id: Int
    var label: Label?

    static func == (one: Item, other: Item) -> Bool {
      one.id == other.id && one.label === other.label
    }
  }

  private struct Failure: Error {}

  private func makeTree() -> CollectionProperty<Item> {
    let list = CollectionProperty((0..<1_500).map { Item(id: $0) })
    list.move(from: 0, to: 1_000)
    return list
  }

  /// Returns whether an element is released after a closure has used it.
  private func isReleased(_ id: Int = 9_999, after body: (Item) -> Void) -> Bool {
    func use() -> () -> Bool {
      let label = Label()
      body(Item(id: id, label: label))
      weak let reference = label
      return { reference == nil }
    }
    return use()()
  }

  @Test func `An edit that is rolled back releases its element`() {
    let (list, other) = (makeTree(), makeTree())
    let isInsertionReleased = isReleased { item in
      #expect(throws: Failure.self) {
        try list.transaction { (draft) throws(Failure) in
          draft.insert(item, at: 5)
          throw Failure()
        }
      }
    }
    let isUpdateReleased = isReleased(5) { item in
      #expect(throws: Failure.self) {
        try withTransaction {
          list.transaction { $0[5] = item }
          other.transaction { $0[5] = item }
          throw Failure()
        }
      }
    }
    #expect(isInsertionReleased && isUpdateReleased)
    #expect(list.snapshot.map(\.id) == Array(makeTree().snapshot.map(\.id)))
  }

  @Test func `Edits without effect release their elements`() {
    let list = makeTree()
    #expect(
      isReleased { item in
        list.transaction {
          $0.insert(item, at: 5)
          $0.remove(at: 5)
        }
      })
    #expect(list.snapshot.map(\.id) == Array(makeTree().snapshot.map(\.id)))
  }

  /// The code edits the list, so it must not run before the transaction has ended.
  @Test func `A deinitializer runs after a transaction without effect or with an error`() {
    let (list, other) = (makeTree(), makeTree())
    func bomb(_ id: Int, _ target: CollectionProperty<Item>) -> Item {
      let label = Label()
      label.action.withLock { $0 = { target.append(Item(id: id)) } }
      return Item(id: 9_999, label: label)
    }
    list.transaction {
      $0.insert(bomb(10_000, list), at: 5)
      $0.remove(at: 5)
    }
    #expect(throws: Failure.self) {
      try list.transaction { (draft) throws(Failure) in
        draft.insert(bomb(10_001, list), at: 5)
        draft.remove(at: 5)
        throw Failure()
      }
    }
    withTransaction {
      other.move(from: 3, to: 4)
      list.insert(bomb(10_002, other), at: 5)
      list.remove(at: 5)
    }
    #expect(throws: Failure.self) {
      try withTransaction {
        other.transaction { $0.insert(bomb(10_003, list), at: 5) }
        other.remove(at: 5)
        list.append(Item(id: 20_000))
        throw Failure()
      }
    }
    // The last one may run inside the transaction that is rolled back.
    #expect(list.snapshot.map(\.id).filter { $0 >= 10_000 && $0 != 10_003 } == [10_000, 10_001])
    #expect(other.snapshot.last?.id == 10_002 && other.count == 1_501)
  }

  /// Inserts an element and removes it again.
  private struct Attempt: CollectionOperator {
    let input: CollectionInput<Item>
    let attempt: @Sendable () -> Item?

    mutating func start(_ output: CollectionDraft<Item>) {
      output.append(contentsOf: input.snapshot)
      output.move(from: 0, to: 1_000)
    }

    mutating func update(_ output: CollectionDraft<Item>) {
      guard let item = attempt() else { return output.move(from: 3, to: 900) }
      output.insert(item, at: 5)
      output.remove(at: 5)
    }
  }

  @Test func `An operator without effect releases its elements`() {
    let (list, next) = (makeTree(), Property<Item?>(nil))
    let output = list.transformed { Attempt(input: $0) { next.value } }
    let observation = output.observe { _ in }
    list.move(from: 1, to: 2)
    let ids = output.snapshot.map(\.id)
    #expect(
      isReleased { item in
        next.value = item
        list.move(from: 1, to: 2)
        next.value = nil
      })
    #expect(output.snapshot.map(\.id) == ids)
    withExtendedLifetime(observation) {}
  }

  @Test func `An edit that is rolled back does not keep its list alive`() {
    final class Owner: Sendable {
      let list: CollectionProperty<Owned>
      init(_ list: CollectionProperty<Owned>) { self.list = list }
    }
    struct Owned: Identifiable, Differentiable, Sendable, Equatable {
      let id: Int
      var owner: Owner?
      static func == (one: Owned, other: Owned) -> Bool { one.id == other.id }
    }
    func use() -> () -> Bool {
      let list = CollectionProperty((0..<1_500).map { Owned(id: $0) })
      list.move(from: 0, to: 1_000)
      #expect(throws: Failure.self) {
        try list.transaction { (draft) throws(Failure) in
          draft.insert(Owned(id: -1, owner: Owner(list)), at: 0)
          throw Failure()
        }
      }
      weak let reference = list
      return { reference == nil }
    }
    #expect(use()())
  }

  /// The elements of `before` include one that its tree alone still holds.
  @Test func `No deinitializer runs in the middle of an edit`() {
    let list = makeTree()
    let before = Locked<Snapshot<Item>?>(nil)
    let first = list.observe { event in
      if case .change(let change) = event { before.withLock { $0 = change.before } }
    }
    func insert() -> () -> Label? {
      let label = Label()
      list.insert(Item(id: 9_999, label: label), at: 700)
      weak let reference = label
      return { reference }
    }
    let label = insert()
    first.dispose()
    list.remove(at: 700)
    list.move(from: 5, to: 6)
    let folded = FoldedList(list.collection)
    let counts = Locked<[Int]>([])
    list.transaction { draft in
      draft.replace(with: before.withLock { $0 ?? Snapshot() })
      label()?.action.withLock {
        $0 = {
          counts.withLock { $0.append(list.transaction { $0.count }) }
          list.append(Item(id: 77_777))
        }
      }
      before.withLock { $0.take() }.map { _ in }
      draft.remove(at: 3)
    }
    #expect(counts.withLock { $0 } == [1_500])
    #expect(list.snapshot.last?.id == 77_777 && list.count == 1_500)
    #expect(folded.problem == nil && folded.elements == Array(list.snapshot))
  }
}
