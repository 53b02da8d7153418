import SQLSources
import SwappablePrimitives
import SwappableSQLite3

/// A prepared statement of a `SQLiteDatabase`. It is used only with access to the database.
final class SQLiteStatement {
  let sql: String
  let path: ByteString
  private let handle: OpaquePointer
  private let database: OpaquePointer
  private var preparations: Int32 = 0
  private var knownColumns: ResultColumns?

  init(handle: OpaquePointer, database: OpaquePointer, sql: String, path: ByteString) {
    self.handle = handle
    self.database = database
    self.sql = sql
    self.path = path
  }

  deinit {
    sqlite3_finalize(handle)
  }

  /// Returns a Boolean value that indicates whether a text has the same bytes as the SQL.
  ///
  /// Equal strings may have different bytes, and SQLite compares bytes.
  func isPrepared(from text: String) -> Bool {
    var (sql, text) = (sql, text)
    return sql.withUTF8 { left in text.withUTF8 { left.elementsEqual($0) } }
  }

  var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  /// The number of columns of a row, or 0 if the statement returns no rows.
  var columnCount: Int { Int(sqlite3_column_count(handle)) }

  /// The columns of the rows, as of the last step. SQLite prepares the statement anew if the schema
  /// has changed.
  var columns: ResultColumns {
    let count = sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0)
    if let knownColumns, count == preparations { return knownColumns }
    let names = (0..<sqlite3_column_count(handle)).map { position in
      sqlite3_column_name(handle, position).map { String(cString: $0) } ?? ""
    }
    // Keep the object for equal names: rows of several runs then have identical columns.
    let new = ResultColumns(names, ignoresCase: true)
    let columns = knownColumns.flatMap { $0 == new ? $0 : nil } ?? new
    knownColumns = columns
    preparations = count
    return columns
  }

  /// The name of the column that is a result, or `nil` if it is an expression, for each result.
  ///
  /// All are `nil` if SQLite was built without these names.
  var originNames: [String?] {
    let origin = SQLiteStatement.originName
    return (0..<sqlite3_column_count(handle)).map { position in
      origin.flatMap { $0(handle, position) }.map { String(cString: $0) }
    }
  }

  private static let originName: OriginName? =
    if sqlite3_compileoption_used("ENABLE_COLUMN_METADATA") != 0,
      let symbol = addressOfFunction("sqlite3_column_origin_name")
    { unsafeBitCast(symbol, to: OriginName.self) } else { nil }

  private typealias OriginName =
    @convention(c) (OpaquePointer?, Int32) -> UnsafePointer<CChar>?

  /// Advances to the next row, and returns `false` after the last row.
  func step() throws(SQLiteError) -> Bool {
    let result = sqlite3_step(handle)
    switch result {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      throw SQLiteError(
        result: sqlite3_extended_errcode(database), database: database, path: path, sql: sql)
    }
  }

  /// Ends the run, releases its locks, and removes the arguments.
  func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  /// Runs the statement and returns all its rows.
  func rows() throws(SQLiteError) -> [SQLiteRow] {
    var isRow = try step()
    // Read the columns after the first step: SQLite prepares the statement anew if the schema has
    // changed.
    var batches = RowBatches<SQLiteRow>(columns: columns)
    while isRow {
      batches.append(self)
      isRow = try step()
    }
    var rows: [SQLiteRow] = []
    rows.reserveCapacity(batches.count)
    batches.consume { rows.append($0) }
    return rows
  }

  /// Returns a value of the current row, in SQLite's memory.
  @inline(__always)
  func storedValue(at position: Int) -> StoredValue {
    // Reading one value object costs half of asking for type, bytes and length of a column. Such
    // values may be read on connections without a mutex, and all connections have none.
    let value = sqlite3_column_value(handle, Int32(truncatingIfNeeded: position))
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
    case SQLITE_TEXT:
      // SQLite requires that the length is read after the pointer.
      let start = UnsafeRawPointer(sqlite3_value_text(value))
      let count = start == nil ? 0 : Int(sqlite3_value_bytes(value))
      return .text(UnsafeRawBufferPointer(start: start, count: count))
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(value)
      let count = start == nil ? 0 : Int(sqlite3_value_bytes(value))
      return .blob(UnsafeRawBufferPointer(start: start, count: count))
    default: return .null
    }
  }

  /// Returns an INTEGER of the current row, or `nil` if the column has another type.
  func integer(at position: Int) -> Int64? {
    if case .integer(let number) = storedValue(at: position) { number } else { nil }
  }

  /// The number of values of the current row. It is below the number of columns if columns were
  /// dropped since.
  var valueCount: Int { Int(sqlite3_data_count(handle)) }

  /// Begins a new run with another value for the last argument.
  func restart(rowid: Int64) throws(SQLiteError) {
    sqlite3_reset(handle)
    try bind(.integer(rowid), at: sqlite3_bind_parameter_count(handle))
  }
}

// MARK: - Arguments

