/// The memory of the nodes of one tree. All nodes have the same size, and the slot of a freed node is reused.
// Raw memory: with an array, which checks that it is not shared, reading a bit or a row at an offset takes twice as long, and
// most edits take a tenth longer (measured with 1,000 and 100,000 elements).
@usableFromInline
struct NodeArena: ~Copyable {
  /// The words of all nodes. An allocation may replace this pointer.
  @usableFromInline var words: UnsafeMutablePointer<Int32>
  /// The number of words of a node.
  @usableFromInline let stride: Int
  /// The number of nodes that the memory has space for.
  @usableFromInline var capacity: Int
  /// The number of slots that have been in use.
  @usableFromInline var usedCount = 0
  /// The number of slots that are free again.
  @usableFromInline var freeCount = 0
  /// The slot that was freed last. The first word of a free slot is the number of the next one.
  @usableFromInline var firstFree = 0

  /// The alignment of nodes, which is the size of a cache line.
  @inlinable static var alignment: Int { 64 }

  @inlinable
  init(stride: Int, capacity: Int) {
    self.stride = stride
    self.capacity = capacity
    words = Self.memory(wordCount: stride * capacity)
  }

  @inlinable
  static func memory(wordCount: Int) -> UnsafeMutablePointer<Int32> {
    UnsafeMutableRawPointer.allocate(
      byteCount: wordCount * MemoryLayout<Int32>.stride, alignment: alignment
    ).bindMemory(to: Int32.self, capacity: wordCount)
  }

  @inlinable
  deinit { UnsafeMutableRawPointer(words).deallocate() }

  /// The number of nodes in use.
  @inlinable var nodeCount: Int { usedCount - freeCount }

  /// Returns a slot for a node, whose contents are undefined.
  @inlinable
  mutating func allocate() -> Int {
    if freeCount > 0 {
      let slot = firstFree
      firstFree = Int(words[slot * stride])
      freeCount -= 1
      return slot
    }
    if usedCount == capacity { grow() }
    usedCount += 1
    return usedCount - 1
  }

  /// Frees the slot of a node.
  @inlinable
  mutating func free(_ slot: Int) {
    words[slot * stride] = Int32(firstFree)
    firstFree = slot
    freeCount += 1
  }

  @inlinable
  mutating func grow() {
    let newCapacity = capacity + capacity / 2 + 1
    let new = Self.memory(wordCount: newCapacity * stride)
    new.update(from: words, count: usedCount * stride)
    UnsafeMutableRawPointer(words).deallocate()
    (words, capacity) = (new, newCapacity)
  }
}

/// Returns the number of nodes above leaves, if each of them has up to a number of children.
@usableFromInline
func innerNodeCount(above leafCount: Int, fan: Int) -> Int {
  var (total, level) = (0, leafCount)
  while level > 1 {
    level = (level + fan - 1) / fan
    total += level
  }
  return total
}

/// Returns the number of elements that stay in a node that is split. A node that is filled from one end keeps three
/// quarters of its elements.
///
/// - Parameters:
///   - count: The number of elements of the node.
///   - position: The position of the element to insert.
///   - quarter: A quarter of the maximum number of elements.
@usableFromInline
func splitPoint(_ count: Int, insertingAt position: Int, _ quarter: Int) -> Int {
  let small = max(1, quarter)
  if position == count { return count - small }
  return position == 0 ? small : count / 2
}

/// Returns the number of elements that the first of two neighbors gets, of which one has become too small.
///
/// The nodes are merged only if that leaves space for insertions.
///
/// - Parameters:
///   - count: The number of elements of both.
///   - limit: The maximum number of elements of a node.
///   - minimum: The minimum number of elements of a node.
@usableFromInline
func firstShare(of count: Int, _ limit: Int, minimum: Int) -> Int {
  count <= max(limit * 3 / 4, 2 * minimum - 1) ? count : count / 2
}
