// An entry is a value of a leaf, or a child of an inner node with the combination of the values below the child. The level of
// a node is its height above the leaves.

extension SummaryTree {
  /// Stores the path to the leaf of an offset, and returns the position in the leaf.
  ///
  /// An offset between two leaves is in the second of them.
  @inlinable
  func descend(to offset: Int) -> Int {
    var (slot, rest, level) = (root, offset, height)
    while level > 0 {
      let (counts, last) = (self.counts(of: slot), entryCount(of: slot, level: level) &- 1)
      var child = 0
      while child < last, rest >= Int(counts[child]) {
        rest &-= Int(counts[child])
        child &+= 1
      }
      path[level] = (slot, child)
      slot = self.child(of: slot, at: child)
      level &-= 1
    }
    path[0] = (slot, rest)
    return rest
  }

  /// The number of values below each child of an inner node.
  @inlinable
  func counts(of slot: Int) -> UnsafeMutablePointer<Int32> {
    nodes.words + (slot &* nodes.stride &+ 1)
  }

  /// Returns the slot of a child of an inner node.
  @inlinable
  func child(of slot: Int, at position: Int) -> Int {
    Int(counts(of: slot)[fanLimit &+ position])
  }

  /// Returns the number of entries of a node.
  @inlinable
  func entryCount(of slot: Int, level: Int) -> Int {
    Int(level == 0 ? leaves.words[slot] : nodes.words[slot &* nodes.stride])
  }

  @inlinable
  func setEntryCount(of slot: Int, level: Int, _ count: Int) {
    if level == 0 {
      leaves.words[slot] = Int32(count)
    } else {
      nodes.words[slot &* nodes.stride] = Int32(count)
    }
  }

  /// The values of a leaf, or the combinations of an inner node.
  @inlinable
  func entries(of slot: Int, level: Int) -> UnsafeMutablePointer<Value> {
    level == 0 ? values + slot &* leafLimit : summaries + slot &* fanLimit
  }

  /// Returns the number of values in or below a node.
  @inlinable
  func valueCount(of slot: Int, level: Int) -> Int32 {
    if level == 0 { return leaves.words[slot] }
    let (counts, end) = (self.counts(of: slot), entryCount(of: slot, level: level))
    var (count, position): (Int32, Int) = (0, 0)
    while position < end {
      count &+= counts[position]
      position &+= 1
    }
    return count
  }

  /// Returns the combination of the values in or below a node.
  @inlinable
  func summary(of slot: Int, level: Int) -> Value {
    let (entries, end) = (self.entries(of: slot, level: level), entryCount(of: slot, level: level))
    if end == 0 { return empty }
    var (summary, position) = (entries[0], 1)
    while position < end {
      summary = combine(summary, entries[position])
      position &+= 1
    }
    return summary
  }

  /// Stores a child, its number of values, and their combination in an entry of an inner node.
  @inlinable
  func setChild(_ child: Int, of slot: Int, at position: Int, level: Int) {
    let counts = self.counts(of: slot)
    counts[position] = valueCount(of: child, level: level &- 1)
    counts[fanLimit &+ position] = Int32(truncatingIfNeeded: child)
    summaries[slot &* fanLimit &+ position] = summary(of: child, level: level &- 1)
  }

  /// Creates a node without entries.
  @inlinable
  mutating func makeNode(level: Int) -> Int {
    let slot: Int
    if level == 0 {
      slot = leaves.allocate()
      if leaves.capacity > valuesCapacity {
        values = enlarged(
          values, from: valuesCapacity * leafLimit, to: leaves.capacity * leafLimit)
        valuesCapacity = leaves.capacity
      }
    } else {
      slot = nodes.allocate()
      if nodes.capacity > summariesCapacity {
        summaries = enlarged(
          summaries, from: summariesCapacity * fanLimit, to: nodes.capacity * fanLimit)
        summariesCapacity = nodes.capacity
      }
    }
    setEntryCount(of: slot, level: level, 0)
    return slot
  }

  /// Returns larger memory with the values of another one, which is freed.
  @inlinable
  func enlarged(
    _ memory: UnsafeMutablePointer<Value>, from count: Int, to newCount: Int
  ) -> UnsafeMutablePointer<Value> {
    let new = UnsafeMutablePointer<Value>.allocate(capacity: newCount)
    new.moveInitialize(from: memory, count: count)
    (new + count).initialize(repeating: empty, count: newCount - count)
    memory.deallocate()
    return new
  }

