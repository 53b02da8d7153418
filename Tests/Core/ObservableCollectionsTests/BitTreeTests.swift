import DataSourceTesting
import TestTags
import Testing

@testable import ObservableCollections

/// The tree of bits, compared with an array.
@Suite struct BitTreeTests {
  /// Nodes that are so small that a few bits form several levels, and nodes of the usual size.
  private static let limits = [(2, 4), (3, 4), (4, 5), (7, 6), (16, 8)]

  @Test(.reaches("insert", "remove", "set"), arguments: 0..<5)
  func `random edits of a small list are correct`(_ index: Int) {
    for seed in UInt64(0)..<5 {
      var random = SeededGenerator(seed: seed)
      let list = ModelledBits(Self.limits[index])
      for step in 0..<300 {
        list.edit(isGrowing: step % 150 < 90, &random)
        if let violation = step % 10 == 0 ? list.violation : list.tree.violation {
          Issue.record("seed \(seed), step \(step): \(violation)")
          return
        }
      }
    }
  }

  @Test(arguments: 0..<5) func `lists that are created with each size are correct`(_ index: Int) {
    for count in 0..<600 {
      let list = ModelledBits(Self.limits[index], (0..<count).map { $0 % 3 == 1 || $0 % 7 < 2 })
      if let violation = list.violation {
        Issue.record("\(count): \(violation)")
        return
      }
    }
  }

  @Test func `every sequence of a few edits is correct`() {
    for (start, depth) in [(0, 4), (3, 3), (6, 3), (11, 2), (66, 1), (130, 1)] {
      var sequences = 0
      var open: [[Edit]] = [[]]
      while let edits = open.popLast() {
        let list = ModelledBits((2, 4), (0..<start).map { $0 % 2 == 0 })
        for edit in edits { list.apply(edit) }
        sequences += 1
        if let violation = list.violation {
          Issue.record("\(start), \(edits): \(violation)")
          return
        }
        if edits.count < depth { open += list.possibleEdits.map { edits + [$0] } }
      }
      #expect(sequences > 250)
    }
  }

  /// Edits at the ends and in the middle of full blocks, which are split, and of small ones, which are merged.
  @Test(arguments: [56, 64, 65, 80, 112, 128, 129])
  func `every pair of edits around the ends of blocks is right`(count: Int) {
    let ends = [0, 1, 16, 17, 55, 56, 57, 63, 64, 65, 111, 112, 127, 128, count - 1, count]
    for first in ends where first <= count {
      for second in ends where second < count {
        let list = ModelledBits((2, 4))
        for offset in 0..<count { list.apply(.insert(offset % 3 == 0, offset)) }
        list.apply(.insert(true, first))
        list.apply(.insert(false, second))
        for _ in 0..<min(50, count - second) { list.apply(.remove(second)) }
        if let violation = list.violation {
          Issue.record("\(count), \(first), \(second): \(violation)")
          return
        }
      }
    }
  }

  @Test func `a queue of bits is right, and its nodes are too`() {
    var tree = BitTree(leafLimit: 4, fanLimit: 4, count: 500) { $0 % 3 == 0 }
    for step in 0..<2_000 {
      tree.insert(tree.remove(at: 0), at: tree.count)
      #expect(tree.violation == nil, "step \(step)")
      if tree.violation != nil { return }
    }
    #expect((0..<500).allSatisfy { tree[$0] == ($0 % 3 == 0) })
  }

