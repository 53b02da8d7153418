/// A node of a ``RowTree``: a leaf, which has rows, or an inner node, which has children.
///
/// For each child, an inner node has the number of rows in the children before it, and the first row below it.
// The children, their counts and their first rows have a cache line each.
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
  @inlinable static var childCapacity: Int { 14 }

  /// The number of rows or children.
  @inlinable var count: Int {
    get { Int(words[0]) }
    nonmutating set { words[0] = Int32(truncatingIfNeeded: newValue) }
  }
  /// The slot of the parent, or -1 for the root.
  @inlinable var parent: Int {
    get { Int(words[1]) }
    nonmutating set { words[1] = Int32(truncatingIfNeeded: newValue) }
  }
  /// The rows of a leaf. The unused ones are ``noRow``.
  @inlinable var rows: UnsafeMutablePointer<Int32> { words + 2 }
  /// The number of rows in the children before each child. The unused ones are ``unused``.
  @inlinable var starts: UnsafeMutablePointer<Int32> { words + 2 }
  /// The slots of the children. The unused ones are ``noRow``.
  @inlinable var children: UnsafeMutablePointer<Int32> { words + 16 }
  /// The first row below each child.
  @inlinable var firsts: UnsafeMutablePointer<Int32> { words + 32 }

  /// The value of counts that are not in use. A list has at most half as many rows.
  static var unused: Int32 { 1 << 30 }
  /// A number that no row and no child has.
  static var noRow: Int32 { .max }

  /// Removes the rows of a leaf from a position.
  func clearRows(from position: Int) {
    count = position
    (rows + position).update(repeating: Self.noRow, count: Self.rowCapacity - position)
  }

  /// Removes the children of an inner node from a position.
  func clearChildren(from position: Int) {
    count = position
    (starts + position).update(repeating: Self.unused, count: Self.childCapacity - position)
    (children + position).update(repeating: Self.noRow, count: Self.childCapacity - position)
  }

  // The following searches compare numbers by the signs of differences, without branches, in a form that the
  // compiler turns into vector instructions.

  /// Returns the position of the child that has the row at an offset, or -1 for a negative offset.
  func child(at offset: Int32) -> Int {
    var (position, index): (Int32, Int) = (-1, 0)
    while index < Self.childCapacity {
      position &-= (starts[index] &- offset &- 1) &>> 31
      index &+= 1
    }
    return Int(position)
  }

  /// Returns the position of a child.
  func position(ofChild slot: Int) -> Int {
    let child = Int32(truncatingIfNeeded: slot)
    var (position, index): (Int32, Int32) = (0, 0)
    while index < Int32(Self.childCapacity) {
      position |= ((children[Int(index)] ^ child) &- 1) &>> 31 & index
      index &+= 1
    }
    return Int(position)
  }

  /// Returns the position of a row of a leaf. The row must be in the leaf: it is found after at most ``rowCapacity`` rows.
  func position(of row: UInt32) -> Int {
    let row = Int32(bitPattern: row)
    var (found, index): (Int32, Int32) = (0, 2)
    while index < 16 {
      found |= ((words[Int(index)] ^ row) &- 1) &>> 31 & index
      index &+= 1
    }
    var block: Int32 = 0
    while found == 0 {
      block &+= 16
      index = 0
      while index < 16 {
        found |= ((words[Int(block &+ index)] ^ row) &- 1) &>> 31 & (block &+ index)
        index &+= 1
      }
    }
    return Int(found) &- 2
  }

  /// Adds to the number of rows of the child at a position.
  ///
  /// Unused counts stay as they are: a list that is edited for days would make them less than counts in use.
  func add(_ count: Int32, at position: Int) {
    let (position, used) = (Int32(truncatingIfNeeded: position), words[0])
    var index: Int32 = 0
    while index < Int32(Self.childCapacity) {
      starts[Int(index)] &+= count & (position &- index) &>> 31 & (index &- used) &>> 31
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
    rows[newCount] = Self.noRow
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
    (starts[index], children[index]) = (Self.unused, Self.noRow)
    count -= 1
  }
}

