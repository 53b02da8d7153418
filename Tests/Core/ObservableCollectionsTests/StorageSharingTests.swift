import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// The memory that an edit copies, and the time at which elements are released.
@Suite struct StorageSharingTests {
  private let count = 1_000_000

  /// A long list that is a tree because it was edited.
  private func makeList() -> Items {
    let items = Items((0..<count).map { TestElement($0) })
    items[0].content = 1
    return items
  }

  /// The nodes on the path to a leaf. One edit may split each, or merge it with a neighbor.
  private func nodesOfAnEdit(_ list: PersistentArray<TestElement>) -> Int {
    2 * (list.height + 1)
  }

  @Test func `an edit of a million elements copies no more than a path`() {
    let items = makeList()
    let events = Shared(0)
    let observation = items.observe { _ in events.modify { $0 += 1 } }
    var random = SeededGenerator(seed: 1)
    for step in 0..<40 {
      let before = items.snapshot
      let (offset, other) = (random.below(before.count), random.below(before.count))
      switch step % 6 {
      case 0: items.append(TestElement(-step))
      case 1: items.insert(TestElement(-step), at: offset)
      case 2: items.remove(at: offset)
      case 3: items.update(at: offset) { $0.content += 1 }
      case 4: items.move(from: offset, to: other)
      default:
        items.edit {
          $0.apply(
            Changeset(
              deletions: [offset], insertions: [other],
              updates: [.init(from: 7, to: 7 + (other <= 7 ? 1 : 0) - (offset <= 7 ? 1 : 0))]),
            inserted: [TestElement(-step)], updated: [TestElement(before[7].id, step)])
        }
      }
      let after = items.snapshot
      #expect(after.storage.array == nil)
      #expect(
        after.storage.ownNodeCount(beside: before.storage) <= 3 * nodesOfAnEdit(before.storage))
    }
    #expect(events.value == 41)
    observation.dispose()
  }

  @Test func `a transaction copies the nodes that it edits once`() {
    let items = makeList()
    let before = items.snapshot
    items.transaction { draft in
      for step in 0..<1_000 { draft.append(TestElement(count + step)) }
      let appended = draft.snapshot
      for step in 0..<1_000 { draft[count / 2 + step % 10].content += 1 }
      // The path to one leaf or two.
      #expect(
        draft.snapshot.storage.ownNodeCount(beside: appended.storage)
          <= nodesOfAnEdit(before.storage))
    }
    let leaf = NodeLimits.standard(for: TestElement.self).leaf
    let limit = 2 * 1_000 / (leaf / 2) + 3 * nodesOfAnEdit(before.storage)
    #expect(items.snapshot.storage.ownNodeCount(beside: before.storage) <= limit)
  }

  @Test func `a binding shares the storage of its source`() {
    let items = makeList()
    let target = Items()
    let binding = items.bind(to: target)
    items.append(-1)
    items.move(from: 5, to: count / 2)
    #expect(target.snapshot.storage.isIdentical(to: items.snapshot.storage))
    binding.dispose()
  }

  @Test func `snapshots keep their elements after edits`() {
    let items = Items((0..<5_000).map { TestElement($0) })
    var random = SeededGenerator(seed: 3)
    var kept: [(Snapshot<TestElement>, [TestElement])] = []
    for step in 0..<300 {
      items.transaction { draft in
        draft.insert(TestElement(10_000 + step), at: random.below(draft.count + 1))
        draft.remove(at: random.below(draft.count))
        draft.move(from: random.below(draft.count), to: random.below(draft.count))
        draft[random.below(draft.count)].content += 1
      }
      if step % 20 == 0 { kept.append((items.snapshot, Array(items.snapshot.lazy.map { $0 }))) }
    }
    for (snapshot, elements) in kept {
      #expect(Array(snapshot) == elements)
      #expect(snapshot.indices.allSatisfy { snapshot[$0] == elements[$0] })
      #expect(snapshot.elementsEqual(elements))
      #expect(snapshot.hasSameContents(as: Snapshot(elements)))
    }
    #expect(!kept[0].0.hasSameContents(as: kept[1].0))
  }

  @Test func `an iterator reads a tree in order`() {
    let items = Items((0..<3_000).map { TestElement($0) })
    items.remove(at: 1_500)
    let snapshot = items.snapshot
    #expect(snapshot.storage.array == nil)
    #expect(snapshot.withContiguousStorageIfAvailable { $0.count } == nil)
    #expect(snapshot.map(\.id) == (0..<3_000).filter { $0 != 1_500 })
    #expect(snapshot[100..<200].map(\.id) == Array(100..<200))
    #expect(snapshot.firstIndex(identifiedBy: 2_000) == 1_999)
    #expect(snapshot.firstIndex(identifiedBy: 1_500) == nil)
    #expect(snapshot.description == snapshot.array.description)
  }

  @Test(.reaches(.changes)) func `the difference of trees is the difference of their elements`() {
    for seed in UInt64(0)..<20 {
      var editor = RandomEditor(seed: seed, size: 900)
      let old = Items(editor.makeElements(upTo: 900))
      let new = Items(editor.variation(of: old.snapshot.array))
      for items in [old, new] { items.insert(-1, at: items.count / 2) }
      let changeset = old.snapshot.changeset(to: new.snapshot)
      Coverage.note(changeset)
      #expect(
        changeset == Changeset(from: old.snapshot.array, to: new.snapshot.array), "seed \(seed)")
    }
  }

  @Test func `elements at a fixed address are compared, too`() {
    let tokens = (0..<1_000).map { _ in Token() }
    let items = ArrayDataSource(tokens.indices.map { Watcher(id: $0, token: tokens[$0]) })
    items.remove(at: 500)
    let before = items.snapshot
    items.update(at: 3) { $0.token = nil }
    items.move(from: 10, to: 900)
    let changeset = Changeset(
      moves: [.init(from: 10, to: 900)], updates: [.init(from: 3, to: 3)])
    #expect(before.changeset(to: items.snapshot) == changeset)
    withExtendedLifetime(tokens) {}
  }

  @Test func `all elements are released`() {
    let gone = Shared(0)
    var random = SeededGenerator(seed: 5)
    let made: Int
    do {
      let items = ArrayDataSource<Meddler>()
      var next = 0
      func make() -> Meddler {
        next += 1
        return Meddler(id: next, token: Token { gone.modify { $0 += 1 } })
      }
      items.append(contentsOf: (0..<2_000).map { _ in make() })
      for _ in 0..<200 {
        items.insert(make(), at: random.below(items.count))
        items.remove(at: random.below(items.count))
        items.removeSubrange(100..<100 + random.below(20))
        items[random.below(items.count)] = make()
        items.transaction { draft in
          for _ in 0..<10 { draft.insert(make(), at: random.below(draft.count)) }
          draft.move(from: 3, to: draft.count - 1)
        }
      }
      made = next
      #expect(gone.value == made - items.count)
    }
    #expect(gone.value == made)
  }

  @Test func `an element that is released may read a long draft`() {
    let items = ArrayDataSource<Meddler>()
    let seen = Shared<[Int]>([])
    items.append(contentsOf: (0..<2_000).map { Meddler(id: $0) })
    items.transaction { draft in
      // The deinitializer joins the thread's own transaction, so it sees the draft.
      let look: @Sendable () -> Void = { [weak items] in
        guard let items else { return }
        seen.append(items.transaction { $0.reduceIDs() })
      }
      draft[700] = Meddler(id: 700, content: 1, token: Token(look))
      draft[700] = Meddler(id: 700, content: 2)
      draft.insert(Meddler(id: -1, token: Token(look)), at: 900)
      draft.remove(at: 900)
      draft.append(contentsOf: (0..<3).map { _ in Meddler(id: -2, token: Token(look)) })
      draft.removeSubrange(1_990..<draft.count)
    }
    let all = (0..<2_000).reduce(0, +)
    #expect(seen.value == [all, all] + Array(repeating: (0..<1_990).reduce(0, +), count: 3))
  }
}

/// An element with a reference, at a fixed address.
// Sendable: the object is Sendable, and only the owner writes the reference.
private struct Watcher: Differentiable, @unchecked Sendable {
  let id: Int
  weak var token: Token?

  var differenceIdentifier: Int { id }

  func isContentEqual(to source: Watcher) -> Bool { token === source.token }
}

extension CollectionDraft<Meddler> {
  /// The sum of all identities.
  fileprivate func reduceIDs() -> Int { snapshot.reduce(0) { $0 + $1.id } }
}
