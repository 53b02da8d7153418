public import Diffing

/// The lengths of blocks: each element of an input has a block of consecutive elements in the output.
///
/// Usually, all blocks have one length, for example if each order has one customer. Then nothing is stored for a block. The
/// first other length takes O(*n*).
@usableFromInline
struct BlockLengths: ~Copyable, Sendable {
  /// The number of blocks.
  @usableFromInline private(set) var count: Int
  /// The length of all blocks, or `nil` if they are different or have been.
  private var length: Int?
  /// The length of each block, if there is no length of all.
  private var tree: SummaryTree<Int32>

  @usableFromInline
  init(lengths: [Int]) {
    let first = lengths.first ?? 0
    let isUniform = lengths.allSatisfy { $0 == first }
    (count, length) = (lengths.count, isUniform ? first : nil)
    tree = Self.makeTree(isUniform ? [] : lengths)
  }

  private static func makeTree(_ lengths: [Int]) -> SummaryTree<Int32> {
    SummaryTree(lengths.map { Int32($0) }, empty: 0) { $0 + $1 }
  }

  /// The number of elements in the output.
  @usableFromInline var total: Int { length.map { count * $0 } ?? Int(tree.total) }

  /// Returns the range of a block in the output.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  func block(at offset: Int) -> Range<Int> {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
    if let length { return offset * length..<(offset + 1) * length }
    let start = Int(tree.summary(before: offset))
    return start..<start + Int(tree[offset])
  }

  /// Stores the length of each block if one of them gets another length than the others.
  private mutating func prepare(for newLength: Int) {
    guard let length, newLength != length else { return }
    tree = Self.makeTree(Array(repeating: length, count: count))
    self.length = nil
  }

  /// Inserts a block of a length, and returns its start in the output.
  @usableFromInline
  mutating func insertBlock(_ newLength: Int, at offset: Int) -> Int {
    if count == 0 {
      // Without the memory of a long list.
      if length == nil { tree = Self.makeTree([]) }
      length = newLength
    }
    prepare(for: newLength)
    defer { count += 1 }
    if let length { return offset * length }
    let start = Int(tree.summary(before: offset))
    tree.insert(Int32(newLength), at: offset)
    return start
  }

  /// Removes a block.
  @usableFromInline
  mutating func remove(at offset: Int) {
    if length == nil { tree.remove(at: offset) }
    count -= 1
  }

  /// Replaces the length of a block.
  @usableFromInline
  mutating func setLength(_ newLength: Int, at offset: Int) {
    prepare(for: newLength)
    if length == nil { tree.replace(at: offset, with: Int32(newLength)) }
  }

  /// Moves a block, and returns the change of the output.
  @usableFromInline
  mutating func moveBlock(from source: Int, to destination: Int) -> Changeset {
    let block = block(at: source)
    remove(at: source)
    let start = insertBlock(block.count, at: destination)
    if start == block.lowerBound { return .empty }
    let moves = block.map { Changeset.Move(from: $0, to: $0 - block.lowerBound + start) }
    return Changeset(moves: moves).withLeastMoves
  }

  /// Follows the deletions, moves and insertions of a change of the input, and edits the output. Updates are up to the
  /// caller.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - inserted: The blocks of its insertions, in their order.
  ///   - output: The output.
  /// - Complexity: O(k log n + m log n) for k operations with m elements in the output.
  @inlinable
  mutating func follow<Block: Collection>(
    _ changeset: Changeset, inserted: [Block], _ output: CollectionDraft<Block.Element>
  ) where Block.Element: Differentiable & Sendable {
    for offset in changeset.deletions.reversed() {
      output.removeSubrange(block(at: offset))
      remove(at: offset)
    }
    for move in changeset.sequentialMoves {
      output.apply(moveBlock(from: move.from, to: move.to))
    }
    for (offset, block) in zip(changeset.insertions, inserted) {
      output.insert(contentsOf: block, at: insertBlock(block.count, at: offset))
    }
  }

  /// The starts of all blocks in the output, in their order.
  ///
  /// - Complexity: O(*n*)
  @usableFromInline var starts: [Int] {
    if let length { return (0..<count).map { $0 * length } }
    var start = 0
    return tree.array.map { length in
      defer { start += Int(length) }
      return start
    }
  }
}
