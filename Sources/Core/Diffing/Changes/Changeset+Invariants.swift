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
    if let violation = violation(oldCount: oldCount, newCount: newCount) { return violation }
    let minimum = moves.isEmpty ? 0 : OffsetMap(self).changeset().moves.count
    return moves.count == minimum
      ? nil : "C3: there are \(moves.count) moves, but \(minimum) are enough"
  }

  /// Returns why the changeset cannot be applied to a list, or `nil` if it can.
  ///
  /// Unlike ``invariantViolation(oldCount:newCount:)``, this allows more moves than necessary.
  ///
  /// - Parameter oldCount: The number of elements of the list.
  /// - Complexity: O(*k* log *k*) for *k* operations.
  @usableFromInline
  package func misfit(oldCount: Int) -> String? {
    violation(oldCount: oldCount, newCount: oldCount + countChange)
  }

  private func violation(oldCount: Int, newCount: Int) -> String? {
    if let violation = orderViolation ?? boundsViolation(oldCount: oldCount, newCount: newCount) {
      return violation
    }
    return misplacedUpdate.map { position, origin in
      "C4: the update \(updates[position].from)->\(updates[position].to) is not a kept element; "
        + "the element at \(updates[position].to) was at \(origin)"
    }
  }

  /// The position of the first update whose old offset is wrong, and the right old offset.
  ///
  /// - Precondition: No deletion or insertion is updated, and the moves are valid.
  var misplacedUpdate: (position: Int, origin: Int)? {
    if deletions.isEmpty, insertions.isEmpty, moves.isEmpty {
      // Most changes of a list are like this.
      return updates.firstIndex { $0.from != $0.to }.map { ($0, updates[$0].to) }
    }
    if updates.isEmpty { return nil }
    var segments = SegmentList(self).segments[...]
    for (position, update) in updates.enumerated() {
      while let segment = segments.first, segment.new + segment.count <= update.to {
        segments.removeFirst()
      }
      guard let segment = segments.first, segment.new <= update.to else { continue }
      let origin = segment.old + update.to - segment.new
      if origin != update.from { return (position, origin) }
    }
    return nil
  }

  /// A violation of order or disjointness, which does not depend on the counts.
  var orderViolation: String? {
    if let pair = deletions.firstDescent {
      return "C1: the deletions \(pair.0) and \(pair.1) are not in ascending order"
    }
    if let pair = insertions.firstDescent {
      return "C2: the insertions \(pair.0) and \(pair.1) are not in ascending order"
    }
    if !moves.isEmpty {
      if let pair = moves.map(\.to).firstDescent {
        return "C3: the moves to \(pair.0) and \(pair.1) are not in ascending order"
      }
      if let pair = removals.firstDescent {
        return "C3: offset \(pair.0) is removed twice, as a deletion or the origin of a move"
      }
      if let pair = (insertions + moves.map(\.to)).sorted().firstDescent {
        return "C3: offset \(pair.0) is both an insertion and the destination of a move"
      }
    }
    if updates.count > 1, let pair = updates.map(\.to).firstDescent {
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
    if let offset = deletions.outlier(count: oldCount) {
      return "C1: the deletion \(offset) is out of range 0..<\(oldCount)"
    }
    if let offset = insertions.outlier(count: newCount) {
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

extension Array where Element: Comparable {
  /// The first two neighbors of which the second is not greater than the first.
  var firstDescent: (Element, Element)? {
    guard count > 1 else { return nil }
    for position in 1..<count where self[position - 1] >= self[position] {
      return (self[position - 1], self[position])
    }
    return nil
  }
}

extension Array {
  /// Returns the elements of this ascending list and of another one, ascending.
  @inlinable
  package func merged(
    with other: [Element], by areInOrder: (Element, Element) -> Bool
  ) -> [Element] {
    if isEmpty { return other }
    if other.isEmpty { return self }
    var result: [Element] = []
    result.reserveCapacity(count + other.count)
    var next = 0
    for element in self {
      while next < other.count, areInOrder(other[next], element) {
        result.append(other[next])
        next += 1
      }
      result.append(element)
    }
    result.append(contentsOf: other[next...])
    return result
  }
}

extension RandomAccessCollection where Element: FixedWidthInteger, Index == Int {
  /// Returns the number of elements of this ascending list that are less than a value.
  ///
  /// The search uses arithmetic without branches, because the result of each step is unpredictable,
  /// and a mispredicted branch costs more than the step. A difference that is shifted to its sign
  /// has all bits set or none. The compiler would turn a conditional expression into a branch
  /// (`DifferenceBenchmarks W7`).
  func ascendingCount(below value: Element) -> Int {
    guard let last, last >= value else { return count }
    var low = startIndex
    var rest = count
    while rest > 1 {
      let half = rest / 2
      let sign = (self[low &+ half &- 1] &- value) >> (Element.bitWidth &- 1)
      low &+= half & Int(truncatingIfNeeded: sign)
      rest &-= half
    }
    return low - startIndex + (self[low] < value ? 1 : 0)
  }
}

extension [Int] {
  /// Returns an offset outside of `0..<count` in this ascending list, if there is one.
  func outlier(count: Int) -> Int? {
    if let first, first < 0 { return first }
    if let last, last >= count { return last }
    return nil
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
