/// Two ranges, one in an old list and one in a new list, that lie between the same equal parts.
package struct Gap: Hashable, Sendable {
  /// Offsets in the old list.
  package var old: Range<Int>
  /// Offsets in the new list.
  package var new: Range<Int>

  package init(old: Range<Int>, new: Range<Int>) {
    self.old = old
    self.new = new
  }

  package var isEmpty: Bool { old.isEmpty && new.isEmpty }
}

extension Changeset {
  /// Creates the changeset of two lists from the differences inside their gaps.
  ///
  /// Between the gaps, the lists have equal elements in the same order. An element that leaves one gap
  /// and appears in another gap is kept: it moves. As in a difference of the whole lists, no fewer
  /// elements could move.
  ///
  /// - Parameters:
  ///   - parts: The gaps in ascending order, each with the difference of its old and new elements.
  ///   - oldCount: The number of elements in the old list.
  ///   - difference: A closure that returns the difference between some old and some new elements,
  ///     given by their ascending offsets. It is called at most once, with all elements that are
  ///     unpaired inside their own gap.
  /// - Complexity: O(*k* log *k*) for *k* operations in all parts, and the call of `difference`.
  package init(
    joining parts: [(gap: Gap, difference: Changeset)], oldCount: Int,
    difference: (_ deletions: [Int], _ insertions: [Int]) -> Changeset
  ) {
    let separate = Changeset(concatenating: parts)
    // Inside one gap, nothing is left to pair.
    let unpairedGapCount = parts.count {
      !$0.difference.deletions.isEmpty || !$0.difference.insertions.isEmpty
    }
    if unpairedGapCount > 1, !separate.deletions.isEmpty, !separate.insertions.isEmpty {
      let across = difference(separate.deletions, separate.insertions)
      if across.deletions.count < separate.deletions.count {
        self.init(separate, pairedBy: across, oldCount: oldCount)
        return
      }
    }
    // No pair crosses an equal part, so the fewest moves of each gap are the fewest of the lists.
    self = separate
  }

  /// Creates one changeset of the differences of several gaps.
  private init(concatenating parts: [(gap: Gap, difference: Changeset)]) {
    if parts.count == 1, parts[0].gap.old.lowerBound == 0, parts[0].gap.new.lowerBound == 0 {
      self = parts[0].difference
      return
    }
    var deletions: [Int] = []
    var insertions: [Int] = []
    var moves: [Move] = []
    var updates: [Update] = []
    for (gap, difference) in parts {
      let (old, new) = (gap.old.lowerBound, gap.new.lowerBound)
      for offset in difference.deletions { deletions.append(old + offset) }
      for offset in difference.insertions { insertions.append(new + offset) }
      for move in difference.moves {
        moves.append(Move(from: old + move.from, to: new + move.to))
      }
      for update in difference.updates {
        updates.append(Update(from: old + update.from, to: new + update.to))
      }
    }
    self.init(
      unchecked: (deletions: deletions, insertions: insertions, moves: moves, updates: updates))
  }

  /// Creates a changeset from another one by pairing some of its deletions with insertions.
  ///
  /// - Parameters:
  ///   - separate: The changeset whose deletions and insertions are paired.
  ///   - across: The pairing, as the difference between the deleted and the inserted elements.
  ///   - oldCount: The number of elements in the old list.
  private init(_ separate: Changeset, pairedBy across: Changeset, oldCount: Int) {
    let (deletions, insertions) = (separate.deletions, separate.insertions)
    let origins = across.origins(oldCount: deletions.count)
    let unmatchedOld = separate.removals
    let unmatchedNew = separate.arrivals
    var matches: [Match] = []
    matches.reserveCapacity(unmatchedNew.count)
    var chainUpdates: [Update] = []
    var movedUpdates: [Update] = []
    var (insertion, move, update) = (0, 0, 0)
    unmatchedOld.withUnsafeBufferPointer { unmatchedOld in
      for (position, to) in unmatchedNew.enumerated() {
        var from = -1
        if insertion < insertions.count, insertions[insertion] == to {
          if origins[insertion] >= 0 { from = deletions[origins[insertion]] }
          insertion += 1
        } else {
          from = separate.moves[move].from
          move += 1
        }
        while update < separate.updates.count, separate.updates[update].to < to {
          chainUpdates.append(separate.updates[update])
          update += 1
        }
        if update < separate.updates.count, separate.updates[update].to == to {
          movedUpdates.append(separate.updates[update])
          update += 1
        }
        if from >= 0 {
          matches.append(Match(old: lowerBound(of: from, in: unmatchedOld), new: position))
        }
      }
    }
    chainUpdates += separate.updates[update...]
    let acrossUpdates = across.updates.map {
      Update(from: deletions[$0.from], to: insertions[$0.to])
    }
    self.init(
      unmatchedOld: unmatchedOld, unmatchedNew: unmatchedNew, matches: matches,
      chainCount: oldCount - unmatchedOld.count,
      updates: chainUpdates, matchUpdates: merged(movedUpdates, acrossUpdates) { $0.to < $1.to })
  }
}
