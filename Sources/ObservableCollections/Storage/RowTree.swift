/// An ordered list of row numbers, which finds a row by its offset and the offset of a row in O(log *n*).
///
/// An operator gives each element of its input a number, and stores what it knows about the element under this number.
/// The list says in which order the rows are. A row number occurs once in a list. Numbers should be small, because the
/// list takes memory for all numbers up to the largest one.
///
/// The list is a counted B+ tree with links to the parents. It has one owner, which must not copy it. A list takes about
/// 12 bytes per row.
@usableFromInline
package final class RowTree: @unchecked Sendable {
  // Sendable: an operator owns the tree, and only one thread at a time calls an operator.
  // Not checked for exclusivity: no other code runs while a method of the tree runs, except for the conditions of
  // searches, which have no access to the tree.

  /// The nodes. See ``RowNode``.
  @exclusivity(unchecked) @usableFromInline var nodes: NodeArena<Int32>
  /// The slot of the root, which is a leaf if the height is 0.
  @exclusivity(unchecked) @usableFromInline var root: Int
  /// The number of levels above the leaves.
  @exclusivity(unchecked) @usableFromInline var height = 0
  /// The number of rows.
  @exclusivity(unchecked) @usableFromInline package internal(set) var count = 0
  /// The slot of the leaf of each row, or -1.
  @exclusivity(unchecked) var leaves: UnsafeMutablePointer<Int32>
  /// The number of rows that ``leaves`` has space for.
  @exclusivity(unchecked) var leavesCapacity: Int
  /// The numbers of the leaves, by slot, or nothing if they are not numbered. See ``isBefore(_:_:)``.
  @exclusivity(unchecked) var leafNumbers: [Int] = []
  /// The maximum number of rows of a leaf.
  let leafLimit: Int
  /// The maximum number of children of an inner node.
  let fanLimit: Int

  /// The maximum number of rows of a list.
  static var maximumCount: Int { Int(RowNode.unused) / 2 }

  /// Creates an empty list.
  @usableFromInline
  package convenience init() {
    self.init(leafLimit: RowNode.rowCapacity, fanLimit: RowNode.childCapacity, expectedCount: 0)
  }

  /// Creates an empty list with limits on the sizes of nodes.
  ///
  /// - Parameters:
  ///   - leafLimit: The maximum number of rows of a leaf, in `2...62`.
  ///   - fanLimit: The maximum number of children of an inner node, in `4...16`.
  ///   - expectedCount: The number of rows to reserve memory for.
  @usableFromInline
  package init(leafLimit: Int, fanLimit: Int, expectedCount: Int) {
    precondition(
      (2...RowNode.rowCapacity).contains(leafLimit)
        && (4...RowNode.childCapacity).contains(fanLimit),
      "the limits of nodes are 2...\(RowNode.rowCapacity) and 4...\(RowNode.childCapacity), "
        + "but are \(leafLimit) and \(fanLimit)")
    self.leafLimit = leafLimit
    self.fanLimit = fanLimit
    let leafCount = expectedCount / Self.filled(leafLimit) + 1
    nodes = NodeArena(
      stride: RowNode.stride,
      capacity: leafCount + innerNodeCount(above: leafCount, fan: Self.filled(fanLimit)))
    leavesCapacity = max(expectedCount, 8)
    leaves = .allocate(capacity: leavesCapacity)
    leaves.initialize(repeating: -1, count: leavesCapacity)
    root = nodes.allocate()
    node(root).clearRows(from: 0)
  }

  deinit {
    nodes.deallocate()
    leaves.deallocate()
  }

  // MARK: Creation

  /// Creates a list of rows.
  ///
  /// - Parameter rows: The rows in their order.
  /// - Complexity: O(*n*)
  @inlinable
  package convenience init(_ rows: some Collection<UInt32>) {
    self.init(leafLimit: RowNode.rowCapacity, fanLimit: RowNode.childCapacity, rows)
  }

  /// Creates a list of rows with limits on the sizes of nodes.
  @inlinable
  package convenience init(leafLimit: Int, fanLimit: Int, _ rows: some Collection<UInt32>) {
    let count = rows.count
    self.init(leafLimit: leafLimit, fanLimit: fanLimit, expectedCount: count)
    var builder = RowTreeBuilder(self, count: count)
    for row in rows { builder.append(row) }
    builder.finish()
  }

  /// The number of elements that a new node gets, which leaves space for insertions.
  static func filled(_ limit: Int) -> Int { max(1, limit * 7 / 8) }

  // MARK: Reading

  /// The row at an offset.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  package subscript(offset: Int) -> UInt32 {
    checkOffset(offset)
    var (slot, rest) = (root, Int32(truncatingIfNeeded: offset))
    for _ in 0..<height {
      let node = self.node(slot)
      let child = node.child(at: rest)
      rest &-= node.starts[child]
      slot = Int(node.children[child])
    }
    return UInt32(bitPattern: node(slot).rows[Int(rest)])
  }

  /// Returns the offset of a row.
  ///
  /// - Parameter row: A row of the list.
  /// - Complexity: O(log *n*)
  @usableFromInline
  package func offset(of row: UInt32) -> Int {
    var slot = leaf(of: row)
    var offset = node(slot).position(of: row)
    while slot != root {
      let parent = node(slot).parent
      let node = self.node(parent)
      offset &+= Int(node.starts[node.position(ofChild: slot)])
      slot = parent
    }
    return offset
  }

  /// Returns whether a row is in the list.
  @usableFromInline
  package func contains(_ row: UInt32) -> Bool {
    Int(row) < leavesCapacity && leaves[Int(row)] >= 0
  }

  /// Returns the slot of the leaf of a row.
  func leaf(of row: UInt32) -> Int {
    precondition(contains(row), "row \(row) is not in the list")
    return Int(leaves[Int(row)])
  }

  func checkOffset(_ offset: Int) {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
  }

  /// The node in a slot. The next allocation may invalidate it.
  @inlinable
  func node(_ slot: Int) -> RowNode { RowNode(words: nodes.words + slot &* RowNode.stride) }

  // MARK: Searching

  /// Returns the first offset whose row satisfies a condition, or `count` if there is none.
  ///
  /// - Parameter isAtOrAfter: A closure that returns whether a row satisfies the condition. All rows that satisfy it come
  ///   after all rows that do not. The closure must not use the list.
  /// - Complexity: O(log *n*) calls of the closure
  @inlinable
  package func partitioningOffset(where isAtOrAfter: (UInt32) -> Bool) -> Int {
    place(where: isAtOrAfter).offset
  }

  /// Inserts a row before all rows that satisfy a condition, and returns its offset.
  ///
  /// - Parameters:
  ///   - row: A row that is not in the list.
  ///   - range: The offsets whose rows are searched, or `nil` for all.
  ///   - isAtOrAfter: A closure that returns whether a row satisfies the condition. All rows that satisfy it come after
  ///     all rows that do not. The closure must not use the list.
  /// - Complexity: O(log *n*), with O(log *m*) calls of the closure for *m* offsets.
  @inlinable
  @discardableResult
  package func insert(
    _ row: UInt32, in range: Range<Int>? = nil, where isAtOrAfter: (UInt32) -> Bool
  ) -> Int {
    let place = place(in: range, where: isAtOrAfter)
    insert(row, at: place)
    return place.offset
  }

  /// Returns the place before all rows that satisfy a condition.
  @inlinable
  func place(in range: Range<Int>? = nil, where isAtOrAfter: (UInt32) -> Bool) -> RowPlace {
    let range = range ?? 0..<count
    func follows(_ row: Int32, at offset: Int) -> Bool {
      if offset < range.lowerBound { return false }
      return offset >= range.upperBound || isAtOrAfter(UInt32(bitPattern: row))
    }
    var (slot, offset) = (root, 0)
    for _ in 0..<height {
      let node = self.node(slot)
      // The last child whose first row does not satisfy the condition, or else the first child.
      var (child, end) = (0, node.count)
      while end &- child > 1 {
        let middle = (child &+ end) &>> 1
        if follows(node.firsts[middle], at: offset &+ Int(node.starts[middle])) {
          end = middle
        } else {
          child = middle
        }
      }
      offset &+= Int(node.starts[child])
      slot = Int(node.children[child])
    }
    let leaf = node(slot)
    var (low, high) = (0, leaf.count)
    while low < high {
      let middle = (low &+ high) &>> 1
      if follows(leaf.rows[middle], at: offset &+ middle) {
        high = middle
      } else {
        low = middle &+ 1
      }
    }
    return RowPlace(leaf: slot, position: low, offset: offset &+ low)
  }
}