  @Test func `a list that grows at random and shrinks to nothing is right`() {
    var random = SeededGenerator(seed: 1)
    let list = ModelledBits((16, 8))
    let bits = (0..<100_000).map { _ in random.oneIn(3) }
    for bit in bits { list.apply(.insert(bit, random.below(list.model.count + 1))) }
    #expect(list.violation == nil)
    let byteCount = list.tree.byteCount
    #expect(byteCount < 80_000)
    while !list.model.isEmpty {
      list.apply(.remove(random.below(list.model.count)))
      if list.model.count % 5_000 == 0 { #expect(list.tree.violation == nil) }
      // Small blocks become parts of their neighbors.
      if list.model.count % 10_000 == 0 {
        #expect(list.tree.blocks.count <= list.model.count / 12)
      }
    }
    // The slots of freed nodes are used again.
    for bit in bits { list.apply(.insert(bit, list.model.count)) }
    #expect(list.violation == nil)
    #expect(list.tree.byteCount == byteCount)
  }

  @Test(arguments: [true, false])
  func `leaves that are filled from one end are nearly full`(isAtEnd: Bool) {
    let list = ModelledBits((16, 8))
    for offset in 0..<50_000 { list.apply(.insert(offset % 3 == 0, isAtEnd ? offset : 0)) }
    #expect(list.violation == nil)
    #expect(list.tree.byteCount < 30_000)
    while !list.model.isEmpty { list.apply(.remove(isAtEnd ? list.model.count - 1 : 0)) }
    #expect(list.violation == nil)
  }

  @Test func `a bit is found by its rank in every kind of word`() {
    var random = SeededGenerator(seed: 2)
    for round in 0..<300 {
      let word =
        round < 64 ? 1 << UInt64(round) : random.next() & (round % 2 == 0 ? random.next() : ~0)
      // A new list has blocks of 56 bits. The last 8 bits fill the block.
      let list = ModelledBits((16, 8), (0..<56).map { word >> UInt64($0) & 1 != 0 })
      for offset in 56..<64 { list.apply(.insert(word >> UInt64(offset) & 1 != 0, offset)) }
      #expect(list.tree.blocks.count == 1)
      #expect(list.violation == nil)
    }
  }

  @Test func `bits are asked for once each, in order`() {
    var asked: [Int] = []
    let tree = BitTree(count: 3_000) { offset in
      asked.append(offset)
      return offset % 2 == 0
    }
    #expect(asked == Array(0..<3_000))
    #expect(tree.setCount == 1_500)
  }

  @Test func `an offset or a rank that is out of range is a programmer's error`() async {
    await #expect(processExitsWith: .failure) { _ = BitTree(count: 3) { _ in true }[3] }
    await #expect(processExitsWith: .failure) {
      var tree = BitTree(count: 3) { _ in true }
      tree.insert(true, at: 4)
    }
    await #expect(processExitsWith: .failure) {
      var tree = BitTree(count: 3) { _ in true }
      tree.remove(at: -1)
    }
    await #expect(processExitsWith: .failure) { _ = BitTree(count: 3) { _ in true }.rank(of: 4) }
    await #expect(processExitsWith: .failure) { _ = BitTree(count: 3) { _ in true }.select(3) }
  }
}

private enum Edit {
  case insert(Bool, Int)
  case remove(Int)
  case set(Bool, Int)
}

/// A tree of bits and the array that it must equal.
private final class ModelledBits {
  var tree: BitTree
  var model: [Bool]

  init(_ limits: (Int, Int), _ bits: [Bool] = []) {
    tree = BitTree(leafLimit: limits.0, fanLimit: limits.1, count: bits.count) { bits[$0] }
    model = bits
  }

  func apply(_ edit: Edit) {
    switch edit {
    case .insert(let bit, let offset):
      Coverage.note("insert")
      tree.insert(bit, at: offset)
      model.insert(bit, at: offset)
    case .remove(let offset):
      Coverage.note("remove")
      #expect(tree.remove(at: offset) == model.remove(at: offset))
    case .set(let bit, let offset):
      Coverage.note("set")
      tree.set(bit, at: offset)
      model[offset] = bit
    }
  }

  var possibleEdits: [Edit] {
    (0...model.count).flatMap { [.insert(true, $0), .insert(false, $0)] }
      + model.indices.flatMap { [.remove($0), .set(!model[$0], $0)] }
  }

  func edit(isGrowing: Bool, _ random: inout SeededGenerator) {
    let (bit, count) = (random.oneIn(2), model.count)
    switch random.below(isGrowing ? 6 : 10) {
    case 0 where count > 0:
      apply(.set(bit, random.below(count)))
    case 1:
      let offset = random.below(count + 1)
      for _ in 0..<random.below(100) { apply(.insert(random.oneIn(3), offset)) }
    case 2...5:
      apply(.insert(bit, random.below(count + 1)))
    default:
      for _ in 0..<random.below(30) where !model.isEmpty {
        apply(.remove(random.below(model.count)))
      }
    }
  }

  var violation: String? {
    if tree.count != model.count { return "it counts \(tree.count) of \(model.count)" }
    var rank = 0
    for offset in model.indices {
      if tree[offset] != model[offset] { return "the bit at \(offset) is \(tree[offset])" }
      if tree.rank(of: offset) != rank {
        return "the rank of \(offset) is \(tree.rank(of: offset))"
      }
      if model[offset] {
        if tree.setCount <= rank || tree.select(rank) != offset {
          return "\(rank) is not at \(offset)"
        }
        rank += 1
      }
    }
    if tree.array != model { return "its array is not that of the bits" }
    if tree.rank(of: model.count) != rank { return "the last rank is not \(rank)" }
    if tree.setCount != rank { return "it counts \(tree.setCount) set bits of \(rank)" }
    return tree.violation
  }
}