/// The memory of one or more lists of rows that have no common rows. See ``RowTree``.
@usableFromInline
package final class RowStorage: @unchecked Sendable {
  // Sendable: an operator owns the lists, and only one thread at a time calls an operator.
  // Not checked for exclusivity: no other code runs while a method of a list runs, except for the conditions of
  // searches, which have no access to the lists.

  /// The nodes. See ``RowNode``.
  @exclusivity(unchecked) @usableFromInline var nodes: NodeArena
  /// The slot of the leaf of each row, or -1.
  @exclusivity(unchecked) @usableFromInline var leaves: UnsafeMutablePointer<Int32>
  /// The number of rows that ``leaves`` has space for.
  @exclusivity(unchecked) @usableFromInline var leavesCapacity: Int
  /// The numbers of the leaves, by slot, or nothing if they are not numbered. See ``RowTree/isBefore(_:_:)``.
  @exclusivity(unchecked) var leafNumbers: [Int] = []

  /// Creates memory.
  ///
  /// - Parameters:
  ///   - expectedCount: The number of rows to reserve memory for.
  ///   - listCount: The number of lists that share the memory.
  @usableFromInline
  package init(expectedCount: Int = 0, listCount: Int = 1) {
    let leafCount = expectedCount / RowTree.filled(RowNode.rowCapacity) + listCount
    let fan = RowTree.filled(RowNode.childCapacity)
    nodes = NodeArena(
      stride: RowNode.stride, capacity: leafCount + innerNodeCount(above: leafCount, fan: fan))
    leavesCapacity = max(expectedCount, 8)
    leaves = .allocate(capacity: leavesCapacity)
    leaves.initialize(repeating: -1, count: leavesCapacity)
  }

  deinit { leaves.deallocate() }

  /// The node in a slot. The next allocation may invalidate it.
  @inlinable
  func node(_ slot: Int) -> RowNode { RowNode(words: nodes.words + slot &* RowNode.stride) }

  /// Returns the slot of a new leaf. The caller sets its rows and its parent.
  func addLeaf(count: Int) -> Int {
    let slot = nodes.allocate()
    node(slot).clearRows(from: count)
    return slot
  }

  /// Returns whether a row is in one of the lists.
  func contains(_ row: UInt32) -> Bool {
    Int(row) < leavesCapacity && leaves[Int(row)] >= 0
  }

  /// Reserves memory for the leaf of a row that is in no list.
  func reserve(_ row: UInt32) {
    precondition(
      row < RowTree.maximumCount, "row \(row) is out of range 0..<\(RowTree.maximumCount)")
    if Int(row) >= leavesCapacity {
      let newCapacity = max(Int(row) + 1, leavesCapacity + leavesCapacity / 2)
      let new = UnsafeMutablePointer<Int32>.allocate(capacity: newCapacity)
      new.initialize(from: leaves, count: leavesCapacity)
      (new + leavesCapacity).initialize(repeating: -1, count: newCapacity - leavesCapacity)
      leaves.deallocate()
      (leaves, leavesCapacity) = (new, newCapacity)
    }
    precondition(leaves[Int(row)] < 0, "row \(row) is in the list already")
  }

  /// The number of bytes of memory that the lists take.
  var byteCount: Int { (nodes.capacity * RowNode.stride + leavesCapacity) * 4 }
}

/// The values of rows: small numbers that the owner uses for elements, in any order.
///
/// An operator keeps the order of its rows in a ``RowTree``, and the value of each row here. Removed rows are used again.
@usableFromInline
struct RowTable<Value>: ~Copyable, @unchecked Sendable {
  // Sendable: the memory belongs to the table alone. An operator owns it, and is called on one thread at a time.
  // Memory instead of an array of optional values: an optional integer takes twice the space, and an array that
  // grows doubles its memory (`PipelineBenchmarks sorted`).

  @usableFromInline var values: UnsafeMutablePointer<Value>
  @usableFromInline var capacity: Int
  /// The number of rows that were ever used at once. The value of a free row is not initialized.
  @usableFromInline var rowCount: Int
  @usableFromInline var freeRows: [UInt32] = []

  /// Creates values for the rows from 0.
  @inlinable
  init(_ initial: [Value] = []) {
    rowCount = initial.count
    capacity = max(initial.count, 16)
    values = .allocate(capacity: capacity)
    initial.withUnsafeBufferPointer { initial in
      if let first = initial.baseAddress {
        values.initialize(from: first, count: initial.count)
      }
    }
  }

  @inlinable
  deinit {
    var next = 0
    for row in freeRows.sorted() {
      (values + next).deinitialize(count: Int(row) - next)
      next = Int(row) + 1
    }
    (values + next).deinitialize(count: rowCount - next)
    values.deallocate()
  }

  /// The value of a row that is in use.
  @inlinable
  subscript(row: UInt32) -> Value {
    get {
      assert(row < rowCount, "row \(row) was never used")
      return values[Int(row)]
    }
    set { values[Int(row)] = newValue }
  }

  /// Adds a value, and returns its row.
  @inlinable
  mutating func insert(_ value: Value) -> UInt32 {
    let row = freeRows.popLast() ?? addRow()
    (values + Int(row)).initialize(to: value)
    return row
  }

  /// Removes the value of a row, and returns it. The row may be used again.
  @inlinable
  @discardableResult
  mutating func remove(_ row: UInt32) -> Value {
    freeRows.append(row)
    return (values + Int(row)).move()
  }

  /// A Boolean value that indicates whether most numbers are free. Otherwise, large changes of a list that has become
  /// short would take the time and the memory of the long one: the owner should number its rows again.
  @inlinable var isSparse: Bool { rowCount > 64 && rowCount - freeRows.count < rowCount / 4 }

  @inlinable
  mutating func addRow() -> UInt32 {
    if rowCount == capacity {
      // No row is free, so all values are initialized.
      let larger = UnsafeMutablePointer<Value>.allocate(capacity: capacity + capacity / 4)
      larger.moveInitialize(from: values, count: rowCount)
      values.deallocate()
      (values, capacity) = (larger, capacity + capacity / 4)
    }
    rowCount += 1
    return UInt32(rowCount - 1)
  }
}
