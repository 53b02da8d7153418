public import Diffing

extension JoinOperator {
  @inlinable
  mutating func start(_ output: CollectionDraft<Pair>) {
    leftRows.replaceAll(with: left.snapshot.map { matchable(leftKey($0)) })
    rightRows.replaceAll(with: right.snapshot.map { matchable(rightKey($0)) })
    output.append(contentsOf: makePairs { _, _ in })
  }

  /// Follows changes of so many elements that visiting all pairs takes less time.
  @inlinable
  mutating func rebuild(
    _ leftChange: KeyChange<Left, Key>?, _ rightChange: KeyChange<Right, Key>?,
    _ output: CollectionDraft<Pair>
  ) {
    let (start, old) = (output.savepoint, lengths)
    let (starts, oldCount) = (old.starts + [Int(old.total)], Int(old.total))
    let indices = rightRows.indices()
    /// Indicates for each left element whether it has had the pair without a match.
    let wasMissing = leftRows.order.rows.map { row in
      missing != nil && rightRows.count(of: rightRows.entry(of: leftRows.keys[row])) == 0
    }
    let lefts = leftRows.replace(by: leftChange)
    let rights = rightRows.replace(by: rightChange)

    var (origins, isUpdated): ([Int], [Bool]) = ([], [])
    let pairs = makePairs { leftOffset, rightOffset in
      let left = lefts[leftOffset]
      isUpdated.append(left.isUpdated || rightOffset >= 0 && rights[rightOffset].isUpdated)
      origins.append(-1)
      guard left.keepsKey else { return }
      var index = wasMissing[left.offset] ? 0 : -1
      if rightOffset >= 0 {
        let right = rights[rightOffset]
        index = right.keepsKey && !wasMissing[left.offset] ? indices[right.offset] : -1
      }
      // A left element that has kept its key was in a pair with each right one that has, too.
      if index >= 0, starts[left.offset] + index < starts[left.offset + 1] {
        origins[origins.count - 1] = starts[left.offset] + index
      }
    }
    output.write(
      pairs, over: start,
      Changeset(origins: origins, oldCount: oldCount) { _, new in isUpdated[new] })
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
        pairs.append(Pair(left: lefts[offset], right: self.match(rights[other])))
        body(offset, other)
      }
      if pairs.count == start, let missing {
        pairs.append(Pair(left: lefts[offset], right: missing))
        body(offset, -1)
      }
      lengths.append(pairs.count - start)
    }
    self.lengths = BlockLengths(lengths: lengths)
    return pairs
  }
}
