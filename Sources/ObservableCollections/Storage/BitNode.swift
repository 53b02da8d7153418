/// An inner node of a ``BitTree``.
///
/// For each child, it has the number of bits, and of set bits, in the children before it. A search compares
/// all of them without a branch.
struct BitNode {
  let words: UnsafeMutablePointer<Int32>

  /// The maximum number of children.
  static var capacity: Int { 16 }
  /// The number of words of a node.
  static var stride: Int { 64 }
  /// The value of counts that are not in use. A list has at most half as many elements.
  static var unused: Int32 { 1 << 30 }

  /// The number of bits in the children before each child. The unused ones are ``unused``.
  var starts: UnsafeMutablePointer<Int32> { words }
  /// The number of set bits in the children before each child. The unused ones are ``unused``.
  var ones: UnsafeMutablePointer<Int32> { words + 16 }
  /// The slots of the children.
  var children: UnsafeMutablePointer<Int32> { words + 32 }
  /// The number of children.
  var count: Int {
    get { Int(words[48]) }
    nonmutating set { words[48] = Int32(truncatingIfNeeded: newValue) }
  }

  /// Returns the position of the child that has a bit. A bit behind the last one is in the last child.
  func child(at offset: Int32) -> Int { Self.position(of: offset, in: starts) }

  /// Returns the position of the child that has the set bit with a rank.
  func child(withRank rank: Int32) -> Int { Self.position(of: rank, in: ones) }

  /// Returns the last position whose number is not greater than a number.
  private static func position(of number: Int32, in starts: UnsafeMutablePointer<Int32>) -> Int {
    // Counts the smaller numbers by their signs, in a form that the compiler turns into vector instructions.
    var (position, index): (Int32, Int) = (-1, 0)
    while index < 16 {
      position &-= (starts[index] &- number &- 1) &>> 31
      index &+= 1
    }
    return Int(position)
  }

  /// Adds to the counts of the child at a position.
  ///
  /// Unused counts stay as they are: a list that is edited for days would make them less than counts in use.
  func add(_ count: Int32, ones addedOnes: Int32, at position: Int) {
    let (position, used) = (Int32(truncatingIfNeeded: position), words[48])
    var index: Int32 = 0
    while index < 16 {
      let mask = (position &- index) &>> 31 & (index &- used) &>> 31
      starts[Int(index)] &+= count & mask
      ones[Int(index)] &+= addedOnes & mask
      index &+= 1
    }
  }

  /// Removes all children.
  func clear() {
    starts.update(repeating: Self.unused, count: 32)
    count = 0
  }

  /// Appends a child.
  func append(_ child: Int, start: Int32, ones newOnes: Int32) {
    insert(child, start: start, ones: newOnes, at: count)
  }

  /// Inserts a child. The counts of the others stay the same.
  func insert(_ child: Int, start: Int32, ones newOnes: Int32, at position: Int) {
    var index = count
    while index > position {
      starts[index] = starts[index - 1]
      ones[index] = ones[index - 1]
      children[index] = children[index - 1]
      index -= 1
    }
    (starts[position], ones[position]) = (start, newOnes)
    children[position] = Int32(child)
    count += 1
  }

  /// Removes a child. The counts of the others stay the same.
  func remove(at position: Int) {
    var index = position
    while index < count - 1 {
      starts[index] = starts[index + 1]
      ones[index] = ones[index + 1]
      children[index] = children[index + 1]
      index += 1
    }
    (starts[index], ones[index]) = (Self.unused, Self.unused)
    count -= 1
  }

  /// Moves the last children, from a position, to the end of an empty node.
  ///
  /// - Returns: The number of bits, and of set bits, before the first of them.
  func moveLast(from position: Int, to other: BitNode) -> (start: Int32, ones: Int32) {
    let base = (start: starts[position], ones: ones[position])
    for index in position..<count {
      other.append(
        Int(children[index]), start: starts[index] - base.start, ones: ones[index] - base.ones)
      (starts[index], ones[index]) = (Self.unused, Self.unused)
    }
    count = position
    return base
  }

  /// Distributes the children of this node and the next one, so this node has a number of them.
  ///
  /// - Parameters:
  ///   - start: The number of bits in this node.
  ///   - startOnes: The number of set bits in this node.
  /// - Returns: The number of bits, and of set bits, in this node afterwards, or `nil` if the next node is empty.
  func balance(
    with next: BitNode, _ count: Int, start: Int32, ones startOnes: Int32
  ) -> (start: Int32, ones: Int32)? {
    if self.count < count {
      let moved = count - self.count
      var base: (start: Int32, ones: Int32)?
      if moved < next.count { base = (next.starts[moved], next.ones[moved]) }
      for index in 0..<moved {
        append(
          Int(next.children[index]), start: start + next.starts[index],
          ones: startOnes + next.ones[index])
      }
      for index in moved..<next.count {
        next.starts[index - moved] = next.starts[index] - (base?.start ?? 0)
        next.ones[index - moved] = next.ones[index] - (base?.ones ?? 0)
        next.children[index - moved] = next.children[index]
      }
      for index in next.count - moved..<next.count {
        (next.starts[index], next.ones[index]) = (Self.unused, Self.unused)
      }
      next.count -= moved
      guard let base else { return nil }
      return (start + base.start, startOnes + base.ones)
    }
    let moved = self.count - count
    let base = (start: starts[count], ones: ones[count])
    for index in (0..<next.count).reversed() {
      next.starts[index + moved] = next.starts[index] + start - base.start
      next.ones[index + moved] = next.ones[index] + startOnes - base.ones
      next.children[index + moved] = next.children[index]
    }
    for index in 0..<moved {
      next.starts[index] = starts[count + index] - base.start
      next.ones[index] = ones[count + index] - base.ones
      next.children[index] = children[count + index]
      (starts[count + index], ones[count + index]) = (Self.unused, Self.unused)
    }
    next.count += moved
    self.count = count
    return base
  }
}

