extension SQLiteConnection {
  /// Runs one statement; rows that it gives are passed over.
  ///
  /// - Parameters:
  ///   - sql: one statement.
  ///   - arguments: a value for each of its arguments.
  /// - Returns: the number of rows that it inserted, updated or deleted; 0 for any other statement.
  /// - Throws: a `SQLiteError`.
  @discardableResult
  public func execute(
    _ sql: String, _ arguments: SQLiteArguments = []
  ) throws(SQLiteError) -> Int {
    try withDatabase { database throws(SQLiteError) in
      try database.withStatement(sql, arguments) { statement throws(SQLiteError) in
        try database.refuseIfMoved(statement)
        while try statement.step() {}
        return statement.isReadOnly ? 0 : database.changes
      }
    }
  }

  /// Runs all statements of `sql` in turn, without arguments.
  ///
  /// It stops at the first that fails; wrap it in a `transaction` to undo those before it.
  ///
  /// - Throws: a `SQLiteError`.
  public func executeScript(_ sql: String) throws(SQLiteError) {
    try withDatabase { database throws(SQLiteError) in try database.runScript(sql) }
  }

  /// Runs one statement and returns its rows.
  ///
  /// - Parameters:
  ///   - sql: one statement.
  ///   - arguments: a value for each of its arguments.
  /// - Throws: a `SQLiteError`.
  public func query(
    _ sql: String, _ arguments: SQLiteArguments = []
  ) throws(SQLiteError) -> [SQLiteRow] {
    try withDatabase { database throws(SQLiteError) in
      try database.withStatement(sql, arguments) { statement throws(SQLiteError) in
        try database.refuseIfMoved(statement)
        var isRow = try statement.step()
        // Asked for after the first step, which prepares anew where the schema has changed.
        var rows = RowBatches(columns: statement.columns)
        while isRow {
          _ = rows.append(statement)
          isRow = try statement.step()
        }
        rows.seal()
        return (0..<rows.count).map { rows[$0] }
      }
    }
  }

  /// Runs one statement and maps its rows.
  ///
  /// `map` is called when the statement has ended, and may call the connection.
  ///
  /// - Parameters:
  ///   - sql: one statement.
  ///   - arguments: a value for each of its arguments.
  ///   - map: makes a value of a row.
  /// - Throws: a `SQLiteError`, or what `map` throws.
  public func query<Value>(
    _ sql: String, _ arguments: SQLiteArguments = [], map: (SQLiteRow) throws -> Value
  ) throws -> [Value] {
    let rows = try query(sql, arguments)
    var values: [Value] = []
    values.reserveCapacity(rows.count)
    for (number, row) in rows.enumerated() {
      do {
        values.append(try map(row))
      } catch let error as SQLiteError {
        throw error.located(path: path, sql: sql, row: number)
      }
    }
    return values
  }

  /// Runs one statement and decodes its rows, each column for the coding key of its name.
  ///
  /// - Parameters:
  ///   - type: what to decode.
  ///   - sql: one statement.
  ///   - arguments: a value for each of its arguments.
  /// - Throws: a `SQLiteError`, or what the type's own decoding throws.
  public func query<Value: Decodable>(
    as type: Value.Type, _ sql: String, _ arguments: SQLiteArguments = []
  ) throws -> [Value] {
    try query(sql, arguments) { row in try row.decode(type) }
  }

  /// The row identifier of the connection's last insertion, by any thread; 0 before the first.
  public var lastInsertRowID: Int64 {
    (try? withDatabase { $0.lastInsertRowID }) ?? 0
  }

  /// The number of rows that the connection's last INSERT, UPDATE or DELETE changed.
  public var changes: Int {
    (try? withDatabase { $0.changes }) ?? 0
  }
}
