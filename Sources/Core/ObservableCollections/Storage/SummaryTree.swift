/// A list of values that keeps the combination of all of them.
///
/// An aggregate stores in it one value for each element. The operation that combines two values must be associative. It
/// need not be commutative: values are combined in their order.
///
/// The list is a counted B+ tree whose nodes store the combination of the values below each child. An edit combines the
/// values of the nodes on one path again.
@usableFromInline
package struct SummaryTree<Value>: ~Copyable, @unchecked Sendable {
  // Sendable: the memory belongs to the list alone. Reading writes, too, so only one thread at a time may use a list, as
  // the owners do: operators, and feeds under their lock.

  /// The number of values of each leaf.
  @usableFromInline var leaves: NodeArena
  /// The values of all leaves. The unused ones are ``empty``.
  @usableFromInline var values: UnsafeMutablePointer<Value>
  /// The number of leaves that ``values`` has space for.
  @usableFromInline var valuesCapacity: Int
  /// The inner nodes: the number of children, the number of values below each child, and the slots of the children.
  @usableFromInline var nodes: NodeArena
  /// The combinations of the values below the children of all inner nodes. The unused ones are ``empty``.
  @usableFromInline var summaries: UnsafeMutablePointer<Value>
  /// The number of inner nodes that ``summaries`` has space for.
  @usableFromInline var summariesCapacity: Int
  /// The slot of the root, which is a leaf if the height is 0.
  @usableFromInline var root = 0
  /// The number of levels above the leaves.
  @usableFromInline var height = 0
  /// The nodes from the root to the edited leaf: the node at a height, and the position of the child.
  @usableFromInline var path: UnsafeMutablePointer<(node: Int, child: Int)>
  /// The number of values.
  @usableFromInline package internal(set) var count = 0
  /// The combination of all values in their order, or the empty value.
  @usableFromInline package internal(set) var total: Value
  /// The combination of no values.
  @usableFromInline let empty: Value
  @usableFromInline let combine: (Value, Value) -> Value
  /// The maximum number of values of a leaf.
  @usableFromInline let leafLimit: Int
  /// The maximum number of children of an inner node.
  @usableFromInline let fanLimit: Int

  /// The maximum number of values.
  @inlinable static var maximumCount: Int { Int(Int32.max) }

  /// Creates a list of values.
  ///
  /// - Parameters:
  ///   - leafLimit: The maximum number of values of a leaf, at least 2.
  ///   - fanLimit: The maximum number of children of an inner node, at least 4.
  ///   - values: The values in their order.
  ///   - empty: The total of an empty list. It is never passed to the closure.
  ///   - combine: A closure that returns the combination of two values. It must be associative and must not use the list.
  /// - Complexity: O(*n*) calls of the closure
  // Measured with sums of integers: among a million values, leaves of 8 values or nodes of 4 children take a tenth to a half
  // longer. Larger nodes save no time, and call the closure more often.
  @inlinable
  package init(
    leafLimit: Int = 16, fanLimit: Int = 8, _ values: some Collection<Value>, empty: Value,
    combine: @escaping (Value, Value) -> Value
  ) {
    precondition(
      leafLimit >= 2 && fanLimit >= 4,
      "the limits of nodes must be at least 2 and 4, but are \(leafLimit) and \(fanLimit)")
    (self.leafLimit, self.fanLimit) = (leafLimit, fanLimit)
    (self.empty, self.combine, total) = (empty, combine, empty)
    let filled = max(1, leafLimit * 7 / 8)
    let leafCount = max(1, (values.count + filled - 1) / filled)
    let nodeCount = innerNodeCount(above: leafCount, fan: max(2, fanLimit * 7 / 8))
    leaves = NodeArena(stride: 1, capacity: leafCount)
    nodes = NodeArena(stride: 1 + 2 * fanLimit, capacity: nodeCount)
    valuesCapacity = leafCount
    self.values = .allocate(capacity: leafCount * leafLimit)
    self.values.initialize(repeating: empty, count: leafCount * leafLimit)
    summariesCapacity = nodeCount
    summaries = .allocate(capacity: nodeCount * fanLimit)
    summaries.initialize(repeating: empty, count: nodeCount * fanLimit)
    path = .allocate(capacity: 48)
    append(values, leafCount: leafCount)
    makeInnerNodes(leafCount: leafCount)
  }

  @inlinable
  deinit {
    values.deinitialize(count: valuesCapacity * leafLimit)
    values.deallocate()
    summaries.deinitialize(count: summariesCapacity * fanLimit)
    summaries.deallocate()
    path.deallocate()
  }

  /// Distributes values over leaves with the numbers from 0.
  @inlinable
  mutating func append(_ new: some Collection<Value>, leafCount: Int) {
    count = new.count
    checkCount()
    var (leaf, position, end) = (-1, 0, 0)
    for value in new {
      if position == end {
        leaf += 1
        position = 0
        end = count * (leaf + 1) / leafCount - count * leaf / leafCount
        let slot = makeNode(level: 0)
        setEntryCount(of: slot, level: 0, end)
      }
      values[leaf * leafLimit + position] = value
      position += 1
    }
    precondition(
      position == end && leaf == (count == 0 ? -1 : leafCount - 1),
      "the number of values is not \(count)")
    if count == 0 { _ = makeNode(level: 0) }
  }

  /// Creates the nodes above leaves with the numbers from 0.
  @inlinable
  mutating func makeInnerNodes(leafCount: Int) {
    var level = Array(0..<leafCount)
    while level.count > 1 {
      level = evenParts(of: level.count, max(2, fanLimit * 7 / 8)).map { range in
        let slot = makeNode(level: height + 1)
        setEntryCount(of: slot, level: height + 1, range.count)
        for (position, child) in level[range].enumerated() {
          setChild(child, of: slot, at: position, level: height + 1)
        }
        return slot
      }
      height += 1
    }
    root = level[0]
    total = summary(of: root, level: height)
  }

  @inlinable
  func checkCount() {
    precondition(count <= Self.maximumCount, "a list has at most \(Self.maximumCount) values")
  }

  // MARK: Reading

  /// The value at an offset.
  ///
  /// - Complexity: O(log *n*)
  @inlinable
  package subscript(offset: Int) -> Value {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
    let position = descend(to: offset)
    return values[path[0].node * leafLimit + position]
  }

  // MARK: Editing

  /// Inserts a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - offset: An offset in `0...count`.
  /// - Complexity: O(log *n*) calls of the operation
  @inlinable
  package mutating func insert(_ value: Value, at offset: Int) {
    precondition(offset >= 0 && offset <= count, "offset \(offset) is out of range 0...\(count)")
    let position = descend(to: offset)
    count += 1
    checkCount()
    var gap = makeGap(in: path[0].node, level: 0, at: position)
    values[gap.slot * leafLimit + gap.position] = value
    var (new, level) = (gap.new, 1)
    while level <= height {
      let (slot, child) = path[level]
      setChild(path[level - 1].node, of: slot, at: child, level: level)
      if let added = new {
        gap = makeGap(in: slot, level: level, at: child + 1)
        setChild(added, of: gap.slot, at: gap.position, level: level)
        new = gap.new
      }
      level += 1
    }
    if let new {
      let slot = makeNode(level: height + 1)
      setEntryCount(of: slot, level: height + 1, 2)
      setChild(root, of: slot, at: 0, level: height + 1)
      setChild(new, of: slot, at: 1, level: height + 1)
      (root, height) = (slot, height + 1)
    }
    total = summary(of: root, level: height)
  }

  /// Replaces the value at an offset, and returns the replaced one.
  ///
  /// - Complexity: O(log *n*) calls of the operation
  @inlinable
  @discardableResult
  package mutating func replace(at offset: Int, with value: Value) -> Value {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
    let place = descend(to: offset) + path[0].node * leafLimit
    let replaced = values[place]
    values[place] = value
    var level = 1
    while level <= height {
      let (slot, child) = path[level]
      setChild(path[level - 1].node, of: slot, at: child, level: level)
      level += 1
    }
    total = summary(of: root, level: height)
    return replaced
  }

  /// Removes the value at an offset, and returns it.
  ///
  /// - Complexity: O(log *n*) calls of the operation
  @inlinable
  @discardableResult
  package mutating func remove(at offset: Int) -> Value {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
    let position = descend(to: offset)
    let value = values[path[0].node * leafLimit + position]
    count -= 1
    removeEntry(of: path[0].node, level: 0, at: position)
    var level = 1
    while level <= height {
      let (slot, child) = path[level]
      let below = path[level - 1].node
      if entryCount(of: below, level: level - 1) < minimum(level - 1) {
        balance(slot, at: child, level: level)
      } else {
        setChild(below, of: slot, at: child, level: level)
      }
      level += 1
    }
    while height > 0, entryCount(of: root, level: height) == 1 {
      let child = self.child(of: root, at: 0)
      removeEntry(of: root, level: height, at: 0)
      nodes.free(root)
      (root, height) = (child, height - 1)
    }
    total = summary(of: root, level: height)
    return value
  }
}