  // MARK: Entries

  /// Moves entries to another position or node. The space of entries that are moved away becomes empty.
  @inlinable
  func moveEntries(
    of slot: Int, _ range: Range<Int>, to other: Int, at position: Int, level: Int
  ) {
    let (start, count) = (range.lowerBound, range.count)
    if count == 0 || (slot == other && position == start) { return }
    let (source, target) = (entries(of: slot, level: level), entries(of: other, level: level))
    (target + position).update(from: source + start, count: count)
    if level > 0 {
      let (sourceCounts, targetCounts) = (counts(of: slot), counts(of: other))
      (targetCounts + position).update(from: sourceCounts + start, count: count)
      (targetCounts + (fanLimit + position)).update(
        from: sourceCounts + (fanLimit + start), count: count)
    }
    var vacated = range
    if slot == other {
      vacated =
        position > start
        ? start..<min(position, range.upperBound)
        : max(position + count, start)..<range.upperBound
    }
    (source + vacated.lowerBound).update(repeating: empty, count: vacated.count)
  }

  /// Adds an entry to a node, which is split if it is full.
  ///
  /// - Returns: The node and the position of the entry, which the caller fills, and the second half of a node that
  ///   was split.
  @inlinable
  mutating func makeGap(
    in slot: Int, level: Int, at position: Int
  ) -> (slot: Int, position: Int, new: Int?) {
    let (count, limit) = (entryCount(of: slot, level: level), level == 0 ? leafLimit : fanLimit)
    if count < limit {
      moveEntries(of: slot, position..<count, to: slot, at: position + 1, level: level)
      setEntryCount(of: slot, level: level, count + 1)
      return (slot, position, nil)
    }
    let new = makeNode(level: level)
    let split = splitPoint(count, insertingAt: position, minimum(level))
    moveEntries(of: slot, split..<count, to: new, at: 0, level: level)
    setEntryCount(of: slot, level: level, split)
    setEntryCount(of: new, level: level, count - split)
    let isInFirst = position <= split
    let gap = makeGap(
      in: isInFirst ? slot : new, level: level, at: isInFirst ? position : position - split)
    return (gap.slot, gap.position, new)
  }

  /// Removes an entry from a node.
  @inlinable
  func removeEntry(of slot: Int, level: Int, at position: Int) {
    let count = entryCount(of: slot, level: level)
    entries(of: slot, level: level)[position] = empty
    moveEntries(of: slot, position + 1..<count, to: slot, at: position, level: level)
    setEntryCount(of: slot, level: level, count - 1)
  }

  // MARK: Balancing

  /// The minimum number of entries of a node that is not the root.
  @inlinable
  func minimum(_ level: Int) -> Int { level == 0 ? max(1, leafLimit / 4) : max(2, fanLimit / 4) }

  /// Merges a child with a neighbor, or moves entries between them.
  @inlinable
  mutating func balance(_ slot: Int, at child: Int, level: Int) {
    let below = level - 1
    let position = child + 1 < entryCount(of: slot, level: level) ? child : child - 1
    let (left, right) = (self.child(of: slot, at: position), self.child(of: slot, at: position + 1))
    let (count, nextCount) = (
      entryCount(of: left, level: below), entryCount(of: right, level: below)
    )
    let total = count + nextCount
    let newCount = firstShare(
      of: total, below == 0 ? leafLimit : fanLimit, minimum: minimum(below))
    if newCount >= count {
      let moved = newCount - count
      moveEntries(of: right, 0..<moved, to: left, at: count, level: below)
      moveEntries(of: right, moved..<nextCount, to: right, at: 0, level: below)
    } else {
      let moved = count - newCount
      moveEntries(of: right, 0..<nextCount, to: right, at: moved, level: below)
      moveEntries(of: left, newCount..<count, to: right, at: 0, level: below)
    }
    setEntryCount(of: left, level: below, newCount)
    setEntryCount(of: right, level: below, total - newCount)
    setChild(left, of: slot, at: position, level: level)
    if newCount < total {
      setChild(right, of: slot, at: position + 1, level: level)
    } else {
      if below == 0 { leaves.free(right) } else { nodes.free(right) }
      removeEntry(of: slot, level: level, at: position + 1)
    }
  }
}
