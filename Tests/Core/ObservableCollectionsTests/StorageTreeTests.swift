import DataSourceTesting
import Diffing
import ObservableCollections
import TestSupport
import TestTags
import Testing

/// The tree behind snapshots, compared with an array.
@Suite struct StorageTreeTests {
  /// Nodes that are so small that a few elements form several levels.
  private static let tiny = [(2, 4), (3, 4), (4, 5), (5, 6)].map {
    NodeLimits(leaf: $0, inner: $1, flat: 0, bulk: 0)
  }

  /// A tree of a number of integers, which an edit has created.
  private static func tree(_ count: Int, _ limits: NodeLimits) -> ModelledArray<Int> {
    var tree = ModelledArray(Array(1..<max(count, 1)), limits)
    if count > 0 { tree.replaceSubrange(count / 2..<count / 2, with: [0]) }
    return tree
  }

  @Test(arguments: 0..<4) func `every replacement in a small tree is correct`(_ index: Int) {
    let limits = Self.tiny[index]
    // An ordinary run takes one of three replacements.
    let stride = TestRun.isLong ? 1 : 3
    for count in 0...26 {
      let start = Self.tree(count, limits)
      #expect(start.violation == nil)
      for lower in 0...count {
        for upper in lower...count {
          for (number, newCount) in [0, 1, 2, 5, 17].enumerated()
          where (lower + upper + number) % stride == 0 {
            var tree = start
            tree.replaceSubrange(lower..<upper, with: Array(100..<100 + newCount))
            if let violation = tree.violation ?? start.violation {
              Issue.record("\(limits), \(count): \(lower..<upper) by \(newCount): \(violation)")
              return
            }
          }
        }
      }
    }
  }

  @Test(arguments: 0..<4) func `every move and exchange in a small tree is correct`(_ index: Int) {
    let limits = Self.tiny[index]
    for count in 1...26 {
      let start = Self.tree(count, limits)
      for source in 0..<count {
        var tree = start
        tree.exchange(at: source, with: -1)
        #expect(tree.violation == nil)
        for destination in 0..<count {
          var tree = start
          tree.move(from: source, to: destination)
          #expect(tree.violation == nil)
        }
      }
      #expect(start.violation == nil)
    }
  }

  @Test(arguments: 0..<4)
  func `every insertion and removal of one element of a small tree is right`(_ index: Int) {
    let limits = Self.tiny[index]
    for count in 0...40 {
      let start = Self.tree(count, limits)
      for offset in 0...count {
        var tree = start
        tree.insert(-1, at: offset)
        #expect(tree.violation == nil)
        tree.remove(at: offset)
        #expect(tree.violation == nil)
        if offset == count { continue }
        var shorter = start
        shorter.remove(at: offset)
        #expect(shorter.violation == nil)
        // The nodes of the first edit are edited in place.
        shorter.insert(-1, at: offset)
        #expect(shorter.violation == nil)
      }
      #expect(start.violation == nil)
    }
  }

  @Test(.reaches("move", "exchange", "remove", "insert", "replace"), arguments: 0..<4)
  func `many random edits of a small tree are correct`(_ index: Int) {
    let limits = Self.tiny[index]
    for seed in UInt64(0)..<30 {
      var random = SeededGenerator(seed: seed)
      var tree = ModelledArray<Int>([], limits)
      var versions: [ModelledArray<Int>] = []
      for step in 0..<150 {
        randomEdit(&tree, step, upTo: step % 100 < 60 ? 12 : 3, size: 120, &random)
        if let violation = tree.violation {
          Issue.record("seed \(seed), step \(step): \(violation)")
          return
        }
        if step % 10 == 0 { versions.append(tree) }
      }
      // Shared versions have not changed.
      #expect(versions.allSatisfy { $0.violation == nil })
    }
  }

