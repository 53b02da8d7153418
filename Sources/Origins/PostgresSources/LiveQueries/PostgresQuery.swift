import SQLSources

/// The query of a data source.
struct PostgresQuery: Sendable {
  /// The largest result in bytes. A query without an end exceeds it.
  static let byteLimit = 2_000_000_000

  /// One statement, without a semicolon.
  let sql: String
  let arguments: [PostgresValue]
  let needsUniqueColumnNames: Bool
  var byteLimit = PostgresQuery.byteLimit

  /// Creates a query.
  ///
  /// - Throws: A ``PostgresError`` if the SQL is not one query, or if the number of arguments is wrong. The server finds
  ///   other errors.
  init(
    sql: String, arguments: PostgresArguments, needsUniqueColumnNames: Bool
  ) throws(PostgresError) {
    self.sql = try PostgresText.singleStatement(sql)
    self.arguments = arguments.values
    self.needsUniqueColumnNames = needsUniqueColumnNames
    guard ["SELECT", "WITH", "VALUES", "TABLE"].contains(PostgresText.firstWord(sql)) else {
      throw PostgresError(
        .notAQuery, "the statement is not a query", sql: sql,
        help: "use a SELECT, and write with a PostgresConnection")
    }
    let error = PostgresError.argumentCount(of: sql, "query", given: self.arguments.count)
    if let error { throw error }
  }

  /// Returns the error of a result with wrong columns, or `nil`.
  func error(of columns: ResultColumns) -> PostgresError? {
    if columns.names.isEmpty {
      return PostgresError(
        .notAQuery, "the result has no columns", sql: sql,
        help: "select at least one column, without INTO")
    }
    guard needsUniqueColumnNames, let name = columns.duplicate else { return nil }
    return PostgresError(
      .duplicateColumn, "two columns have the name \"\(name)\"", sql: sql,
      help: "rename one of them with AS")
  }
}
