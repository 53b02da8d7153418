import SQLSources
import SQLiteSources
import SwappablePrimitives

/// The tables and views of a database.
struct DatabaseTables {
  private let path: ByteString
  /// The end of the path of a file that has no writer.
  static let immutableSuffix: ByteString = "?immutable"

  /// Returns the path without its end, or `nil` if it has none.
  static func immutableFile(_ path: ByteString) -> ByteString? {
    let count = path.bytes.count - immutableSuffix.bytes.count
    guard count > 0, path.dropFirst(count) == immutableSuffix else { return nil }
    return ByteString(bytes: path.bytes[..<count])
  }

  private let connection: SQLiteConnection
  private let names: [String]
  private let views: Set<ByteString>

  init(path: ByteString) throws(SQLiteError) {
    self.path = path
    connection = try SQLiteConnection(reading: path)
    let rows = try connection.query(
      """
      SELECT name, type FROM sqlite_schema
      WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
      """)
    names = try rows.map { (row) throws(SQLiteError) in try row.value("name") }
    views = Set(
      rows.filter { $0["type"] == .text("view") }
        .compactMap { try? ByteString($0.value("name", as: String.self)) })
  }

  /// Returns the query for all rows of a table, and the column that identifies them.
  ///
  /// The column is the primary key, if it is a single column. Otherwise, it is the number of the row,
  /// which becomes another member, `rowid`.
  func query(for table: String) throws(LivelistError) -> (sql: String, key: String?) {
    guard let name = names.first(where: { SQLText.isSameName($0, table) }) else {
      throw .input("there is no table \"\(table)\" in \(path); \(hint)")
    }
    let quoted = SQLText.quoted(name)
    let columns = (try? connection.query("SELECT name, pk FROM pragma_table_info(?)", [name])) ?? []
    let keys = columns.filter { $0["pk"] != .integer(0) }
    if keys.count == 1 { return ("SELECT * FROM \(quoted)", try? keys[0].value("name")) }
    // A view has no numbers of rows, nor has a table that is declared without them.
    let numbered = "SELECT rowid, * FROM \(quoted)"
    let isNumbered =
      !views.contains(ByteString(name))
      && !columns.contains { column in
        (try? column.value("name")).map { SQLText.isSameName($0, "rowid") } ?? false
      }
      && (try? connection.query(numbered + " LIMIT 0")) != nil
    return isNumbered ? (numbered, "rowid") : ("SELECT * FROM \(quoted)", nil)
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
  static func hint(path: ByteString) -> String {
    (try? DatabaseTables(path: path).hint)
      ?? "append one to the path, for example "
      + "sqlite:\(SourceSpecification.redacted(path.description))?SELECT * FROM …"
  }
}

extension SQLiteConnection {
  /// Opens a database for reading. The path may end with ``DatabaseTables/immutableSuffix``.
  convenience init(reading path: ByteString) throws(SQLiteError) {
    let file = DatabaseTables.immutableFile(path)
    try self.init(path: file ?? path, access: file == nil ? .readOnly : .immutable)
  }
}