/// A place in a ``RowTree`` that a row can be inserted at.
@usableFromInline
struct RowPlace {
  /// The slot of the leaf.
  @usableFromInline let leaf: Int
  /// The offset in the leaf.
  @usableFromInline let position: Int
  /// The offset in the list.
  @usableFromInline let offset: Int

  @inlinable
  init(leaf: Int, position: Int, offset: Int) {
    self.leaf = leaf
    self.position = position
    self.offset = offset
  }
}

extension RowTree {
  /// All rows in their order. Do not change the list during an iteration.
  @inlinable
  package var rows: Rows { Rows(self) }

  /// The rows of a ``RowTree`` in their order.
  @usableFromInline
  package struct Rows: Sequence, IteratorProtocol {
    @usableFromInline let tree: RowTree
    /// The slot of the leaf of the next row.
    @usableFromInline var leaf: Int
    /// The offset of the next row in the leaf.
    @usableFromInline var position = 0
    /// The number of rows of the leaf.
    @usableFromInline var end: Int
    @usableFromInline package let underestimatedCount: Int

    @usableFromInline
    init(_ tree: RowTree) {
      self.tree = tree
      leaf = tree.firstLeaf(below: tree.root, height: tree.height)
      end = tree.node(leaf).count
      underestimatedCount = tree.count
    }

    /// Returns the next row, or `nil` after the last one.
    @inlinable
    package mutating func next() -> UInt32? {
      if position == end {
        let next = tree.leaf(after: leaf)
        if next < 0 { return nil }
        leaf = next
        end = tree.node(next).count
        position = 0
      }
      defer { position &+= 1 }
      return UInt32(bitPattern: tree.node(leaf).rows[position])
    }
  }

  /// Returns the slot of the first leaf below a node.
  @usableFromInline
  func firstLeaf(below slot: Int, height: Int) -> Int {
    var slot = slot
    for _ in 0..<height { slot = Int(node(slot).children[0]) }
    return slot
  }

  /// Returns the slot of the leaf after a leaf, or -1 after the last one.
  @usableFromInline
  func leaf(after leaf: Int) -> Int {
    var (slot, level) = (leaf, 0)
    while slot != root {
      let parent = node(slot).parent
      let node = self.node(parent)
      let position = node.position(ofChild: slot) + 1
      if position < node.count {
        return firstLeaf(below: Int(node.children[position]), height: level)
      }
      (slot, level) = (parent, level + 1)
    }
    return -1
  }
}
