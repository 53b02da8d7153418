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
  private static let size = 128

  let columns: SQLiteColumns
  private var batches: [RowBatch] = []
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
    statement.read(into: &cells, &bytes, columnCount: columns.names.count)
    count += 1
    if count % RowBatches.size == 0 { seal() }
    return count - 1
  }

  /// Ends copying.
  mutating func seal() {
    guard batches.count * RowBatches.size < count else { return }
    batches.append(RowBatch(columns: columns, cells: cells, bytes: bytes))
    cells.removeAll(keepingCapacity: false)
    bytes.removeAll(keepingCapacity: false)
  }

  /// A row that was copied before the last call of `seal`.
  subscript(number: Int) -> SQLiteRow {
    SQLiteRow(
      batch: batches[number / RowBatches.size],
      start: number % RowBatches.size * columns.names.count)
  }
}
