public import Diffing

/// An operator that pairs the elements of two inputs whose keys are equal.
///
/// Each element of the left input has a block of consecutive pairs in the output, in the order of the right input.
@usableFromInline
struct JoinOperator<
  Left: Differentiable & Sendable, Right: Differentiable & Sendable, Key: Hashable,
  Side: Differentiable & Sendable, Match: Differentiable & Sendable
>: ~Copyable, CollectionOperator {
  @usableFromInline typealias Pair = JoinedPair<Side, Match>

  @usableFromInline let left: CollectionInput<Left>
  @usableFromInline let right: CollectionInput<Right>
  @usableFromInline let leftKey: @Sendable (Left) -> Key?
  @usableFromInline let rightKey: @Sendable (Right) -> Key?
  /// Returns the left side of a pair.
  @usableFromInline let side: @Sendable (Left) -> Side
  /// Returns the right side of a pair.
  @usableFromInline let match: @Sendable (Right) -> Match
  /// The right side of a pair for a left element without a match, or `nil` if there is no such pair.
  @usableFromInline let missing: Match?
  // The rows of a key need no order: their offsets are sorted when a right element changes.
  @usableFromInline var leftRows = RowsByKey<Key>(keepsOrder: false)
  @usableFromInline var rightRows = RowsByKey<Key>()
  /// The number of pairs of each left element.
  @usableFromInline var lengths = BlockLengths(lengths: [])

  @inlinable
  init(
    left: CollectionInput<Left>, right: CollectionInput<Right>,
    leftKey: @escaping @Sendable (Left) -> Key?, rightKey: @escaping @Sendable (Right) -> Key?,
    side: @escaping @Sendable (Left) -> Side, match: @escaping @Sendable (Right) -> Match,
    missing: Match?
  ) {
    (self.left, self.right, self.leftKey, self.rightKey) = (left, right, leftKey, rightKey)
    (self.side, self.match, self.missing) = (side, match, missing)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Pair>) {
    let leftChange = KeyChange(left.change, key: leftKey)
    let rightChange = KeyChange(right.change, key: rightKey)
    if isLarge(leftChange, rightChange, output) {
      let (pairs, origins, _) = rebuild(leftChange, rightChange)
      output.replace(with: pairs, from: origins)
    } else {
      follow(leftChange, rightChange, output)
    }
  }

  /// Returns whether visiting all pairs takes less time than following each operation.
  @inlinable
  func isLarge(
    _ leftChange: KeyChange<Left, Key>?, _ rightChange: KeyChange<Right, Key>?,
    _ output: CollectionDraft<Pair>
  ) -> Bool {
    leftChange?.isLarge(leftRows) == true || rightChange?.isLarge(rightRows) == true
      || rightChange.map { pairCount(of: $0) > max(16, output.count / 32) } == true
  }

  /// Follows changes of a few elements.
  @inlinable
  mutating func follow(
    _ leftChange: KeyChange<Left, Key>?, _ rightChange: KeyChange<Right, Key>?,
    _ output: CollectionDraft<Pair>
  ) {
    // The left change first, with the right elements before their change. Both may be changes of one collection.
    if let leftChange { followLeft(leftChange, right.change?.before ?? right.snapshot, output) }
    if let rightChange { followRight(rightChange, output) }
    leftRows.renumberIfSparse()
    rightRows.renumberIfSparse()
  }

  /// Returns about how many pairs a change of the right input affects.
  @inlinable
  func pairCount(of change: KeyChange<Right, Key>) -> Int {
    let (deletions, moves) = (change.changeset.deletions, change.changeset.moves)
    let old = (deletions + moves.map(\.from)).map { rightRows.keys[rightRows.order[$0]] }
    return (old + change.inserted + change.updated).reduce(0) {
      $0 + leftRows.count(of: leftRows.entry(of: $1))
    }
  }

  // MARK: A change of the left input

  /// Follows a change of a few left elements.
  ///
  /// - Parameter rights: The right elements that have rows.
  @inlinable
  mutating func followLeft(
    _ change: KeyChange<Left, Key>, _ rights: Snapshot<Right>, _ output: CollectionDraft<Pair>
  ) {
    let (changeset, after) = (change.changeset, change.after)
    for offset in changeset.deletions.reversed() { leftRows.remove(at: offset) }
    for move in changeset.sequentialMoves { leftRows.move(from: move.from, to: move.to) }
    let insertions = zip(changeset.insertions, change.inserted)
    for (offset, key) in insertions { leftRows.insert(key, at: offset) }
    let inserted = insertions.map { offset, key in pairs(of: after[offset], key, rights) }
    lengths.follow(changeset, inserted: inserted, output)
    for (update, key) in zip(changeset.updates, change.updated) {
      let (element, row) = (after[update.to], leftRows.order[update.to])
      let block = lengths.block(at: update.to)
      if leftRows.keys[row] == key {
        let side = side(element)
        output.apply(valid: Changeset(updates: block.map { .init(from: $0, to: $0) })) {
          Pair(left: side, right: output[$0].right)
        }
      } else {
        leftRows.setKey(of: row, to: key)
        let pairs = pairs(of: element, key, rights)
        if pairs.count != block.count { lengths.setLength(pairs.count, at: update.to) }
        let new = block.lowerBound..<block.lowerBound + pairs.count
        output.apply(
          valid: Changeset(deletions: Array(block), insertions: Array(new)), inserted: pairs)
      }
    }
  }

  @inlinable
  func pairs(of element: Left, _ key: Key?, _ rights: Snapshot<Right>) -> [Pair] {
    let side = side(element)
    let pairs = rightRows.rows(of: rightRows.entry(of: key)).map { row in
      Pair(left: side, right: match(rights[rightRows.order.offset(of: row)]))
    }
    if pairs.isEmpty, let missing { return [Pair(left: side, right: missing)] }
    return pairs
  }

  // MARK: A change of the right input

  /// Follows a change of a few right elements. The left input has been followed.
  @inlinable
  mutating func followRight(_ change: KeyChange<Right, Key>, _ output: CollectionDraft<Pair>) {
    let (changeset, after) = (change.changeset, change.after)
    for offset in changeset.deletions.reversed() {
      removePairs(of: rightRows.order[offset], output)
      rightRows.remove(at: offset)
    }
    for move in changeset.sequentialMoves { followRightMove(move, output) }
    for (offset, key) in zip(changeset.insertions, change.inserted) {
      insertPairs(of: rightRows.insert(key, at: offset), after[offset], output)
    }
    for (update, key) in zip(changeset.updates, change.updated) {
      let row = rightRows.order[update.to]
      if rightRows.keys[row] == key {
        updatePairs(of: row, after[update.to], output)
      } else {
        removePairs(of: row, output)
        rightRows.setKey(of: row, to: key)
        insertPairs(of: row, after[update.to], output)
      }
    }
  }

  /// A left element that has the key of a right one, and the offsets of its pairs in the output.
  @usableFromInline typealias Partner = (offset: Int, block: Range<Int>)

  /// Returns the left elements that have the key of a right row and at least a number of pairs, in their order.
  // All of them have that number, unless the equality of keys has changed.
  @inlinable
  func partners(of row: UInt32, minimumLength: Int) -> [Partner] {
    let rows = leftRows.rows(of: leftRows.entry(of: rightRows.keys[row]))
    return rows.map { leftRows.order.offset(of: $0) }.sorted()
      .map { ($0, lengths.block(at: $0)) }.filter { $1.count >= minimumLength }
  }

  /// Removes the pairs of a right row, which is removed next.
  @inlinable
  mutating func removePairs(of row: UInt32, _ output: CollectionDraft<Pair>) {
    let index = rightRows.index(of: row)
    let partners = partners(of: row, minimumLength: index + 1)
    let isLast = rightRows.count(of: rightRows.entry(of: rightRows.keys[row])) == 1
    if isLast, let missing { return replaceFirst(of: partners, with: missing, output) }
    for partner in partners { lengths.setLength(partner.block.count - 1, at: partner.offset) }
    output.apply(valid: Changeset(deletions: partners.map { $0.block.lowerBound + index }))
  }

  /// Inserts the pairs of a right row, which was inserted before.
  @inlinable
  mutating func insertPairs(of row: UInt32, _ element: Right, _ output: CollectionDraft<Pair>) {
    let (index, new) = (rightRows.index(of: row), match(element))
    let isFirst = rightRows.count(of: rightRows.entry(of: rightRows.keys[row])) == 1
    if isFirst, missing != nil {
      return replaceFirst(of: partners(of: row, minimumLength: 1), with: new, output)
    }
    let (partners, lefts) = (partners(of: row, minimumLength: index), left.snapshot)
    for partner in partners { lengths.setLength(partner.block.count + 1, at: partner.offset) }
    output.apply(
      valid: Changeset(insertions: partners.enumerated().map { $0 + $1.block.lowerBound + index }),
      inserted: partners.map { Pair(left: side(lefts[$0.offset]), right: new) })
  }

  /// Replaces the first pair of left elements by one with another right side.
  @inlinable
  func replaceFirst(
    of partners: [Partner], with new: Match, _ output: CollectionDraft<Pair>
  ) {
    let (starts, lefts) = (partners.map { $0.block.lowerBound }, left.snapshot)
    output.apply(
      valid: Changeset(deletions: starts, insertions: starts),
      inserted: partners.map { Pair(left: side(lefts[$0.offset]), right: new) })
  }

  @inlinable
  func updatePairs(of row: UInt32, _ element: Right, _ output: CollectionDraft<Pair>) {
    let (index, lefts, new) = (rightRows.index(of: row), left.snapshot, match(element))
    let partners = partners(of: row, minimumLength: index + 1)
    let updates = partners.map {
      Changeset.Update(from: $0.block.lowerBound + index, to: $0.block.lowerBound + index)
    }
    output.apply(
      valid: Changeset(updates: updates),
      updated: partners.map { Pair(left: side(lefts[$0.offset]), right: new) })
  }

  @inlinable
  mutating func followRightMove(_ move: Changeset.Move, _ output: CollectionDraft<Pair>) {
    let row = rightRows.order[move.from]
    let from = rightRows.index(of: row)
    rightRows.move(from: move.from, to: move.to)
    let to = rightRows.index(of: row)
    if from == to { return }
    let moves = partners(of: row, minimumLength: max(from, to) + 1).map {
      Changeset.Move(from: $0.block.lowerBound + from, to: $0.block.lowerBound + to)
    }
    output.apply(valid: Changeset(moves: moves))
  }
}

