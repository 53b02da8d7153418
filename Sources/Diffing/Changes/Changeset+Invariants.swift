import SwappablePrimitives

extension Changeset {
  /// Returns a description of a rule of the event contract that the changeset breaks.
  ///
  /// - Parameters:
  ///   - oldCount: The number of elements in the old version.
  ///   - newCount: The number of elements in the new version.
  /// - Returns: A text that begins with the rule, `C1` to `C5`, or `nil` if no rule is broken.
  /// - Complexity: O(*n* + *k* log *k*).
  package func invariantViolation(oldCount: Int, newCount: Int) -> String? {
    if let violation = orderViolation ?? boundsViolation(oldCount: oldCount, newCount: newCount) {
      return violation
    }
    if updates.isEmpty && moves.isEmpty { return nil }
    let origins = origins(oldCount: oldCount)
    for update in updates where origins[update.to] != update.from {
      return "C4: the update \(update.from)->\(update.to) is not a kept element; "
        + "the element at \(update.to) was at \(origins[update.to])"
    }
    if !moves.isEmpty {
      let minimum = minimalMoves(origins: origins, updates: updates).count
      if moves.count != minimum {
        return "C3: there are \(moves.count) moves, but \(minimum) are enough"
      }
    }
    return nil
  }

  /// Returns why the changeset cannot be applied to a list, or `nil` if it can.
  ///
  /// Unlike ``invariantViolation(oldCount:newCount:)``, this allows more moves than necessary.
  ///
  /// - Parameter oldCount: The number of elements of the list.
  /// - Complexity: O(*k* log *k*) for *k* operations.
  @usableFromInline
  package func misfit(oldCount: Int) -> String? {
    let newCount = oldCount + countChange
    if let violation = orderViolation ?? boundsViolation(oldCount: oldCount, newCount: newCount) {
      return violation
    }
    if updates.isEmpty { return nil }
    let (removals, arrivals) = (removals, arrivals)
    let origins = Dictionary(uniqueKeysWithValues: moves.map { ($0.to, $0.from) })
    for update in updates {
      let rank = update.to - arrivals.ascendingCount(below: update.to)
      let origin = origins[update.to] ?? removals.offset(ofUnlistedRank: rank)
      if update.from != origin {
        return "C4: the update \(update.from)->\(update.to) is not a kept element; "
          + "the element at \(update.to) was at \(origin)"
      }
    }
    return nil
  }

  /// A violation of order or disjointness, which does not depend on the counts.
  var orderViolation: String? {
    if let pair = firstDescent(in: deletions) {
      return "C1: the deletions \(pair.0) and \(pair.1) are not in ascending order"
    }
    if let pair = firstDescent(in: insertions) {
      return "C2: the insertions \(pair.0) and \(pair.1) are not in ascending order"
    }
    if !moves.isEmpty {
      if let pair = firstDescent(in: moves.map(\.to)) {
        return "C3: the moves to \(pair.0) and \(pair.1) are not in ascending order"
      }
      if let pair = firstDescent(in: removals) {
        return "C3: offset \(pair.0) is removed twice, as a deletion or the origin of a move"
      }
      if let pair = firstDescent(in: (insertions + moves.map(\.to)).sorted()) {
        return "C3: offset \(pair.0) is both an insertion and the destination of a move"
      }
    }
    if let pair = firstDescent(in: updates.map(\.to)) {
      return "C4: the updates to \(pair.0) and \(pair.1) are not in ascending order"
    }
    for update in updates {
      if deletions.hasAscending(update.from) {
        return "C4: offset \(update.from) is both updated and deleted"
      }
      if insertions.hasAscending(update.to) {
        return "C4: offset \(update.to) is both updated and inserted"
      }
    }
    return nil
  }

  /// Returns a violation that depends on the counts.
  private func boundsViolation(oldCount: Int, newCount: Int) -> String? {
    // Check only the ends of ascending lists. The origins of moves and updates are in any order.
    if let offset = outlier(of: deletions, count: oldCount) {
      return "C1: the deletion \(offset) is out of range 0..<\(oldCount)"
    }
    if let offset = outlier(of: insertions, count: newCount) {
      return "C2: the insertion \(offset) is out of range 0..<\(newCount)"
    }
    for move in moves
    where !(0..<oldCount).contains(move.from) || !(0..<newCount).contains(move.to) {
      return
        "C3: the move \(move.from)->\(move.to) is out of range 0..<\(oldCount) or 0..<\(newCount)"
    }
    for update in updates
    where !(0..<oldCount).contains(update.from) || !(0..<newCount).contains(update.to) {
      return "C4: the update \(update.from)->\(update.to) is out of range "
        + "0..<\(oldCount) or 0..<\(newCount)"
    }
    if oldCount + countChange != newCount {
      return "C5: \(oldCount) elements minus \(deletions.count) deletions plus "
        + "\(insertions.count) insertions are not \(newCount) elements"
    }
    return nil
  }
}

/// Returns the first two neighbors of which the second is not greater than the first.
private func firstDescent(in offsets: [Int]) -> (Int, Int)? {
  guard offsets.count > 1 else { return nil }
  for position in 1..<offsets.count where offsets[position - 1] >= offsets[position] {
    return (offsets[position - 1], offsets[position])
  }
  return nil
}

/// Returns an offset outside of `0..<count` in an ascending list, if there is one.
private func outlier(of offsets: [Int], count: Int) -> Int? {
  if let first = offsets.first, first < 0 { return first }
  if let last = offsets.last, last >= count { return last }
  return nil
}

extension [Int] {
  /// Returns the number of elements of this ascending list that are less than a value.
  func ascendingCount(below value: Int) -> Int {
    partitioningIndex { $0 >= value }
  }

  /// Returns the offset that has a rank among the offsets that are not in this ascending list.
  func offset(ofUnlistedRank rank: Int) -> Int {
    rank + indices.partitioningIndex { self[$0] - $0 > rank }
  }

  /// Returns the elements of this ascending list that are in a range.
  func listed(in range: Range<Int>) -> ArraySlice<Int> {
    self[ascendingCount(below: range.lowerBound)..<ascendingCount(below: range.upperBound)]
  }

  /// Returns the ranks, among the offsets that are not in this ascending list, of those in a range.
  func unlistedRanks(in range: Range<Int>) -> Range<Int> {
    range.lowerBound - ascendingCount(below: range.lowerBound)..<range.upperBound
      - ascendingCount(below: range.upperBound)
  }

  /// Returns the offsets that have ranks among the offsets that are not in this ascending list.
  ///
  /// - Parameters:
  ///   - ranks: The ranks.
  ///   - exception: Ranks to leave out.
  func offsets(ofUnlistedRanks ranks: Range<Int>, outside exception: Range<Int>) -> [Int] {
    let before =
      ranks
      .lowerBound..<Swift.min(ranks.upperBound, Swift.max(ranks.lowerBound, exception.lowerBound))
    let after = Swift.max(before.upperBound, exception.upperBound)
    return before.map { offset(ofUnlistedRank: $0) }
      + (after < ranks.upperBound
        ? (after..<ranks.upperBound).map { offset(ofUnlistedRank: $0) } : [])
  }

  /// Returns a Boolean value that indicates whether this ascending list contains a value.
  func hasAscending(_ value: Int) -> Bool {
    let position = ascendingCount(below: value)
    return position < count && self[position] == value
  }
}
