public import Diffing

/// A value of each element of a collection, and the combination of all of them.
@usableFromInline
final class ElementValues<Value: Sendable>: @unchecked Sendable {
  // Sendable: an operator owns the values, and only one thread at a time calls an operator.

  @usableFromInline typealias Combine = @Sendable (Value, Value) -> Value

  @usableFromInline let empty: Value
  @usableFromInline let combine: Combine
  @exclusivity(unchecked) @usableFromInline var tree: SummaryTree<Value>

  /// Creates the values of an empty collection.
  ///
  /// - Parameters:
  ///   - empty: The combination of no values.
  ///   - combine: An associative function that combines the values of two adjacent parts.
  @inlinable
  init(empty: Value, combine: @escaping Combine) {
    self.empty = empty
    self.combine = combine
    tree = SummaryTree([], empty: empty, combine: combine)
  }

  /// The number of values.
  @inlinable var count: Int { tree.count }

  /// The combination of all values.
  @inlinable var total: Value { tree.total }

  /// Replaces all values.
  ///
  /// - Complexity: O(*n*) for the new values.
  @inlinable
  func replaceAll(with values: [Value]) {
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
  func follow<Element>(
    _ change: CollectionChange<Element>, _ value: (Element) -> Value,
    removed: (Value) -> Void, added: (Value) -> Void
  ) {
    let (changeset, after) = (change.changeset, change.after)
    // Many edits take longer than a new tree: more than a twentieth of 10,000 values, and a tenth of a million.
    if changeset.changeCount > 8, 16 * changeset.changeCount > after.count {
      rebuild(change, value, removed: removed, added: added)
      return
    }
    if changeset.moves.isEmpty {
      for offset in changeset.deletions.reversed() { removed(tree.remove(at: offset)) }
      for offset in changeset.insertions {
        let new = value(after[offset])
        tree.insert(new, at: offset)
        added(new)
      }
    } else {
      followMoves(change, value, removed: removed, added: added)
    }
    for update in changeset.updates {
      let new = value(after[update.to])
      removed(tree.replace(at: update.to, with: new))
      added(new)
    }
  }

  /// Follows deletions, insertions and moves: removes by descending offset, and then inserts by ascending
  /// offset.
  @inlinable
  func followMoves<Element>(
    _ change: CollectionChange<Element>, _ value: (Element) -> Value,
    removed: (Value) -> Void, added: (Value) -> Void
  ) {
    let (changeset, after) = (change.changeset, change.after)
    var moved: [Int: Value] = [:]
    var deletions = changeset.deletions[...]
    for offset in changeset.removals.reversed() {
      let old = tree.remove(at: offset)
      if deletions.last == offset {
        deletions.removeLast()
        removed(old)
      } else {
        moved[offset] = old
      }
    }
    var insertions = changeset.insertions[...]
    func insert(before end: Int) {
      while let offset = insertions.first, offset < end {
        insertions.removeFirst()
        let new = value(after[offset])
        tree.insert(new, at: offset)
        added(new)
      }
    }
    for move in changeset.moves {
      insert(before: move.to)
      guard let value = moved[move.from] else {
        preconditionFailure("the value that is moved from \(move.from) was not removed there")
      }
      tree.insert(value, at: move.to)
    }
    insert(before: .max)
  }

  /// Creates the tree again, with the values of the elements that were kept.
  @inlinable
  func rebuild<Element>(
    _ change: CollectionChange<Element>, _ value: (Element) -> Value,
    removed: (Value) -> Void, added: (Value) -> Void
  ) {
    let changeset = change.changeset
    let old = tree.array
    for offset in changeset.deletions { removed(old[offset]) }
    let origins = changeset.origins(oldCount: old.count)
    var updates = changeset.updates[...]
    var new: [Value] = []
    new.reserveCapacity(origins.count)
    for (offset, origin) in origins.enumerated() {
      let isUpdated = updates.first?.to == offset
      if origin >= 0, !isUpdated {
        new.append(old[origin])
        continue
      }
      if isUpdated {
        updates.removeFirst()
        removed(old[origin])
      }
      new.append(value(change.after[offset]))
      added(new[offset])
    }
    replaceAll(with: new)
  }
}
