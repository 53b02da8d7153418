import SQLSources
import SwappablePrimitives
import SwappableSQLite3

/// The query of a data source.
struct SQLiteQuery: Sendable {
  let sql: String
  let arguments: SQLiteArguments
  let needsUniqueColumnNames: Bool
  /// The largest result in bytes. A query without an end exceeds it.
  var byteLimit = 2_000_000_000
  /// The longest time that one read of the database may take, or `nil` if there is no limit.
  var timeout: Duration?

  /// Throws if the SQL is not one correct SELECT, or if the arguments do not match it.
  func check(on database: SQLiteDatabase) throws(SQLiteError) {
    // A PRAGMA can take effect when it is prepared.
    guard SQLText.firstWord(sql) != "PRAGMA" else { throw notAQuery(path: database.path) }
    try database.withStatement(sql, arguments) { statement throws(SQLiteError) in
      try check(statement)
    }
  }

  func check(_ statement: SQLiteStatement) throws(SQLiteError) {
    guard statement.isReadOnly else {
      throw SQLiteError(
        .writes, "the statement writes, but a query is required", path: statement.path, sql: sql,
        help: "write with a SQLiteConnection, and pass a SELECT to the data source")
    }
    // For SQLite, ATTACH, EXPLAIN and BEGIN are read-only. They change the connection or the file.
    guard ["SELECT", "WITH", "VALUES"].contains(SQLText.firstWord(sql)), statement.columnCount > 0
    else {
      throw notAQuery(path: statement.path)
    }
    try check(statement.columns, path: statement.path)
  }

  private func notAQuery(path: ByteString) -> SQLiteError {
    SQLiteError(
      .notAQuery, "the statement is not a query", path: path, sql: sql,
      help: "use a SELECT; instead of a PRAGMA, select from its function, for example "
        + "SELECT * FROM pragma_table_info('name')")
  }

  func check(_ columns: ResultColumns, path: ByteString) throws(SQLiteError) {
    guard needsUniqueColumnNames, let name = columns.duplicate else { return }
    throw SQLiteError(
      .duplicateColumn, "two columns have the name \"\(name)\"", path: path, sql: sql,
      help: "rename one of them with AS")
  }
}

extension SQLiteQuery {
  /// Throws if a result takes more memory than the query may use.
  func check(byteCount: Int) throws(SQLiteError) {
    guard byteCount > byteLimit else { return }
    throw SQLiteError(
      .other, "the result is larger than \(byteLimit) bytes", resultCode: SQLITE_TOOBIG,
      help: "select fewer rows or columns, or add LIMIT")
  }
}

/// An explanation of how a data source follows its database.
///
///     print(try tasks.explainQuery())
///     // incremental: … Reads id, title of task SCAN task
public struct SQLiteQueryExplanation: Sendable, Hashable {
  /// The way in which the result is kept up to date.
  public enum Mode: String, Sendable, Hashable {
    /// Only changed rows are read and moved.
    case incremental
    /// The whole query runs again after each change.
    case refetch
  }

  /// The way in which the result is kept up to date.
  public let mode: Mode

  /// The reason for the mode, as a sentence.
  public let reason: String

  /// An instruction that would make the query incremental, or `nil` if it is incremental.
  public let suggestion: String?

  /// The columns that the query reads, sorted, for each table.
  public let columnsRead: [String: [String]]

  /// SQLite's query plan for a read of the whole result, line by line.
  public let plan: [String]
}

extension SQLiteQueryExplanation: CustomStringConvertible {
  /// The mode, the reason, the columns and the plan, on one line.
  public var description: String {
    let reads = columnsRead.sorted { $0.key < $1.key }
      .map { "\($0.value.joined(separator: ", ")) of \($0.key)" }
    return
      (["\(mode): \(reason)", suggestion, "Reads \(reads.joined(separator: "; "))"]
      .compactMap(\.self) + plan).joined(separator: " ")
  }
}

extension SQLiteQuery {
  func explain(on database: SQLiteDatabase) throws(SQLiteError) -> SQLiteQueryExplanation {
    try check(on: database)
    switch try IncrementalPlan.make(for: self, on: database) {
    case .success(let plan):
      return SQLiteQueryExplanation(
        mode: .incremental, reason: plan.reason, suggestion: nil,
        columnsRead: [plan.table: plan.columnsRead],
        plan: try self.plan(of: plan.windowSQL ?? plan.scanSQL, on: database))
    case .failure(let reason):
      let columns = database.reads(of: sql)?.columns ?? [:]
      let reads = Dictionary(
        columns.map { ($0.description, $1.sorted().map(\.description)) }, uniquingKeysWith: +)
      return SQLiteQueryExplanation(
        mode: .refetch, reason: reason.sentence, suggestion: reason.suggestion,
        columnsRead: reads, plan: try self.plan(of: sql, on: database))
    }
  }

  private func plan(of sql: String, on database: SQLiteDatabase) throws(SQLiteError) -> [String] {
    try database.withStatement(
      "EXPLAIN QUERY PLAN " + sql, argumentsFrom: arguments, rowid: nil
    ) { statement throws(SQLiteError) in try statement.rows() }
    .compactMap { row in if case .text(let line)? = row.values.last { line } else { nil } }
  }
}
