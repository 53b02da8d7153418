/// How a data source keeps up with its database, and why.
///
///     print(try tasks.explain())
///     // incremental: reads id, title of task; SCAN task
public struct SQLiteQueryExplanation: Sendable, Hashable {
  /// How the result is kept up to date.
  public enum Mode: String, Sendable, Hashable {
    /// Rows that changed are read and put in their places.
    case incremental
    /// The whole query runs again after each change.
    case refetch
  }

  /// How the result is kept up to date.
  public let mode: Mode

  /// Why, as a sentence.
  public let reason: String

  /// What would make it incremental, as a sentence; `nil` where it is.
  public let suggestion: String?

  /// The columns that the query reads, in alphabetical order, by the table that they are read of.
  public let columnsRead: [String: [String]]

  /// The lines of SQLite's own plan of what runs when everything is read.
  public let plan: [String]
}

extension SQLiteQueryExplanation: CustomStringConvertible {
  /// Mode, reason, what is read, and the plan, on one line.
  public var description: String {
    let reads = columnsRead.sorted { $0.key < $1.key }
      .map { "\($0.value.joined(separator: ", ")) of \($0.key)" }
    return
      (["\(mode): \(reason)", suggestion, "Reads \(reads.joined(separator: "; "))"]
      .compactMap(\.self) + plan).joined(separator: " ")
  }
}

extension SQLiteQuery {
  /// How the query is kept up to date by the schema that `database` has now.
  func explain(on database: SQLiteDatabase) throws(SQLiteError) -> SQLiteQueryExplanation {
    try check(on: database)
    let reads = (database.reads(of: sql)?.columns ?? [:]).mapValues { $0.sorted() }
    switch try Qualification.decide(self, on: database) {
    case .success(let plan):
      return SQLiteQueryExplanation(
        mode: .incremental,
        reason: "Each row of \"\(plan.table)\" stands for itself, so that rows that changed tell "
          + "what becomes of the result.",
        suggestion: nil, columnsRead: [plan.table: plan.columnsRead],
        plan: try self.plan(of: plan.windowSQL ?? plan.scanSQL, on: database))
    case .failure(let reason):
      return SQLiteQueryExplanation(
        mode: .refetch, reason: reason.sentence, suggestion: reason.suggestion,
        columnsRead: reads, plan: try self.plan(of: sql, on: database))
    }
  }

  private func plan(of sql: String, on database: SQLiteDatabase) throws(SQLiteError) -> [String] {
    try database.withStatement(
      "EXPLAIN QUERY PLAN " + sql, argumentsFrom: arguments, rowid: nil
    ) { statement throws(SQLiteError) in
      var lines: [String] = []
      while try statement.step() {
        if case .text(let line)? = statement.row().values.last { lines.append(line) }
      }
      return lines
    }
  }
}
