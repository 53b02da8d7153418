public import Diffing

/// The lengths of blocks: each element of an input has a block of consecutive elements in the output.
@usableFromInline
typealias BlockLengths = SummaryTree<Int32>

extension SummaryTree<Int32> {
  /// Creates a list of the lengths of blocks.
  @usableFromInline
  convenience init(lengths: [Int]) {
    self.init(lengths.map { Int32($0) }, empty: 0) { $0 + $1 }
  }

  /// Returns the range of a block in the output.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  func block(at offset: Int) -> Range<Int> {
    let start = Int(total(before: offset))
    return start..<start + Int(self[offset])
  }

  /// Inserts a block of a length, and returns its start in the output.
  @usableFromInline
  func insertBlock(_ length: Int, at offset: Int) -> Int {
    let start = Int(total(before: offset))
    insert(Int32(length), at: offset)
    return start
  }

  /// Replaces the length of a block.
  @usableFromInline
  func setLength(_ length: Int, at offset: Int) {
    replace(at: offset, with: Int32(length))
  }

  /// Moves a block, and returns the change of the output.
  @usableFromInline
  func moveBlock(from source: Int, to destination: Int) -> Changeset {
    let block = block(at: source)
    remove(at: source)
    let start = insertBlock(block.count, at: destination)
    if start == block.lowerBound { return .empty }
    let moves = block.map { Changeset.Move(from: $0, to: $0 - block.lowerBound + start) }
    return Changeset(moves: moves).withLeastMoves
  }

  /// The starts of all blocks in the output, in their order.
  ///
  /// - Complexity: O(*n*)
  @usableFromInline var starts: [Int] {
    var start = 0
    return array.map { length in
      defer { start += Int(length) }
      return start
    }
  }
}
