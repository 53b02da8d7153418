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
