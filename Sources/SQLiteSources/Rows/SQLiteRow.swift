/// One row of a result: its values, by name and by position.
///
///     let title: String = try row.value("title")
///     let due: Double? = try row.value("due")
///     let id = try row.value(at: 0, as: Int.self)
///
/// A row is a copy: it stays as it is when the database changes.
public struct SQLiteRow: Sendable {
  private let batch: RowBatch
  /// The place of its first value in the batch.
  private let start: Int

  /// A row of a batch, whose first value stands at `start`.
  init(batch: RowBatch, start: Int) {
    self.batch = batch
    self.start = start
  }

  var columns: SQLiteColumns { batch.columns }

  /// The values, in the order of the columns, each decoded anew.
  ///
  /// - Complexity: O(n); to read one of them, ask for that one.
  public var values: [SQLiteValue] { (0..<count).map { batch.value(at: start + $0) } }

  /// The names of the columns, in their order.
  public var columnNames: [String] { columns.names }

  /// The number of columns.
  public var count: Int { columns.names.count }

  /// The value at `position`, from 0; traps where there is no such column.
  public subscript(position: Int) -> SQLiteValue {
    precondition(
      position >= 0 && position < count,
      "there is no column \(position): the row has \(count) columns")
    return batch.value(at: start + position)
  }

  /// The value of the column `name`, or `nil` where there is none; the first where there are two.
  ///
  /// Upper and lower case count only where two columns differ in nothing else.
  public subscript(name: String) -> SQLiteValue? {
    columns.position(of: name).map { self[$0] }
  }

  /// Reads the column `name` as a `Value`.
  ///
  /// - Throws: a `SQLiteError` where there is no such column, where it is NULL and `Value` is not
  ///   optional, and where it is of another type or does not fit.
  // Inlinable, as the one below: with the initialiser for a type at hand a row of four columns is read
  // in a third of the time.
  @inlinable
  public func value<Value: SQLiteValueConvertible>(
    _ name: String, as type: Value.Type = Value.self
  ) throws(SQLiteError) -> Value {
    try value(at: try position(of: name), as: type)
  }

  /// Reads the column at `position`, from 0, as a `Value`; traps where there is no such column.
  ///
  /// - Throws: a `SQLiteError` where it is NULL and `Value` is not optional, and where it is of
  ///   another type or does not fit.
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
        + "; name one of these, or select it by AS \"\(name)\"")
  }

  @usableFromInline
  func mismatch(at position: Int, wanted: String) -> SQLiteError {
    let name = columns.names[position]
    let value = self[position]
    if value.isNull {
      return SQLiteError(
        .unexpectedNull, "column \"\(name)\" is NULL, where a value of type \(wanted) is needed",
        help: "make the type optional, or select COALESCE(\"\(name)\", …)")
    }
    let shown = SQLText.oneLine(value.description, limit: 40)
    return SQLiteError(
      .typeMismatch,
      "column \"\(name)\" holds \(value.typeName) \(shown), which is no \(wanted)",
      help: "change the type, or select CAST(\"\(name)\" AS …)")
  }
}

extension SQLiteRow: Hashable {
  /// Whether both have the same names and the same values.
  public static func == (left: SQLiteRow, right: SQLiteRow) -> Bool {
    left.columns == right.columns && left.values == right.values
  }

  /// Feeds the values into `hasher`.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(values)
  }
}

extension SQLiteRow: CustomStringConvertible {
  /// Each name with its value.
  public var description: String {
    "[" + zip(columns.names, values).map { "\($0): \($1)" }.joined(separator: ", ") + "]"
  }
}
