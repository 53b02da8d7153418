extension Changeset {
  /// This change and the one after it as one, by offsets alone.
  ///
  /// What is inserted here and deleted there is not in it. What is deleted here and inserted there is
  /// both, since nothing tells that it is the same element: see `composed(with:from:to:)`. What was
  /// updated on the way is updated, though it may be what it was in the end. The moves are as few as
  /// can be.
  ///
  /// ```swift
  /// let first = Changeset(insertions: [0])
  /// let second = Changeset(deletions: [0], updates: [.init(from: 3, to: 2)])
  /// first.composed(with: second)  // updates: [2->2]
  /// ```
  ///
  /// - Parameter next: A change of the version that this one leads to.
  /// - Returns: The change from the version before this one to that after the next.
  /// - Complexity: O(*k* log *k*) for *k* operations in both, O(*k*) without moves; the number of
  ///   elements does not matter.
  public func composed(with next: Changeset) -> Changeset {
    if isEmpty { return next }
    if next.isEmpty { return self }
    return PartialInjection(self).followed(by: PartialInjection(next)).changeset
  }

  /// This change and the one after it as one, in normal form.
  ///
  /// Different from what offsets alone can tell, an element that was deleted and inserted again is
  /// kept, and one whose content is in the end what it was before is not updated. Of several with one
  /// identity the first deleted is the first inserted, and so on. A change composed with its inverse
  /// is empty.
  ///
  /// - Parameters:
  ///   - next: A change of the version that this one leads to.
  ///   - old: The version before this change.
  ///   - new: The version after the next.
  /// - Returns: The change from one to the other.
  /// - Complexity: O(*k* log *k*) for *k* operations in both. Only what was deleted and inserted is
  ///   hashed, and only what was updated, or deleted and inserted, is compared.
  @inlinable
  public func composed<Element: Differentiable>(
    with next: Changeset, from old: some RandomAccessCollection<Element>,
    to new: some RandomAccessCollection<Element>
  ) -> Changeset {
    composed(with: next).normalForm(from: old, to: new)
  }

  /// Changes one after the other as one, by offsets alone.
  ///
  /// - Parameter changes: Each of them changes the version that the one before leads to.
  /// - Complexity: O(*k* log *k*) for *k* operations in all.
  package static func composed(of changes: [Changeset]) -> Changeset {
    switch changes.count {
    case 0: .empty
    case 1: changes[0]
    default: PartialInjection.composed(of: changes.lazy.map(PartialInjection.init)).changeset
    }
  }

  /// This change, where some of what is deleted and inserted is kept instead.
  ///
  /// - Parameters:
  ///   - pairs: Deletions with insertions, by ascending insertion.
  ///   - areUpdated: For each of them whether its content differs.
  /// - Complexity: O(*k* log *k*) in the *k* offsets.
  @usableFromInline
  func keeping(_ pairs: [Update], areUpdated: [Bool]) -> Changeset {
    PartialInjection(self).keeping(pairs, areUpdated: areUpdated).changeset
  }
}
