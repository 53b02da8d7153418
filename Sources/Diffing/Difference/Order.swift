extension Changeset {
  /// Puts together what a walk has left over and what was found to be the same of it.
  ///
  /// - Parameters:
  ///   - oldRest: Old offsets that the walk has not paired.
  ///   - newRest: New offsets that the walk has not paired.
  ///   - matches: Pairs among these, by ascending new offset.
  ///   - chainCount: How many pairs the walk has found. They are in order on both sides.
  ///   - updates: Those of the walk's pairs whose content differs, by ascending offset.
  ///   - matchUpdates: Those of the matches whose content differs, by ascending new offset.
  @usableFromInline
  init(
    oldRest: Rest, newRest: Rest, matches: [Match], chainCount: Int, updates: [Update],
    matchUpdates: [Update]
  ) {
    self = oldRest.withOffsets { oldRest in
      newRest.withOffsets { newRest in
        matches.withUnsafeBufferPointer { matches in
          Changeset(
            unchecked: (
              deletions: unmatchedOld(oldRest, matches),
              insertions: unmatchedNew(newRest, matches),
              moves: LeastMoves(
                oldRest: oldRest, newRest: newRest, chainCount: chainCount, updates: updates,
                matchUpdates: matchUpdates
              ).moves(of: matches),
              updates: merged(updates, matchUpdates) { $0.to < $1.to }
            ))
        }
      }
    }
  }
}

extension Changeset {
  /// Puts together what is known to have kept its order and what else was kept.
  ///
  /// - Parameters:
  ///   - oldRest: Old offsets of all that is not known to have kept its order, ascending.
  ///   - newRest: New offsets of all that is not known to have kept its order, ascending.
  ///   - matches: Positions in these two of what was kept, by ascending new offset.
  ///   - chainCount: How many elements kept their order.
  ///   - updates: Those of the ones that kept their order whose content differs, by ascending offset.
  ///   - matchUpdates: Those of the matches whose content differs, by ascending new offset.
  /// - Complexity: O(k log k) for k offsets.
  package init(
    oldRest: [Int], newRest: [Int], matches: [Match], chainCount: Int, updates: [Update],
    matchUpdates: [Update]
  ) {
    self.init(
      oldRest: Rest(oldRest), newRest: Rest(newRest), matches: matches, chainCount: chainCount,
      updates: updates, matchUpdates: matchUpdates)
  }
}

private func unmatchedOld(
  _ oldRest: Rest.Offsets, _ matches: UnsafeBufferPointer<Match>
) -> [Int] {
  if matches.count == oldRest.count { return [] }
  return withUnsafeTemporaryAllocation(of: Bool.self, capacity: oldRest.count) { isMatched in
    isMatched.initialize(repeating: false)
    for match in matches { isMatched[match.oldPosition] = true }
    let count = oldRest.count - matches.count
    return [Int](unsafeUninitializedCapacity: count) { deletions, initialized in
      for position in 0..<oldRest.count where !isMatched[position] {
        deletions[initialized] = oldRest[position]
        initialized += 1
      }
    }
  }
}

private func unmatchedNew(
  _ newRest: Rest.Offsets, _ matches: UnsafeBufferPointer<Match>
) -> [Int] {
  let count = newRest.count - matches.count
  if count == 0 { return [] }
  return [Int](unsafeUninitializedCapacity: count) { insertions, initialized in
    var next = 0
    for match in matches {
      while next < match.newPosition {
        insertions[initialized] = newRest[next]
        initialized += 1
        next += 1
      }
      next += 1
    }
    while next < newRest.count {
      insertions[initialized] = newRest[next]
      initialized += 1
      next += 1
    }
  }
}

/// Two ascending lists as one.
func merged<Element>(
  _ one: [Element], _ other: [Element], by areInOrder: (Element, Element) -> Bool
) -> [Element] {
  if one.isEmpty { return other }
  if other.isEmpty { return one }
  var result: [Element] = []
  result.reserveCapacity(one.count + other.count)
  var next = 0
  for element in one {
    while next < other.count, areInOrder(other[next], element) {
      result.append(other[next])
      next += 1
    }
    result.append(element)
  }
  result.append(contentsOf: other[next...])
  return result
}
