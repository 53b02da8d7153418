import SwappablePrimitives
import SwappableSQLite3
import SwappableSources

/// One row of a result, with values by name and by position.
///
///     let title: String = try row.value("title")
///     let due: Double? = try row.value("due")
///     let id = try row.value(at: 0, as: Int.self)
///
/// A row is a copy: it stays the same when the database changes.
public struct SQLiteRow: Sendable {
  private let batch: RowBatch
  private let start: Int

  init(batch: RowBatch, start: Int) {
    self.batch = batch
    self.start = start
  }

  var columns: SQLiteColumns { batch.columns }

  /// The values in the order of the columns. Each access decodes them anew.
  ///
  /// - Complexity: O(*n*). To read one value, use its subscript.
  public var values: [SQLiteValue] { (0..<count).map { batch.value(at: start + $0) } }

  /// Returns the bytes of a TEXT that is not UTF-8, or `nil` for any other value.
  package func invalidText(at position: Int) -> [UInt8]? {
    batch.invalidText(at: start + position)
  }

  /// The names of the columns, in order.
  public var columnNames: [String] { columns.names }

  /// The number of columns.
  public var count: Int { columns.names.count }

  /// Returns the value at a position. Traps if the position is not in `0..<count`.
  public subscript(position: Int) -> SQLiteValue {
    precondition(
      position >= 0 && position < count,
      "column \(position) is out of range 0..<\(count)")
    return batch.value(at: start + position)
  }

  /// Returns the value of the first column with a name, or `nil` if there is none.
  ///
  /// Case is ignored, unless two names differ only in case.
  public subscript(name: String) -> SQLiteValue? {
    columns.position(of: name).map { self[$0] }
  }

  /// Reads the value of a column.
  ///
  /// - Parameters:
  ///   - name: The name of the column.
  ///   - type: The type of the value.
  /// - Throws: A ``SQLiteError`` if there is no such column, or if the value cannot be read as the
  ///   type.
  // Inlinable, like the method below: a specialized initializer reads a row of four columns in a
  // third of the time.
  @inlinable
  public func value<Value: SQLiteValueConvertible>(
    _ name: String, as type: Value.Type = Value.self
  ) throws(SQLiteError) -> Value {
    try value(at: try position(of: name), as: type)
  }

  /// Reads the value at a position. Traps if the position is not in `0..<count`.
  ///
  /// - Parameters:
  ///   - position: The position of the column, from 0.
  ///   - type: The type of the value.
  /// - Throws: A ``SQLiteError`` if the value cannot be read as the type. Only an optional type
  ///   reads NULL.
  @inlinable
  public func value<Value: SQLiteValueConvertible>(
    at position: Int, as type: Value.Type = Value.self
  ) throws(SQLiteError) -> Value {
    guard let value = Value(sqliteValue: self[position]) else {
      throw mismatch(at: position, wanted: "\(type)")
    }
    return value
  }
}

extension SQLiteRow {
  @usableFromInline
  func position(of name: String) throws(SQLiteError) -> Int {
    guard let position = columns.position(of: name) else { throw noColumn(name) }
    return position
  }

  func noColumn(_ name: String) -> SQLiteError {
    SQLiteError(
      .noColumn, "there is no column \"\(name)\"",
      help: "the columns are " + columns.names.map { "\"\($0)\"" }.joined(separator: ", ")
        + "; name one of these, or select it with AS \"\(name)\"")
  }

  @usableFromInline
  func mismatch(at position: Int, wanted: String) -> SQLiteError {
    let name = columns.names[position]
    let value = self[position]
    if value.isNull {
      return SQLiteError(
        .unexpectedNull, "column \"\(name)\" is NULL, but a value of type \(wanted) is required",
        help: "make the type optional, or select COALESCE(\"\(name)\", …)")
    }
    let shown = SQLText.oneLine(value.description, limit: 40)
    return SQLiteError(
      .typeMismatch,
      "column \"\(name)\" holds \(value.typeName) \(shown), which is not a value of type \(wanted)",
      help: "change the type, or select CAST(\"\(name)\" AS …)")
  }
}

extension SQLiteRow: Hashable {
  /// Returns a Boolean value that indicates whether two rows have the same names and values.
  public static func == (left: SQLiteRow, right: SQLiteRow) -> Bool {
    left.columns == right.columns && left.values == right.values
  }

  /// Hashes the values.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(values)
  }
}

extension SQLiteRow: CustomStringConvertible {
  /// The names and values, in order.
  public var description: String {
    "[" + zip(columns.names, values).map { "\($0): \($1)" }.joined(separator: ", ") + "]"
  }
}

/// The names of a result's columns, shared by its rows.
final class SQLiteColumns: Sendable, Equatable {
  let names: [String]
  private let positions: [String: Int]

  init(_ names: [String]) {
    self.names = names
    positions = Dictionary(zip(names, names.indices)) { first, _ in first }
  }

