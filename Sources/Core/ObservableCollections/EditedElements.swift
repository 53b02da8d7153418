public import Diffing

/// The elements of the operations of a changeset, in the order of its offsets.
@usableFromInline
package struct EditedElements<Element: Differentiable & Sendable>: Sendable {
  @usableFromInline package var inserted: [Element]
  /// The new elements of the updates.
  @usableFromInline package var updated: [Element]
  @usableFromInline var removed: [Element]
  /// The old elements of the updates.
  @usableFromInline var replaced: [Element] = []

  @inlinable
  package init(inserted: [Element] = [], updated: [Element] = [], removed: [Element] = []) {
    (self.inserted, self.updated, self.removed) = (inserted, updated, removed)
  }

  /// Removes the updates whose elements are equal.
  ///
  /// - Returns: The positions of the other updates, or `nil` if no elements are equal.
  @inlinable
  mutating func keepEffectiveUpdates() -> [Int]? {
    var kept: [Int]?
    for position in updated.indices {
      if replaced[position].isSame(as: updated[position]) {
        kept = kept ?? Array(0..<position)
      } else {
        kept?.append(position)
      }
    }
    if let kept {
      replaced = kept.map { replaced[$0] }
      updated = kept.map { updated[$0] }
    }
    return kept
  }

  /// Removes all elements. The memory of a few is kept for the next edit.
  @inlinable
  mutating func removeAll() {
    inserted.removeAll(keepingCapacity: inserted.count <= 64)
    updated.removeAll(keepingCapacity: updated.count <= 64)
    removed.removeAll(keepingCapacity: removed.count <= 64)
    replaced.removeAll(keepingCapacity: replaced.count <= 64)
  }
}