extension SQLiteStatement {
  /// Binds the arguments. Throws if they do not match the parameters of the statement.
  func bind(_ arguments: SQLiteArguments) throws(SQLiteError) {
    let count = Int(sqlite3_bind_parameter_count(handle))
    switch arguments.storage {
    case .positional(let values):
      guard values.count == count else {
        throw wrong(
          "the statement takes \(count) argument\(count == 1 ? "" : "s"), but \(values.count) "
            + (values.count == 1 ? "is given" : "are given"),
          help: "pass one value for each ? of the SQL")
      }
      for (offset, value) in values.enumerated() { try bind(value, at: Int32(offset + 1)) }
    case .named(let values):
      var names: Set<String> = []
      for position in 0..<Int32(count) {
        let name = sqlite3_bind_parameter_name(handle, position + 1).map { String(cString: $0) }
        guard let name else {
          throw wrong(
            "argument \(position + 1) of the statement has no name",
            help: "write :name instead of ?, or pass the arguments by position")
        }
        let plain = String(name.dropFirst())
        guard let value = values[name] ?? values[plain] else {
          throw wrong("\(name) has no value", help: "add \"\(plain)\" to the arguments")
        }
        names.formUnion([name, plain])
        try bind(value, at: position + 1)
      }
      if let unknown = values.keys.sorted().first(where: { !names.contains($0) }) {
        throw wrong(
          "the statement has no argument named \"\(unknown)\"",
          help: count == 0
            ? "it takes none"
            : "it takes " + names.filter { !$0.hasPrefix(":") }.sorted().joined(separator: ", "))
      }
    }
  }

  /// Binds the first arguments of another statement, from which this statement was derived.
  ///
  /// - Parameter rowid: The value of the last argument, if it is a rowid.
  func bind(firstOf arguments: SQLiteArguments, rowid: Int64?) throws(SQLiteError) {
    let count = sqlite3_bind_parameter_count(handle)
    for position in 0..<(rowid == nil ? count : count - 1) {
      let value: SQLiteValue?
      switch arguments.storage {
      case .positional(let values):
        value = Int(position) < values.count ? values[Int(position)] : nil
      case .named(let values):
        let name = sqlite3_bind_parameter_name(handle, position + 1).map { String(cString: $0) }
        value = name.flatMap { values[$0] ?? values[String($0.dropFirst())] }
      }
      if let value { try bind(value, at: position + 1) }
    }
    if let rowid { try bind(.integer(rowid), at: count) }
  }

  private func wrong(_ message: String, help: String) -> SQLiteError {
    SQLiteError(.arguments, message, path: path, sql: sql, help: help)
  }

  private func bind(_ value: SQLiteValue, at position: Int32) throws(SQLiteError) {
    // This value makes SQLite copy the memory before the call returns. In C, it is a macro.
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let result: Int32
    switch value {
    case .null: result = sqlite3_bind_null(handle, position)
    case .integer(let number): result = sqlite3_bind_int64(handle, position, number)
    case .real(let number): result = sqlite3_bind_double(handle, position, number)
    case .text(var text):
      result = text.withUTF8 { bytes in
        // An empty string without memory would be bound as NULL.
        guard let start = bytes.baseAddress else {
          return sqlite3_bind_text(handle, position, "", 0, copied)
        }
        return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { start in
          sqlite3_bind_text64(
            handle, position, start, UInt64(bytes.count), copied, UInt8(SQLITE_UTF8))
        }
      }
    case .blob(let bytes):
      result =
        bytes.isEmpty
        ? sqlite3_bind_zeroblob(handle, position, 0)
        : bytes.withUnsafeBytes { bytes in
          sqlite3_bind_blob64(handle, position, bytes.baseAddress, UInt64(bytes.count), copied)
        }
    }
    guard result == SQLITE_OK else {
      throw SQLiteError(result: result, database: database, path: path, sql: sql)
    }
  }
}

/// A value in SQLite's memory. It is valid until the next step of its statement.
enum StoredValue {
  case null
  case integer(Int64)
  case real(Double)
  case text(UnsafeRawBufferPointer)
  case blob(UnsafeRawBufferPointer)
}

/// The arguments of a statement, by position or by name.
///
///     try connection.query("SELECT * FROM task WHERE list = ? AND done = ?", [7, false])
///     try connection.query("SELECT * FROM task WHERE list = :list", ["list": 7])
///
/// A name may be given with or without its `:`, `@` or `$`.
public struct SQLiteArguments: Sendable, Hashable {
  enum Storage: Sendable, Hashable {
    case positional([SQLiteValue])
    case named([String: SQLiteValue])
  }

  let storage: Storage

  /// Creates an empty list of arguments.
  public init() {
    storage = .positional([])
  }

  /// Creates arguments by position. The first value belongs to the first `?`.
  public init(_ values: some Sequence<SQLiteValue>) {
    storage = .positional(Array(values))
  }

  /// Creates arguments by name.
  public init(named values: [String: SQLiteValue]) {
    storage = .named(values)
  }
}

extension SQLiteArguments {
  /// Returns the value of an argument that follows all other arguments in its statement.
  ///
  /// - Parameter name: The argument, as it is written in the statement.
  func value(named name: String) -> SQLiteValue? {
    switch storage {
    case .positional(let values):
      if name == "?" { return values.last }
      // A numbered argument counts from 1. The position of a named argument is not known here.
      guard name.first == "?", let number = Int(name.dropFirst()) else { return nil }
      return values.indices.contains(number - 1) ? values[number - 1] : nil
    case .named(let values):
      return values[name] ?? values[String(name.dropFirst())]
    }
  }
}

extension SQLiteArguments: ExpressibleByArrayLiteral {
  /// Creates arguments by position.
  public init(arrayLiteral elements: (any SQLiteValueConvertible)?...) {
    self.init(elements.map { $0?.sqliteValue ?? .null })
  }
}

extension SQLiteArguments: ExpressibleByDictionaryLiteral {
  /// Creates arguments by name. If a name occurs twice, the last value is used.
  public init(dictionaryLiteral elements: (String, (any SQLiteValueConvertible)?)...) {
    self.init(
      named: Dictionary(elements.map { ($0, $1?.sqliteValue ?? .null) }) { _, last in last })
  }
}
