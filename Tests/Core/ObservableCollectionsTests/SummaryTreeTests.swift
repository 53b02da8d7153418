import DataSourceTesting
import ObservableCollections
import TestTags
import Testing

/// The tree of values and combinations, compared with an array.
@Suite struct SummaryTreeTests {
  /// Nodes that are so small that a few values form several levels, and nodes of the usual size.
  private static let limits = [(2, 4), (3, 4), (4, 5), (16, 8)]

  @Test(.reaches("insert", "remove", "replace"), arguments: 0..<4) func `random edits are correct`(
    _ index: Int
  ) {
    for seed in UInt64(0)..<5 {
      var random = SeededGenerator(seed: seed)
      let list = ModelledSummary(Self.limits[index])
      for step in 0..<600 {
        let isGrowing = step % 200 < 130
        let (offset, value) = (random.below(list.model.count + 1), step)
        switch random.below(10) {
        case 0 where offset < list.model.count: list.apply(.replace(offset, value))
        case 0...(isGrowing ? 7 : 2): list.apply(.insert(offset, value))
        default: if offset < list.model.count { list.apply(.remove(offset)) }
        }
        if let violation = list.violation {
          Issue.record("seed \(seed), step \(step): \(violation)")
          return
        }
      }
    }
  }

  @Test(arguments: 0..<4) func `trees that are created with each size are correct`(_ index: Int) {
    for count in 0..<200 {
      let list = ModelledSummary(Self.limits[index], Array(0..<count))
      if let violation = list.violation {
        Issue.record("\(count): \(violation)")
        return
      }
    }
  }

  @Test func `every sequence of a few edits is correct`() {
    for (start, depth) in [(0, 5), (4, 3), (9, 3), (14, 2)] {
      var sequences = 0
      var open: [[Edit]] = [[]]
      while let edits = open.popLast() {
        let list = ModelledSummary((2, 4), Array(0..<start))
        for edit in edits { list.apply(edit) }
        sequences += 1
        if let violation = list.violation {
          Issue.record("\(start), \(edits): \(violation)")
          return
        }
        if edits.count < depth {
          open += (0...list.model.count).map { edits + [.insert($0, 100 + edits.count)] }
          open += list.model.indices.map { edits + [.remove($0)] }
          open += list.model.indices.map { edits + [.replace($0, 200 + edits.count)] }
        }
      }
      #expect(sequences > 400)
    }
  }

  @Test func `a list that grows at random and shrinks to nothing is right`() {
    var random = SeededGenerator(seed: 1)
    var tree = SummaryTree([], empty: 0) { $0 &+ $1 }
    var sum = 0
    for value in 0..<30_000 {
      tree.insert(value, at: random.below(value + 1))
      sum += value
      if value % 1_000 == 0 { #expect(tree.total == sum) }
    }
    #expect(tree.violation == nil)
    let byteCount = tree.byteCount
    while tree.count > 0 {
      sum -= tree.remove(at: random.below(tree.count))
      if tree.count % 1_000 == 0 { #expect(tree.total == sum && tree.violation == nil) }
    }
    #expect(tree.total == 0)
    for value in 0..<30_000 { tree.insert(value, at: value) }
    #expect(tree.byteCount == byteCount)
  }

  @Test func `an edit combines a few values of each level`() {
    var random = SeededGenerator(seed: 2)
    for (count, limit) in [(100, 40), (10_000, 90), (100_000, 110)] {
      var calls = 0
      var tree = SummaryTree(0..<count, empty: .min) { one, other in
        calls += 1
        return max(one, other)
      }
      #expect(calls == count - 1)
      for _ in 0..<200 {
        calls = 0
        tree.replace(at: random.below(count), with: random.below(count))
        #expect(calls <= limit)
        calls = 0
        tree.insert(random.below(count), at: random.below(count))
        #expect(calls <= 2 * limit)
        calls = 0
        tree.remove(at: random.below(count))
        #expect(calls <= 2 * limit)
      }
    }
  }

  @Test(arguments: 0..<4) func `searches from an offset, and parts, equal those of an array`(
    _ index: Int
  ) {
    var random = SeededGenerator(seed: UInt64(index))
    let (leafLimit, fanLimit) = Self.limits[index]
    for count in [0, 1, 5, 40, 200] {
      let values = (0..<count).map { _ in random.below(50) }
      let least = SummaryTree(
        leafLimit: leafLimit, fanLimit: fanLimit, values, empty: .max, combine: { min($0, $1) })
      let joined = SummaryTree(
        leafLimit: leafLimit, fanLimit: fanLimit, values.map { [$0] }, empty: [],
        combine: { $0 + $1 })
      for start in 0...count {
        #expect(joined.summary(before: start) == Array(values[..<start]))
        for bound in [0, 3, 20, 60] {
          #expect(
            least.firstOffset(from: start) { $0 <= bound }
              == values[start...].firstIndex { $0 <= bound })
        }
      }
    }
  }

  @Test func `a value that was removed or replaced is released`() {
    final class Token {}
    weak var first: Token?
    weak var second: Token?
    var tree = SummaryTree(leafLimit: 2, fanLimit: 4, [], empty: [Token]()) { $0 + $1 }
    for _ in 0..<20 { tree.insert([Token()], at: 0) }
    do {
      let tokens = [Token(), Token()]
      (first, second) = (tokens[0], tokens[1])
      tree.insert([tokens[0]], at: 7)
      tree.insert([tokens[1]], at: 12)
    }
    #expect(first != nil && second != nil)
    tree.remove(at: 7)
    tree.replace(at: 11, with: [])
    #expect(first == nil && second == nil)
    #expect(tree.total.count == 20)
  }
}

private enum Edit {
  case insert(Int, Int)
  case remove(Int)
  case replace(Int, Int)
}

/// A tree that joins arrays, and the array that it must equal.
private final class ModelledSummary {
  var tree: SummaryTree<[Int]>
  var model: [Int]

  init(_ limits: (Int, Int), _ values: [Int] = []) {
    tree = SummaryTree(
      leafLimit: limits.0, fanLimit: limits.1, values.map { [$0] }, empty: []
    ) { one, other in
      // The value for no values is not combined with others.
      precondition(!one.isEmpty && !other.isEmpty)
      return one + other
    }
    model = values
  }

  func apply(_ edit: Edit) {
    switch edit {
    case .insert(let offset, let value):
      Coverage.note("insert")
      tree.insert([value], at: offset)
      model.insert(value, at: offset)
    case .remove(let offset):
      Coverage.note("remove")
      #expect(tree.remove(at: offset) == [model.remove(at: offset)])
    case .replace(let offset, let value):
      Coverage.note("replace")
      tree.replace(at: offset, with: [value])
      model[offset] = value
    }
  }

  var violation: String? {
    if tree.count != model.count { return "it counts \(tree.count) of \(model.count)" }
    if tree.total != model { return "the total is \(tree.total), not \(model)" }
    for offset in model.indices where tree[offset] != [model[offset]] {
      return "\(tree[offset]) is at \(offset), not \(model[offset])"
    }
    return tree.violation
  }
}
