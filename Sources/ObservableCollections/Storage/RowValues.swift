/// The values of rows: small numbers that the owner uses for elements, in any order.
///
/// An operator keeps the order of its rows in a ``RowTree``, and the value of each row here. Removed rows are used again.
@usableFromInline
final class RowValues<Value>: @unchecked Sendable {
  // Sendable: an operator owns the values, and only one thread at a time calls an operator.
  // Memory instead of an array of optional values: an optional integer takes twice the space, and an array that
  // grows doubles its memory (`PipelineBenchmarks sorted`).

  @exclusivity(unchecked) @usableFromInline var values: UnsafeMutablePointer<Value>
  @exclusivity(unchecked) @usableFromInline var capacity: Int
  /// The number of rows that were ever used at once. The value of a free row is not initialized.
  @exclusivity(unchecked) @usableFromInline var rowCount: Int
  @exclusivity(unchecked) @usableFromInline var freeRows: [UInt32] = []

  /// Creates values for the rows from 0.
  @inlinable
  init(_ initial: [Value] = []) {
    rowCount = initial.count
    capacity = max(initial.count, 16)
    values = .allocate(capacity: capacity)
    initial.withUnsafeBufferPointer { initial in
      if let first = initial.baseAddress {
        values.initialize(from: first, count: initial.count)
      }
    }
  }

  deinit {
    var next = 0
    for row in freeRows.sorted() {
      (values + next).deinitialize(count: Int(row) - next)
      next = Int(row) + 1
    }
    (values + next).deinitialize(count: rowCount - next)
    values.deallocate()
  }

  /// The value of a row that is in use.
  @inlinable
  subscript(row: UInt32) -> Value {
    get {
      assert(row < rowCount, "row \(row) was never used")
      return values[Int(row)]
    }
    set { values[Int(row)] = newValue }
  }

  /// Adds a value, and returns its row.
  @inlinable
  func insert(_ value: Value) -> UInt32 {
    let row = freeRows.popLast() ?? addRow()
    (values + Int(row)).initialize(to: value)
    return row
  }

  /// Removes the value of a row, and returns it. The row may be used again.
  @inlinable
  @discardableResult
  func remove(_ row: UInt32) -> Value {
    freeRows.append(row)
    return (values + Int(row)).move()
  }

  @inlinable
  func addRow() -> UInt32 {
    if rowCount == capacity {
      // No row is free, so all values are initialized.
      let larger = UnsafeMutablePointer<Value>.allocate(capacity: capacity + capacity / 4)
      larger.moveInitialize(from: values, count: rowCount)
      values.deallocate()
      (values, capacity) = (larger, capacity + capacity / 4)
    }
    rowCount += 1
    return UInt32(rowCount - 1)
  }
}
