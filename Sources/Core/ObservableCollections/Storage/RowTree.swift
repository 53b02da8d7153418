/// An ordered list of row numbers, which finds a row by its offset and the offset of a row in O(log *n*).
///
/// An operator gives each element of its input a number, and stores what it knows about the element under this number.
/// The list says in which order the rows are. A row number occurs once in a list. Numbers should be small, because the
/// list takes memory for all numbers up to the largest one.
///
/// The list is a counted B+ tree with links to the parents. A list takes about 12 bytes per row. Several lists without
/// common rows can share their memory. Reading writes, too, so only one thread at a time may use them.
@usableFromInline
package struct RowTree: ~Copyable, Sendable {
  /// The memory of the list.
  @usableFromInline let storage: RowStorage
  /// The slot of the root, which is a leaf if the height is 0.
  @usableFromInline var root: Int
  /// The number of levels above the leaves.
  @usableFromInline var height = 0
  /// The number of rows.
  @usableFromInline package internal(set) var count = 0
  /// The maximum number of rows of a leaf.
  let leafLimit: Int
  /// The maximum number of children of an inner node.
  let fanLimit: Int

  /// The maximum number of rows of a list.
  static var maximumCount: Int { Int(RowNode.unused) / 2 }

  /// Creates an empty list.
  ///
  /// - Parameters:
  ///   - storage: The memory, which other lists may share.
  ///   - leafLimit: The maximum number of rows of a leaf, in `2...62`.
  ///   - fanLimit: The maximum number of children of an inner node, in `4...14`.
  @usableFromInline
  package init(
    in storage: RowStorage = RowStorage(), leafLimit: Int = RowNode.rowCapacity,
    fanLimit: Int = RowNode.childCapacity
  ) {
    precondition(
      (2...RowNode.rowCapacity).contains(leafLimit)
        && (4...RowNode.childCapacity).contains(fanLimit),
      "the limits of nodes are 2...\(RowNode.rowCapacity) and 4...\(RowNode.childCapacity), "
        + "but are \(leafLimit) and \(fanLimit)")
    self.leafLimit = leafLimit
    self.fanLimit = fanLimit
    self.storage = storage
    root = storage.addLeaf(count: 0)
    node(root).parent = -1
  }

  // MARK: Creation

  /// Creates a list of rows.
  ///
  /// - Parameters:
  ///   - storage: The memory, which other lists may share that have none of the rows, or `nil` for its own.
  ///   - leafLimit: The maximum number of rows of a leaf, in `2...62`.
  ///   - fanLimit: The maximum number of children of an inner node, in `4...14`.
  ///   - rows: The rows in their order.
  /// - Complexity: O(*n*)
  @inlinable
  package init(
    in storage: RowStorage? = nil, leafLimit: Int = RowNode.rowCapacity,
    fanLimit: Int = RowNode.childCapacity, _ rows: some Collection<UInt32>
  ) {
    let storage = storage ?? RowStorage(expectedCount: rows.count)
    self.init(in: storage, leafLimit: leafLimit, fanLimit: fanLimit)
    var builder = RowTreeBuilder(self, count: rows.count)
    for row in rows { builder.append(row) }
    (root, height) = builder.finish()
    count = rows.count
  }

  /// Frees the memory of an empty list that shares it with others. Do not use the list afterwards.
  @usableFromInline
  package consuming func free() {
    precondition(count == 0, "a list of \(count) rows is freed")
    storage.nodes.free(root)
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
    let (leaf, position) = leaf(at: offset)
    return UInt32(bitPattern: node(leaf).rows[position])
  }

  /// Returns the slot of the leaf that has the row at an offset, and its position there.
  func leaf(at offset: Int) -> (slot: Int, position: Int) {
    var (slot, rest) = (root, Int32(truncatingIfNeeded: offset))
    for _ in 0..<height {
      let node = self.node(slot)
      let child = node.child(at: rest)
      rest &-= node.starts[child]
      slot = Int(node.children[child])
    }
    return (slot, Int(rest))
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
      let parent = parent(of: slot)
      let node = self.node(parent)
      offset &+= Int(node.starts[node.position(ofChild: slot)])
      slot = parent
    }
    return offset
  }

  /// Returns whether a row is in the list.
  @usableFromInline
  package func contains(_ row: UInt32) -> Bool { storage.contains(row) }

  /// Returns the slot of the leaf of a row.
  func leaf(of row: UInt32) -> Int {
    precondition(contains(row), "row \(row) is not in the list")
    return Int(storage.leaves[Int(row)])
  }

  /// Returns the slot of the parent of a node that is not the root.
  func parent(of slot: Int) -> Int {
    let parent = node(slot).parent
    precondition(parent >= 0, "a row is in another list")
    return parent
  }

  func checkOffset(_ offset: Int) {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
  }

  /// The node in a slot. The next allocation may invalidate it.
  @inlinable
  func node(_ slot: Int) -> RowNode { storage.node(slot) }

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
  ///   - isAtOrAfter: A closure that returns whether a row satisfies the condition. All rows that satisfy it come after
  ///     all rows that do not. The closure must not use the list.
  /// - Complexity: O(log *n*), with O(log *n*) calls of the closure.
  @inlinable
  @discardableResult
  package mutating func insert(_ row: UInt32, where isAtOrAfter: (UInt32) -> Bool) -> Int {
    let place = place(where: isAtOrAfter)
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
    @usableFromInline let storage: RowStorage
    /// The slot of the leaf of the next row.
    @usableFromInline var leaf: Int
    /// The offset of the next row in the leaf.
    @usableFromInline var position = 0
    /// The number of rows of the leaf.
    @usableFromInline var end: Int
    @usableFromInline package let underestimatedCount: Int

    @usableFromInline
    init(_ tree: borrowing RowTree) {
      storage = tree.storage
      leaf = storage.firstLeaf(below: tree.root, height: tree.height)
      end = storage.node(leaf).count
      underestimatedCount = tree.count
    }

    /// Returns the next row, or `nil` after the last one.
    @inlinable
    package mutating func next() -> UInt32? {
      if position == end {
        let next = storage.leaf(after: leaf)
        if next < 0 { return nil }
        leaf = next
        end = storage.node(next).count
        position = 0
      }
      defer { position &+= 1 }
      return UInt32(bitPattern: storage.node(leaf).rows[position])
    }
  }
}

