public import Diffing

/// The elements of an operator's input, each with a number and a value.
///
/// The number of an element, its *row*, stays the same while the element is moved or updated. An operator uses it where it
/// keeps elements in another order.
@usableFromInline
struct InputRows<Value: Sendable>: Sendable {
  @usableFromInline var values: RowTable<Value>
  /// The rows in the order of the input.
  @usableFromInline var order: RowTree

  /// Creates rows for the first elements. The row of each is its offset.
  @inlinable
  init(_ values: [Value] = []) {
    self.values = RowTable(values)
    order = RowTree(0..<UInt32(values.count))
  }

  @inlinable var count: Int { order.count }

  /// Returns whether a change has so many operations that visiting all elements takes less time.
  @inlinable
  func isLarge(_ changeset: Changeset) -> Bool {
    changeset.changeCount > max(4, count / 32)
  }

  /// Accesses the value of a row.
  @inlinable subscript(row: UInt32) -> Value {
    get { values[row] }
    nonmutating set { values[row] = newValue }
  }

  /// Follows a change of the input. The values of updated elements stay as they are.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - value: A closure that returns the value of the inserted element at an offset. It is called once for each
  ///     insertion, by ascending offset.
  /// - Complexity: O(k log n) for k of n elements, and never more than O(n + k).
  @inlinable
  mutating func follow(_ changeset: Changeset, value: (_ offset: Int) -> Value) {
    if changeset.deletions.isEmpty, changeset.insertions.isEmpty, changeset.moves.isEmpty { return }
    if isLarge(changeset) { return rebuild(changeset, value) }
    for offset in changeset.deletions { values.remove(order[offset]) }
    let moved = changeset.moves.map { order[$0.from] }
    for offset in changeset.removals.reversed() { order.remove(at: offset) }
    var move = 0
    for offset in changeset.insertions {
      while move < moved.count, changeset.moves[move].to < offset {
        order.insert(moved[move], at: changeset.moves[move].to)
        move += 1
      }
      order.insert(values.insert(value(offset)), at: offset)
    }
    for (row, move) in zip(moved, changeset.moves).dropFirst(move) {
      order.insert(row, at: move.to)
    }
  }

  @inlinable
  mutating func rebuild(_ changeset: Changeset, _ value: (_ offset: Int) -> Value) {
    let old = Array(order.rows)
    for offset in changeset.deletions { values.remove(old[offset]) }
    let origins = changeset.origins(oldCount: old.count)
    order = RowTree(
      origins.indices.map { offset in
        origins[offset] < 0 ? values.insert(value(offset)) : old[origins[offset]]
      })
  }
}