extension SummaryTree {
  /// All values in their order.
  ///
  /// - Complexity: O(*n*)
  @inlinable
  package var array: [Value] {
    var array: [Value] = []
    array.reserveCapacity(count)
    // The nodes to visit, the next one last.
    var open = [(slot: root, level: height)]
    while let (slot, level) = open.popLast() {
      let end = entryCount(of: slot, level: level)
      if level == 0 {
        array.append(contentsOf: UnsafeBufferPointer(start: values + slot * leafLimit, count: end))
      } else {
        for position in (0..<end).reversed() {
          open.append((child(of: slot, at: position), level - 1))
        }
      }
    }
    return array
  }

  /// Returns the offset of the first value that satisfies a predicate, or `nil` if there is none.
  ///
  /// - Parameters:
  ///   - start: The first offset to search.
  ///   - predicate: A closure that must return `true` for the combination of several values exactly if it
  ///     does so for one of them.
  /// - Complexity: O(log *n*) calls of the closure
  @inlinable
  package func firstOffset(from start: Int = 0, where predicate: (Value) -> Bool) -> Int? {
    firstOffset(from: start, below: root, level: height, at: 0, where: predicate)
  }

  /// Searches the values below a node, the first of which is at an offset.
  @inlinable
  func firstOffset(
    from start: Int, below slot: Int, level: Int, at offset: Int, where predicate: (Value) -> Bool
  ) -> Int? {
    let entries = entries(of: slot, level: level)
    var offset = offset
    for position in 0..<entryCount(of: slot, level: level) {
      let end = offset + (level == 0 ? 1 : Int(counts(of: slot)[position]))
      if end > start, predicate(entries[position]) {
        if level == 0 { return offset }
        let child = child(of: slot, at: position)
        let found = firstOffset(
          from: start, below: child, level: level - 1, at: offset, where: predicate)
        if let found { return found }
      }
      offset = end
    }
    return nil
  }

