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

  /// Returns the combination of the values before an offset, or the empty value.
  ///
  /// - Parameter offset: An offset in `0...count`.
  /// - Complexity: O(log *n*) calls of the operation
  @inlinable
  package func total(before offset: Int) -> Value {
    precondition(offset >= 0 && offset <= count, "offset \(offset) is out of range 0...\(count)")
    if offset == count { return total }
    var (slot, rest, level) = (root, offset, height)
    var sum: Value?
    while true {
      let entries = entries(of: slot, level: level)
      var position = 0
      while level == 0 ? position < rest : rest >= Int(counts(of: slot)[position]) {
        rest -= level == 0 ? 0 : Int(counts(of: slot)[position])
        sum = sum.map { combine($0, entries[position]) } ?? entries[position]
        position += 1
      }
      if level == 0 { return sum ?? empty }
      slot = child(of: slot, at: position)
      level -= 1
    }
  }

  /// Returns the offset of the first value that satisfies a predicate, or `nil` if there is none.
  ///
  /// - Parameter predicate: A closure that must return `true` for the combination of several values exactly if it
  ///   does so for one of them.
  /// - Complexity: O(log *n*) calls of the closure
  @inlinable
  package func firstOffset(where predicate: (Value) -> Bool) -> Int? {
    var (slot, level, offset) = (root, height, 0)
    while true {
      let entries = entries(of: slot, level: level)
      let end = entryCount(of: slot, level: level)
      var position = 0
      while position < end, !predicate(entries[position]) {
        offset += level == 0 ? 1 : Int(counts(of: slot)[position])
        position += 1
      }
      if position == end { return nil }
      if level == 0 { return offset }
      slot = child(of: slot, at: position)
      level -= 1
    }
  }

  /// Returns the first offset, from another one on, whose value satisfies a predicate, or `nil` if there is none.
  ///
  /// - Parameters:
  ///   - start: The first offset to search.
  ///   - predicate: A closure that must return `true` for the combination of several values exactly if it
  ///     does so for one of them.
  /// - Complexity: O(log *n*) calls of the closure
  @inlinable
  package func firstOffset(from start: Int, where predicate: (Value) -> Bool) -> Int? {
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
