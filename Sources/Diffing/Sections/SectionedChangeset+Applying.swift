extension SectionedChangeset {
  /// Applies the change to the old version.
  ///
  /// Only what was inserted or updated is read from the new version, all else stays what it was in the
  /// old one: a section whose elements changed, but not itself, is made of the old section and its new
  /// elements.
  ///
  /// ```swift
  /// let change = SectionedChangeset(from: old, to: new)
  /// let rebuilt = change.applying(to: old, with: new)
  /// ```
  ///
  /// - Parameters:
  ///   - old: The version that the changeset was made from.
  ///   - new: The version that it leads to.
  /// - Returns: The new version's sections.
  /// - Precondition: The changeset fits the two in count, of sections and of the elements in each.
  /// - Complexity: O(*n*) in the sections and in the elements of those in which something changed.
  @inlinable
  public func applying<Section: DifferentiableSection>(
    to old: some Collection<Section>, with new: some Collection<Section>
  ) -> [Section] {
    let old = Array(old)
    let new = Array(new)
    precondition(
      old.count + sections.countChange == new.count,
      """
      A change from \(old.count) sections by \(sections.countChange) does not lead to \(new.count)
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
            A change to \(origins.count) elements of section \(target) does not lead to \
            \(after.count)
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
