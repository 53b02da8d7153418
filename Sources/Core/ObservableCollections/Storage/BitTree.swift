/// A list of bits that counts the set bits before an offset, and finds a set bit by its rank, in O(log *n*).
///
/// A filter stores in it which elements of the input pass: the offset of an element in the output is the
/// number of set bits before its offset in the input.
///
/// The bits are in blocks of up to 64. A ``SummaryTree`` adds up how many bits, and set bits, the blocks have. As built or
/// grown, the list takes 0.3 to 0.8 bytes per bit, and after random removals about 1.
@usableFromInline
struct BitTree: ~Copyable, Sendable {
  var blocks: SummaryTree<BitBlock>

  /// Creates a list of bits.
  ///
  /// - Parameters:
  ///   - leafLimit: The maximum number of blocks of a leaf, at least 2.
  ///   - fanLimit: The maximum number of children of an inner node, at least 4.
  ///   - count: The number of bits.
  ///   - bit: A closure that returns the bit at an offset. It is called once for each offset, in ascending order.
  /// - Complexity: O(*n*)
  @usableFromInline
  init(
    leafLimit: Int = 16, fanLimit: Int = 8, count: Int = 0,
    _ bit: (Int) -> Bool = { _ in false }
  ) {
    var blocks: [BitBlock] = []
    blocks.reserveCapacity(count / BitBlock.filled + 1)
    for start in stride(from: 0, to: count, by: BitBlock.filled) {
      let end = min(start + BitBlock.filled, count)
      var bits: UInt64 = 0
      for offset in start..<end where bit(offset) { bits |= 1 &<< UInt64(offset - start) }
      blocks.append(BitBlock(bits: bits, count: end - start))
    }
    self.blocks = SummaryTree(
      leafLimit: leafLimit, fanLimit: fanLimit, blocks, empty: BitBlock(), combine: +)
  }

  // MARK: Reading

  /// The number of bits.
  @usableFromInline var count: Int { Int(blocks.total.count) }

  /// The number of set bits.
  @usableFromInline var setCount: Int { Int(blocks.total.setCount) }

  /// The bit at an offset.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  subscript(offset: Int) -> Bool { find(offset).isSet }

  /// Returns the bit at an offset, and the number of set bits before it.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  func find(_ offset: Int) -> (isSet: Bool, rank: Int) {
    let found = block(at: offset)
    let rank = found.rank + found.block.prefix(found.position).nonzeroBitCount
    return (found.block[found.position], rank)
  }

  /// Returns the number of set bits before an offset.
  ///
  /// - Parameter offset: An offset in `0...count`.
  /// - Complexity: O(log *n*)
  @usableFromInline
  func rank(of offset: Int) -> Int {
    offset == count ? setCount : find(offset).rank
  }

  /// Returns the offset of the set bit with a rank, which is the number of set bits before it.
  ///
  /// - Parameter rank: A rank in `0..<setCount`.
  /// - Complexity: O(log *n*)
  @usableFromInline
  func select(_ rank: Int) -> Int {
    precondition(rank >= 0 && rank < setCount, "rank \(rank) is out of range 0..<\(setCount)")
    guard let found = blocks.firstPrefix(where: { $0.setCount > rank }) else { return count }
    return Int(found.before.count) + found.value.select(rank - Int(found.before.setCount))
  }

  /// Returns the block that has a bit, the position of the bit in it, and the number of set bits before the block.
  private func block(
    at offset: Int
  ) -> (number: Int, block: BitBlock, position: Int, rank: Int) {
    guard offset >= 0, let found = blocks.firstPrefix(where: { $0.count > offset }) else {
      preconditionFailure("offset \(offset) is out of range 0..<\(count)")
    }
    let before = found.before
    return (found.offset, found.value, offset - Int(before.count), Int(before.setCount))
  }

  /// Calls a closure with the offset of each set bit, in ascending order. The closure must not change the list.
  ///
  /// - Complexity: O(*n*)
  @usableFromInline
  func forEachSetOffset(_ body: (Int) -> Void) {
    var start = 0
    for block in blocks.array {
      var bits = block.bits
      while bits != 0 {
        body(start + bits.trailingZeroBitCount)
        bits &= bits - 1
      }
      start += Int(block.count)
    }
  }

  /// All bits in their order.
  ///
  /// - Complexity: O(*n*)
  @usableFromInline var array: [Bool] {
    var array: [Bool] = []
    array.reserveCapacity(count)
    for block in blocks.array {
      for position in 0..<Int(block.count) { array.append(block[position]) }
    }
    return array
  }

  // MARK: Editing

  /// Replaces the bit at an offset.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  mutating func set(_ bit: Bool, at offset: Int) {
    let found = block(at: offset)
    var block = found.block
    if block[found.position] == bit { return }
    block.bits ^= 1 << UInt64(found.position)
    block.setCount += bit ? 1 : -1
    blocks.replace(at: found.number, with: block)
  }

  /// Inserts a bit.
  ///
  /// - Parameter offset: An offset in `0...count`.
  /// - Complexity: O(log *n*)
  @usableFromInline
  mutating func insert(_ bit: Bool, at offset: Int) {
    precondition(offset >= 0 && offset <= count, "offset \(offset) is out of range 0...\(count)")
    if count == 0 { blocks.insert(BitBlock(), at: 0) }
    guard let found = blocks.firstPrefix(where: { $0.count >= offset }) else {
      preconditionFailure("a list of \(count) bits has no block at offset \(offset)")
    }
    var (number, block, position) = (found.offset, found.value, offset - Int(found.before.count))
    if block.count == BitBlock.capacity, offset == 0 || offset == count {
      // The blocks of a list that is filled from one end stay full.
      (number, block, position) = (offset == 0 ? 0 : number + 1, BitBlock(), 0)
      blocks.insert(block, at: number)
    } else if block.count == BitBlock.capacity {
      let next = block.split()
      blocks.replace(at: number, with: block)
      blocks.insert(next, at: number + 1)
      if position >= block.count {
        (number, block, position) = (number + 1, next, position - Int(block.count))
      }
    }
    block.insert(bit, at: position)
    blocks.replace(at: number, with: block)
  }

  /// Removes a bit, and returns it.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  @discardableResult
  mutating func remove(at offset: Int) -> Bool {
    var (number, block, position, _) = block(at: offset)
    let bit = block.remove(at: position)
    if block.count == 0 {
      blocks.remove(at: number)
      return bit
    }
    if block.count > BitBlock.capacity / 4 || blocks.count == 1 {
      blocks.replace(at: number, with: block)
      return bit
    }
    // A small block becomes a part of a neighbor that has space for it.
    let isLast = number + 1 == blocks.count
    let first = isLast ? number - 1 : number
    var pair = isLast ? (blocks[first], block) : (block, blocks[number + 1])
    if pair.0.append(pair.1) {
      blocks.remove(at: first + 1)
      blocks.replace(at: first, with: pair.0)
    } else {
      blocks.replace(at: number, with: block)
    }
    return bit
  }
}

