extension SQLiteDataSource {
  /// Makes a source of a table's rows in the database at `path`, which need not be there yet.
  ///
  /// - Parameters:
  ///   - path: the path of the file, never read as a URI.
  ///   - query: which rows and columns.
  ///   - map: makes an element of a row, the same for the same row; called on a queue of the source.
  /// - Throws: a `SQLiteError`, as the other initialisers do.
  public convenience init(
    path: String, query: SQLiteTableQuery,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    try self.init(path: path, sql: query.sql, arguments: query.arguments, map: map)
  }

  /// Makes a source of a table's rows in the database of `connection`.
  ///
  /// - Parameters:
  ///   - connection: a connection to the database.
  ///   - query: which rows and columns.
  ///   - map: makes an element of a row, the same for the same row; called on a queue of the source.
  /// - Throws: a `SQLiteError`, as the other initialisers do.
  public convenience init(
    connection: SQLiteConnection, query: SQLiteTableQuery,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    try self.init(connection: connection, sql: query.sql, arguments: query.arguments, map: map)
  }
}

extension SQLiteDataSource where Element: Decodable {
  /// Makes a source that decodes a table's rows, each column for the coding key of its name.
  ///
  /// - Parameters:
  ///   - path: the path of the file, which need not be there yet.
  ///   - query: which rows and columns.
  /// - Throws: a `SQLiteError`, as the other initialisers do.
  public convenience init(path: String, query: SQLiteTableQuery) throws(SQLiteError) {
    try self.init(path: path, sql: query.sql, arguments: query.arguments)
  }

  /// Makes a source that decodes a table's rows, each column for the coding key of its name.
  ///
  /// - Parameters:
  ///   - connection: a connection to the database.
  ///   - query: which rows and columns.
  /// - Throws: a `SQLiteError`, as the other initialisers do.
  public convenience init(
    connection: SQLiteConnection, query: SQLiteTableQuery
  ) throws(SQLiteError) {
    try self.init(connection: connection, sql: query.sql, arguments: query.arguments)
  }
}
