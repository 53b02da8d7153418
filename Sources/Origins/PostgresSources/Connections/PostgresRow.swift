package import SQLSources
import SwappablePQ

/// One row of a result, with values by name and by position.
///
///     let title: String = try row.value("title")
///     let due: Date? = try row.value("due")
///     let id = try row.value(at: 0, as: Int.self)
///
/// A row is a copy: it stays the same when the database changes.
public struct PostgresRow: Sendable {
  private let batch: RowBatch<PostgresCell>
  private let start: Int

  package init(batch: RowBatch<PostgresCell>, start: Int) {
    self.batch = batch
    self.start = start
  }

  package var columns: ResultColumns { batch.columns }

  /// The values in the order of the columns. Each access decodes them anew.
  ///
  /// - Complexity: O(*n*). To read one value, use its subscript.
  public var values: [PostgresValue] { (0..<count).map { self[$0] } }

  /// The names of the columns, in order.
  public var columnNames: [String] { columns.names }

  /// The types of the columns, in order.
  public var columnTypes: [PostgresType] { columns.types.map(PostgresType.init(rawValue:)) }

  /// The number of columns.
  public var count: Int { columns.names.count }

  /// Returns the value at a position. Traps if the position is not in `0..<count`.
  public subscript(position: Int) -> PostgresValue {
    precondition(
      position >= 0 && position < count,
      "column \(position) is out of range 0..<\(count)")
    return batch.withText(at: start + position) { text in
      text.map { PostgresValue($0, type: columns.type(at: position)) } ?? .null
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
    try value(at: try requiredPosition(of: name), as: type)
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
      throw mismatchError(at: position, wanted: "\(type)")
    }
    return value
  }
}

extension PostgresRow: SQLRow {
  package typealias Failure = PostgresError

  /// Returns the bytes of a value that is not UTF-8, or `nil` for any other value.
  ///
  /// Only a database without an encoding has such values.
  package func invalidText(at position: Int) -> [UInt8]? {
    batch.withText(at: start + position) { text in
      guard let text, text.contains(where: { $0 >= 0x80 }) else { return nil }
      return String(validating: text, as: UTF8.self) == nil ? Array(text) : nil
    }
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

extension ResultColumns {
  func type(at position: Int) -> PostgresType { PostgresType(rawValue: types[position]) }
}

/// The location of a text in the bytes of its batch, or NULL.
package struct PostgresCell: Sendable {
  var offset: UInt32
  /// The number of bytes, or -1 for NULL.
  var count: Int32
}

extension RowBatch<PostgresCell> {
  /// Calls a closure with the text of a cell, or with `nil` for NULL.
  fileprivate func withText<Result>(
    at position: Int, _ body: (UnsafeRawBufferPointer?) -> Result
  ) -> Result {
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
  let library: LibPQ
  let result: LibPQ.Result
  let row: Int32

  /// Returns the text of a value, or `nil` for NULL.
  func text(at position: Int) -> UnsafeRawBufferPointer? {
    let length = library.valueLength(result, row, Int32(position))
    if length == 0, library.valueIsNull(result, row, Int32(position)) != 0 { return nil }
    return UnsafeRawBufferPointer(
      start: library.value(result, row, Int32(position)), count: Int(length))
  }

  /// The hash of the values of the first columns.
  func fingerprint(_ emptyHasher: RowHasher, columns: ResultColumns) -> RowFingerprint {
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

extension RowBatches<PostgresRow> {
  /// Copies the first columns of a row.
  ///
  /// - Returns: The number of the row.
  @discardableResult
  mutating func append(_ row: ReceivedRow) -> Int {
    for position in 0..<columns.names.count {
      guard let text = row.text(at: position) else {
        cells.append(PostgresCell(offset: 0, count: -1))
        continue
      }
      // A value of the server is smaller than 1 GB, and a batch ends soon after 1 MB.
      cells.append(PostgresCell(offset: UInt32(bytes.count), count: Int32(text.count)))
      bytes.append(contentsOf: text)
    }
    return endRow()
  }
}
