import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// The memory of nodes: elements are created, copied, moved and released exactly as often as necessary.
@Suite struct StorageNodeTests {
  /// Nodes that are so small that a few elements form several levels.
  private static let tiny = [(2, 4), (3, 4), (4, 5), (5, 6)].map {
    NodeLimits(leaf: $0, inner: $1, flat: 0, bulk: 0)
  }

  private static let edits = Coverage.Cases([
    "move", "exchange", "remove", "insert", "keep a version", "release a version", "replace",
  ])

  /// A list with earlier versions of it.
  private struct Versions<Element: Numbered> {
    var tree: ModelledArray<Element>
    var kept: [ModelledArray<Element>] = []
    var next = 0

    init(_ limits: NodeLimits) { tree = ModelledArray([], limits) }

    mutating func make() -> Element {
      next += 1
      return Element(number: next)
    }

    mutating func edit(upTo size: Int, _ random: inout SeededGenerator) {
      let count = tree.model.count
      let offset = random.below(max(count, 1))
      switch random.below(8) {
      case 0 where count > 0:
        Coverage.note("move")
        tree.move(from: offset, to: random.below(count))
      case 1 where count > 0:
        Coverage.note("exchange")
        tree.exchange(at: offset, with: make())
      case 2 where count > 0:
        Coverage.note("remove")
        tree.remove(at: offset)
      case 3, 4:
        Coverage.note("insert")
        tree.insert(make(), at: random.below(count + 1))
        if count > size { tree.remove(at: offset) }
      case 5 where random.oneIn(4):
        Coverage.note("keep a version")
        kept.append(tree)
      case 6 where !kept.isEmpty:
        Coverage.note("release a version")
        kept.remove(at: random.below(kept.count))
      case 5, 6: break
      default:
        Coverage.note("replace")
        // Short and long ranges take different paths.
        let length = random.oneIn(4) ? size / 3 : 3
        let end = min(count, offset + random.below(length))
        let new = count > size ? [] : (0..<random.below(length)).map { _ in make() }
        tree.replaceSubrange(min(offset, end)..<end, with: new)
      }
    }
  }

  /// Edits a list at random, and returns the first violation.
  private func violation<Element: Numbered>(
    _: Element.Type, _ limits: NodeLimits, seed: UInt64, size: Int, steps: Int
  ) -> String? {
    var random = SeededGenerator(seed: seed)
    var versions = Versions<Element>(limits)
    for step in 0..<steps {
      versions.edit(upTo: size, &random)
      if size < 200 || step % 100 == 0, let violation = versions.tree.violation {
        return "seed \(seed), step \(step): \(violation)"
      }
    }
    return versions.kept.lazy.compactMap(\.violation).first
  }

  @Test(.reaches(Self.edits), arguments: 0..<4) func `no element is leaked or released twice`(
    _ index: Int
  ) {
    for seed in UInt64(0)..<20 {
      #expect(violation(Counted.self, Self.tiny[index], seed: seed, size: 60, steps: 300) == nil)
      #expect(Counted.Object.live.value == 0)
    }
  }

  @Test(.reaches(Self.edits)) func `no element of a long list is leaked or released twice`() {
    let limits = NodeLimits.standard(for: Counted.self)
    #expect(violation(Counted.self, limits, seed: 1, size: 5_000, steps: 2_000) == nil)
    #expect(Counted.Object.live.value == 0)
  }

  @Test(.reaches(Self.edits), arguments: 0..<4) func `weak references survive all edits`(
    _ index: Int
  ) {
    for seed in UInt64(0)..<(TestRun.isLong ? 10 : 4) {
      #expect(violation(Weak.self, Self.tiny[index], seed: seed, size: 60, steps: 300) == nil)
    }
  }

  @Test(.reaches(Self.edits), arguments: 0..<4) func `elements keep their alignment`(_ index: Int) {
    for seed in UInt64(0)..<5 {
      #expect(violation(Wide.self, Self.tiny[index], seed: seed, size: 60, steps: 200) == nil)
      #expect(violation(Narrow.self, Self.tiny[index], seed: seed, size: 60, steps: 200) == nil)
      #expect(violation(Nothing.self, Self.tiny[index], seed: seed, size: 60, steps: 200) == nil)
    }
  }

  @Test func `a list of millions of elements is edited at its ends and in its middle`() {
    let count = TestRun.isLong ? 10_000_000 : 1_000_000
    var list = PersistentArray(Array(0..<count))
    list.insert(-1, at: 0)
    let before = list
    list.insert(-2, at: list.count)
    list.move(from: 0, to: list.count - 1)
    list.replaceSubrange(5..<count - 5, with: [])
    #expect(list.flattened() == Array(0..<5) + Array(count - 5..<count) + [-2, -1])
    #expect(before.count == count + 1)
    #expect(before[0] == -1 && before[count] == count - 1 && before[count / 2] == count / 2 - 1)
  }

  @Test func `an iterator keeps its elements after the list has changed`() {
    let limits = NodeLimits.standard(for: Counted.self)
    var list = PersistentArray((0..<1_000).map { Counted(number: $0) })
    list.move(from: 0, to: 0, limits: limits)
    list.move(from: 0, to: 1, limits: limits)
    list.move(from: 1, to: 0, limits: limits)
    #expect(list.array == nil)
    var iterator = Snapshot(list).makeIterator()
    #expect(iterator.next()?.number == 0)
    let copy = iterator
    list.replaceSubrange(0..<1_000, with: [], limits: limits)
    #expect(Counted.Object.live.value == 1_000)
    var rest: [Int] = []
    while let element = iterator.next() { rest.append(element.number) }
    #expect(rest == Array(1..<1_000))
    #expect(iterator.next() == nil)
    iterator = copy
    #expect(iterator.next()?.number == 1)
  }
}

/// An element that is made of a number.
private protocol Numbered: Equatable {
  init(number: Int)
}

/// An element with an object that counts itself.
private struct Counted: Numbered, Differentiable {
  final class Object: Sendable {
    static let live = Shared(0)
    init() { Self.live.modify { $0 += 1 } }
    deinit { Self.live.modify { $0 -= 1 } }
  }

  let number: Int
  let object = Object()

  var differenceIdentifier: Int { number }

  static func == (one: Counted, other: Counted) -> Bool {
    one.number == other.number && one.object === other.object
  }

  func isContentEqual(to source: Counted) -> Bool { self == source }
}

/// An element that knows its address.
private struct Weak: Numbered {
  let object: Token
  weak var reference: Token?

  init(number: Int) {
    object = Token()
    reference = object
  }

  static func == (one: Weak, other: Weak) -> Bool {
    one.object === other.object && one.reference === one.object && other.reference === other.object
  }
}

/// An element with a larger alignment than a node.
private struct Wide: Numbered {
  let values: SIMD8<Double>

  init(number: Int) { values = SIMD8(repeating: Double(number)) }
}

/// An element of one byte.
private struct Narrow: Numbered {
  let value: UInt8

  init(number: Int) { value = UInt8(truncatingIfNeeded: number) }
}

/// An element without memory.
private struct Nothing: Numbered {
  init(number: Int) {}
}
