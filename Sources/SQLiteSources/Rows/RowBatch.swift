/// The values of some rows side by side, decoded when they are asked for.
///
/// A row that is kept keeps the others of its batch; hence batches are small.
final class RowBatch: Sendable {
  /// One value: a number in place, or where its bytes stand.
  struct Cell: Sendable {
    enum Kind: UInt8, Sendable {
      case null, integer, real, text, blob
    }

    var kind = Kind.null
    /// The number of bytes of text and blobs.
    var count: UInt32 = 0
    /// The bits of a number, or where its bytes begin.
    var word: UInt64 = 0
  }

  let columns: SQLiteColumns
  private let cells: [Cell]
  private let bytes: [UInt8]

  init(columns: SQLiteColumns, cells: [Cell], bytes: [UInt8]) {
    self.columns = columns
    self.cells = cells
    self.bytes = bytes
  }

  /// The value of a cell, counted through all rows.
  func value(at position: Int) -> SQLiteValue {
    let cell = cells[position]
    switch cell.kind {
    case .null: return .null
    case .integer: return .integer(Int64(bitPattern: cell.word))
    case .real: return .real(Double(bitPattern: cell.word))
    case .text:
      return bytes.withUnsafeBufferPointer {
        .text(String(decoding: $0[range(of: cell)], as: UTF8.self))
      }
    case .blob: return .blob(Array(bytes[range(of: cell)]))
    }
  }

  private func range(of cell: Cell) -> Range<Int> {
    Int(cell.word)..<Int(cell.word) + Int(cell.count)
  }
}

/// Copies rows into batches.
struct RowBatches {
  /// How many rows a batch has.
  private static var size: Int { 128 }

  let columns: SQLiteColumns
  /// `nil` in place of those that were consumed.
  private var batches: [RowBatch?] = []
  private var cells: [RowBatch.Cell] = []
  private var bytes: [UInt8] = []
  private(set) var count = 0

  init(columns: SQLiteColumns) {
    self.columns = columns
  }

  /// Copies the first columns of the row that `statement` has come to.
  ///
  /// - Returns: Its number.
  mutating func append(_ statement: SQLiteStatement) -> Int {
    append(statement) { _ in }
    return count - 1
  }

  /// Copies the first columns of the row that `statement` has come to.
  ///
  /// - Parameter visit: Is given each value.
  @inline(__always)
  mutating func append(_ statement: SQLiteStatement, visit: (StoredValue) -> Void) {
    let present = statement.valueCount
    for position in 0..<columns.names.count {
      let value = position < present ? statement.storedValue(at: position) : .null
      visit(value)
      add(value)
    }
    count += 1
    if count % RowBatches.size == 0 {
      let (cellCount, byteCount) = (cells.count, bytes.count)
      seal()
      // The next one will be about as large.
      cells.reserveCapacity(cellCount)
      bytes.reserveCapacity(byteCount + byteCount / 8)
    }
  }

  @inline(__always)
  private mutating func add(_ value: StoredValue) {
    var cell = RowBatch.Cell()
    switch value {
    case .null: break
    case .integer(let number):
      cell.kind = .integer
      cell.word = UInt64(bitPattern: number)
    case .real(let number):
      cell.kind = .real
      cell.word = number.bitPattern
    case .text(let content), .blob(let content):
      if case .text = value { cell.kind = .text } else { cell.kind = .blob }
      cell.count = UInt32(content.count)
      cell.word = UInt64(bytes.count)
      bytes.append(contentsOf: content)
    }
    cells.append(cell)
  }

  /// Ends copying.
  mutating func seal() {
    guard batches.count * RowBatches.size < count else { return }
    batches.append(RowBatch(columns: columns, cells: cells, bytes: bytes))
    cells = []
    bytes = []
  }

  /// Gives all rows in turn, and lets go of each batch behind them; afterwards there are none.
  mutating func consume<Failure: Error>(
    _ body: (_ row: SQLiteRow) throws(Failure) -> Void
  ) throws(Failure) {
    defer { self = RowBatches(columns: columns) }
    for index in batches.indices {
      let rows = min(RowBatches.size, count - index * RowBatches.size)
      for row in 0..<rows { try body(self[index * RowBatches.size + row]) }
      batches[index] = nil
    }
  }

  /// A row that was copied before the last call of `seal`.
  subscript(number: Int) -> SQLiteRow {
    guard let batch = batches[number / RowBatches.size] else {
      preconditionFailure("the rows were consumed")
    }
    return SQLiteRow(batch: batch, start: number % RowBatches.size * columns.names.count)
  }
}
