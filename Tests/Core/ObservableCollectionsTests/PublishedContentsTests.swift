import DataSourceTesting
import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Tests of the contents that readers hold while a list is edited.
struct PublishedContentsTests {
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

  @Test(.reaches(.changes, "failed transaction")) func `Events and held snapshots stay exact`() {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let list = ArrayDataSource((0..<400).map { Item($0, "a") })
    let evens = list.filter { $0.id.isMultiple(of: 2) }
    let sorted = evens.sorted { $0.label.text }
    let folded = [list.collection, evens, sorted].map { FoldedList($0) }
    var held: [(snapshot: Snapshot<Item>, array: [Item])] = []
    var model = (0..<400).map { Item($0, "a") }
    for step in 0..<1_000 {
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
            #expect(list.snapshot.count == model.count, "seed \(seed)")
            #expect(
              Array(evens.snapshot) == model.filter { $0.id.isMultiple(of: 2) }, "seed \(seed)")
            throw Failure()
          }
        }
        Coverage.note("failed transaction")
      default:
        list.update(at: offset) { $0.label = item.label }
        model[offset].label = item.label
      }
      #expect(Array(list.snapshot) == model, "seed \(seed)")
      if Int.random(in: 0..<8, using: &random) == 0 { held.append((list.snapshot, model)) }
      if held.count > 5 { held.remove(at: Int.random(in: 0..<5, using: &random)) }
      for (snapshot, array) in held { #expect(snapshot.elementsEqual(array), "seed \(seed)") }
    }
    #expect(Array(evens.snapshot) == model.filter { $0.id.isMultiple(of: 2) }, "seed \(seed)")
    Coverage.note(folded[0].operations)
    #expect(folded.allSatisfy { $0.problem == nil }, "seed \(seed)")
    #expect(
      folded[0].elements == model && folded[2].elements == Array(sorted.snapshot), "seed \(seed)")
  }

  @Test func `Threads read whole revisions while others edit`() {
    let list = ArrayDataSource((0..<3_000).map { Item($0, "0") })
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

/// Tests of edits of lists that lists of other domains are derived from.
struct SharedStateTests {
  private final class Label: Sendable {}

  private struct Item: Identifiable, Differentiable, Sendable, Equatable {
    let id: Int
    var value = 0
    var label: Label?

    static func == (one: Item, other: Item) -> Bool {
      one.id == other.id && one.value == other.value
    }
  }

  private static func list() -> ArrayDataSource<Item> {
    // The root of this tree has room, so it is not split.
    let list = ArrayDataSource((0..<1_500).map { Item(id: $0) })
    list.update(at: 1_000) { $0.value = 1 }
    return list
  }

  @Test func `An edit that is rolled back leaves nothing in lists of other domains`() throws {
    struct Failure: Error {}
    let list = Self.list()
    let union = list.union(ArrayDataSource([]))
    let folded = FoldedList(union)
    weak var label: Label?
    #expect(throws: Failure.self) {
      try list.transaction { draft in
        let new = Label()
        label = new
        draft.insert(Item(id: -1, label: new), at: 700)
        #expect(union.snapshot.count == 1_500)
        throw Failure()
      }
    }
    #expect(label == nil)
    list.update(at: 3) { $0.value = 4 }
    #expect(folded.problem == nil && folded.elements == Array(list.snapshot))
  }

  @Test(arguments: [true, false]) func `A draft that is kept does not keep lists of other domains`(
    isJoint: Bool
  ) {
    let list = Self.list()
    var union: LiveCollection<Item>? = list.union(ArrayDataSource([]))
    var kept: CollectionDraft<Item>?
    func edit() {
      list.transaction { draft in
        draft.update(at: 3) { $0.value = 9 }
        kept = draft
      }
    }
    if isJoint { withTransaction { edit() } } else { edit() }
    #expect(union?.snapshot[3].value == 9)
    #expect(list.collection.node.isFollowed)
    union = nil
    #expect(!list.collection.node.isFollowed)
    withExtendedLifetime(kept) {}
  }

  @Test func `Threads edit and read lists of two domains and what is derived from both`() {
    let (left, right) = (Self.list(), ArrayDataSource((2_000..<4_000).map { Item(id: $0) }))
    let union = left.union(right)
    let folded = FoldedList(union)
    let done = Locked(0)
    let faults = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 5) { thread in
      if thread < 2 {
        let list = thread == 0 ? left : right
        for step in 1...400 {
          list.update(at: (step * 7_919) % 1_500) { $0.value = step }
          if step % 3 == 0 { list.move(from: step % 1_500, to: (step * 31) % 1_500) }
        }
        done.withLock { $0 += 1 }
      } else {
        while done.withLock({ $0 }) < 2 {
          if thread == 2 {
            // Lists that come and go follow the same roots.
            let other = right.union(left)
            let count = other.observe { _ in }
            if other.snapshot.count != 3_500 { faults.withLock { $0 += 1 } }
            withExtendedLifetime(count) {}
          }
          let identities = union.snapshot.reduce(0) { $0 + $1.id }
          if identities != 1_499 * 750 + 5_999 * 1_000 { faults.withLock { $0 += 1 } }
        }
      }
    }
    #expect(faults.withLock { $0 } == 0 && folded.problem == nil)
    #expect(folded.elements == Array(left.snapshot) + Array(right.snapshot))
  }
}

