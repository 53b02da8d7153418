/// How the result of a query on one table is maintained row by row.
struct TablePlan: Sendable, Equatable {
  /// A column that rows are ordered by.
  struct Key: Sendable, Equatable {
    var column: String
    /// Where it stands among the columns of the statements.
    var position = 0
    var ignoresCase = false
    var isDescending = false
  }

  /// The table, as the schema names it.
  var table: String
  /// The columns that the query reads.
  var columnsRead: [String]
  /// The names of the result's columns.
  var columns: SQLiteColumns
  /// What rows are ordered by before their rowid.
  var keys: [Key]
  /// How many rows are shown at most.
  var limit: Int?
  /// Gives all rows by ascending rowid: the result's columns, and those of the keys and the rowid that
  /// are not among them.
  var scanSQL: String
  /// Gives the one row of a rowid, its last argument, if it is in the result.
  var rowSQL: String
  /// Gives the rows that are shown, in their order; where there is a limit.
  var windowSQL: String?

  /// The position of the rowid among the columns of the statements.
  var rowidPosition: Int
  /// The number of columns that the result depends on.
  var valueCount: Int
}
