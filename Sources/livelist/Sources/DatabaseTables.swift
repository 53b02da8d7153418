import SQLiteSources

/// The tables and views of a database.
struct DatabaseTables {
  private let path: String
  private let connection: SQLiteConnection
  private let names: [String]
  private let views: Set<String>

  init(path: String) throws(SQLiteError) {
    self.path = path
    connection = try SQLiteConnection(path: path, access: .readOnly)
    let rows = try connection.query(
      """
      SELECT name, type FROM sqlite_schema
      WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
      """)
    names = try rows.map { (row) throws(SQLiteError) in try row.value("name") }
    views = Set(rows.filter { $0["type"] == .text("view") }.compactMap { try? $0.value("name") })
  }

  /// Returns the query for all rows of a table, and the column that identifies them.
  ///
  /// The column is the primary key, if it is a single column. Otherwise, it is the number of the row,
  /// which becomes another member, `rowid`.
  func query(for table: String) throws(LivelistError) -> (sql: String, key: String?) {
    func isTable(_ name: String) -> Bool { name.lowercased() == table.lowercased() }
    guard let name = names.first(where: { $0 == table }) ?? names.first(where: isTable) else {
      throw .input("there is no table \"\(table)\" in \(path); \(hint)")
    }
    let quoted = name.split(separator: "\"", omittingEmptySubsequences: false)
      .joined(separator: "\"\"")
    let columns = (try? connection.query("SELECT name, pk FROM pragma_table_info(?)", [name])) ?? []
    let keys = columns.filter { $0["pk"] != .integer(0) }
    if keys.count == 1 { return ("SELECT * FROM \"\(quoted)\"", try? keys[0].value("name")) }
    // A view has no numbers of rows, nor has a table that is declared without them.
    let numbered = "SELECT rowid, * FROM \"\(quoted)\""
    let isNumbered =
      !views.contains(name) && !columns.contains { DatabaseTables.isRowid($0["name"]) }
      && (try? connection.query(numbered + " LIMIT 0")) != nil
    return isNumbered ? (numbered, "rowid") : ("SELECT * FROM \"\(quoted)\"", nil)
  }

  /// Returns a Boolean value that indicates whether a column hides the number of the row.
  private static func isRowid(_ name: SQLiteValue?) -> Bool {
    guard case .text(let name)? = name else { return false }
    return name.lowercased() == "rowid"
  }

  /// The advice to use a table, or a query.
  var hint: String {
    let example = "sqlite:\(path)?SELECT * FROM …"
    guard let first = names.first else {
      return "the database has no tables yet; use a query such as \(example)"
    }
    let tables = names.prefix(20).joined(separator: ", ") + (names.count > 20 ? ", …" : "")
    return "the tables are \(tables); use \(path)#\(first), or a query such as \(example)"
  }

  /// Returns the advice to use a table or a query of a database, which may not exist.
  static func hint(path: String) -> String {
    (try? DatabaseTables(path: path).hint)
      ?? "append one to the path, for example sqlite:\(path)?SELECT * FROM …"
  }
}
