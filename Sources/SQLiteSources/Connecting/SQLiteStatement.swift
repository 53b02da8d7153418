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

  /// Copies the first columns of the row that the last step came to.
  func read(into cells: inout [RowBatch.Cell], _ bytes: inout [UInt8], columnCount: Int) {
    // Some columns may be gone when the schema has changed since the names were asked for.
    let present = Int(sqlite3_data_count(handle))
    for position in 0..<Int32(columnCount) {
      var cell = RowBatch.Cell()
      switch Int(position) < present ? sqlite3_column_type(handle, position) : SQLITE_NULL {
      case SQLITE_INTEGER:
        cell.kind = .integer
        cell.word = UInt64(bitPattern: sqlite3_column_int64(handle, position))
      case SQLITE_FLOAT:
        cell.kind = .real
        cell.word = sqlite3_column_double(handle, position).bitPattern
      case SQLITE_TEXT:
        let content = buffer(UnsafeRawPointer(sqlite3_column_text(handle, position)), at: position)
        cell = RowBatch.Cell(
          kind: .text, count: UInt32(content.count), word: UInt64(bytes.count))
        bytes.append(contentsOf: content)
      case SQLITE_BLOB:
        let content = buffer(sqlite3_column_blob(handle, position), at: position)
        cell = RowBatch.Cell(
          kind: .blob, count: UInt32(content.count), word: UInt64(bytes.count))
        bytes.append(contentsOf: content)
      default: break
      }
      cells.append(cell)
    }
  }

  /// The INTEGER of a column of the row that the last step came to; `nil` where it is none.
  func integer(at position: Int) -> Int64? {
    sqlite3_column_type(handle, Int32(position)) == SQLITE_INTEGER
      ? sqlite3_column_int64(handle, Int32(position)) : nil
  }

  /// Writes columns of the row that the last step came to as a sort key.
  ///
  /// - Parameters:
  ///   - keys: what the columns are ordered by.
  ///   - start: the position of the first of them.
  func read(into writer: inout SortKeyWriter, keys: [TablePlan.Key], from start: Int) {
    writer.removeAll()
    for (offset, key) in keys.enumerated() {
      let position = Int32(start + offset)
      switch sqlite3_column_type(handle, position) {
      case SQLITE_INTEGER: writer.add(sqlite3_column_int64(handle, position))
      case SQLITE_FLOAT: writer.add(sqlite3_column_double(handle, position))
      case SQLITE_TEXT:
        let bytes = UnsafeRawPointer(sqlite3_column_text(handle, position))
        writer.add(text: buffer(bytes, at: position), ignoresCase: key.ignoresCase)
      case SQLITE_BLOB:
        writer.add(blob: buffer(sqlite3_column_blob(handle, position), at: position))
      default: writer.addNull()
      }
      writer.end(isDescending: key.isDescending)
    }
  }

  /// Feeds the row that the last step came to into `fingerprint`, or the first columns of it.
  func read(into fingerprint: inout RowFingerprint, columnCount: Int? = nil) {
    for position in 0..<(columnCount.map { Int32($0) } ?? sqlite3_data_count(handle)) {
      switch sqlite3_column_type(handle, position) {
      case SQLITE_INTEGER:
        fingerprint.combine(tag: 1, UInt64(bitPattern: sqlite3_column_int64(handle, position)))
      case SQLITE_FLOAT:
        fingerprint.combine(tag: 2, sqlite3_column_double(handle, position).bitPattern)
      case SQLITE_TEXT:
        let bytes = UnsafeRawPointer(sqlite3_column_text(handle, position))
        fingerprint.combine(tag: 3, buffer(bytes, at: position))
      case SQLITE_BLOB:
        fingerprint.combine(tag: 4, buffer(sqlite3_column_blob(handle, position), at: position))
      default:
        fingerprint.combine(tag: 5, 0)
      }
    }
  }

  /// Begins the run anew, with another value for the last argument.
  func restart(rowid: Int64) throws(SQLiteError) {
    sqlite3_reset(handle)
    try bind(.integer(rowid), at: sqlite3_bind_parameter_count(handle))
  }

  /// The bytes of a column; the length is asked for after the pointer, as SQLite wants it.
  private func buffer(_ bytes: UnsafeRawPointer?, at position: Int32) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(handle, position)))
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