  @Test(.reaches("move", "exchange", "remove", "insert", "replace"))
  func `random edits of a large tree are correct`() {
    for seed in UInt64(0)..<3 {
      var random = SeededGenerator(seed: seed)
      var tree = ModelledArray(Array(0..<20_000), .standard(for: Int.self))
      var versions: [ModelledArray<Int>] = []
      for step in 0..<2_000 {
        randomEdit(&tree, step, upTo: random.oneIn(100) ? 3_000 : 3, size: 30_000, &random)
        if step % 100 == 0 {
          if let violation = tree.violation {
            Issue.record("seed \(seed), step \(step): \(violation)")
            return
          }
          versions.append(tree)
        }
      }
      #expect(versions.allSatisfy { $0.violation == nil })
    }
  }

  private func randomEdit(
    _ tree: inout ModelledArray<Int>, _ step: Int, upTo length: Int, size: Int,
    _ random: inout SeededGenerator
  ) {
    let count = tree.model.count
    if count > 1, random.oneIn(4) {
      Coverage.note("move")
      tree.move(from: random.below(count), to: random.below(count))
    } else if count > 0, random.oneIn(4) {
      Coverage.note("exchange")
      tree.exchange(at: random.below(count), with: -step)
    } else if count > 0, random.oneIn(4) {
      Coverage.note("remove")
      tree.remove(at: random.below(count))
    } else if count < size, random.oneIn(4) {
      Coverage.note("insert")
      tree.insert(step, at: random.below(count + 1))
    } else {
      let lower = random.below(count + 1)
      let upper = min(count, lower + random.below(length))
      Coverage.note("replace")
      let new = count < size ? random.below(length) : 0
      tree.replaceSubrange(lower..<upper, with: (0..<new).map { 1_000_000 + step + $0 })
    }
  }

  @Test func `no tree is higher than a tree of half-full nodes`() {
    for (seed, limits) in Self.tiny.enumerated() {
      var random = SeededGenerator(seed: UInt64(seed))
      var tree = ModelledArray<Int>([], limits)
      for value in 0..<3_000 {
        let offset = value % 3 == 0 ? random.below(tree.model.count + 1) : tree.model.count
        tree.replaceSubrange(offset..<offset, with: [value])
      }
      while tree.model.count > 1 {
        var (height, capacity) = (0, 2 * max(1, limits.leaf / 2))
        while capacity <= tree.model.count {
          height += 1
          capacity *= limits.inner / 2
        }
        #expect(tree.list.height <= height + 1)
        for _ in 0..<min(tree.model.count, 1 + tree.model.count / 5) {
          let offset = random.below(tree.model.count)
          tree.replaceSubrange(offset..<offset + 1, with: [])
        }
        #expect(tree.list.violation(limits) == nil)
      }
    }
  }

  @Test func `a removal may leave less than one leaf of three`() {
    let limits = NodeLimits.standard(for: Int.self)
    var list = PersistentArray(Array(0..<960))
    list.replaceSubrange(0..<1, with: [])
    // The third last leaf is half full, and the last two are nearly empty.
    list.replaceSubrange(767..<797, with: [])
    list.replaceSubrange(803..<927, with: [])
    #expect(list.count == 805)
    #expect(list.violation(limits) == nil)
    #expect(list.flattened() == Array(1..<768) + Array(798..<834) + Array(958..<960))
  }

  @Test func `a list that becomes short is one array again`() {
    var list = PersistentArray(Array(0..<1_000))
    #expect(list.array != nil)
    list.replaceSubrange(3..<4, with: [])
    #expect(list.array == nil)
    while list.count > 100 { list.replaceSubrange(0..<2, with: []) }
    #expect(list.array?.count == 99)
  }

  @Test func `a list that is edited as a whole stays one array`() {
    var list = PersistentArray(Array(0..<1_000))
    list.replaceSubrange(1_000..<1_000, with: Array(0..<500))
    #expect(list.array?.count == 1_500)
  }
}
