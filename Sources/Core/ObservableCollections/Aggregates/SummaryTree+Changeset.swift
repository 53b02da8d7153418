public import Diffing

extension SummaryTree {
  /// Replaces all values.
  ///
  /// - Complexity: O(*n*) for the new values.
  @inlinable
  mutating func replaceAll(with values: [Value]) {
    self = SummaryTree(values, empty: empty, combine: combine)
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
    if changeset.isLarge(forCount: count) {
      return rebuild(changeset, value, removed: removed, added: added)
    }
    var moved: [Int: Value] = [:]
    changeset.rearrange { offset, move in
      let old = remove(at: offset)
      if let move { moved[move] = old } else { removed(old) }
    } arrive: { offset, move in
      let kept = move.flatMap { moved[$0] }
      let new = kept ?? value(offset)
      insert(new, at: offset)
      if kept == nil { added(new) }
    }
    for update in changeset.updates {
      let new = value(update.to)
      removed(replace(at: update.to, with: new))
      added(new)
    }
  }

  /// Creates the tree again, with the values of the elements that were kept.
  @inlinable
  mutating func rebuild(
    _ changeset: Changeset, _ value: (Int) -> Value,
    removed: (Value) -> Void, added: (Value) -> Void
  ) {
    let old = array
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
