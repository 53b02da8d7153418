public import Diffing

/// The lengths of blocks: each element of an input has a block of consecutive elements in the output.
///
/// Usually, all blocks have one length, for example if each order has one customer. Then nothing is stored for a block. The
/// first other length takes O(*n*).
@usableFromInline
final class BlockLengths: @unchecked Sendable {
  // Sendable: an operator owns the lengths, and only one thread at a time calls an operator.

  /// The number of blocks.
  @exclusivity(unchecked) @usableFromInline private(set) var count: Int
  /// The length of all blocks if there is no tree.
  @exclusivity(unchecked) private var length: Int
  /// The length of each block, if they are different or have been.
  @exclusivity(unchecked) private var tree: SummaryTree<Int32>?

  @usableFromInline
  init(lengths: [Int]) {
    (count, length) = (lengths.count, lengths.first ?? 0)
    if lengths.contains(where: { $0 != length }) { tree = Self.makeTree(lengths) }
  }

  private static func makeTree(_ lengths: some Collection<Int>) -> SummaryTree<Int32> {
    SummaryTree(lengths.map { Int32($0) }, empty: 0) { $0 + $1 }
  }

  /// The number of elements in the output.
  @usableFromInline var total: Int { tree.map { Int($0.total) } ?? count * length }

  /// Returns the range of a block in the output.
  ///
  /// - Complexity: O(log *n*)
  @usableFromInline
  func block(at offset: Int) -> Range<Int> {
    if let tree {
      let start = Int(tree.summary(before: offset))
      return start..<start + Int(tree[offset])
    }
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
    return offset * length..<(offset + 1) * length
  }

  /// Returns the tree if there is one, or if a block has another length than the others.
  private func tree(with length: Int) -> SummaryTree<Int32>? {
    if tree == nil, length != self.length {
      tree = Self.makeTree(repeatElement(self.length, count: count))
    }
    return tree
  }

  /// Inserts a block of a length, and returns its start in the output.
  @usableFromInline
  func insertBlock(_ length: Int, at offset: Int) -> Int {
    if count == 0 { (self.length, tree) = (length, nil) }
    defer { count += 1 }
    guard let tree = tree(with: length) else { return offset * length }
    let start = Int(tree.summary(before: offset))
    tree.insert(Int32(length), at: offset)
    return start
  }

  /// Removes a block.
  @usableFromInline
  func remove(at offset: Int) {
    tree?.remove(at: offset)
    count -= 1
  }

  /// Replaces the length of a block.
  @usableFromInline
  func setLength(_ length: Int, at offset: Int) {
    tree(with: length)?.replace(at: offset, with: Int32(length))
  }

  /// Moves a block, and returns the change of the output.
  @usableFromInline
  func moveBlock(from source: Int, to destination: Int) -> Changeset {
    let block = block(at: source)
    remove(at: source)
    return .moving(block, to: insertBlock(block.count, at: destination))
  }

  /// The starts of all blocks in the output, in their order.
  ///
  /// - Complexity: O(*n*)
  @usableFromInline var starts: [Int] {
    guard let tree else { return (0..<count).map { $0 * length } }
    var start = 0
    return tree.array.map { length in
      defer { start += Int(length) }
      return start
    }
  }
}

extension Changeset {
  /// Returns the moves of neighboring elements that begin at another offset afterwards.
  @usableFromInline
  static func moving(_ block: Range<Int>, to start: Int) -> Changeset {
    if start == block.lowerBound { return .empty }
    let moves = block.map { Move(from: $0, to: $0 - block.lowerBound + start) }
    return Changeset(moves: moves).withLeastMoves
  }
}
