import SQLSources

/// A query of one table, made of parts instead of SQL.
///
///     let open = SQLiteTableQuery(
///       table: "task", columns: ["id", "title"], where: "done = ?", arguments: [false],
///       orderBy: [.descending("due"), "title"], limit: 100)
///     let tasks = try SQLiteDataSource<Task>(path: "tasks.db", query: open)
///
/// Names are quoted. A data source follows the query incrementally if the table has an INTEGER
/// PRIMARY KEY and the condition depends only on the row.
public struct SQLiteTableQuery: Sendable, Hashable {
  /// A column that orders the rows.
  public struct Order: Sendable, Hashable, ExpressibleByStringLiteral {
    /// A way to compare text.
    public enum Collation: String, Sendable, Hashable {
      /// Compares bytes.
      case binary = "BINARY"
      /// Compares bytes, and ignores the case of ASCII letters.
      case ignoringCase = "NOCASE"
    }

    /// The name of the column.
    public var column: String
    /// A Boolean value that indicates whether the greatest value comes first.
    public var isDescending: Bool
    /// The way to compare text, or `nil` for the collation of the column's declaration.
    public var collation: Collation?

    /// Creates an order by a column.
    ///
    /// - Parameters:
    ///   - column: The name of the column.
    ///   - isDescending: A Boolean value that indicates whether the greatest value comes first.
    ///   - collation: The way to compare text, or `nil` for the collation of the column's
    ///     declaration.
    public init(_ column: String, isDescending: Bool = false, collation: Collation? = nil) {
      self.column = column
      self.isDescending = isDescending
      self.collation = collation
    }

    /// Creates an ascending order by a column.
    public init(stringLiteral column: String) {
      self.init(column)
    }

    /// Returns a descending order by a column.
    public static func descending(_ column: String) -> Order {
      Order(column, isDescending: true)
    }
  }

  /// The name of the table, in the database that was opened.
  public var table: String
  /// The names of the selected columns, or an empty array for all columns.
  public var columns: [String]
  /// A condition in SQL, or `nil` for all rows.
  public var condition: String?
  /// A value for each argument of the condition.
  public var arguments: SQLiteArguments
  /// The columns that order the rows. The primary key orders rows with equal values.
  public var order: [Order]
  /// The maximal number of rows, or `nil` for all rows.
  public var limit: Int?

  /// Creates a query of a table.
  ///
  /// - Parameters:
  ///   - table: The name of the table, in the database that was opened.
  ///   - columns: The names of the selected columns, or an empty array for all columns.
  ///   - condition: A condition in SQL, or `nil` for all rows.
  ///   - arguments: A value for each argument of the condition.
  ///   - order: The columns that order the rows, before the primary key.
  ///   - limit: The maximal number of rows, at least 0, or `nil` for all rows.
  public init(
    table: String, columns: [String] = [], where condition: String? = nil,
    arguments: SQLiteArguments = [], orderBy order: [Order] = [], limit: Int? = nil
  ) {
    precondition((limit ?? 0) >= 0, "limit must be at least 0, but is \(limit ?? 0)")
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
    // The closing parenthesis is on a line of its own, because the condition may end with a
    // comment.
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