/// Tests of several edits in a transaction, and of edits of the elements of sections.
struct EditSequenceTests {
  private struct Item: Identifiable, Differentiable, Sendable, Equatable {
    let id: Int
    var key: Int
    var text = ""
  }

  @Test(arguments: 1...6) func `Only the draft shows the edits of a transaction`(count: Int) {
    let list = ArrayDataSource((0..<1_500).map { Item(id: $0, key: 0) })
    list.update(at: 1_000) { $0.text = "a" }
    var model = Array(list.snapshot)
    let folded = FoldedList(list.collection)
    list.transaction { draft in
      for step in 0..<count {
        draft.update(at: 100 * step) { $0.text = "b" }
        model[100 * step].text = "b"
      }
      #expect(draft.elements == model)
      #expect(list.snapshot.allSatisfy { $0.text != "b" })
      #expect(list.snapshot.count == 1_500 && list.snapshot[0].text == "")
    }
    #expect(Array(list.snapshot) == model && folded.elements == model && folded.problem == nil)
    list.transaction { draft in
      for step in 0..<count { draft.move(from: step, to: 700 + step) }
    }
    #expect(folded.elements == Array(list.snapshot) && folded.problem == nil)
  }

  @Test(.reaches(.changes, "failed transaction"))
  func `Transactions of a few edits are exact, also if they are rolled back`() {
    struct Failure: Error {}
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let list = ArrayDataSource((0..<400).map { Item(id: $0, key: $0 % 3) })
    let texts = list.map { Item(id: $0.id, key: 0, text: $0.text) }
    let folded = [FoldedList(list.collection), FoldedList(texts)]
    var (model, nextID) = (Array(list.snapshot), 1_000)
    for step in 0..<(TestRun.isLong ? 2_000 : 700) {
      var edited = model
      let fails = Int.random(in: 0..<6, using: &random) == 0
      try? list.transaction { draft in
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          let offset = Int.random(in: 0..<edited.count, using: &random)
          let target = Int.random(in: 0..<edited.count, using: &random)
          switch Int.random(in: 0..<5, using: &random) {
          case 0 where edited.count > 200:
            draft.remove(at: offset)
            edited.remove(at: offset)
          case 1:
            nextID += 1
            draft.insert(Item(id: nextID, key: 1), at: offset)
            edited.insert(Item(id: nextID, key: 1), at: offset)
          case 2:
            draft.move(from: offset, to: target)
            edited.insert(edited.remove(at: offset), at: target)
          default:
            draft.update(at: offset) { $0.text = "\(step)" }
            edited[offset].text = "\(step)"
          }
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
          #expect(list.snapshot[7] == model[7], "seed \(seed)")
        }
        if fails { throw Failure() }
      }
      if fails { Coverage.note("failed transaction") } else { model = edited }
      #expect(list.snapshot.elementsEqual(model), "seed \(seed)")
    }
    #expect(
      folded[0].elements == model && folded[1].elements.map(\.text) == model.map(\.text),
      "seed \(seed)")
    Coverage.note(folded[0].operations)
    #expect(folded.allSatisfy { $0.problem == nil }, "seed \(seed)")
  }

  /// Returns the sections of a list, each of which is a long tree that has been edited.
  private func makeSections() -> (
    ArrayDataSource<Item>, LiveCollection<ListSection<Int, Item>>
  ) {
    let list = ArrayDataSource((0..<3_000).map { Item(id: $0, key: $0 % 2) })
    let sections = list.sections(by: \.key)
    return (list, sections)
  }

  /// Makes an edit of each kind, the last of which changes a key.
  private static func editInEachWay(_ list: ArrayDataSource<Item>) {
    list.update(at: 1_001) { $0.text = "b" }
    list.insert(Item(id: 5_000, key: 0), at: 900)
    list.remove(at: 1_003)
    list.move(from: 4, to: 1_500)
    list.update(at: 2_000) { $0.key = 1 - $0.key }
  }

  @Test func `A group equals its section, and held snapshots of it do not change`() {
    let (list, sections) = makeSections()
    let index = list.indexed(by: \.key)
    let (groups, even) = ((0..<2).map { index[$0] }, index[0].filter { $0.id.isMultiple(of: 2) })
    // A list of another domain follows one of the groups.
    let union = index[1].union(ArrayDataSource([Item(id: -1, key: 0)]))
    let observation = groups[0].observe { _ in }
    for offset in 0..<2 { list.update(at: offset) { $0.text = "a" } }
    Self.editInEachWay(list)
    let held = groups.map(\.snapshot)
    let copies = held.map { Array($0) }
    for offset in 10..<14 { list.update(at: offset) { $0.text = "c" } }
    list.remove(at: 20)
    #expect(held.map { Array($0) } == copies)
    for key in 0..<2 {
      let expected = list.snapshot.filter { $0.key == key }
      #expect(Array(groups[key].snapshot) == expected)
      #expect(
        Array(sections.snapshot[sections.snapshot[0].key == key ? 0 : 1].elements) == expected)
    }
    #expect(Array(even.snapshot) == groups[0].snapshot.filter { $0.id.isMultiple(of: 2) })
    #expect(Array(union.snapshot.dropLast()) == Array(groups[1].snapshot))
    withExtendedLifetime(observation) {}
  }

  @Test(.reaches(.changes(of: ["rows", "group"])))
  func `Held sections and their changes stay exact`() {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let (list, sections) = makeSections()
    let rows = FoldedList(sections.rows())
    let group = FoldedList(list.indexed(by: \.key)[1])
    let folded = FoldedList(sections)
    let changes = Locked<[CollectionChange<ListSection<Int, Item>>]>([])
    let observation = sections.observe { event in
      if case .change(let change) = event { changes.withLock { $0.append(change) } }
    }
    var (model, nextID) = (Array(list.snapshot), 10_000)
    func arrays(_ sections: Snapshot<ListSection<Int, Item>>) -> [[Item]] {
      sections.map { Array($0.elements) }
    }
    for step in 0..<(TestRun.isLong ? 300 : 100) {
      let expected = arrays(sections.snapshot)
      list.transaction { draft in
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let offset = Int.random(in: 0..<model.count, using: &random)
          let target = Int.random(in: 0..<model.count, using: &random)
          switch Int.random(in: 0..<5, using: &random) {
          case 0 where model.count > 2_500:
            draft.remove(at: offset)
            model.remove(at: offset)
          case 1:
            nextID += 1
            draft.insert(Item(id: nextID, key: nextID % 2), at: offset)
            model.insert(Item(id: nextID, key: nextID % 2), at: offset)
          case 2:
            draft.move(from: offset, to: target)
            model.insert(model.remove(at: offset), at: target)
          case 3:
            draft.update(at: offset) { $0.key = 1 - $0.key }
            model[offset].key = 1 - model[offset].key
          default:
            draft.update(at: offset) { $0.text = "\(step)" }
            model[offset].text = "\(step)"
          }
        }
      }
      // Some changes are kept for a while.
      let kept = changes.withLock { changes in
        defer { if step % 7 < 4 { changes = [] } }
        return changes
      }
      // A transaction may have no effect.
      if let last = kept.last, arrays(last.after) != expected {
        #expect(arrays(last.before) == expected, "seed \(seed)")
      }
    }
    for section in sections.snapshot {
      #expect(
        section.elements.elementsEqual(model.filter { $0.key == section.key }), "seed \(seed)")
    }
    #expect(group.elements == model.filter { $0.key == 1 }, "seed \(seed)")
    Coverage.note(rows.operations, of: "rows")
    Coverage.note(group.operations, of: "group")
    #expect(
      folded.problem == nil && rows.problem == nil && group.problem == nil, "seed \(seed)")
    withExtendedLifetime(observation) {}
  }

  @Test func `Threads read whole sections while their elements are edited`() {
    let (list, sections) = makeSections()
    let observation = sections.observe { _ in }
    let done = Locked(false)
    let faults = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 3) { thread in
      if thread == 0 {
        // Each change of a section increases the sum of its texts by 1.
        for step in 1...3_000 {
          list.update(at: (step * 7_919) % 3_000) { $0.text = "\((Int($0.text) ?? 0) + 1)" }
        }
        done.withLock { $0 = true }
      } else {
        var last = [0, 0]
        while !done.withLock({ $0 }) {
          let held = sections.snapshot
          let sums = held.map { section in
            section.elements.reduce(0) { $0 + (Int($1.text) ?? 0) }
          }
          let again = held.map { section in
            section.elements.indices.reduce(0) { $0 + (Int(section.elements[$1].text) ?? 0) }
          }
          let isWhole = held.allSatisfy { section in
            section.elements.count == 1_500 && section.elements.allSatisfy { $0.key == section.key }
          }
          let grows = zip(last, sums).allSatisfy { $0 <= $1 }
          if sums != again || !isWhole || !grows { faults.withLock { $0 += 1 } }
          last = sums
        }
      }
    }
    #expect(faults.withLock { $0 } == 0)
    #expect(sections.snapshot.flatMap(\.elements).reduce(0) { $0 + (Int($1.text) ?? 0) } == 3_000)
    withExtendedLifetime(observation) {}
  }
}

/// Tests of the elements that lists keep alive after edits.
struct EditMemoryTests {
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

  private func makeTree() -> ArrayDataSource<Item> {
    let list = ArrayDataSource((0..<1_500).map { Item(id: $0) })
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

  /// An element that a transaction inserts and removes is released after the edit that removes it.
  @Test func `A deinitializer that edits joins the transaction that releases its element`() {
    let (list, other) = (makeTree(), makeTree())
    func bomb(_ id: Int, _ target: ArrayDataSource<Item>) -> Item {
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
    #expect(list.snapshot.map(\.id).filter { $0 >= 10_000 } == [10_000])
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
      let list: ArrayDataSource<Owned>
      init(_ list: ArrayDataSource<Owned>) { self.list = list }
    }
    struct Owned: Identifiable, Differentiable, Sendable, Equatable {
      let id: Int
      var owner: Owner?
      static func == (one: Owned, other: Owned) -> Bool { one.id == other.id }
    }
    func use() -> () -> Bool {
      let list = ArrayDataSource((0..<1_500).map { Owned(id: $0) })
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
}
