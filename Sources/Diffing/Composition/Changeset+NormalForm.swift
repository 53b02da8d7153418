extension Changeset {
  /// Returns the normal form of a recorded change, in which observers receive it.
  ///
  /// A deletion and an insertion with the same identity become a kept element. The first deletion
  /// is paired with the first insertion, and so on. Updates with equal content are dropped. Only
  /// deletions and insertions are hashed. Only recorded updates and new pairs are compared.
  ///
  /// - Parameters:
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  /// - Returns: The change with the recorded pairs and the new ones.
  /// - Complexity: O(*k*) in the offsets, and O(*k* log *k*) if a deletion is paired with an
  ///   insertion.
  @inlinable
  package func normalForm<Element: Differentiable>(
    from old: some RandomAccessCollection<Element>, to new: some RandomAccessCollection<Element>
  ) -> Changeset {
    normalForm(
      old: { old.element(at: $0) }, new: { new.element(at: $0) })
  }

  /// Returns the normal form of a recorded change, in which observers receive it.
  ///
  /// - Parameters:
  ///   - old: A closure that returns the element at an offset in the version before the change.
  ///   - new: A closure that returns the element at an offset in the version after the change.
  @inlinable
  package func normalForm<Element: Differentiable>(
    old: (Int) -> Element, new: (Int) -> Element
  ) -> Changeset {
    // A recorded update may have replaced an element with one of another identity.
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

  /// Creates the normal form of a known pairing.
  ///
  /// - Parameters:
  ///   - origins: The old offset for each new offset, or -1 for an inserted element.
  ///   - old: The old version.
  ///   - new: The new version.
  ///   - isTouched: A closure that indicates whether the content of a kept element may differ. Only
  ///     then is the element compared.
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
  /// Returns the element at an offset from the start.
  @inlinable
  func element(at offset: Int) -> Element {
    self[index(startIndex, offsetBy: offset)]
  }
}
