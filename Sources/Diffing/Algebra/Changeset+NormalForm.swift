extension Changeset {
  /// This change as observers are told it, when edits were recorded rather than compared.
  ///
  /// What was deleted and what was inserted under the same identity is one kept element: the first
  /// with the first, the second with the second. Updates that left equal content are dropped. Only
  /// deletions and insertions are hashed, only recorded updates and new pairs are compared.
  ///
  /// - Parameters:
  ///   - old: The version that the changeset was made from.
  ///   - new: The version that it leads to.
  /// - Returns: The change between the two, with the pairs that were recorded and those found.
  /// - Complexity: O(*k*) in the offsets, and O(*k* log *k*) where a deletion meets an insertion of its
  ///   identity.
  @inlinable
  package func normalForm<Element: Differentiable>(
    from old: some RandomAccessCollection<Element>, to new: some RandomAccessCollection<Element>
  ) -> Changeset {
    normalForm(
      old: { old.element(at: $0) }, new: { new.element(at: $0) })
  }

  /// This change as observers are told it, see `normalForm(from:to:)`.
  ///
  /// - Parameters:
  ///   - old: The element at an offset in the version that the changeset was made from.
  ///   - new: The element at an offset in the version that it leads to.
  @inlinable
  package func normalForm<Element: Differentiable>(
    old: (Int) -> Element, new: (Int) -> Element
  ) -> Changeset {
    // A recorded update may have put an element of another identity in its place.
    let updates = updates.filter {
      let (old, new) = (old($0.from), new($0.to))
      return !sameIdentity(old.differenceIdentifier, new.differenceIdentifier)
        || !sameContent(old, new)
    }
    var pairs: [Update] = []
    if !deletions.isEmpty && !insertions.isEmpty {
      pairByIdentity(
        oldCount: deletions.count, newCount: insertions.count,
        old: { old(deletions[$0]).differenceIdentifier },
        new: { new(insertions[$0]).differenceIdentifier }
      ) { deletion, insertion in
        guard deletion >= 0 else { return }
        pairs.append(Update(from: deletions[deletion], to: insertions[insertion]))
      }
    }
    let change = Changeset(
      unchecked: (
        deletions: deletions, insertions: insertions, moves: moves, updates: updates
      ))
    if pairs.isEmpty { return change }
    return change.keeping(
      pairs, areUpdated: pairs.map { !sameContent(old($0.from), new($0.to)) })
  }

  /// Creates the normal form of a known pairing, see `normalForm(from:to:)`.
  ///
  /// - Parameters:
  ///   - origins: For each offset in the new version the offset in the old one, or -1.
  ///   - old: The old version.
  ///   - new: The new version.
  ///   - isTouched: Tells for a kept element's old and new offset whether its content may differ; only
  ///     then it is compared.
  /// - Complexity: O(*n* + *k* log *k*).
  @inlinable
  package init<Element: Differentiable>(
    recorded origins: some RandomAccessCollection<Int>,
    from old: some RandomAccessCollection<Element>, to new: some RandomAccessCollection<Element>,
    isTouched: (_ old: Int, _ new: Int) -> Bool = { _, _ in true }
  ) {
    self = Changeset(origins: origins, oldCount: old.count, isUpdated: isTouched)
      .normalForm(from: old, to: new)
  }
}

extension RandomAccessCollection {
  /// The element at an offset from the start.
  @inlinable
  func element(at offset: Int) -> Element {
    self[index(startIndex, offsetBy: offset)]
  }
}