  /// Returns the position of a column. An exact match is preferred to a match that ignores ASCII
  /// case.
  func position(of name: String) -> Int? {
    // Comparing a few short names is faster than hashing one. Two equal strings can be two names.
    if names.count > 8, let position = positions[name], names[position].hasSameBytes(as: name) {
      return position
    }
    return names.firstIndex { $0.hasSameBytes(as: name) }
      ?? names.firstIndex { SQLText.isSameName($0, name) }
  }

  /// The first name that two columns share, ignoring ASCII case.
  var duplicate: String? {
    var seen: Set<ByteString> = []
    return names.first { !seen.insert(SQLText.lowered($0)).inserted }
  }

  static func == (left: SQLiteColumns, right: SQLiteColumns) -> Bool {
    left === right || left.names.elementsEqual(right.names) { $0.hasSameBytes(as: $1) }
  }
}

/// The values of some rows, which are decoded when they are read.
///
/// A row keeps its whole batch alive. Batches are therefore small.
final class RowBatch: Sendable {
  /// One value: a number, or the location of a text or a blob.
  struct Cell: Sendable {
    enum Kind: UInt8, Sendable {
      case null, integer, real, text, blob
    }

    var kind = Kind.null
    /// The number of bytes of a text or a blob.
    var count: UInt32 = 0
    /// The bits of a number, or the offset of a text or a blob in the bytes of the batch.
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

  /// Returns the value of a cell. The cells of all rows are numbered consecutively.
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

  /// Returns the bytes of a TEXT that is not UTF-8, or `nil` for any other value.
  func invalidText(at position: Int) -> [UInt8]? {
    let cell = cells[position]
    guard cell.kind == .text else { return nil }
    return bytes.withUnsafeBufferPointer { bytes in
      let text = bytes[range(of: cell)]
      // Most texts are ASCII.
      let isValid =
        text.allSatisfy { $0 < 0x80 } || String(validating: text, as: UTF8.self) != nil
      return isValid ? nil : Array(text)
    }
  }

  private func range(of cell: Cell) -> Range<Int> {
    Int(cell.word)..<Int(cell.word) + Int(cell.count)
  }
}

/// Copies rows into batches.
struct RowBatches {
  private static var size: Int { 128 }

  let columns: SQLiteColumns
  /// The batches. A consumed batch is `nil`.
  private var batches: [RowBatch?] = []
  private var cells: [RowBatch.Cell] = []
  private var bytes: [UInt8] = []
  private(set) var count = 0
  private var sealedByteCount = 0

  init(columns: SQLiteColumns) {
    self.columns = columns
  }

  /// Throws if the rows take more memory than a query may use.
  ///
  /// - Parameters:
  ///   - others: The number of bytes that the caller stores for the rows.
  ///   - limit: The largest number of bytes.
  func checkSize(with others: Int = 0, limit: Int) throws(SQLiteError) {
    guard sealedByteCount + openByteCount + others > limit else { return }
    throw SQLiteError(
      .other, "the result is larger than \(limit) bytes", resultCode: SQLITE_TOOBIG,
      help: "select fewer rows or columns, or add LIMIT")
  }

  /// The number of bytes of the last batch.
  private var openByteCount: Int {
    bytes.count + cells.count * MemoryLayout<RowBatch.Cell>.stride
  }

  /// Copies the first columns of a statement's current row.
  ///
  /// - Returns: The number of the row.
  mutating func append(_ statement: SQLiteStatement) -> Int {
    append(statement) { _ in }
    return count - 1
  }

  /// Copies the first columns of a statement's current row.
  ///
  /// - Parameter visit: A closure that receives each value.
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
      // The next batch will have about the same size.
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

  /// Ends the last batch. Copied rows can be read from then on.
  mutating func seal() {
    guard batches.count * RowBatches.size < count else { return }
    batches.append(RowBatch(columns: columns, cells: cells, bytes: bytes))
    sealedByteCount += openByteCount
    cells = []
    bytes = []
  }

  /// Passes each row to a closure, releases each batch after its last row, and leaves no rows.
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

  /// Returns a row that was copied before the last call of `seal`.
  subscript(number: Int) -> SQLiteRow {
    guard let batch = batches[number / RowBatches.size] else {
      preconditionFailure("the rows are consumed")
    }
    return SQLiteRow(batch: batch, start: number % RowBatches.size * columns.names.count)
  }
}

// MARK: - Fingerprints

extension RowHasher {
  @inline(__always)
  mutating func combine(_ value: StoredValue) {
    switch value {
    case .integer(let number):
      add(1)
      add(UInt64(bitPattern: number))
    case .real(let number):
      add(2)
      add(number.bitPattern)
    case .text(let bytes): combine(tag: 3, bytes)
    case .blob(let bytes): combine(tag: 4, bytes)
    case .null:
      add(5)
      add(0)
    }
  }

  mutating func combine(_ statement: SQLiteStatement, _ positions: Range<Int>) {
    for position in positions { combine(statement.storedValue(at: position)) }
  }
}
