extension SQLiteConnection {
  /// Runs one statement and ignores its rows.
  ///
  /// - Parameters:
  ///   - sql: One statement.
  ///   - arguments: A value for each argument of the statement.
  /// - Returns: The number of rows that the statement has inserted, updated or deleted, or 0 if it
  ///   only reads.
  /// - Throws: A ``SQLiteError``.
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

  /// Runs several statements in order, without arguments.
  ///
  /// The script stops at the first error. Run it inside ``transaction(_:_:)`` to undo the
  /// statements before the error.
  ///
  /// - Parameter sql: The statements, separated by semicolons.
  /// - Throws: A ``SQLiteError``.
  public func executeScript(_ sql: String) throws(SQLiteError) {
    try withDatabase { database throws(SQLiteError) in try database.runScript(sql) }
  }

  /// Runs one statement and returns its rows.
  ///
  /// - Parameters:
  ///   - sql: One statement.
  ///   - arguments: A value for each argument of the statement.
  /// - Throws: A ``SQLiteError``.
  public func query(
    _ sql: String, _ arguments: SQLiteArguments = []
  ) throws(SQLiteError) -> [SQLiteRow] {
    try withDatabase { database throws(SQLiteError) in
      try database.withStatement(sql, arguments) { statement throws(SQLiteError) in
        try database.refuseIfMoved(statement)
        return try statement.rows()
      }
    }
  }

  /// Runs one statement and maps its rows.
  ///
  /// The closure is called after the statement has ended. It may use the connection.
  ///
  /// - Parameters:
  ///   - sql: One statement.
  ///   - arguments: A value for each argument of the statement.
  ///   - map: A closure that makes a value from a row.
  /// - Throws: A ``SQLiteError``, or the error of `map`.
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
        throw error.located(path: file, sql: sql, row: number)
      }
    }
    return values
  }

  /// Runs one statement and decodes its rows. Each coding key takes the column with its name.
  ///
  /// - Parameters:
  ///   - type: The type to decode.
  ///   - sql: One statement.
  ///   - arguments: A value for each argument of the statement.
  /// - Throws: A ``SQLiteError``, or an error of the type's own decoding.
  public func query<Value: Decodable>(
    as type: Value.Type, _ sql: String, _ arguments: SQLiteArguments = []
  ) throws -> [Value] {
    try query(sql, arguments) { row in try row.decode(type) }
  }

  /// The row identifier of the last insertion by this connection, or 0 if there was none.
  public var lastInsertRowID: Int64 {
    (try? withDatabase { $0.lastInsertRowID }) ?? 0
  }

  /// The number of rows that the last INSERT, UPDATE or DELETE of this connection has changed.
  public var changes: Int {
    (try? withDatabase { $0.changes }) ?? 0
  }
}
