public import Diffing

/// A value of each element of a collection, and the combination of all of them.
@usableFromInline
package struct ElementSummary<Value: Sendable>: ~Copyable, Sendable {
  @usableFromInline package typealias Combine = @Sendable (Value, Value) -> Value

  @usableFromInline let empty: Value
  @usableFromInline let combine: Combine
  @usableFromInline var tree: SummaryTree<Value>

  /// Creates the values of an empty collection.
  ///
  /// - Parameters:
  ///   - empty: The combination of no values.
  ///   - combine: An associative function that combines the values of two adjacent parts.
  @inlinable
  package init(empty: Value, combine: @escaping Combine) {
    self.empty = empty
    self.combine = combine
    tree = SummaryTree([], empty: empty, combine: combine)
  }

  /// The number of values.
  @inlinable package var count: Int { tree.count }

  /// The combination of all values.
  @inlinable package var total: Value { tree.total }

  /// Replaces all values.
  ///
  /// - Complexity: O(*n*) for the new values.
  @inlinable
  package mutating func replaceAll(with values: [Value]) {
    tree = SummaryTree(values, empty: empty, combine: combine)
  }

  /// Follows a change of the collection that the values are computed from.
  ///
  /// - Parameters:
  ///   - change: The change.
  ///   - value: A closure that computes the value of an element. It is called once for each inserted or
  ///     updated element.
  ///   - removed: A closure that receives each value that is dropped.
  ///   - added: A closure that receives each new value.
  /// - Complexity: O(*k* log *n*) for *k* changed elements.
  @inlinable
  mutating func follow<Element>(
    _ change: CollectionChange<Element>, _ value: (Element) -> Value,
    removed: (Value) -> Void, added: (Value) -> Void
  ) {
    let after = change.after
    follow(change.changeset, { value(after[$0]) }, removed: removed, added: added)
  }

  /// Follows a change of the collection that the values are computed from.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - value: A closure that computes the value of the element at an offset after the change. It is called once for
  ///     each inserted or updated element.
  ///   - removed: A closure that receives each value that is dropped.
  ///   - added: A closure that receives each new value.
  /// - Complexity: O(*k* log *n*) for *k* changed elements.
  @inlinable
  package mutating func follow(
    _ changeset: Changeset, _ value: (Int) -> Value,
    removed: (Value) -> Void = { _ in }, added: (Value) -> Void = { _ in }
  ) {
    if changeset.isLarge(forCount: tree.count) {
      return rebuild(changeset, value, removed: removed, added: added)
    }
    var moved: [Int: Value] = [:]
    changeset.rearrange { offset, move in
      let old = tree.remove(at: offset)
      if let move { moved[move] = old } else { removed(old) }
    } arrive: { offset, move in
      let kept = move.flatMap { moved[$0] }
      let new = kept ?? value(offset)
      tree.insert(new, at: offset)
      if kept == nil { added(new) }
    }
    for update in changeset.updates {
      let new = value(update.to)
      removed(tree.replace(at: update.to, with: new))
      added(new)
    }
  }

  /// Creates the tree again, with the values of the elements that were kept.
  @inlinable
  mutating func rebuild(
    _ changeset: Changeset, _ value: (Int) -> Value,
    removed: (Value) -> Void, added: (Value) -> Void
  ) {
    let old = tree.array
    for offset in changeset.deletions { removed(old[offset]) }
    let origins = changeset.elementOrigins(oldCount: old.count)
    replaceAll(
      with: origins.enumerated().map { offset, origin in
        if origin.offset >= 0 {
          if !origin.isUpdated { return old[origin.offset] }
          removed(old[origin.offset])
        }
        let new = value(offset)
        added(new)
        return new
      })
  }
}
