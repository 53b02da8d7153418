import SwappablePrimitives
import SwappableSources

/// One row of a result, with values by name and by position.
///
///     let title: String = try row.value("title")
///     let due: Date? = try row.value("due")
///     let id = try row.value(at: 0, as: Int.self)
///
/// A row is a copy: it stays the same when the database changes.
public struct PostgresRow: Sendable {
  fileprivate let batch: RowBatch
  fileprivate let start: Int

  init(batch: RowBatch, start: Int) {
    self.batch = batch
    self.start = start
  }

  var columns: PostgresColumns { batch.columns }

  /// The values in the order of the columns. Each access decodes them anew.
  ///
  /// - Complexity: O(*n*). To read one value, use its subscript.
  public var values: [PostgresValue] { (0..<count).map { self[$0] } }

  /// The names of the columns, in order.
  public var columnNames: [String] { columns.names }

  /// The types of the columns, in order.
  public var columnTypes: [PostgresType] { columns.types }

  /// The number of columns.
  public var count: Int { columns.names.count }

  /// Returns the value at a position. Traps if the position is not in `0..<count`.
  public subscript(position: Int) -> PostgresValue {
    precondition(
      position >= 0 && position < count,
      "column \(position) is out of range 0..<\(count)")
    return batch.withText(at: start + position) { text in
      text.map { PostgresValue($0, type: columns.types[position]) } ?? .null
    }
  }

  /// Returns the value of the first column with a name, or `nil` if there is none.
  public subscript(name: String) -> PostgresValue? {
    columns.position(of: name).map { self[$0] }
  }

  /// Returns the text of a value as the server has sent it, or `nil` for NULL.
  ///
  /// Traps if the position is not in `0..<count`.
  public func text(at position: Int) -> String? {
    precondition(
      position >= 0 && position < count,
      "column \(position) is out of range 0..<\(count)")
    return batch.withText(at: start + position) { $0.map { String($0) } }
  }

  /// Reads the value of a column.
  ///
  /// - Parameters:
  ///   - name: The name of the column.
  ///   - type: The type of the value.
  /// - Throws: A ``PostgresError`` if there is no such column, or if the value cannot be read as the type.
  public func value<Value: PostgresValueConvertible>(
    _ name: String, as type: Value.Type = Value.self
  ) throws(PostgresError) -> Value {
    try value(at: try position(of: name), as: type)
  }

  /// Reads the value at a position. Traps if the position is not in `0..<count`.
  ///
  /// - Parameters:
  ///   - position: The position of the column, from 0.
  ///   - type: The type of the value.
  /// - Throws: A ``PostgresError`` if the value cannot be read as the type. Only an optional type reads NULL.
  public func value<Value: PostgresValueConvertible>(
    at position: Int, as type: Value.Type = Value.self
  ) throws(PostgresError) -> Value {
    guard let value = Value(postgresValue: self[position]) else {
      throw mismatch(at: position, wanted: "\(type)")
    }
    return value
  }
}

extension PostgresRow {
  /// Returns the bytes of a value that is not UTF-8, or `nil` for any other value.
  ///
  /// Only a database without an encoding has such values.
  package func invalidText(at position: Int) -> [UInt8]? {
    batch.withText(at: start + position) { text in
      guard let text, text.contains(where: { $0 >= 0x80 }) else { return nil }
      return String(validating: text, as: UTF8.self) == nil ? Array(text) : nil
    }
  }

  func position(of name: String) throws(PostgresError) -> Int {
    guard let position = columns.position(of: name) else {
      throw PostgresError(
        .noColumn, "there is no column \"\(name)\"",
        help: "the columns are "
          + PostgresText.oneLine(
            columns.names.map { "\"\($0)\"" }.joined(separator: ", "), limit: 2000)
          + "; name one of these, or select it with AS \"\(name)\"")
    }
    return position
  }

  func mismatch(at position: Int, wanted: String) -> PostgresError {
    let name = columns.names[position]
    let value = self[position]
    if value.isNull {
      return PostgresError(
        .unexpectedNull, "column \"\(name)\" is NULL, but a value of type \(wanted) is required",
        help: "make the type optional, or select COALESCE(\"\(name)\", …)")
    }
    let shown = PostgresText.oneLine(String(value.description.prefix(200)), limit: 40)
    return PostgresError(
      .typeMismatch,
      "column \"\(name)\" holds \(value.typeName) \(shown), which is not a value of type \(wanted)",
      help: "change the type, or select CAST(\"\(name)\" AS …)")
  }
}

extension PostgresRow: Hashable {
  /// Returns a Boolean value that indicates whether two rows have the same names and values.
  public static func == (left: PostgresRow, right: PostgresRow) -> Bool {
    left.columns == right.columns && left.values == right.values
  }

  /// Hashes the values.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(values)
  }
}

extension PostgresRow: CustomStringConvertible {
  /// The names and values, in order.
  public var description: String {
    "[" + zip(columns.names, values).map { "\($0): \($1)" }.joined(separator: ", ") + "]"
  }
}

/// The names and types of a result's columns, shared by its rows.
final class PostgresColumns: Sendable, Equatable {
  let names: [String]
  let types: [PostgresType]
  private let positions: [String: Int]

