/// A query that a data source shows, and how it is run.
struct SQLiteQuery: Sendable {
  /// What a run found.
  struct Result {
    var columns: SQLiteColumns
    /// For each row, its fingerprint.
    var fingerprints: [RowFingerprint] = []
    /// For each row its place in the result before, or `nil` where it is among `newRows`.
    var origins: [Int?] = []
    /// The rows that were not there before, in their order.
    var newRows: RowBatches
  }

  let sql: String
  let arguments: SQLiteArguments
  /// Whether two columns of one name are an error.
  let needsUniqueColumnNames: Bool

  /// Throws where the SQL is wrong, is not one query, would write, or does not fit the arguments.
  func check(on database: SQLiteDatabase) throws(SQLiteError) {
    try database.withStatement(sql, arguments) { statement throws(SQLiteError) in
      try check(statement)
    }
  }

  /// Runs the query, copying only the rows that `known` has not.
  func run(
    on database: SQLiteDatabase, known: SQLiteQuery.Result?
  ) throws(SQLiteError) -> Result {
    try database.withStatement(sql, arguments) { statement throws(SQLiteError) in
      try check(statement)
      var hasRow = try statement.step()
      // Asked for after the first step, which prepares anew where the schema has changed.
      let columns = statement.columns
      try check(columns, path: statement.path)
      var matcher = RowMatcher(known?.columns == columns ? known?.fingerprints ?? [] : [])
      var result = Result(columns: columns, newRows: RowBatches(columns: columns))
      result.fingerprints.reserveCapacity(known?.fingerprints.count ?? 0)
      result.origins.reserveCapacity(known?.fingerprints.count ?? 0)
      let noValues = RowHasher()
      while hasRow {
        var hasher = noValues
        hasher.combine(statement, 0..<statement.valueCount)
        let fingerprint = hasher.fingerprint
        let origin = matcher.match(fingerprint)
        if origin == nil { _ = result.newRows.append(statement) }
        result.origins.append(origin)
        result.fingerprints.append(fingerprint)
        hasRow = try statement.step()
      }
      result.newRows.seal()
      return result
    }
  }

  private func check(_ statement: SQLiteStatement) throws(SQLiteError) {
    guard statement.isReadOnly else {
      throw SQLiteError(
        .writes, "the statement writes, where a query is needed", path: statement.path, sql: sql,
        help: "write by a SQLiteConnection, and give the data source a SELECT")
    }
    // PRAGMA, ATTACH and BEGIN count as reading for SQLite, but change the connection or the file.
    guard ["SELECT", "WITH", "VALUES"].contains(SQLText.firstWord(sql)), statement.columnCount > 0
    else {
      throw SQLiteError(
        .notAQuery, "the statement is no query", path: statement.path, sql: sql,
        help: "give a SELECT; in place of a PRAGMA, select from its function, as in "
          + "SELECT * FROM pragma_table_info('name')")
    }
    try check(statement.columns, path: statement.path)
  }

  private func check(_ columns: SQLiteColumns, path: String) throws(SQLiteError) {
    guard needsUniqueColumnNames, let name = columns.duplicate else { return }
    throw SQLiteError(
      .duplicateColumn, "two columns have the name \"\(name)\"", path: path, sql: sql,
      help: "give one of them another name by AS")
  }
}
