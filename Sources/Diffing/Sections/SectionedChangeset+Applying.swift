import SwappablePrimitives

extension SectionedChangeset {
  /// Applies the change to the old version.
  ///
  /// This method reads only inserted and updated sections and elements from the new version. If
  /// only the elements of a section changed, the result is the old section with the new elements.
  ///
  /// ```swift
  /// let change = SectionedChangeset(from: old, to: new)
  /// let rebuilt = change.applying(to: old, with: new)
  /// ```
  ///
  /// - Parameters:
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  /// - Returns: The sections of the new version.
  /// - Precondition: The counts of sections and elements in both versions fit the changeset.
  /// - Complexity: O(*n*) in the sections and in the elements of changed sections.
  @inlinable
  public func applying<Section: DifferentiableSection>(
    to old: some Collection<Section>, with new: some Collection<Section>
  ) -> [Section] {
    let old = Array(old)
    let new = Array(new)
    precondition(
      old.count + sections.countChange == new.count,
      """
      the new version must have \(old.count + sections.countChange) sections, but has \(new.count)
      """)
    let pairing = SectionedPairing(self, oldCount: old.count)
    let before = old.map { Array($0.elements) }
    var update = 0
    return new.indices.map { target in
      let origin = pairing.origins[target]
      if origin < 0 { return new[target] }
      let isUpdated = update < sections.updates.count && sections.updates[update].to == target
      if isUpdated { update += 1 }
      let updates = pairing.updatedElements(of: target)
      let isRearranged = pairing.isRearranged(target)
      if !isUpdated && !isRearranged && updates.isEmpty { return old[origin] }

      var elements = before[origin]
      if isRearranged || !updates.isEmpty {
        let after = Array(new[target].elements)
        if isRearranged {
          let origins = pairing.elementOrigins(of: target, oldCount: elements.count)
          precondition(
            origins.count == after.count,
            """
            section \(target) must have \(origins.count) elements, but has \(after.count)
            """)
          elements = zip(origins, after).map { origin, inserted in
            origin.map { before[$0.section][$0.element] } ?? inserted
          }
        }
        for update in updates { elements[update] = after[update] }
      }
      return Section(source: isUpdated ? new[target] : old[origin], elements: elements)
    }
  }
}

/// The pairing of the sections and elements of two versions, as a changeset describes it.
@usableFromInline
package struct SectionedPairing {
  /// The offset in the old version of each new section, or -1 for an inserted section.
  @usableFromInline package let origins: [Int]

  /// The offset in the new version of each old section, or -1 for a deleted section.
  @usableFromInline package let targets: [Int]

  private let changeset: SectionedChangeset

  /// The origins of the moves, ascending.
  private let departures: [ElementPath]

  /// Creates the pairing of a changeset.
  ///
  /// - Parameters:
  ///   - changeset: The changeset, which must be valid.
  ///   - oldCount: The number of sections in the old version.
  /// - Complexity: O(*n* + *k* log *k*) for *n* sections and *k* moves.
  @usableFromInline
  package init(_ changeset: SectionedChangeset, oldCount: Int) {
    self.changeset = changeset
    origins = changeset.sections.origins(oldCount: oldCount)
    departures = changeset.elementMoves.map(\.from).sorted()
    var targets = [Int](repeating: -1, count: oldCount)
    for (target, origin) in origins.enumerated() where origin >= 0 { targets[origin] = target }
    self.targets = targets
  }

  /// Returns a Boolean value that indicates whether elements left a section, entered it, or moved
  /// inside it.
  ///
  /// - Parameter target: The offset in the new version of a kept section.
  /// - Complexity: O(log *k*).
  @usableFromInline
  package func isRearranged(_ target: Int) -> Bool {
    let origin = origins[target]
    return !range(in: changeset.elementDeletions, section: origin).isEmpty
      || !range(in: departures, section: origin).isEmpty
      || !range(in: changeset.elementInsertions, section: target).isEmpty
      || !range(in: changeset.elementMoves, section: target, path: \.to).isEmpty
  }

  /// Returns the offsets in the new version of the updated elements of a section, ascending.
  @usableFromInline
  package func updatedElements(of target: Int) -> [Int] {
    changeset.elementUpdates[
      range(in: changeset.elementUpdates, section: target, path: \.to)
    ].map(\.to.element)
  }

  /// Returns the offsets in the old version of the deleted and moved elements of a section,
  /// ascending.
  package func removedElements(of origin: Int) -> [Int] {
    let deletions = deletedElements(of: origin)
    let departures = departures[range(in: departures, section: origin)].map(\.element)
    return departures.isEmpty ? deletions : (deletions + departures).sorted()
  }

  /// Returns the offsets in the old version of the deleted elements of a section, ascending.
  @usableFromInline
  package func deletedElements(of origin: Int) -> [Int] {
    changeset.elementDeletions[range(in: changeset.elementDeletions, section: origin)]
      .map(\.element)
  }

  /// Returns the path in the old version of each element of a kept section in the new version.
  ///
  /// - Parameters:
  ///   - target: The offset of the section in the new version.
  ///   - oldCount: The number of elements that the section had in the old version.
  /// - Returns: The paths, with `nil` for each inserted element.
  /// - Complexity: O(*n*) in the elements of the section.
  @usableFromInline
  package func elementOrigins(of target: Int, oldCount: Int) -> [ElementPath?] {
    let origin = origins[target]
    let removals = removedElements(of: origin)
    let insertions = changeset.elementInsertions[
      range(in: changeset.elementInsertions, section: target)]
    let moves = changeset.elementMoves[
      range(in: changeset.elementMoves, section: target, path: \.to)]
    let count = oldCount - removals.count + insertions.count + moves.count
    var result: [ElementPath?] = []
    result.reserveCapacity(max(0, count))
    var insertion = insertions.startIndex
    var move = moves.startIndex
    var removal = 0
    var stayed = 0
    while result.count < count {
      if insertion < insertions.endIndex && insertions[insertion].element == result.count {
        result.append(nil)
        insertion += 1
      } else if move < moves.endIndex && moves[move].to.element == result.count {
        result.append(moves[move].from)
        move += 1
      } else {
        while removal < removals.count && removals[removal] == stayed {
          removal += 1
          stayed += 1
        }
        result.append(ElementPath(section: origin, element: stayed))
        stayed += 1
      }
    }
    return result
  }
}

/// Returns the positions of the paths that lead into one section. The paths must ascend.
private func range(in paths: [ElementPath], section: Int) -> Range<Int> {
  range(in: paths, section: section, path: \.self)
}

/// Returns the positions of the values whose paths lead into one section. The paths must ascend.
private func range<Value>(
  in values: [Value], section: Int, path: (Value) -> ElementPath
) -> Range<Int> {
  func firstPosition(notBefore bound: Int) -> Int {
    values.partitioningIndex { path($0).section >= bound }
  }
  if values.isEmpty { return 0..<0 }
  let start = firstPosition(notBefore: section)
  // Most sections have no changes.
  if start == values.count || path(values[start]).section != section { return start..<start }
  return start..<firstPosition(notBefore: section + 1)
}
