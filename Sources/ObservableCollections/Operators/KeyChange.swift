public import Diffing

/// A change of an input, with the keys of the inserted and updated elements.
@usableFromInline
struct KeyChange<Element: Differentiable & Sendable, Key: Hashable> {
  @usableFromInline let changeset: Changeset
  /// The elements after the change.
  @usableFromInline let after: Snapshot<Element>
  /// The keys of the inserted elements, in their order.
  @usableFromInline let inserted: [Key?]
  /// The new keys of the updated elements, in their order.
  @usableFromInline let updated: [Key?]

  /// Creates a change, or returns `nil` if an input has not changed.
  ///
  /// - Parameters:
  ///   - change: The change of the input.
  ///   - key: A closure that is called once for each inserted or updated element.
  @inlinable
  init?(_ change: CollectionChange<Element>?, key: (Element) -> Key?) {
    guard let change else { return nil }
    (changeset, after) = (change.changeset, change.after)
    inserted = changeset.insertions.map { RowsByKey.matchable(key(change.after[$0])) }
    updated = changeset.updates.map { RowsByKey.matchable(key(change.after[$0.to])) }
  }

  /// Returns whether visiting all rows takes less time than following each operation.
  @inlinable
  func isLarge(_ rows: RowsByKey<Key>) -> Bool {
    changeset.changeCount > max(4, rows.count / 32)
  }
}

extension RowsByKey {
  /// Returns a key, or `nil` if it is not equal to itself. Such a key matches nothing.
  @inlinable
  static func matchable(_ key: Key?) -> Key? { key == key ? key : nil }

  /// An element after a change of an input.
  @usableFromInline
  struct Origin {
    /// The offset before the change, or -1 for an inserted element.
    @usableFromInline let offset: Int
    @usableFromInline let isUpdated: Bool
    /// A Boolean value that indicates whether the element had the same key before the change.
    @usableFromInline let keepsKey: Bool

    @inlinable
    init(offset: Int, isUpdated: Bool, keepsKey: Bool) {
      (self.offset, self.isUpdated, self.keepsKey) = (offset, isUpdated, keepsKey)
    }
  }

  /// Follows a change of many elements, and returns where each element comes from.
  ///
  /// - Complexity: O(*n*)
  @inlinable
  func replace<Element>(by change: KeyChange<Element, Key>?) -> [Origin] {
    guard let change else {
      return (0..<count).map { Origin(offset: $0, isUpdated: false, keepsKey: true) }
    }
    let (changeset, old) = (change.changeset, orderedKeys())
    var (insertion, update) = (0, 0)
    var new: [Key?] = []
    new.reserveCapacity(old.count + changeset.countChange)
    let origins = changeset.origins(oldCount: old.count).enumerated().map { offset, origin in
      let isUpdated =
        update < changeset.updates.count && changeset.updates[update].to == offset
      if origin < 0 {
        new.append(change.inserted[insertion])
        insertion += 1
        return Origin(offset: -1, isUpdated: false, keepsKey: false)
      }
      let key = isUpdated ? change.updated[update] : old[origin]
      new.append(key)
      if isUpdated { update += 1 }
      return Origin(
        offset: origin, isUpdated: isUpdated, keepsKey: !isUpdated || key == old[origin])
    }
    replaceAll(with: new)
    return origins
  }
}