  /// Finds the first value with which the combination of all values so far satisfies a predicate.
  ///
  /// - Parameter predicate: A closure that must return `true` for all combinations of more values than one for which it
  ///   does so.
  /// - Returns: The offset of the value, the combination of the values before it, and the value, or `nil` if not even the
  ///   combination of all values satisfies the predicate.
  /// - Complexity: O(log *n*) calls of both closures
  @inlinable
  package func firstPrefix(
    where predicate: (Value) -> Bool
  ) -> (offset: Int, before: Value, value: Value)? {
    var (slot, level, offset, before) = (root, height, 0, empty)
    while true {
      let (entries, end) = (entries(of: slot, level: level), entryCount(of: slot, level: level))
      var position = 0
      while position < end {
        let sum = offset == 0 ? entries[position] : combine(before, entries[position])
        if predicate(sum) { break }
        before = sum
        offset += level == 0 ? 1 : Int(counts(of: slot)[position])
        position += 1
      }
      if position == end { return nil }
      if level == 0 { return (offset, before, entries[position]) }
      slot = child(of: slot, at: position)
      level -= 1
    }
  }

  /// Returns the combination of the values before an offset, in `0...count`.
  ///
  /// - Complexity: O(log *n*) calls of the operation
  @inlinable
  package func summary(before offset: Int) -> Value {
    precondition(offset >= 0 && offset <= count, "offset \(offset) is out of range 0...\(count)")
    var (slot, level, rest) = (root, height, offset)
    var summary: Value?
    while rest > 0 {
      let entries = entries(of: slot, level: level)
      var position = 0
      while rest > 0 {
        let width = level == 0 ? 1 : Int(counts(of: slot)[position])
        if width > rest { break }
        summary = summary.map { combine($0, entries[position]) } ?? entries[position]
        rest -= width
        position += 1
      }
      if rest > 0 {
        slot = child(of: slot, at: position)
        level -= 1
      }
    }
    return summary ?? empty
  }
}
