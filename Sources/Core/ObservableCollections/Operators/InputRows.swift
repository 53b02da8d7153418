public import Diffing

/// The elements of an operator's input, each with a number and a value.
///
/// The number of an element, its *row*, stays the same while the element is moved or updated. An operator uses it where it
/// keeps elements in another order.
@usableFromInline
struct InputRows<Value: Sendable>: ~Copyable, Sendable {
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

  /// Accesses the value of a row.
  @inlinable subscript(row: UInt32) -> Value {
    get { values[row] }
    set { values[row] = newValue }
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
    if changeset.isLarge(forCount: count) { return rebuild(changeset, value) }
    var moved = Array(repeating: UInt32(0), count: changeset.moves.count)
    changeset.rearrange { offset, move in
      let row = order.remove(at: offset)
      if let move { moved[move] = row } else { values.remove(row) }
    } arrive: { offset, move in
      order.insert(move.map { moved[$0] } ?? values.insert(value(offset)), at: offset)
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

  /// Numbers the rows from 0 if most numbers are free, and returns the new number of each row.
  @inlinable
  mutating func renumberIfSparse() -> [UInt32]? {
    if !values.isSparse { return nil }
    let rows = Array(order.rows)
    var numbers = Array(repeating: UInt32(0), count: values.rowCount)
    for (number, row) in rows.enumerated() { numbers[Int(row)] = UInt32(number) }
    self = InputRows(rows.map { values[$0] })
    return numbers
  }
}
