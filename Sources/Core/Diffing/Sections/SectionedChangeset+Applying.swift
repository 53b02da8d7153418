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
  private let departures: [SectionedChangeset.Path]

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
  func isRearranged(_ target: Int) -> Bool {
    let origin = origins[target]
    return !changeset.elementDeletions.inSection(origin).isEmpty
      || !departures.inSection(origin).isEmpty
      || !changeset.elementInsertions.inSection(target).isEmpty
      || !changeset.elementMoves.inSection(target, path: \.to).isEmpty
  }

  /// Returns the offsets in the new version of the updated elements of a section, ascending.
  @usableFromInline
  func updatedElements(of target: Int) -> [Int] {
    changeset.elementUpdates.inSection(target, path: \.to)
      .map(\.to.element)
  }

  /// Returns the offsets in the old version of the deleted and moved elements of a section,
  /// ascending.
  func removedElements(of origin: Int) -> [Int] {
    let deletions = deletedElements(of: origin)
    let departures = departures.inSection(origin).map(\.element)
    return departures.isEmpty ? deletions : (deletions + departures).sorted()
  }

  /// Returns the offsets in the old version of the deleted elements of a section, ascending.
  @usableFromInline
  func deletedElements(of origin: Int) -> [Int] {
    changeset.elementDeletions.inSection(origin)
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
  package func elementOrigins(of target: Int, oldCount: Int) -> [SectionedChangeset.Path?] {
    let origin = origins[target]
    let insertions = changeset.elementInsertions.inSection(target)
    let moves = changeset.elementMoves.inSection(target, path: \.to)
    let change = Changeset(
      uncheckedDeletions: removedElements(of: origin),
      insertions: insertions.map(\.element).merged(with: moves.map(\.to.element), by: <))
    var result = change.origins(oldCount: oldCount).map { element in
      element < 0 ? nil : SectionedChangeset.Path(section: origin, element: element)
    }
    for move in moves where move.to.element < result.count { result[move.to.element] = move.from }
    return result
  }
}

extension Array {
  /// Returns the values whose paths lead into one section. The paths must ascend.
  fileprivate func inSection(
    _ section: Int, path: (Element) -> SectionedChangeset.Path
  ) -> ArraySlice<Element> {
    func firstPosition(notBefore bound: Int) -> Int {
      partitioningIndex { path($0).section >= bound }
    }
    if isEmpty { return [] }
    let start = firstPosition(notBefore: section)
    // Most sections have no changes.
    if start == count || path(self[start]).section != section { return [] }
    return self[start..<firstPosition(notBefore: section + 1)]
  }
}

extension [SectionedChangeset.Path] {
  /// Returns the paths that lead into one section. The paths must ascend.
  fileprivate func inSection(_ section: Int) -> ArraySlice<SectionedChangeset.Path> {
    inSection(section, path: \.self)
  }
}
