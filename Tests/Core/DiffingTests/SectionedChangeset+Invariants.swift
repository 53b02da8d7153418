import Diffing

extension SectionedChangeset {
  /// Returns a description of a rule that the changeset breaks.
  ///
  /// - Parameters:
  ///   - oldCounts: The number of elements in each section of the old version.
  ///   - newCounts: The number of elements in each section of the new version.
  /// - Returns: A text that begins with the rule, `C1` to `C5`, or `nil` if no rule is broken.
  /// - Complexity: O(*n* + *k* log *k*).
  func invariantViolation(oldCounts: [Int], newCounts: [Int]) -> String? {
    if let violation = sections.invariantViolation(
      oldCount: oldCounts.count, newCount: newCounts.count)
    {
      return "sections, \(violation)"
    }
    if let violation = orderViolation { return violation }
    let pairing = SectionedPairing(self, oldCount: oldCounts.count)
    if let violation = boundsViolation(
      oldCounts: oldCounts, newCounts: newCounts, pairing: pairing)
    {
      return violation
    }
    var update = 0
    for target in newCounts.indices where pairing.origins[target] >= 0 {
      let origin = pairing.origins[target]
      let origins = pairing.elementOrigins(of: target, oldCount: oldCounts[origin])
      if origins.count != newCounts[target] {
        return "C5: section \(target) has \(origins.count) elements after the change, "
          + "but must have \(newCounts[target])"
      }
      while update < elementUpdates.count && elementUpdates[update].to.section == target {
        let (from, to) = (elementUpdates[update].from, elementUpdates[update].to)
        if origins[to.element] != from {
          return "C4: the update \(from)->\(to) is not a kept element"
        }
        update += 1
      }
      let own = origins.compactMap { $0?.section == origin ? $0?.element : nil }
      let minimum = own.count - longestIncreasing(own)
      let count = elementMoves.count { $0.to.section == target && $0.from.section == origin }
      if count != minimum {
        return "C3: section \(target) has \(count) moves inside it, but \(minimum) are enough"
      }
    }
    return nil
  }

  /// Returns a violation that depends on the counts or on the kept sections.
  private func boundsViolation(
    oldCounts: [Int], newCounts: [Int], pairing: SectionedPairing
  ) -> String? {
    func isOld(_ path: SectionedChangeset.Path) -> Bool {
      oldCounts.indices.contains(path.section) && pairing.targets[path.section] >= 0
        && (0..<oldCounts[path.section]).contains(path.element)
    }
    func isNew(_ path: SectionedChangeset.Path) -> Bool {
      newCounts.indices.contains(path.section) && pairing.origins[path.section] >= 0
        && (0..<newCounts[path.section]).contains(path.element)
    }
    if let path = elementDeletions.first(where: { !isOld($0) }) {
      return "C1: the deletion \(path) is out of range, or its section is not kept"
    }
    if let path = elementInsertions.first(where: { !isNew($0) }) {
      return "C2: the insertion \(path) is out of range, or its section is not kept"
    }
    if let move = elementMoves.first(where: { !isOld($0.from) || !isNew($0.to) }) {
      return "C3: the move \(move.from)->\(move.to) is out of range, "
        + "or one of its sections is not kept"
    }
    if let update = elementUpdates.first(where: { !isOld($0.from) || !isNew($0.to) }) {
      return "C4: the update \(update.from)->\(update.to) is out of range, "
        + "or its section is not kept"
    }
    return nil
  }
}
