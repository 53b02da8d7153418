public import Diffing

/// A value of each element of a collection, and the combination of all of them.
@usableFromInline
package final class ElementSummary<Value: Sendable>: @unchecked Sendable {
  // Sendable: an operator or a feed owns the values, and only one thread at a time calls the owner.

  @usableFromInline package typealias Combine = @Sendable (Value, Value) -> Value

  @usableFromInline let empty: Value
  @usableFromInline let combine: Combine
  @exclusivity(unchecked) @usableFromInline var tree: SummaryTree<Value>

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
  package func replaceAll(with values: [Value]) {
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
  package func follow(
    _ changeset: Changeset, _ value: (Int) -> Value,
    removed: (Value) -> Void = { _ in }, added: (Value) -> Void = { _ in }
  ) {
    // Many edits take longer than a new tree: more than a twentieth of 10,000 values, and a tenth of a million.
    let newCount = tree.count + changeset.countChange
    if changeset.changeCount > 8, 16 * changeset.changeCount > newCount {
      rebuild(changeset, value, removed: removed, added: added)
      return
    }
    if changeset.moves.isEmpty {
      for offset in changeset.deletions.reversed() { removed(tree.remove(at: offset)) }
      for offset in changeset.insertions {
        let new = value(offset)
        tree.insert(new, at: offset)
        added(new)
      }
    } else {
      followMoves(changeset, value, removed: removed, added: added)
    }
    for update in changeset.updates {
      let new = value(update.to)
      removed(tree.replace(at: update.to, with: new))
      added(new)
    }
  }

  /// Follows deletions, insertions and moves: removes by descending offset, and then inserts by ascending
  /// offset.
  @inlinable
  func followMoves(
    _ changeset: Changeset, _ value: (Int) -> Value,
    removed: (Value) -> Void, added: (Value) -> Void
  ) {
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
        let new = value(offset)
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
  func rebuild(
    _ changeset: Changeset, _ value: (Int) -> Value,
    removed: (Value) -> Void, added: (Value) -> Void
  ) {
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
      new.append(value(offset))
      added(new[offset])
    }
    replaceAll(with: new)
  }
}
