import DataSourceTesting
import Diffing
import Synchronization
import TestTags
import Testing

/// An element whose hash is one of two.
private struct Colliding: Differentiable, Hashable {
  let id: Int
  let content: Int

  var differenceIdentifier: Key { Key(id: id) }
  func isContentEqual(to source: Colliding) -> Bool { content == source.content }

  struct Key: Hashable {
    let id: Int
    func hash(into hasher: inout Hasher) { hasher.combine(id & 1) }
  }
}

/// An element with storage elsewhere.
private struct Document: Identifiable, Equatable, Differentiable {
  let id: String
  var text: String

  /// A document that shares no storage with another one.
  static func make(_ number: Int, edition: Int = 0) -> Document {
    Document(
      id: ["a document of many", String(number)].joined(separator: "/"),
      text: ["some text that takes up space", String(edition)].joined(separator: " "))
  }
}

/// An element that counts how often it is compared.
private struct Counted: Differentiable {
  static let comparisons = Atomic(0)

  let id: Int
  let text: String

  var differenceIdentifier: Int { id }
  func isContentEqual(to source: Counted) -> Bool {
    Self.comparisons.wrappingAdd(1, ordering: .relaxed)
    return text == source.text
  }
}

/// A collection that can only be walked forward.
private struct Forward<Element>: Collection {
  let elements: [Element]
  struct Index: Comparable {
    let offset: Int
    static func < (lhs: Index, rhs: Index) -> Bool { lhs.offset < rhs.offset }
  }
  var startIndex: Index { Index(offset: 0) }
  var endIndex: Index { Index(offset: elements.count) }
  func index(after index: Index) -> Index { Index(offset: index.offset + 1) }
  subscript(index: Index) -> Element { elements[index.offset] }
}