extension JoinOperator {
  @inlinable
  mutating func start(_ output: CollectionDraft<Pair>) {
    leftRows.replaceAll(with: left.snapshot.map { RowsByKey.matchable(leftKey($0)) })
    rightRows.replaceAll(with: right.snapshot.map { RowsByKey.matchable(rightKey($0)) })
    output.append(contentsOf: makePairs { _, _ in })
  }

  /// Follows changes of so many elements that visiting all pairs takes less time.
  ///
  /// - Returns: All pairs, and where the pairs and the right elements come from.
  @inlinable
  mutating func rebuild(
    _ leftChange: KeyChange<Left, Key>?, _ rightChange: KeyChange<Right, Key>?
  ) -> (pairs: [Pair], origins: [Origin], rights: [Origin]) {
    let oldCount = lengths.total
    let starts = lengths.starts + [oldCount]
    let indices = rightRows.indices()
    /// Indicates for each left element whether it has had the pair without a match.
    let wasMissing = leftRows.order.rows.map { row in
      missing != nil && rightRows.count(of: rightRows.entry(of: leftRows.keys[row])) == 0
    }
    let lefts = leftRows.replace(by: leftChange)
    let rights = rightRows.replace(by: rightChange)

    var origins: [Origin] = []
    let pairs = makePairs { leftOffset, rightOffset in
      let left = lefts[leftOffset]
      let right = rightOffset < 0 ? nil : rights[rightOffset]
      // A left element that has kept its key was in a pair with each right one that has, too.
      var origin = -1
      if left.keepsKey, right?.keepsKey != false {
        let wasMissing = wasMissing[left.origin.offset]
        let index =
          right.map { wasMissing ? -1 : indices[$0.origin.offset] } ?? (wasMissing ? 0 : -1)
        let start = starts[left.origin.offset]
        if index >= 0, start + index < starts[left.origin.offset + 1] { origin = start + index }
      }
      let isUpdated = left.origin.isUpdated || right?.origin.isUpdated == true
      origins.append(Origin(offset: origin, isUpdated: isUpdated))
    }
    return (pairs, origins, rights.map { $0.origin })
  }

