extension BitTree {
  /// Replaces the bit at an offset.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  package func set(_ bit: Bool, at offset: Int) {
    checkOffset(offset)
    let leafOffset = descend(to: offset)
    let bits = bits(of: step(0).node)
    if bits[leafOffset] == bit { return }
    bits.words[leafOffset >> 6] ^= 1 &<< UInt64(leafOffset & 63)
    addToPath(0, ones: bit ? 1 : -1)
  }

  /// Inserts a bit.
  ///
  /// - Parameter offset: An offset in `0...count`.
  /// - Complexity: O(log *n*)
  @usableFromInline
  package func insert(_ bit: Bool, at offset: Int) {
    insert(bit ? 1 : 0, count: 1, at: offset)
  }

  /// Inserts several bits.
  ///
  /// - Parameters:
  ///   - count: The number of bits.
  ///   - offset: An offset in `0...count`.
  ///   - bit: A closure that returns the bit at an offset in the list after the insertion. It is called once for each
  ///     inserted bit, in ascending order.
  /// - Complexity: O(log *n*) for each 32 bits
  @inlinable
  package func insert(count: Int, at offset: Int, _ bit: (Int) -> Bool) {
    let chunk = maximumChunk
    let end = offset + count
    var start = offset
    while start < end {
      let stop = min(start + chunk, end)
      var (bits, mask): (UInt64, UInt64) = (0, 1)
      for position in start..<stop {
        if bit(position) { bits |= mask }
        mask &<<= 1
      }
      insert(bits, count: stop - start, at: start)
      start = stop
    }
  }

  /// The maximum number of bits that are inserted at once.
  @usableFromInline
  var maximumChunk: Int { min(32, leafLimit / 2) }

  /// Inserts up to ``maximumChunk`` bits.
  @usableFromInline
  func insert(_ new: UInt64, count newCount: Int, at offset: Int) {
    precondition(
      offset >= 0 && offset <= count, "offset \(offset) is out of range 0...\(count)")
    precondition(count < Self.maximumCount, "a list has at most \(Self.maximumCount) bits")
    let leafOffset = descend(to: offset)
    addToPath(newCount, ones: new.nonzeroBitCount)
    let leaf = step(0).node
    let oldCount = bitCount(of: leaf)
    if oldCount + newCount > leafLimit {
      insertSplitting(leaf, new, newCount, at: leafOffset)
    } else {
      bits(of: leaf).insert(new, count: newCount, at: leafOffset, oldCount: oldCount)
      setBitCount(of: leaf, oldCount + newCount)
    }
  }

  /// Removes a bit, and returns it.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  @discardableResult
  package func remove(at offset: Int) -> Bool {
    checkOffset(offset)
    let leafOffset = descend(to: offset)
    let leaf = step(0).node
    let (bits, oldCount) = (bits(of: leaf), bitCount(of: leaf))
    let bit = bits[leafOffset]
    addToPath(-1, ones: bit ? -1 : 0)
    bits.remove(at: leafOffset, oldCount: oldCount)
    setBitCount(of: leaf, oldCount - 1)
    if oldCount <= leafMinimum, height > 0 { balanceLeaf() }
    return bit
  }

  /// Finds the leaf of an offset, and stores the path to it.
  ///
  /// - Returns: The offset in the leaf.
  private func descend(to offset: Int) -> Int {
    var (slot, rest) = (root, Int32(truncatingIfNeeded: offset))
    var level = height
    while level > 0 {
      let node = self.node(slot)
      let child = node.child(at: rest)
      path[level] = (Int32(truncatingIfNeeded: slot), Int32(truncatingIfNeeded: child))
      rest &-= node.starts[child]
      slot = Int(node.children[child])
      level &-= 1
    }
    path[0] = (Int32(truncatingIfNeeded: slot), 0)
    return Int(rest)
  }

  /// The node at a height on the path, and the position of its child on the path.
  private func step(_ level: Int) -> (node: Int, child: Int) {
    let (node, child) = path[level]
    return (Int(node), Int(child))
  }

  /// Adds to the counts of all nodes on the path and of the list.
  private func addToPath(_ newCount: Int, ones: Int) {
    let (added, addedOnes) = (Int32(truncatingIfNeeded: newCount), Int32(truncatingIfNeeded: ones))
    var level = height
    while level > 0 {
      let (slot, child) = step(level)
      node(slot).add(added, ones: addedOnes, at: child)
      level &-= 1
    }
    count &+= newCount
    setCount &+= ones
  }

  // MARK: Splitting

  /// Splits a full leaf at the end of the path, and inserts bits.
  private func insertSplitting(_ leaf: Int, _ new: UInt64, _ newCount: Int, at offset: Int) {
    let count = bitCount(of: leaf)
    let split = splitPoint(count, insertingAt: offset, leafLimit / 4)
    let next = leaves.allocate()
    clear(next)
    let (left, right) = (bits(of: leaf), bits(of: next))
    left.copy(split..<count, to: right, at: 0)
    left.clear(split..<count)
    var leftCount = split
    if offset <= split {
      left.insert(new, count: newCount, at: offset, oldCount: split)
      leftCount += newCount
    } else {
      right.insert(new, count: newCount, at: offset - split, oldCount: count - split)
    }
    setBitCount(of: leaf, leftCount)
    setBitCount(of: next, count + newCount - leftCount)
    insertNode(next, after: leaf, level: 1, start: leftCount, ones: left.onesBefore(leftCount))
  }

  /// Inserts the second half of a split node after the first.
  ///
  /// - Parameters:
  ///   - level: The height of the parent.
  ///   - start: The number of bits in the first half.
  ///   - ones: The number of set bits in the first half.
  private func insertNode(_ new: Int, after old: Int, level: Int, start: Int, ones: Int) {
    if level > height {
      let slot = nodes.allocate()
      let node = self.node(slot)
      node.clear()
      node.append(old, start: 0, ones: 0)
      node.append(new, start: Int32(start), ones: Int32(ones))
      (root, height) = (slot, level)
      return
    }
    let (slot, child) = step(level)
    var (node, position) = (self.node(slot), child + 1)
    let (newStart, newOnes) = (
      node.starts[child] + Int32(start), node.ones[child] + Int32(ones)
    )
    if node.count < fanLimit {
      node.insert(new, start: newStart, ones: newOnes, at: position)
      return
    }
    let split = splitPoint(node.count, insertingAt: position, nodeMinimum)
    let next = nodes.allocate()
    let right = self.node(next)
    node = self.node(slot)
    right.clear()
    let base = node.moveLast(from: split, to: right)
    var (nodeStart, nodeOnes) = (newStart, newOnes)
    if position > split {
      position -= split
      nodeStart -= base.start
      nodeOnes -= base.ones
      node = right
    }
    node.insert(new, start: nodeStart, ones: nodeOnes, at: position)
    insertNode(next, after: slot, level: level + 1, start: Int(base.start), ones: Int(base.ones))
  }

  // MARK: Balancing

  /// The minimum number of bits of a leaf that is not the root.
  var leafMinimum: Int { max(1, leafLimit / 4) }

  /// The minimum number of children of an inner node that is not the root.
  var nodeMinimum: Int { max(2, fanLimit / 4) }

  /// Merges the leaf at the end of the path with a neighbor, or takes bits from the neighbor.
  private func balanceLeaf() {
    let (slot, child) = step(1)
    let parent = node(slot)
    let position = child + 1 < parent.count ? child : child - 1
    let (leaf, next) = (Int(parent.children[position]), Int(parent.children[position + 1]))
    let (left, right) = (bits(of: leaf), bits(of: next))
    let (count, nextCount) = (bitCount(of: leaf), bitCount(of: next))
    let newCount = firstShare(of: count + nextCount, leafLimit, minimum: leafMinimum)
    if newCount >= count {
      let moved = newCount - count
      right.copy(0..<moved, to: left, at: count)
      right.copy(moved..<nextCount, to: right, at: 0)
      right.clear(nextCount - moved..<nextCount)
    } else {
      let moved = count - newCount
      right.moveBack(by: moved, count: nextCount)
      left.copy(newCount..<count, to: right, at: 0)
      left.clear(newCount..<count)
    }
    setBitCount(of: leaf, newCount)
    setBitCount(of: next, count + nextCount - newCount)
    if newCount == count + nextCount {
      leaves.free(next)
      parent.remove(at: position + 1)
      balanceNode(level: 1)
    } else {
      parent.starts[position + 1] = parent.starts[position] + Int32(newCount)
      parent.ones[position + 1] = parent.ones[position] + Int32(left.onesBefore(newCount))
    }
  }

  /// Merges the node on the path at a level with a neighbor, or takes children from the neighbor, if it has too
  /// few children.
  private func balanceNode(level: Int) {
    let slot = step(level).node
    let node = self.node(slot)
    if level == height {
      guard node.count == 1 else { return }
      root = Int(node.children[0])
      height -= 1
      nodes.free(slot)
      return
    }
    if node.count >= nodeMinimum { return }
    let (parentSlot, child) = step(level + 1)
    let parent = self.node(parentSlot)
    let position = child + 1 < parent.count ? child : child - 1
    let left = self.node(Int(parent.children[position]))
    let next = Int(parent.children[position + 1])
    let right = self.node(next)
    let (start, ones) = (
      parent.starts[position + 1] - parent.starts[position],
      parent.ones[position + 1] - parent.ones[position]
    )
    let count = firstShare(of: left.count + right.count, fanLimit, minimum: nodeMinimum)
    if let base = left.balance(with: right, count, start: start, ones: ones) {
      parent.starts[position + 1] = parent.starts[position] + base.start
      parent.ones[position + 1] = parent.ones[position] + base.ones
    } else {
      nodes.free(next)
      parent.remove(at: position + 1)
      balanceNode(level: level + 1)
    }
  }
}
