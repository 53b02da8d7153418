extension RowTree {
  /// Inserts a row.
  ///
  /// - Parameters:
  ///   - row: A row that is not in the list.
  ///   - offset: An offset in `0...count`.
  /// - Complexity: O(log *n*)
  @usableFromInline
  package mutating func insert(_ row: UInt32, at offset: Int) {
    precondition(
      offset >= 0 && offset <= count, "offset \(offset) is out of range 0...\(count)")
    // An insertion between two leaves goes to the first of them, so the first rows stay the same.
    var (slot, rest) = (root, Int32(truncatingIfNeeded: offset))
    for _ in 0..<height {
      let node = self.node(slot)
      let child = max(0, node.child(at: rest &- 1))
      rest &-= node.starts[child]
      slot = Int(node.children[child])
    }
    insert(row, at: RowPlace(leaf: slot, position: Int(rest), offset: offset))
  }

  /// Inserts a row at a place.
  @usableFromInline
  mutating func insert(_ row: UInt32, at place: RowPlace) {
    storage.reserve(row)
    count &+= 1
    addRows(1, above: place.leaf)
    let leaf = node(place.leaf)
    if leaf.count == leafLimit {
      insertSplitting(row, place)
    } else {
      leaf.insert(row, at: place.position)
      storage.leaves[Int(row)] = Int32(truncatingIfNeeded: place.leaf)
    }
    if place.position == 0 { updateFirst(of: place.leaf) }
  }

  /// Removes the row at an offset, and returns it.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  @discardableResult
  package mutating func remove(at offset: Int) -> UInt32 {
    checkOffset(offset)
    var (slot, rest) = (root, Int32(truncatingIfNeeded: offset))
    for _ in 0..<height {
      let node = self.node(slot)
      let child = node.child(at: rest)
      rest &-= node.starts[child]
      node.add(-1, at: child)
      slot = Int(node.children[child])
    }
    let row = UInt32(bitPattern: node(slot).rows[Int(rest)])
    remove(row, from: slot, at: Int(rest))
    return row
  }

  /// Removes a row, and returns the offset that it had.
  ///
  /// - Parameter row: A row of the list.
  /// - Complexity: O(log *n*)
  @usableFromInline
  @discardableResult
  package mutating func remove(_ row: UInt32) -> Int {
    let slot = leaf(of: row)
    let position = node(slot).position(of: row)
    let offset = position &+ addRows(-1, above: slot)
    remove(row, from: slot, at: position)
    return offset
  }

  /// Adds to the number of rows of a leaf in all nodes above it.
  ///
  /// - Returns: The number of rows before the leaf.
  @discardableResult
  private func addRows(_ added: Int32, above leaf: Int) -> Int {
    var (slot, offset) = (leaf, 0)
    while slot != root { offset &+= addRows(added, toParentOf: &slot) }
    return offset
  }

  /// Adds to the number of rows of a node in its parent, and makes the slot that of the parent.
  ///
  /// - Returns: The number of rows before the node in the parent.
  private func addRows(_ added: Int32, toParentOf slot: inout Int) -> Int {
    let parent = parent(of: slot)
    let node = self.node(parent)
    let position = node.position(ofChild: slot)
    node.add(added, at: position)
    slot = parent
    return Int(node.starts[position])
  }

  /// Removes a row whose leaf has been counted down.
  private mutating func remove(_ row: UInt32, from slot: Int, at position: Int) {
    count &-= 1
    storage.leaves[Int(row)] = -1
    let leaf = node(slot)
    leaf.removeRow(at: position)
    if position == 0, leaf.count > 0 { updateFirst(of: slot) }
    if leaf.count < leafMinimum, slot != root { balanceLeaf(slot) }
  }

  /// Stores the first row below a leaf in all nodes above it that start with it.
  private func updateFirst(of leaf: Int) {
    let row = node(leaf).rows[0]
    var slot = leaf
    while slot != root {
      let parent = node(slot).parent
      let node = self.node(parent)
      let position = node.position(ofChild: slot)
      node.firsts[position] = row
      if position > 0 { return }
      slot = parent
    }
  }

  // MARK: Splitting

  /// Splits a full leaf, and inserts a row.
  private mutating func insertSplitting(_ row: UInt32, _ place: RowPlace) {
    let split = splitPoint(node(place.leaf).count, insertingAt: place.position, leafLimit / 4)
    let next = storage.addLeaf(count: node(place.leaf).count - split)
    let (left, right) = (node(place.leaf), node(next))
    right.rows.update(from: left.rows + split, count: right.count)
    left.clearRows(from: split)
    if place.position <= split {
      left.insert(row, at: place.position)
      storage.leaves[Int(row)] = Int32(place.leaf)
    } else {
      right.insert(row, at: place.position - split)
    }
    setLeaf(next, ofRowsFrom: 0)
    insertNode(next, after: place.leaf, start: Int32(left.count), first: right.rows[0], level: 1)
    numberLeaf(next, after: place.leaf)
  }

  /// Stores the leaf of its rows from a position.
  private func setLeaf(_ slot: Int, ofRowsFrom start: Int) {
    let leaf = node(slot)
    for position in start..<leaf.count { storage.leaves[Int(leaf.rows[position])] = Int32(slot) }
  }

  /// Stores the parent of its children from a position.
  private func setParent(_ slot: Int, ofChildrenFrom start: Int) {
    let node = self.node(slot)
    for position in start..<node.count { self.node(Int(node.children[position])).parent = slot }
  }

  /// Inserts the second half of a split node after the first.
  ///
  /// - Parameters:
  ///   - start: The number of rows in the first half.
  ///   - first: The first row in the second half.
  ///   - level: The height of the parent.
  private mutating func insertNode(
    _ new: Int, after old: Int, start: Int32, first: Int32, level: Int
  ) {
    if level > height {
      let slot = storage.nodes.allocate()
      let node = self.node(slot)
      node.clearChildren(from: 0)
      node.insertChild(old, start: 0, first: firstRow(of: old, level: level - 1), at: 0)
      node.insertChild(new, start: start, first: first, at: 1)
      setParent(slot, ofChildrenFrom: 0)
      node.parent = -1
      (root, height) = (slot, level)
      return
    }
    let slot = node(old).parent
    var position = node(slot).position(ofChild: old) + 1
    let newStart = node(slot).starts[position - 1] + start
    if node(slot).count < fanLimit {
      node(slot).insertChild(new, start: newStart, first: first, at: position)
      node(new).parent = slot
      return
    }
    let next = storage.nodes.allocate()
    let (left, right) = (node(slot), node(next))
    right.clearChildren(from: 0)
    let split = splitPoint(left.count, insertingAt: position, nodeMinimum)
    let base = left.starts[split]
    moveChildren(of: left, split..<left.count, to: right, at: 0, adding: -base)
    left.clearChildren(from: split)
    if position > split {
      position -= split
      right.insertChild(new, start: newStart - base, first: first, at: position)
    } else {
      left.insertChild(new, start: newStart, first: first, at: position)
      node(new).parent = slot
    }
    setParent(next, ofChildrenFrom: 0)
    insertNode(next, after: slot, start: base, first: right.firsts[0], level: level + 1)
  }

  /// Returns the first row below a node.
  private func firstRow(of slot: Int, level: Int) -> Int32 {
    level == 0 ? node(slot).rows[0] : node(slot).firsts[0]
  }

  /// Copies children to a position of a node, and changes their starts.
  private func moveChildren(
    of node: RowNode, _ range: Range<Int>, to other: RowNode, at position: Int, adding: Int32
  ) {
    let (from, count) = (range.lowerBound, range.count)
    (other.starts + position).update(from: node.starts + from, count: count)
    (other.children + position).update(from: node.children + from, count: count)
    (other.firsts + position).update(from: node.firsts + from, count: count)
    for index in position..<position + count { other.starts[index] &+= adding }
    other.count = max(other.count, position + count)
  }

  // MARK: Balancing

  /// The minimum number of rows of a leaf that is not the root.
  var leafMinimum: Int { max(1, leafLimit / 4) }

  /// The minimum number of children of an inner node that is not the root.
  var nodeMinimum: Int { max(2, fanLimit / 4) }

  /// Merges a leaf with a neighbor, or takes rows from the neighbor.
  private mutating func balanceLeaf(_ slot: Int) {
    let parentSlot = node(slot).parent
    let parent = node(parentSlot)
    let child = parent.position(ofChild: slot)
    let position = child + 1 < parent.count ? child : child - 1
    let (leaf, next) = (Int(parent.children[position]), Int(parent.children[position + 1]))
    let (left, right) = (node(leaf), node(next))
    let (count, total) = (left.count, left.count + right.count)
    let newCount = firstShare(of: total, leafLimit, minimum: leafMinimum)
    if newCount >= count {
      let moved = newCount - count
      (left.rows + count).update(from: right.rows, count: moved)
      right.rows.update(from: right.rows + moved, count: right.count - moved)
      left.count = newCount
      right.clearRows(from: total - newCount)
      setLeaf(leaf, ofRowsFrom: count)
    } else {
      let moved = count - newCount
      (right.rows + moved).update(from: right.rows, count: right.count)
      right.rows.update(from: left.rows + newCount, count: moved)
      left.clearRows(from: newCount)
      right.count = total - newCount
      for index in 0..<moved { storage.leaves[Int(right.rows[index])] = Int32(next) }
    }
    if newCount == total {
      storage.nodes.free(next)
      parent.removeChild(at: position + 1)
    } else {
      parent.starts[position + 1] = parent.starts[position] + Int32(newCount)
      parent.firsts[position + 1] = right.rows[0]
    }
    if count == 0 { updateFirst(of: leaf) }
    if newCount == total { balanceNode(parentSlot) }
  }

  /// Merges an inner node with a neighbor, or takes children from the neighbor, if it has too few children.
  private mutating func balanceNode(_ slot: Int) {
    let node = self.node(slot)
    if slot == root {
      guard node.count == 1 else { return }
      root = Int(node.children[0])
      self.node(root).parent = -1
      height -= 1
      storage.nodes.free(slot)
      return
    }
    if node.count >= nodeMinimum { return }
    let parentSlot = node.parent
    let parent = self.node(parentSlot)
    let child = parent.position(ofChild: slot)
    let position = child + 1 < parent.count ? child : child - 1
    let (first, next) = (Int(parent.children[position]), Int(parent.children[position + 1]))
    let (left, right) = (self.node(first), self.node(next))
    let start = parent.starts[position + 1] - parent.starts[position]
    let (count, nextCount) = (left.count, right.count)
    let total = count + nextCount
    let newCount = firstShare(of: total, fanLimit, minimum: nodeMinimum)
    if newCount >= count {
      let moved = newCount - count
      moveChildren(of: right, 0..<moved, to: left, at: count, adding: start)
      setParent(first, ofChildrenFrom: count)
      if newCount == total {
        storage.nodes.free(next)
        parent.removeChild(at: position + 1)
        balanceNode(parentSlot)
        return
      }
      let base = right.starts[moved]
      moveChildren(of: right, moved..<nextCount, to: right, at: 0, adding: -base)
      right.clearChildren(from: nextCount - moved)
      parent.starts[position + 1] += base
    } else {
      let moved = count - newCount
      let base = left.starts[newCount]
      moveChildren(of: right, 0..<nextCount, to: right, at: moved, adding: start - base)
      moveChildren(of: left, newCount..<count, to: right, at: 0, adding: -base)
      left.clearChildren(from: newCount)
      setParent(next, ofChildrenFrom: 0)
      parent.starts[position + 1] = parent.starts[position] + base
    }
    parent.firsts[position + 1] = right.firsts[0]
  }
}

