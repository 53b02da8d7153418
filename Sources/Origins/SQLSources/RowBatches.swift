/// The values of some rows, which are decoded when they are read.
///
/// A row keeps its whole batch alive. Batches are therefore small.
package final class RowBatch<Cell: Sendable>: Sendable {
  package let columns: ResultColumns
  /// The cells of all rows, numbered consecutively.
  package let cells: [Cell]
  /// The texts and blobs of the cells.
  package let bytes: [UInt8]
  fileprivate let rowCount: Int

  fileprivate init(columns: ResultColumns, cells: [Cell], bytes: [UInt8], rowCount: Int) {
    (self.columns, self.cells, self.bytes, self.rowCount) = (columns, cells, bytes, rowCount)
  }
}

/// Rows that are copied from a result into batches, and read once, in order.
package struct RowBatches<Row: SQLRow>: Sendable {
  package let columns: ResultColumns
  /// The cells and bytes of the last batch. A database appends the values of a row, and then calls `endRow()`.
  package var cells: [Row.Cell] = []
  package var bytes: [UInt8] = []
  package private(set) var count = 0
  /// The number of bytes that the rows take.
  package private(set) var byteCount = 0
  private var batches: [RowBatch<Row.Cell>] = []
  private var sealedCount = 0
  private var sealedByteCount = 0
  private let cellSize = MemoryLayout<Row.Cell>.stride

  package init(columns: ResultColumns) {
    self.columns = columns
  }

  /// Ends a row whose cells were appended.
  ///
  /// - Returns: The number of the row.
  @discardableResult
  package mutating func endRow() -> Int {
    count += 1
    byteCount = sealedByteCount + bytes.count + cells.count * cellSize
    if count - sealedCount >= 128 || bytes.count > 1 << 20 {
      let (cellCount, byteCount) = (cells.count, bytes.count)
      seal()
      // The next batch will have about the same size.
      cells.reserveCapacity(cellCount)
      bytes.reserveCapacity(byteCount + byteCount / 8)
    }
    return count - 1
  }

  private mutating func seal() {
    guard count > sealedCount else { return }
    sealedByteCount = byteCount
    batches.append(
      RowBatch(columns: columns, cells: cells, bytes: bytes, rowCount: count - sealedCount))
    sealedCount = count
    (cells, bytes) = ([], [])
  }

  /// Passes each row to a closure, releases each batch after its last row, and leaves no rows.
  package mutating func consume<Failure: Error>(
    _ body: (_ row: Row) throws(Failure) -> Void
  ) throws(Failure) {
    seal()
    var rest = Array(batches.reversed())
    self = RowBatches(columns: columns)
    while let batch = rest.popLast() {
      for row in 0..<batch.rowCount {
        try body(Row(batch: batch, start: row * columns.names.count))
      }
    }
  }
}