@Suite("A difference")
struct DifferenceTests {
  /// Edits a list at random: deletions, insertions from a universe, moves and updates.
  private func edited(
    _ list: [Item], universe: UInt8, steps: Int, using generator: inout SeededGenerator
  ) -> [Item] {
    var list = list
    func random(_ generator: inout SeededGenerator) -> Item {
      Item(
        id: .random(in: 0..<universe, using: &generator),
        content: .random(in: 0..<3, using: &generator))
    }
    for _ in 0..<steps {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        let offset = Int.random(in: 0...list.count, using: &generator)
        list.insert(random(&generator), at: offset)
      case 1 where !list.isEmpty:
        list.remove(at: .random(in: 0..<list.count, using: &generator))
      case 2 where !list.isEmpty:
        let element = list.remove(at: .random(in: 0..<list.count, using: &generator))
        list.insert(element, at: .random(in: 0...list.count, using: &generator))
      case 3 where !list.isEmpty:
        let offset = Int.random(in: 0..<list.count, using: &generator)
        list[offset] = Item(id: list[offset].id, content: .random(in: 0..<3, using: &generator))
      default: break
      }
    }
    return list
  }

  @Test(.reaches(.changes), arguments: 0..<200)
  func `differences of random lists follow all rules`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let universe: UInt8 = [2, 10, 60, 255][Int(seed % 4)]
    let old = edited([], universe: universe, steps: 150, using: &generator)
    let new = edited(old, universe: universe, steps: Int(seed % 50), using: &generator)
    let unrelated = edited([], universe: universe, steps: 150, using: &generator)
    #expect(violation(from: old, to: new) == nil, "seed \(seed)")
    #expect(violation(from: old, to: unrelated) == nil, "seed \(seed)")
    #expect(violation(from: old, to: old.shuffled(using: &generator)) == nil, "seed \(seed)")
  }

  @Test(.reaches(.rearrangements), arguments: 0..<20)
  func `moves are minimal if identities are unique`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let old = (0..<200).shuffled(using: &generator)
    let new = (100..<300).shuffled(using: &generator)
    #expect(violation(from: old, to: new) == nil, "seed \(seed)")
    var few = old
    for _ in 0..<3 {
      let element = few.remove(at: .random(in: 0..<few.count, using: &generator))
      few.insert(element, at: .random(in: 0...few.count, using: &generator))
    }
    #expect(violation(from: old, to: few) == nil, "seed \(seed)")
    #expect(Changeset(from: old, to: few).moves.count <= 3, "seed \(seed)")
  }

  @Test(.reaches(.changes), arguments: 0..<20) func `colliding hashes do not matter`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    func list() -> [Colliding] {
      (0..<60).map { _ in
        Colliding(
          id: .random(in: 0..<40, using: &generator), content: .random(in: 0..<2, using: &generator)
        )
      }
    }
    #expect(violation(from: list(), to: list()) == nil, "seed \(seed)")
  }

  @Test func `differences of empty and single-element lists are correct`() {
    #expect(Changeset(from: [Int](), to: []).isEmpty)
    #expect(Changeset(from: [1], to: [1]).isEmpty)
    #expect(Changeset(from: [], to: [1, 2]) == Changeset(insertions: [0, 1]))
    #expect(Changeset(from: [1, 2], to: []) == Changeset(deletions: [0, 1]))
    #expect(Changeset(from: [1], to: [2]) == Changeset(deletions: [0], insertions: [0]))
    #expect(Changeset(from: [1, 3], to: [1, 2, 3]) == Changeset(insertions: [1]))
  }

  @Test func `the documented examples are correct`() {
    #expect(Changeset(from: [0, 1, 2], to: [0, 2]) == Changeset(deletions: [1]))
    #expect(Changeset(from: [0, 1, 2, 3], to: [3, 2, 1, 0]).moves.count == 3)
    let old = (0..<3).map { Item(id: $0, content: 0) }
    #expect(
      Changeset(from: old, to: [old[0], Item(id: 1, content: 1), old[2]])
        == Changeset(updates: [.init(from: 1, to: 1)]))
    let new = [old[2], Item(id: 4, content: 0), Item(id: 0, content: 1), Item(id: 3, content: 0)]
    let change = Changeset(from: old, to: new)
    #expect(change.deletions == [1])
    #expect(change.insertions == [1, 3])
    #expect(change.moves.count == 1)
    #expect(change.updates == [.init(from: 0, to: 2)])
  }

  @Test
  func `duplicates are paired in order`() {
    #expect(Changeset(from: [1, 1, 1], to: [1, 1]) == Changeset(deletions: [2]))
    // The first two are matched linearly around the insertion. No old element is left for the last.
    #expect(Changeset(from: [1, 1, 2, 1], to: [2, 1, 3, 1]).deletions == [3])
  }

  @Test
  func `duplicates are paired in order even if the first one is found last`() {
    func items(_ ids: some Sequence<Int>) -> [Item] { ids.map { Item(id: UInt8($0), content: 0) } }
    let first = Item(id: 0, content: 0)
    let old = [first] + items(1...20) + [Item(id: 0, content: 1)]
    let new = items(30..<40) + [first] + items((1...20).map { $0 * 8 % 21 })
    let change = Changeset(from: old, to: new)
    #expect(change.deletions == [21])
    #expect(change.updates.isEmpty)

    let several = (0..<20).map { Item(id: 0, content: $0) }
    let before = items(1..<120) + several
    let after = several + items(120..<240)
    #expect(Changeset(from: before, to: after).moves.isEmpty)
    #expect(Changeset(from: before, to: after).updates.isEmpty)
  }

  @Test
  func `of two exchanged elements, the updated one moves`() {
    let a = Item(id: 0, content: 0)
    let b = Item(id: 1, content: 0)
    let c = Item(id: 2, content: 0)
    let edited = Item(id: 1, content: 1)
    #expect(Changeset(from: [a, b, c], to: [edited, a, c]).moves == [.init(from: 1, to: 0)])
    #expect(Changeset(from: [b, a, c], to: [a, edited, c]).moves == [.init(from: 0, to: 1)])
  }

  @Test func `strings are equal in any storage and normalization form`() {
    let old = (0..<100).map { Document.make($0) }
    var new = (0..<100).map { Document.make($0) }
    #expect(Changeset(from: old, to: new).isEmpty)
    new[7] = .make(7, edition: 1)
    new.swapAt(20, 40)
    #expect(violation(from: old, to: new) == nil)
    #expect(Changeset(from: old, to: new).updates == [.init(from: 7, to: 7)])
    #expect(Changeset(from: old, to: new).moves.count == 2)

    let composed = "caf\u{E9}"
    let decomposed = "cafe\u{301}"
    #expect(Changeset(from: [composed, "x"], to: [decomposed, "x"]).isEmpty)
    #expect(Changeset(from: [composed, "x", "y"], to: ["x", "y", decomposed]).moves.count == 1)
    #expect(
      Changeset(
        from: [Document(id: composed, text: "a")], to: [Document(id: decomposed, text: "b")])
        == Changeset(updates: [.init(from: 0, to: 0)]))
  }

  @Test func `a row with a NaN equals itself`() {
    struct Sample: Identifiable, Equatable, Differentiable {
      let id: Int
      var value: Double
    }
    struct Value: Hashable, Differentiable {
      var value: Double
    }
    let old = [1, 2, 3].map { Sample(id: $0, value: .nan) }
    #expect(Changeset(from: old, to: old.map { $0 }).isEmpty)
    #expect(Changeset(from: old, to: [old[2], old[0], old[1]]).updates.isEmpty)
    #expect(
      Changeset(from: old, to: [Sample(id: 1, value: 0), old[1], old[2]]).updates
        == [.init(from: 0, to: 0)])
    let values = [Value(value: .nan), Value(value: 1), Value(value: 2)]
    #expect(Changeset(from: values, to: [values[1], values[2], values[0]]).moves.count == 1)
  }

  @Test func `elements with identical bytes are not compared`() {
    let old = (0..<1_000).map { Counted(id: $0, text: "text number \($0), too long to be inline") }
    Counted.comparisons.store(0, ordering: .relaxed)
    #expect(Changeset(from: old, to: old.map { $0 }).isEmpty)
    #expect(Changeset(from: old, to: old.reversed()).updates.isEmpty)
    #expect(Counted.comparisons.load(ordering: .relaxed) == 0)
    var new = old
    new[5] = Counted(id: 5, text: "other")
    #expect(Changeset(from: old, to: new).updates == [.init(from: 5, to: 5)])
    #expect(Counted.comparisons.load(ordering: .relaxed) == 1)
  }

  @Test func `any collection can be compared`() {
    let old = [1, 2, 3, 4]
    let new = [4, 2, 5, 3]
    let change = Changeset(from: old, to: new)
    #expect(Changeset(from: Forward(elements: old), to: Forward(elements: new)) == change)
    #expect(Changeset(from: old[...], to: ContiguousArray(new)) == change)
    #expect(Changeset(from: old.lazy.map { $0 }, to: new.lazy.map { $0 }) == change)
    #expect(
      Changeset(from: 0..<10, to: Set([3])) == Changeset(deletions: [0, 1, 2, 4, 5, 6, 7, 8, 9]))
    #expect(
      change.applying(to: Forward(elements: old), with: Forward(elements: new)) == new)
  }

  @Test func `a difference of a hundred thousand elements follows all rules`() {
    var generator = SeededGenerator(seed: 1)
    let old = Array(0..<100_000)
    var new = old
    for element in 0..<300 {
      new.remove(at: .random(in: 0..<new.count, using: &generator))
      new.insert(200_000 + element, at: .random(in: 0...new.count, using: &generator))
      let moved = new.remove(at: .random(in: 0..<new.count, using: &generator))
      new.insert(moved, at: .random(in: 0...new.count, using: &generator))
    }
    for new in [old, new, Array(old.reversed()), old.shuffled(using: &generator)] {
      let change = Changeset(from: old, to: new)
      #expect(change.invariantViolation(oldCount: old.count, newCount: new.count) == nil)
      #expect(change.applying(to: old, with: new) == new)
      #expect(change.inverse.applying(to: new, with: old) == old)
    }
    let change = Changeset(from: old, to: new)
    #expect(change.moves.count <= 300)
    #expect(Patch(change, from: old, to: new).applying(to: old) == new)
    #expect(Changeset(from: old, to: Array(old[1...]) + [0]).moves == [.init(from: 0, to: 99_999)])
  }
}

@Suite("Contents")
struct ContentTests {
  @Test func `contents are equal if identities and contents are equal at each offset`() {
    let documents = (0..<10).map { Document.make($0) }
    #expect(documents.hasSameContents(as: (0..<10).map { Document.make($0) }))
    #expect(!documents.hasSameContents(as: documents.dropLast()))
    #expect(!documents.hasSameContents(as: documents.reversed()))
    #expect(![Item(id: 1, content: 0)].hasSameContents(as: [Item(id: 1, content: 1)]))
    #expect(![Item(id: 1, content: 0)].hasSameContents(as: [Item(id: 2, content: 0)]))
    #expect([Double.nan].hasSameContents(as: [Double.nan]))
    #expect([Int]().hasSameContents(as: []))
    #expect(Double.nan.hasSameContent(as: Double.nan))
  }
}