extension RowTree {
  /// The distance between the numbers of two leaves after they were numbered.
  private static var gap: Int { 1 << 32 }

  /// Returns whether a row is before another one.
  ///
  /// The leaves have ascending numbers, so no node above them is read. A leaf that is split gets a number between those
  /// of its neighbors. If there is none, all leaves are numbered again at the next call, which is rare: 32 leaves must be
  /// split at the same place, or one of the list's leaves 32 times. A list that shares its memory has no such numbers.
  ///
  /// - Parameters:
  ///   - row: A row of the list.
  ///   - other: Another row of the list.
  /// - Complexity: O(1) in most cases
  // A search among 1,000 of a million rows takes a third of the time that it takes with the offsets of the rows
  // (`PipelineBenchmarks sections insert`).
  @usableFromInline
  package func isBefore(_ row: UInt32, _ other: UInt32) -> Bool {
    let (leaf, otherLeaf) = (leaf(of: row), leaf(of: other))
    if leaf == otherLeaf {
      let node = node(leaf)
      return node.position(of: row) < node.position(of: other)
    }
    if storage.leafNumbers.isEmpty { numberLeaves() }
    return storage.leafNumbers[leaf] < storage.leafNumbers[otherLeaf]
  }

  private func numberLeaves() {
    storage.leafNumbers = Array(repeating: 0, count: storage.nodes.usedCount)
    var (leaf, number) = (storage.firstLeaf(below: root, height: height), 0)
    while leaf >= 0 {
      storage.leafNumbers[leaf] = number
      number += Self.gap
      leaf = storage.leaf(after: leaf)
    }
  }

  /// Gives a number to a new leaf, which is the second half of another one.
  func numberLeaf(_ new: Int, after old: Int) {
    if storage.leafNumbers.isEmpty { return }
    let next = storage.leaf(after: new)
    let start = storage.leafNumbers[old]
    let end = next < 0 ? start + 2 * Self.gap : storage.leafNumbers[next]
    if end - start < 2 {
      storage.leafNumbers = []
    } else {
      if new >= storage.leafNumbers.count {
        storage.leafNumbers += repeatElement(
          0, count: storage.nodes.usedCount - storage.leafNumbers.count)
      }
      storage.leafNumbers[new] = start + (end - start) / 2
    }
  }

  /// Inserts a row at its place in the order of another list, and returns its offset.
  ///
  /// - Parameters:
  ///   - row: A row that is not in the list.
  ///   - list: A list that has the row and all rows of this list, in the same order.
  /// - Complexity: O(log *n*)
  @usableFromInline
  @discardableResult
  package mutating func insert(_ row: UInt32, inOrderOf list: borrowing RowTree) -> Int {
    insert(row) { list.isBefore(row, $0) }
  }
}
