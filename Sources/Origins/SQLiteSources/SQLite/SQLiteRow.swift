package import SQLSources
import SwappablePrimitives

/// One row of a result, with values by name and by position.
///
///     let title: String = try row.value("title")
///     let due: Double? = try row.value("due")
///     let id = try row.value(at: 0, as: Int.self)
///
/// A row is a copy: it stays the same when the database changes.
public struct SQLiteRow: Sendable {
  private let batch: RowBatch<SQLiteCell>
  private let start: Int

  package init(batch: RowBatch<SQLiteCell>, start: Int) {
    self.batch = batch
    self.start = start
  }

  package var columns: ResultColumns { batch.columns }

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

extension SQLiteRow: SQLRow {
  package typealias Failure = SQLiteError
}

extension SQLiteRow {
  @usableFromInline
  func position(of name: String) throws(SQLiteError) -> Int { try requiredPosition(of: name) }

  @usableFromInline
  func mismatch(at position: Int, wanted: String) -> SQLiteError {
    mismatchError(at: position, wanted: wanted)
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

/// One value: a number, or the location of a text or a blob in the bytes of its batch.
package struct SQLiteCell: Sendable {
  enum Kind: UInt8, Sendable {
    case null, integer, real, text, blob
  }

  var kind = Kind.null
  /// The number of bytes of a text or a blob.
  var count: UInt32 = 0
  /// The bits of a number, or the offset of a text or a blob in the bytes of the batch.
  var word: UInt64 = 0

  fileprivate var range: Range<Int> { Int(word)..<Int(word) + Int(count) }
}

extension RowBatch<SQLiteCell> {
  fileprivate func value(at position: Int) -> SQLiteValue {
    let cell = cells[position]
    switch cell.kind {
    case .null: return .null
    case .integer: return .integer(Int64(bitPattern: cell.word))
    case .real: return .real(Double(bitPattern: cell.word))
    case .text:
      return bytes.withUnsafeBufferPointer {
        .text(String(decoding: $0[cell.range], as: UTF8.self))
      }
    case .blob: return .blob(Array(bytes[cell.range]))
    }
  }

  /// Returns the bytes of a TEXT that is not UTF-8, or `nil` for any other value.
  fileprivate func invalidText(at position: Int) -> [UInt8]? {
    let cell = cells[position]
    guard cell.kind == .text else { return nil }
    return bytes.withUnsafeBufferPointer { bytes in
      let text = bytes[cell.range]
      // Most texts are ASCII.
      let isValid =
        text.allSatisfy { $0 < 0x80 } || String(validating: text, as: UTF8.self) != nil
      return isValid ? nil : Array(text)
    }
  }
}

extension RowBatches<SQLiteRow> {
  /// Copies the first columns of a statement's current row.
  ///
  /// - Parameter visit: A closure that receives each value.
  /// - Returns: The number of the row.
  @inline(__always) @discardableResult
  mutating func append(
    _ statement: SQLiteStatement, visit: (StoredValue) -> Void = { _ in }
  ) -> Int {
    let present = statement.valueCount
    for position in 0..<columns.names.count {
      let value = position < present ? statement.storedValue(at: position) : .null
      visit(value)
      add(value)
    }
    return endRow()
  }

  @inline(__always)
  private mutating func add(_ value: StoredValue) {
    var cell = SQLiteCell()
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
