public import Diffing

/// A change of an input, with the keys of the inserted and updated elements.
@usableFromInline
struct KeyChange<Element: Differentiable & Sendable, Key: Hashable> {
  @usableFromInline let changeset: Changeset
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
  func isLarge(_ rows: borrowing RowsByKey<Key>) -> Bool {
    changeset.isLarge(forCount: rows.count)
  }
}

extension RowsByKey {
  /// Returns a key, or `nil` if it is not equal to itself. Such a key matches nothing.
  @inlinable
  static func matchable(_ key: Key?) -> Key? { key == key ? key : nil }

  /// Follows a change of many elements, and returns where each element comes from, and whether it had the same key.
  ///
  /// - Complexity: O(*n*)
  @inlinable
  mutating func replace<Element>(by change: KeyChange<Element, Key>?) -> [(
    origin: Origin, keepsKey: Bool
  )] {
    guard let change else {
      return (0..<count).map { (Origin(offset: $0, isUpdated: false), true) }
    }
    let old = orderedKeys()
    var (inserted, updated) = (change.inserted.makeIterator(), change.updated.makeIterator())
    let origins = change.changeset.elementOrigins(oldCount: old.count)
    let new = origins.map { origin in
      if origin.offset < 0 { return inserted.next() ?? nil }
      return origin.isUpdated ? updated.next() ?? nil : old[origin.offset]
    }
    replaceAll(with: new)
    return origins.enumerated().map { offset, origin in
      (origin, origin.offset >= 0 && (!origin.isUpdated || new[offset] == old[origin.offset]))
    }
  }
}
