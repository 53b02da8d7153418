import SwappableSQLite3

/// A prepared statement. It belongs to a `SQLiteDatabase` and is used only with access to that.
final class SQLiteStatement {
  let sql: String
  let path: String
  private let handle: OpaquePointer
  private let database: OpaquePointer
  private var preparations: Int32 = 0
  private var knownColumns: SQLiteColumns?

  /// Takes over `handle`, a statement of `database`.
  init(handle: OpaquePointer, database: OpaquePointer, sql: String, path: String) {
    self.handle = handle
    self.database = database
    self.sql = sql
    self.path = path
  }

  deinit {
    sqlite3_finalize(handle)
  }

  /// Whether running it leaves the database file as it is.
  var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  /// The number of columns of its rows; 0 where it has none.
  var columnCount: Int { Int(sqlite3_column_count(handle)) }

  /// The columns of its rows, as of the last step: SQLite prepares it anew when the schema changes.
  var columns: SQLiteColumns {
    let count = sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0)
    if let knownColumns, count == preparations { return knownColumns }
    let names = (0..<sqlite3_column_count(handle)).map { position in
      sqlite3_column_name(handle, position).map { String(cString: $0) } ?? ""
    }
    // Equal names keep the object, so that rows of several runs can be told alike by identity.
    let columns = knownColumns.flatMap { $0.names == names ? $0 : nil } ?? SQLiteColumns(names)
    knownColumns = columns
    preparations = count
    return columns
  }

  /// Goes on to the next row; `false` after the last.
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

  /// Ends the run, and with it what it holds in the database; arguments are let go.
  func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  /// The row that the last step came to, copied.
  func row() -> SQLiteRow {
    var rows = RowBatches(columns: columns)
    _ = rows.append(self)
    rows.seal()
    return rows[0]
  }

  /// A value of the row that the last step came to, in SQLite's memory.
  @inline(__always)
  func storedValue(at position: Int) -> StoredValue {
    // Asked for once and read as a value, which costs half of asking for type, bytes and length of a
    // column. Values of statements may be read so on connections without a mutex, as all are.
    let value = sqlite3_column_value(handle, Int32(truncatingIfNeeded: position))
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
    case SQLITE_TEXT:
      // The length is asked for after the pointer, as SQLite wants it.
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

  /// The INTEGER of a column of the row that the last step came to; `nil` where it is none.
  func integer(at position: Int) -> Int64? {
    if case .integer(let number) = storedValue(at: position) { number } else { nil }
  }

  /// The number of values of the row that the last step came to: fewer than there were columns, if some
  /// were dropped since.
  var valueCount: Int { Int(sqlite3_data_count(handle)) }

  /// Begins the run anew, with another value for the last argument.
  func restart(rowid: Int64) throws(SQLiteError) {
    sqlite3_reset(handle)
    try bind(.integer(rowid), at: sqlite3_bind_parameter_count(handle))
  }
}

// MARK: - Arguments

extension SQLiteStatement {
  /// Binds `arguments`, all of them and no others.
  func bind(_ arguments: SQLiteArguments) throws(SQLiteError) {
    let count = Int(sqlite3_bind_parameter_count(handle))
    switch arguments.storage {
    case .positional(let values):
      guard values.count == count else {
        throw wrong(
          "the statement takes \(count) argument\(count == 1 ? "" : "s"), \(values.count) given",
          help: "give one value for each ? of the SQL")
      }
      for (offset, value) in values.enumerated() { try bind(value, at: Int32(offset + 1)) }
    case .named(let values):
      var names: Set<String> = []
      for position in 0..<Int32(count) {
        let name = sqlite3_bind_parameter_name(handle, position + 1).map { String(cString: $0) }
        guard let name else {
          throw wrong(
            "argument \(position + 1) of the statement has no name",
            help: "write :name instead of ?, or give the arguments by position")
        }
        let plain = String(name.dropFirst())
        guard let value = values[name] ?? values[plain] else {
          throw wrong("no value is given for \(name)", help: "add \"\(plain)\" to the arguments")
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

  /// Binds those of `arguments` that this statement still has, of another one that was bound to all.
  ///
  /// - Parameter rowid: the value of the last argument, if that is a rowid.
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
    // SQLite's mark for memory that it is to copy before the call returns; C has it as a macro.
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let result: Int32
    switch value {
    case .null: result = sqlite3_bind_null(handle, position)
    case .integer(let number): result = sqlite3_bind_int64(handle, position, number)
    case .real(let number): result = sqlite3_bind_double(handle, position, number)
    case .text(var text):
      result = text.withUTF8 { bytes in
        // Without memory of its own the empty string would be bound as NULL.
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
