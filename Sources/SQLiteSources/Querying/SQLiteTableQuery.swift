/// A query of one table, given by its parts instead of as SQL.
///
///     let open = SQLiteTableQuery(
///       table: "task", columns: ["id", "title"], where: "done = ?", arguments: [false],
///       orderBy: [.descending("due"), "title"], limit: 100)
///     let tasks = try SQLiteDataSource<Task>(path: "tasks.db", query: open)
///
/// Names are quoted. Where the table has an INTEGER PRIMARY KEY, and the condition depends on nothing
/// but the row, a data source maintains the result row by row.
public struct SQLiteTableQuery: Sendable, Hashable {
  /// A column that rows are ordered by.
  public struct Order: Sendable, Hashable, ExpressibleByStringLiteral {
    /// How text is compared.
    public enum Collation: String, Sendable, Hashable {
      /// By bytes.
      case binary = "BINARY"
      /// By bytes, upper and lower case of ASCII letters alike.
      case ignoringCase = "NOCASE"
    }

    /// The column's name.
    public var column: String
    /// Whether the greatest value comes first.
    public var isDescending: Bool
    /// How text is compared; `nil` for as the column was declared.
    public var collation: Collation?

    /// Orders by a column.
    ///
    /// - Parameters:
    ///   - column: The column's name.
    ///   - isDescending: Whether the greatest value comes first.
    ///   - collation: How text is compared; `nil` for as the column was declared.
    public init(_ column: String, isDescending: Bool = false, collation: Collation? = nil) {
      self.column = column
      self.isDescending = isDescending
      self.collation = collation
    }

    /// Orders by a column, the least value first.
    public init(stringLiteral column: String) {
      self.init(column)
    }

    /// Orders by a column, the greatest value first.
    public static func descending(_ column: String) -> Order {
      Order(column, isDescending: true)
    }
  }

  /// The table's name, in the database that was opened.
  public var table: String
  /// The names of the columns to select; all of them where it is empty.
  public var columns: [String]
  /// A condition in SQL that rows have to meet; `nil` for all rows.
  public var condition: String?
  /// A value for each argument of the condition.
  public var arguments: SQLiteArguments
  /// What rows are ordered by. Of rows that are alike in that, and without it, the primary key decides.
  public var order: [Order]
  /// How many rows there are at most; `nil` for all.
  public var limit: Int?

  /// Makes a query of a table.
  ///
  /// - Parameters:
  ///   - table: The table's name, in the database that was opened.
  ///   - columns: The names of the columns to select; all of them where it is empty.
  ///   - condition: A condition in SQL that rows have to meet; `nil` for all rows.
  ///   - arguments: A value for each argument of the condition.
  ///   - order: What rows are ordered by, before their primary key.
  ///   - limit: How many rows there are at most, 0 or more; `nil` for all.
  public init(
    table: String, columns: [String] = [], where condition: String? = nil,
    arguments: SQLiteArguments = [], orderBy order: [Order] = [], limit: Int? = nil
  ) {
    precondition((limit ?? 0) >= 0, "a limit of \(limit ?? 0) rows is below 0")
    self.table = table
    self.columns = columns
    self.condition = condition
    self.arguments = arguments
    self.order = order
    self.limit = limit
  }

  /// The query as SQL.
  public var sql: String {
    let table = SQLText.quoted(table)
    func column(_ name: String) -> String { "\(table).\(SQLText.quoted(name))" }
    var sql = "SELECT \(columns.isEmpty ? "*" : columns.map(column).joined(separator: ", "))"
    sql += " FROM main.\(table)"
    // The bracket that ends the condition stands on a line of its own: that may end in a comment.
    if let condition { sql += " WHERE (\(condition)\n)" }
    if !order.isEmpty {
      let terms = order.map { term in
        column(term.column) + (term.collation.map { " COLLATE \($0.rawValue)" } ?? "")
          + (term.isDescending ? " DESC" : "")
      }
      sql += " ORDER BY \(terms.joined(separator: ", "))"
    }
    if let limit { sql += " LIMIT \(limit)" }
    return sql
  }
}
