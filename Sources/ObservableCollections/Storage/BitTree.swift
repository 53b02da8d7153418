/// A list of bits that counts the set bits before an offset, and finds a set bit by its rank, in O(log *n*).
///
/// A filter stores in it which elements of the input pass: the offset of an element in the output is the
/// number of set bits before its offset in the input.
///
/// The list is a counted B+ tree. It has one owner, which must not copy it. A list of *n* bits takes 0.15 to 0.4
/// bytes per bit.
@usableFromInline
package final class BitTree: @unchecked Sendable {
  // Sendable: an operator owns the tree, and only one thread at a time calls an operator.
  // Not checked for exclusivity: no other code runs while a method of the tree runs, except for the closures
  // of initializers and of the insertion of several bits, which have no access to the tree.

  /// The leaves: 16 words of 64 bits. The first word is the number of bits, the others are the bits. All bits
  /// behind the last one are 0.
  @exclusivity(unchecked) @usableFromInline var leaves: NodeArena<UInt64>
  /// The inner nodes. See ``BitNode``.
  @exclusivity(unchecked) var nodes: NodeArena<Int32>
  /// The slot of the root, which is a leaf if the height is 0.
  @exclusivity(unchecked) var root: Int
  /// The number of levels above the leaves.
  @exclusivity(unchecked) var height = 0
  /// The number of bits.
  @exclusivity(unchecked) @usableFromInline package internal(set) var count = 0
  /// The number of set bits.
  @exclusivity(unchecked) @usableFromInline package internal(set) var setCount = 0
  /// The nodes from the root to the edited leaf: the node at a height, and the position of the child.
  @exclusivity(unchecked) var path: UnsafeMutablePointer<(node: Int32, child: Int32)>
  /// The maximum number of bits of a leaf.
  let leafLimit: Int
  /// The maximum number of children of an inner node.
  let fanLimit: Int

  /// The words of a leaf.
  @inlinable static var leafStride: Int { 16 }
  /// The number of bits that a leaf has space for.
  package static var leafCapacity: Int { 15 * 64 }

  /// The maximum number of bits of a list.
  static var maximumCount: Int { Int(BitNode.unused) / 2 - 64 }

  /// Creates an empty list.
  @usableFromInline
  package convenience init() {
    self.init(leafLimit: Self.leafCapacity, fanLimit: BitNode.capacity, expectedCount: 0)
  }

  /// Creates an empty list with limits on the sizes of nodes.
  ///
  /// - Parameters:
  ///   - leafLimit: The maximum number of bits of a leaf, in `2...960`.
  ///   - fanLimit: The maximum number of children of an inner node, in `4...16`.
  ///   - expectedCount: The number of bits to reserve memory for.
  @usableFromInline
  package init(leafLimit: Int, fanLimit: Int, expectedCount: Int) {
    precondition(
      (2...Self.leafCapacity).contains(leafLimit) && (4...BitNode.capacity).contains(fanLimit),
      "the limits of nodes are 2...\(Self.leafCapacity) and 4...\(BitNode.capacity), "
        + "but are \(leafLimit) and \(fanLimit)")
    self.leafLimit = leafLimit
    self.fanLimit = fanLimit
    let leafCount = expectedCount / Self.filled(leafLimit) + 1
    leaves = NodeArena(stride: Self.leafStride, capacity: leafCount)
    nodes = NodeArena(
      stride: BitNode.stride,
      capacity: innerNodeCount(above: leafCount, fan: Self.filled(fanLimit)))
    path = .allocate(capacity: 32)
    root = leaves.allocate()
    clear(root)
  }

  deinit {
    leaves.deallocate()
    nodes.deallocate()
    path.deallocate()
  }

  // MARK: Creation

  /// Creates a list of bits.
  ///
  /// - Parameters:
  ///   - count: The number of bits.
  ///   - bit: A closure that returns the bit at an offset. It is called once for each offset, in ascending order.
  /// - Complexity: O(*n*)
  @inlinable
  package convenience init(count: Int, _ bit: (Int) -> Bool) {
    self.init(leafLimit: 960, fanLimit: 16, count: count, bit)
  }

  /// Creates a list of bits with limits on the sizes of nodes.
  @inlinable
  package convenience init(leafLimit: Int, fanLimit: Int, count: Int, _ bit: (Int) -> Bool) {
    self.init(leafLimit: leafLimit, fanLimit: fanLimit, expectedCount: count)
    let leafCount = allocateLeaves(bitCount: count)
    var offset = 0
    for leaf in 0..<leafCount {
      let end = count * (leaf + 1) / leafCount
      let words = leaves.words + leaf * Self.leafStride
      words[0] = UInt64(end - offset)
      var word = 1
      while offset < end {
        let stop = min(offset + 64, end)
        var (bits, mask): (UInt64, UInt64) = (0, 1)
        while offset < stop {
          if bit(offset) { bits |= mask }
          mask &<<= 1
          offset += 1
        }
        words[word] = bits
        word += 1
      }
    }
    makeInnerNodes(leafCount: leafCount)
  }

  /// The number of elements that a new node gets, which leaves space for insertions.
  private static func filled(_ limit: Int) -> Int { max(1, limit * 7 / 8) }

  /// Allocates leaves with consecutive numbers from 0 for a number of bits, and returns their number.
  @usableFromInline
  func allocateLeaves(bitCount: Int) -> Int {
    precondition(
      bitCount >= 0 && bitCount <= Self.maximumCount,
      "the number of bits must be in 0...\(Self.maximumCount), but is \(bitCount)")
    let leafCount = max(1, (bitCount + Self.filled(leafLimit) - 1) / Self.filled(leafLimit))
    for _ in 1..<max(leafCount, 1) { _ = leaves.allocate() }
    for leaf in 0..<leafCount { clear(leaf) }
    return leafCount
  }

  /// Creates the nodes above the leaves with the numbers from 0.
  @usableFromInline
  func makeInnerNodes(leafCount: Int) {
    var level = (0..<leafCount).map { (node: $0, count: bitCount(of: $0), ones: ones(in: $0)) }
    while level.count > 1 {
      height += 1
      level = evenParts(of: level.count, Self.filled(fanLimit)).map { range in
        let slot = nodes.allocate()
        let node = self.node(slot)
        node.clear()
        var (count, ones): (Int, Int) = (0, 0)
        for child in level[range] {
          node.append(child.node, start: Int32(count), ones: Int32(ones))
          count += child.count
          ones += child.ones
        }
        return (slot, count, ones)
      }
    }
    (root, count, setCount) = level[0]
  }

  // MARK: Reading

  /// The bit at an offset.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  package subscript(offset: Int) -> Bool {
    checkOffset(offset)
    var (slot, rest) = (root, Int32(truncatingIfNeeded: offset))
    for _ in 0..<height {
      let node = self.node(slot)
      let child = node.child(at: rest)
      rest &-= node.starts[child]
      slot = Int(node.children[child])
    }
    return bits(of: slot)[Int(rest)]
  }

  /// Returns the number of set bits before an offset.
  ///
  /// - Parameter offset: An offset in `0...count`.
  /// - Complexity: O(log *n*)
  @usableFromInline
  package func rank(of offset: Int) -> Int {
    precondition(
      offset >= 0 && offset <= count, "offset \(offset) is out of range 0...\(count)")
    var (slot, rest) = (root, Int32(truncatingIfNeeded: offset))
    var rank: Int32 = 0
    for _ in 0..<height {
      let node = self.node(slot)
      let child = node.child(at: rest)
      rest &-= node.starts[child]
      rank &+= node.ones[child]
      slot = Int(node.children[child])
    }
    return Int(rank) + bits(of: slot).onesBefore(Int(rest))
  }

  /// Returns the offset of the set bit with a rank, which is the number of set bits before it.
  ///
  /// - Parameter rank: A rank in `0..<setCount`.
  /// - Complexity: O(log *n*)
  @usableFromInline
  package func select(_ rank: Int) -> Int {
    precondition(
      rank >= 0 && rank < setCount, "rank \(rank) is out of range 0..<\(setCount)")
    var (slot, rest) = (root, Int32(truncatingIfNeeded: rank))
    var offset: Int32 = 0
    for _ in 0..<height {
      let node = self.node(slot)
      let child = node.child(withRank: rest)
      rest &-= node.ones[child]
      offset &+= node.starts[child]
      slot = Int(node.children[child])
    }
    return Int(offset) + bits(of: slot).offset(ofRank: Int(rest))
  }

  func checkOffset(_ offset: Int) {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
  }

  // MARK: Nodes

  /// The inner node in a slot. The next allocation may invalidate it.
  func node(_ slot: Int) -> BitNode { BitNode(words: nodes.words + slot &* BitNode.stride) }

  /// The bits of a leaf. The next allocation may invalidate them.
  func bits(of leaf: Int) -> BitWords {
    BitWords(words: leaves.words + (leaf &* Self.leafStride &+ 1))
  }

  /// The number of bits of a leaf.
  func bitCount(of leaf: Int) -> Int { Int(leaves.words[leaf &* Self.leafStride]) }

  func setBitCount(of leaf: Int, _ count: Int) {
    leaves.words[leaf &* Self.leafStride] = UInt64(count)
  }

  /// The number of set bits of a leaf.
  func ones(in leaf: Int) -> Int { bits(of: leaf).onesBefore(bitCount(of: leaf)) }

  /// Removes all bits of a leaf.
  func clear(_ leaf: Int) {
    (leaves.words + leaf * Self.leafStride).update(repeating: 0, count: Self.leafStride)
  }
}

