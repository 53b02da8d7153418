/// A node of a ``RowTree``: a leaf, which has rows, or an inner node, which has children.
///
/// For each child, an inner node has the number of rows in the children before it, and the first row below it.
@usableFromInline
struct RowNode {
  @usableFromInline let words: UnsafeMutablePointer<Int32>

  @inlinable
  init(words: UnsafeMutablePointer<Int32>) {
    self.words = words
  }

  /// The number of words of a node.
  @inlinable static var stride: Int { 64 }
  /// The maximum number of rows of a leaf.
  @inlinable static var rowCapacity: Int { 62 }
  /// The maximum number of children of an inner node.
  @inlinable static var childCapacity: Int { 16 }

  /// The number of rows or children.
  @inlinable var count: Int {
    get { Int(words[0]) }
    nonmutating set { words[0] = Int32(truncatingIfNeeded: newValue) }
  }
  /// The slot of the parent. It is undefined for the root.
  @inlinable var parent: Int {
    get { Int(words[1]) }
    nonmutating set { words[1] = Int32(truncatingIfNeeded: newValue) }
  }
  /// The rows of a leaf.
  @inlinable var rows: UnsafeMutablePointer<Int32> { words + 2 }
  /// The number of rows in the children before each child. The unused ones are `Int32.max`.
  @inlinable var starts: UnsafeMutablePointer<Int32> { words + 16 }
  /// The slots of the children. The unused ones are -1.
  @inlinable var children: UnsafeMutablePointer<Int32> { words + 32 }
  /// The first row below each child.
  @inlinable var firsts: UnsafeMutablePointer<Int32> { words + 48 }

  /// Removes all rows of a leaf.
  func clear() {
    count = 0
  }

  /// Removes all children of an inner node.
  func clearChildren() {
    count = 0
    starts.update(repeating: .max, count: 16)
    children.update(repeating: -1, count: 16)
  }

  /// Returns the position of the child that has the row at an offset.
  func child(at offset: Int32) -> Int {
    var (position, index): (Int32, Int) = (-1, 0)
    while index < 16 {
      position &+= starts[index] <= offset ? 1 : 0
      index &+= 1
    }
    return Int(position)
  }

  /// Returns the position of a child.
  func position(ofChild slot: Int) -> Int {
    let child = Int32(truncatingIfNeeded: slot)
    var (position, index): (Int32, Int32) = (0, 0)
    while index < 16 {
      position |= children[Int(index)] == child ? index : 0
      index &+= 1
    }
    return Int(position)
  }

  /// Returns the position of a row of a leaf.
  func position(of row: UInt32) -> Int {
    let row = Int32(bitPattern: row)
    var position = 0
    while rows[position] != row { position &+= 1 }
    return position
  }

  /// Adds to the number of rows of the child at a position.
  func add(_ count: Int32, at position: Int) {
    let end = self.count
    var index = position &+ 1
    while index < end {
      starts[index] &+= count
      index &+= 1
    }
  }

  /// Inserts a row into a leaf.
  func insert(_ row: UInt32, at position: Int) {
    let oldCount = count
    let place = rows + position
    (place + 1).update(from: place, count: oldCount - position)
    place.pointee = Int32(bitPattern: row)
    count = oldCount + 1
  }

  /// Removes a row of a leaf.
  func removeRow(at position: Int) {
    let newCount = count - 1
    let place = rows + position
    place.update(from: place + 1, count: newCount - position)
    count = newCount
  }

  /// Inserts a child. The counts of the others stay the same.
  func insertChild(_ child: Int, start: Int32, first: Int32, at position: Int) {
    var index = count
    while index > position {
      starts[index] = starts[index - 1]
      children[index] = children[index - 1]
      firsts[index] = firsts[index - 1]
      index -= 1
    }
    (starts[position], children[position], firsts[position]) = (start, Int32(child), first)
    count += 1
  }

  /// Removes a child. The counts of the others stay the same.
  func removeChild(at position: Int) {
    var index = position
    while index < count - 1 {
      starts[index] = starts[index + 1]
      children[index] = children[index + 1]
      firsts[index] = firsts[index + 1]
      index += 1
    }
    (starts[index], children[index]) = (.max, -1)
    count -= 1
  }
}