  init(names: [String], types: [PostgresType]) {
    self.names = names
    self.types = types
    positions = Dictionary(zip(names, names.indices)) { first, _ in first }
  }

  func position(of name: String) -> Int? {
    // Comparing a few short names is faster than hashing one. Two equal strings can be two names.
    if names.count > 8, let position = positions[name], names[position].hasSameBytes(as: name) {
      return position
    }
    return names.firstIndex(where: name.hasSameBytes)
  }

  /// The first name that two columns share.
  var duplicate: String? {
    var seen: Set<ByteString> = []
    return names.first { !seen.insert(ByteString($0)).inserted }
  }

  static func == (left: PostgresColumns, right: PostgresColumns) -> Bool {
    left === right
      || left.types == right.types
        && left.names.elementsEqual(right.names) { $0.hasSameBytes(as: $1) }
  }
}

/// The texts of some rows, which are decoded when they are read.
///
/// A row keeps its whole batch alive. Batches are therefore small.
final class RowBatch: Sendable {
  /// The location of a text in the bytes of the batch, or NULL.
  struct Cell: Sendable {
    var offset: UInt32
    /// The number of bytes, or -1 for NULL.
    var count: Int32
  }

  let columns: PostgresColumns
  private let cells: [Cell]
  private let bytes: [UInt8]

  init(columns: PostgresColumns, cells: [Cell], bytes: [UInt8]) {
    self.columns = columns
    self.cells = cells
    self.bytes = bytes
  }

  /// Calls a closure with the text of a cell, or with `nil` for NULL. The cells of all rows are numbered
  /// consecutively.
  func withText<Result>(at position: Int, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
    let cell = cells[position]
    guard cell.count >= 0 else { return body(nil) }
    return bytes.withUnsafeBytes { bytes in
      let start = Int(cell.offset)
      return body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(cell.count)]))
    }
  }
}

/// The row that a connection has received, valid until the connection receives the next one.
struct ReceivedRow {
  private let library: LibPQ
  private let result: LibPQ.Result
  private let row: Int32

  init(_ library: LibPQ, _ result: LibPQ.Result, row: Int32) {
    self.library = library
    self.result = result
    self.row = row
  }

  /// Returns the text of a value, or `nil` for NULL.
  func text(at position: Int) -> UnsafeRawBufferPointer? {
    let length = library.valueLength(result, row, Int32(position))
    if length == 0, library.valueIsNull(result, row, Int32(position)) != 0 { return nil }
    return UnsafeRawBufferPointer(
      start: library.value(result, row, Int32(position)), count: Int(length))
  }

  /// The hash of the values of the first columns.
  func fingerprint(_ emptyHasher: RowHasher, columns: PostgresColumns) -> RowFingerprint {
    var hasher = emptyHasher
    for position in 0..<columns.names.count {
      if let text = text(at: position) {
        hasher.combine(tag: 3, text)
      } else {
        hasher.add(5)
      }
    }
    return hasher.fingerprint
  }
}

/// Copies rows into batches.
struct RowBatches: Sendable {
  private static let size = 128

  let columns: PostgresColumns
  private var batches: [RowBatch?] = []
  private var cells: [RowBatch.Cell] = []
  private var bytes: [UInt8] = []
  private(set) var count = 0
  private var sealedCount = 0
  private var sealedByteCount = 0
  /// The number of rows in the batches before each batch.
  private var starts: [Int] = []

  init(columns: PostgresColumns) {
    self.columns = columns
  }

  /// The number of bytes that the rows take.
  var byteCount: Int { sealedByteCount + openByteCount }

  private var openByteCount: Int {
    bytes.count + cells.count * MemoryLayout<RowBatch.Cell>.stride
  }

  /// Copies the first columns of a row.
  mutating func append(_ row: ReceivedRow) {
    for position in 0..<columns.names.count {
      guard let text = row.text(at: position) else {
        cells.append(RowBatch.Cell(offset: 0, count: -1))
        continue
      }
      // A value of the server is smaller than 1 GB, and a batch ends soon after 1 MB.
      cells.append(RowBatch.Cell(offset: UInt32(bytes.count), count: Int32(text.count)))
      bytes.append(contentsOf: text)
    }
    count += 1
    if count - sealedCount >= Self.size || bytes.count > 1 << 20 { seal() }
  }

  /// Ends the last batch. Copied rows can be read from then on.
  mutating func seal() {
    guard count > sealedCount else { return }
    batches.append(RowBatch(columns: columns, cells: cells, bytes: bytes))
    starts.append(sealedCount)
    sealedCount = count
    sealedByteCount += openByteCount
    cells = []
    bytes = []
  }

  /// Passes each row to a closure, in order, and releases each batch after its last row.
  mutating func consume<Failure: Error>(
    _ body: (_ row: PostgresRow) throws(Failure) -> Void
  ) throws(Failure) {
    seal()
    for index in batches.indices {
      let end = index + 1 < starts.count ? starts[index + 1] : count
      if let batch = batches[index] {
        for row in 0..<end - starts[index] {
          try body(PostgresRow(batch: batch, start: row * columns.names.count))
        }
      }
      batches[index] = nil
    }
  }
}
