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
  ///   - difference: A closure that returns the difference between some old and some new elements,
  ///     given by their ascending offsets. It is called at most once, with all elements that are
  ///     unpaired inside their own gap.
  /// - Complexity: O(*k* log *k*) for *k* operations in all parts, and the call of `difference`.
  package init(
    joining parts: [(gap: Gap, difference: Changeset)],
    difference: (_ deletions: [Int], _ insertions: [Int]) -> Changeset
  ) {
    let separate = Changeset(
      concatenating: parts.map { gap, difference in
        difference.shifted(oldBy: gap.old.lowerBound, newBy: gap.new.lowerBound)
      })
    // Inside one gap, nothing is left to pair.
    let unpairedGapCount = parts.count {
      !$0.difference.deletions.isEmpty || !$0.difference.insertions.isEmpty
    }
    let (deletions, insertions) = (separate.deletions, separate.insertions)
    if unpairedGapCount > 1, !deletions.isEmpty, !insertions.isEmpty {
      let across = difference(deletions, insertions)
      var pairs: [Update] = []
      for (insertion, deletion) in across.origins(oldCount: deletions.count).enumerated()
      where deletion >= 0 {
        pairs.append(Update(from: deletions[deletion], to: insertions[insertion]))
      }
      if !pairs.isEmpty {
        let updated = Set(across.updates.map { insertions[$0.to] })
        self = separate.keeping(pairs) { updated.contains($0.to) }
        return
      }
    }
    // No pair crosses an equal part, so the fewest moves of each gap are the fewest of the lists.
    self = separate
  }
}