/// The bits of a leaf of a ``BitTree``, without their number.
struct BitWords {
  let words: UnsafeMutablePointer<UInt64>

  /// The bit at an offset.
  subscript(offset: Int) -> Bool { words[offset >> 6] &>> UInt64(offset & 63) & 1 != 0 }

  /// Returns the number of set bits before an offset.
  func onesBefore(_ offset: Int) -> Int {
    let whole = offset >> 6
    var (ones, index) = (0, 0)
    while index < whole {
      ones &+= words[index].nonzeroBitCount
      index &+= 1
    }
    let part = UInt64(offset & 63)
    if part > 0 { ones &+= (words[whole] & (1 &<< part &- 1)).nonzeroBitCount }
    return ones
  }

  /// Returns the offset of the set bit with a rank.
  func offset(ofRank rank: Int) -> Int {
    var (rest, index) = (rank, 0)
    while true {
      let ones = words[index].nonzeroBitCount
      if rest < ones { return index &<< 6 &+ words[index].offset(ofRank: rest) }
      rest &-= ones
      index &+= 1
    }
  }

  /// Returns up to 64 bits from an offset.
  func read(at offset: Int, count: Int) -> UInt64 {
    let (word, shift) = (offset >> 6, UInt64(offset & 63))
    var bits = words[word] &>> shift
    if Int(shift) + count > 64 { bits |= words[word + 1] &<< (64 &- shift) }
    return bits & ~0 >> UInt64(64 - count)
  }

  /// Writes up to 64 bits from an offset.
  func write(_ bits: UInt64, at offset: Int, count: Int) {
    let (word, shift) = (offset >> 6, UInt64(offset & 63))
    let mask = ~UInt64(0) >> UInt64(64 - count)
    words[word] = words[word] & ~(mask &<< shift) | bits &<< shift
    if Int(shift) + count > 64 {
      let other = 64 &- shift
      words[word + 1] = words[word + 1] & ~(mask &>> other) | bits &>> other
    }
  }

  /// Copies bits to another leaf, or to a smaller offset of this one.
  func copy(_ range: Range<Int>, to other: BitWords, at offset: Int) {
    var (source, destination) = (range.lowerBound, offset)
    while source < range.upperBound {
      let count = min(64, range.upperBound - source)
      other.write(read(at: source, count: count), at: destination, count: count)
      source += count
      destination += count
    }
  }

  /// Moves all bits to greater offsets. The bits at the start are undefined afterwards.
  func moveBack(by distance: Int, count: Int) {
    var end = count
    while end > 0 {
      let start = max(0, end - 64)
      write(read(at: start, count: end - start), at: start + distance, count: end - start)
      end = start
    }
  }

  /// Sets the bits in a range to 0.
  func clear(_ range: Range<Int>) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = min(64, range.upperBound - offset)
      write(0, at: offset, count: count)
      offset += count
    }
  }

  /// Inserts up to 32 bits.
  ///
  /// - Parameter oldCount: The number of bits before the insertion.
  func insert(_ bits: UInt64, count: Int, at offset: Int, oldCount: Int) {
    let (word, part) = (offset >> 6, UInt64(offset & 63))
    let (shift, back) = (UInt64(count), UInt64(64 - count))
    let last = (oldCount + count - 1) >> 6
    var index = last
    while index > word &+ 1 {
      words[index] = words[index] &<< shift | words[index &- 1] &>> back
      index &-= 1
    }
    let old = words[word]
    let before = old & (1 &<< part &- 1)
    if last > word {
      var next = words[word &+ 1] &<< shift | (old ^ before) &>> back
      if part + shift > 64 { next |= bits &>> (64 &- part) }
      words[word &+ 1] = next
    }
    words[word] = before | bits &<< part | (old ^ before) &<< shift
  }

  /// Removes a bit.
  ///
  /// - Parameter oldCount: The number of bits before the removal.
  func remove(at offset: Int, oldCount: Int) {
    let word = offset >> 6
    let last = (oldCount - 1) >> 6
    let old = words[word]
    let before = old & (1 &<< UInt64(offset & 63) &- 1)
    words[word] = before | (old &>> 1 & ~(1 &<< UInt64(offset & 63) &- 1))
    var index = word
    while index < last {
      words[index] |= words[index &+ 1] &<< 63
      words[index &+ 1] &>>= 1
      index &+= 1
    }
  }
}

extension UInt64 {
  /// Returns the offset of the set bit with a rank.
  ///
  /// Vigna, "Broadword Implementation of Rank/Select Queries", 2008: adds up the set bits of all bytes at once.
  func offset(ofRank rank: Int) -> Int {
    let bytes: UInt64 = 0x0101_0101_0101_0101
    var sums = self &- (self &>> 1 & 0x5555_5555_5555_5555)
    sums = (sums & 0x3333_3333_3333_3333) &+ (sums &>> 2 & 0x3333_3333_3333_3333)
    // The number of set bits up to and including each byte.
    sums = ((sums &+ sums &>> 4) & 0x0f0f_0f0f_0f0f_0f0f) &* bytes
    // The high bit of each byte whose number is at most the rank.
    let high = bytes &<< 7
    let smaller = ((UInt64(rank) &* bytes | high) &- sums) & high
    let start = smaller.nonzeroBitCount &* 8
    var rest = UInt64(rank) &- ((sums &<< 8) &>> UInt64(start)) & 0xff
    var byte = self &>> UInt64(start)
    while rest > 0 {
      byte &= byte &- 1
      rest &-= 1
    }
    return start &+ byte.trailingZeroBitCount
  }
}