extension RowStorage {
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
    while node(slot).parent >= 0 {
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

/// The creation of a ``RowTree`` from its rows in order.
@usableFromInline
struct RowTreeBuilder {
  private let storage: RowStorage
  private let fan: Int
  private let count: Int
  private let leafCount: Int
  private var leaves: [Int] = []
  private var rows: UnsafeMutablePointer<Int32>
  private var position = 0
  private var end = 0

  /// Creates a builder for an empty list.
  @usableFromInline
  init(_ tree: borrowing RowTree, count: Int) {
    precondition(
      count <= RowTree.maximumCount,
      "a list has at most \(RowTree.maximumCount) rows, not \(count)")
    storage = tree.storage
    fan = RowTree.filled(tree.fanLimit)
    self.count = count
    let filled = RowTree.filled(tree.leafLimit)
    leafCount = max(1, (count + filled - 1) / filled)
    leaves.reserveCapacity(leafCount)
    leaves.append(tree.root)
    rows = tree.node(tree.root).rows
  }

  /// Appends a row.
  @usableFromInline
  mutating func append(_ row: UInt32) {
    if position == end { beginLeaf() }
    storage.reserve(row)
    storage.leaves[Int(row)] = Int32(truncatingIfNeeded: leaves[leaves.count - 1])
    rows[position] = Int32(bitPattern: row)
    position &+= 1
  }

  private mutating func beginLeaf() {
    if end > 0 { leaves.append(storage.addLeaf(count: 0)) }
    let ordinal = leaves.count
    let node = storage.node(leaves[ordinal - 1])
    node.count = count * ordinal / leafCount - count * (ordinal - 1) / leafCount
    (rows, position, end) = (node.rows, 0, node.count)
  }

  /// Creates the nodes above the leaves, and returns the root and the number of levels.
  @usableFromInline
  mutating func finish() -> (root: Int, height: Int) {
    precondition(
      position == end && (count == 0 || leaves.count == leafCount), "there are not \(count) rows")
    var height = 0
    var level = leaves.map { leaf in
      (slot: leaf, count: storage.node(leaf).count, first: storage.node(leaf).rows[0])
    }
    while level.count > 1 {
      height += 1
      level = evenParts(of: level.count, fan).map { range in
        let slot = storage.nodes.allocate()
        let node = storage.node(slot)
        node.clearChildren(from: 0)
        var count = 0
        for child in level[range] {
          node.insertChild(child.slot, start: Int32(count), first: child.first, at: node.count)
          storage.node(child.slot).parent = slot
          count += child.count
        }
        return (slot, count, node.firsts[0])
      }
    }
    storage.node(level[0].slot).parent = -1
    return (level[0].slot, height)
  }
}