extension BitTree {
  /// All bits in their order. Do not change the list during an iteration.
  @inlinable
  package func makeIterator() -> Iterator { Iterator(self) }

  /// The bits of a ``BitTree`` in their order.
  @usableFromInline
  package struct Iterator: IteratorProtocol {
    @usableFromInline let tree: BitTree
    /// The bits of the current word that were not returned yet.
    @usableFromInline var bits: UInt64 = 0
    /// The number of these bits.
    @usableFromInline var bitCount = 0
    /// The position of the next word.
    @usableFromInline var word = 0
    /// The number of bits of the leaf behind the current word.
    @usableFromInline var rest = 0
    /// The offset of the first bit behind the leaf.
    @usableFromInline var end = 0

    @inlinable
    init(_ tree: BitTree) {
      self.tree = tree
    }

    /// Returns the next bit, or `nil` after the last one.
    @inlinable
    package mutating func next() -> Bool? {
      if bitCount == 0 {
        if rest == 0 {
          if end == tree.count { return nil }
          let leaf = tree.leaf(at: end) * BitTree.leafStride
          (word, rest) = (leaf + 1, Int(tree.leaves.words[leaf]))
          end += rest
        }
        (bits, bitCount) = (tree.leaves.words[word], min(64, rest))
        word += 1
        rest -= bitCount
      }
      defer {
        bits &>>= 1
        bitCount -= 1
      }
      return bits & 1 != 0
    }
  }

  /// Calls a closure with the offset of each set bit, in ascending order. The closure must not change the list.
  ///
  /// - Complexity: O(*m* + *n*/64 + log *n*) for *m* set bits.
  @inlinable
  package func forEachSetOffset(_ body: (Int) -> Void) {
    var start = 0
    while start < count {
      let leaf = leaf(at: start) * Self.leafStride
      let bitCount = Int(leaves.words[leaf])
      for word in 0..<(bitCount + 63) / 64 {
        var bits = leaves.words[leaf + 1 + word]
        while bits != 0 {
          body(start + word * 64 + bits.trailingZeroBitCount)
          bits &= bits - 1
        }
      }
      start += bitCount
    }
  }

  /// Returns the slot of the leaf that contains the bit at an offset.
  @usableFromInline
  func leaf(at offset: Int) -> Int {
    var (slot, rest) = (root, Int32(truncatingIfNeeded: offset))
    for _ in 0..<height {
      let node = self.node(slot)
      let child = node.child(at: rest)
      rest &-= node.starts[child]
      slot = Int(node.children[child])
    }
    return slot
  }
}