/// Up to 64 consecutive bits, or the numbers of the bits of several blocks.
struct BitBlock {
  /// The bits. All bits behind the last one are 0.
  var bits: UInt64
  var count: Int32
  var setCount: Int32

  static let capacity = 64
  /// The number of bits of a new block, which leaves space for insertions.
  static let filled = 56

  init(bits: UInt64 = 0, count: Int = 0) {
    (self.bits, self.count, setCount) = (bits, Int32(count), Int32(bits.nonzeroBitCount))
  }

  static func + (left: BitBlock, right: BitBlock) -> BitBlock {
    var sum = left
    (sum.count, sum.setCount) = (left.count + right.count, left.setCount + right.setCount)
    return sum
  }

  subscript(position: Int) -> Bool { bits >> UInt64(position) & 1 != 0 }

  /// The bits before a position.
  func prefix(_ position: Int) -> UInt64 { bits & (1 << UInt64(position) - 1) }

  /// Returns the position of the set bit with a rank.
  func select(_ rank: Int) -> Int {
    var rest = bits
    for _ in 0..<rank { rest &= rest - 1 }
    return rest.trailingZeroBitCount
  }

  mutating func insert(_ bit: Bool, at position: Int) {
    let before = prefix(position)
    bits = before | (bits ^ before) << 1 | (bit ? 1 << UInt64(position) : 0)
    count += 1
    setCount += bit ? 1 : 0
  }

  mutating func remove(at position: Int) -> Bool {
    let (bit, before) = (self[position], prefix(position))
    bits = before | (bits >> 1 & ~(1 << UInt64(position) - 1))
    count -= 1
    setCount -= bit ? 1 : 0
    return bit
  }

  /// Removes the second half of the bits, and returns it.
  mutating func split() -> BitBlock {
    let half = Self.capacity / 2
    let second = BitBlock(bits: bits >> UInt64(half), count: Int(count) - half)
    self = BitBlock(bits: prefix(half), count: half)
    return second
  }

  /// Appends the bits of another block, if there is space for these and some insertions.
  mutating func append(_ other: BitBlock) -> Bool {
    if count + other.count > Self.capacity * 3 / 4 { return false }
    bits |= other.bits << UInt64(count)
    (count, setCount) = (count + other.count, setCount + other.setCount)
    return true
  }
}