  /// Returns all pairs, and stores their number for each left element.
  ///
  /// - Parameter body: A closure that is called with the offsets of both elements of each pair. The second one is -1 for a
  ///   pair without a match.
  @inlinable
  mutating func makePairs(_ body: (_ left: Int, _ right: Int) -> Void) -> [Pair] {
    let (lefts, rights) = (left.snapshot.array, right.snapshot.array)
    var offsets = Array(repeating: 0, count: rightRows.keys.rowCount)
    for (offset, row) in rightRows.order.rows.enumerated() { offsets[Int(row)] = offset }
    var (pairs, lengths): ([Pair], [Int]) = ([], [])
    lengths.reserveCapacity(lefts.count)
    for (offset, row) in leftRows.order.rows.enumerated() {
      let start = pairs.count
      let entry = rightRows.entry(of: leftRows.keys[row])
      for index in 0..<rightRows.count(of: entry) {
        guard let match = rightRows.row(index, of: entry) else { break }
        let other = offsets[Int(match)]
        pairs.append(Pair(left: side(lefts[offset]), right: self.match(rights[other])))
        body(offset, other)
      }
      if pairs.count == start, let missing {
        pairs.append(Pair(left: side(lefts[offset]), right: missing))
        body(offset, -1)
      }
      lengths.append(pairs.count - start)
    }
    self.lengths = BlockLengths(lengths: lengths)
    return pairs
  }
}
