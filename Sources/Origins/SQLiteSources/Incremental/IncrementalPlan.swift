import SQLSources
import SwappablePrimitives
import SwappableSQLite3

/// The statements and columns with which a query on one table is maintained row by row.
struct IncrementalPlan: Sendable {
  struct Key: Sendable {
    var column: String
    /// The position of the column in the statements.
    var position = 0
    var ignoresCase = false
    var isDescending = false
  }

  /// The name of the table, as in the schema.
  var table: String
  var columnsRead: [String]
  var columns: ResultColumns
  /// The columns that order the rows, before the rowid.
  var keys: [Key]
  var limit: Int?
  /// Selects all rows by ascending rowid. It selects the columns of the result, and then the
  /// missing keys and rowid.
  var scanSQL: String
  /// Selects the row of a rowid, which is the last argument, if it is in the result.
  var rowSQL: String
  /// Selects the rows of a result with a limit, in order.
  var windowSQL: String?

  /// The position of the rowid in the statements.
  var rowidPosition: Int
  /// The number of columns on which the result depends.
  var valueCount: Int

  /// The reason why a query with this plan is incremental, as a sentence.
  var reason: String {
    "Each row of the result is one row of \"\(table)\", so changed rows are enough to update the result."
  }

  /// Returns a plan for a query under the current schema, or the reason why there is none.
  ///
  /// Call this method in a transaction.
  static func make(
    for query: SQLiteQuery, on database: SQLiteDatabase
  ) throws(SQLiteError) -> Result<IncrementalPlan, RefetchReason> {
    do {
      return .success(try IncrementalPlanner(query: query, database: database).plan())
    } catch let reason as RefetchReason {
      return .failure(reason)
    } catch let error as SQLiteError {
      throw error
    } catch {
      preconditionFailure("planning throws only SQLiteError and RefetchReason: \(error)")
    }
  }
}

extension IncrementalPlan: Equatable {
  /// Returns a Boolean value that indicates whether two plans have the same statements, byte by byte.
  static func == (left: IncrementalPlan, right: IncrementalPlan) -> Bool {
    // Without a limit, no statement contains the order.
    left.columns == right.columns && left.limit == right.limit
      && left.rowidPosition == right.rowidPosition && left.valueCount == right.valueCount
      && left.texts.elementsEqual(right.texts) { $0.hasSameBytes(as: $1) }
      && left.keys.elementsEqual(right.keys) {
        $0.column.hasSameBytes(as: $1.column) && $0.position == $1.position
          && $0.ignoresCase == $1.ignoresCase && $0.isDescending == $1.isDescending
      }
  }

  private var texts: [String] { [table, scanSQL, rowSQL, windowSQL ?? ""] + columnsRead }
}

extension RefetchReason {
  /// Creates the reason why a query runs as a whole after each change.
  ///
  /// - Parameters:
  ///   - reason: A clause after "because".
  ///   - help: An instruction that would make the query incremental.
  init(_ reason: String, help: String) {
    self.init(
      "The whole query runs again after each change, because \(reason).",
      suggestion: "To read only changed rows, \(help).")
  }
}

/// Returns the plan for a query, or throws the reason why there is none.
///
/// A plan needs rows with an INTEGER PRIMARY KEY. The result for a row must depend only on
/// that row. A query that cannot be analyzed has no plan.
private struct IncrementalPlanner {
  let query: SQLiteQuery
  let database: SQLiteDatabase

  func plan() throws -> IncrementalPlan {
    guard database.isPlain else {
      throw RefetchReason(
        "a PRAGMA has changed the meaning of statements on the connection",
        help: "do not change case_sensitive_like or writable_schema")
    }
    let clauses = try SelectClauses(query.sql)
    let table = try tableName(clauses.table)
    let columns = try strings("SELECT name FROM pragma_table_xinfo(?, 'main')", [table])
    let rowid = try rowidColumn(of: table, columns: columns)
    guard try strings("PRAGMA encoding", []) == ["UTF-8"] else {
      throw RefetchReason(
        "the database is not encoded in UTF-8",
        help: "set PRAGMA encoding to UTF-8 before you create the first table")
    }
    try checkReads(of: query.sql, table: table)

    let name = SQLText.quoted(clauses.alias ?? table)
    let from =
      " FROM main.\(SQLText.quoted(table))"
      + (clauses.alias.map { " AS \(SQLText.quoted($0))" } ?? "")
    // The parentheses are on lines of their own, because a condition may end with a comment.
    let condition = clauses.condition.map { "(\($0)\n)" }
    let whereClause = condition.map { " WHERE \($0)" } ?? ""
    try checkReading(of: clauses, "SELECT \(clauses.results)\(from)\(whereClause)")

    let results = try database.withStatement(query.sql, query.arguments) {
      (columns: $0.columns, origins: $0.originNames)
    }
    var keys: [IncrementalPlan.Key] = []
    for term in clauses.order {
      let column = try self.column(
        orderingBy: term, results.columns.names, results.origins, columns: columns, rowid: rowid,
        of: name, probe: "SELECT \(clauses.results)\(from) NOT INDEXED ORDER BY ")
      if column.hasSameBytes(as: rowid) {
        // Later terms have no effect. An ascending rowid is the tie-break itself.
        if term.isDescending { keys.append(.init(column: column, isDescending: true)) }
        break
      }
      keys.append(try key(column, term, of: table))
    }
    // A selected column is not read twice.
    var selected = [clauses.results]
    for index in keys.indices {
      let column = keys[index].column
      if let position = results.origins.firstIndex(where: { $0?.hasSameBytes(as: column) == true })
      {
        keys[index].position = position
      } else {
        keys[index].position = results.columns.names.count + selected.count - 1
        selected.append("\(name).\(SQLText.quoted(column))")
      }
    }
    let valueCount = results.columns.names.count + selected.count - 1
    let rowidPosition = results.origins.firstIndex { $0?.hasSameBytes(as: rowid) == true }
    let row = "\(name).\(SQLText.quoted(rowid))"
    if rowidPosition == nil { selected.append(row) }
    let start = "SELECT \(selected.joined(separator: ", "))\(from)"
    let filtered = start + whereClause
    let limit = try limit(clauses.limit)
    var plan = IncrementalPlan(
      table: table, columnsRead: [], columns: results.columns, keys: keys, limit: limit,
      scanSQL: "\(filtered) ORDER BY \(row)",
      rowSQL: "\(start) WHERE \(condition.map { "\($0) AND " } ?? "")\(row) = ?",
      rowidPosition: rowidPosition ?? valueCount, valueCount: valueCount)
    if let limit {
      let order = keys.map {
        "\(name).\(SQLText.quoted($0.column)) COLLATE \($0.ignoresCase ? "NOCASE" : "BINARY")"
          + ($0.isDescending ? " DESC" : "")
      }
      plan.windowSQL =
        "\(filtered) ORDER BY \((order + [row]).joined(separator: ", ")) LIMIT \(limit)"
    }
    for sql in [plan.scanSQL, plan.rowSQL, plan.windowSQL].compactMap(\.self) {
      plan.columnsRead = try checkReads(of: sql, table: table)
      let columns = try database.withStatement(sql, argumentsFrom: query.arguments, rowid: nil) {
        statement in statement.columns.names
      }
      guard columns.count == results.columns.names.count + selected.count - 1,
        columns.starts(with: results.columns.names, by: { $0.hasSameBytes(as: $1) })
      else {
        throw RefetchReason("its columns cannot be analyzed", help: "name the columns")
      }
    }
    return plan
  }

  private func strings(_ sql: String, _ arguments: SQLiteArguments) throws -> [String] {
    try database.withStatement(sql, arguments) { statement throws(SQLiteError) in
      try statement.rows()
    }
    .compactMap { row in if case .text(let text) = row[0] { text } else { nil } }
  }

  private func tableName(_ name: String) throws -> String {
    let kinds =
      "SELECT name || '/' || type || '/' || wr FROM pragma_table_list "
      + "WHERE schema = 'main' AND name = ? COLLATE NOCASE"
    let found: [String]
    do {
      found = try strings(kinds, [name])
    } catch let error as SQLiteError where error.code == .sql {
      throw RefetchReason("this SQLite does not list tables", help: "use SQLite 3.37 or later")
    }
    guard found.count == 1, let kind = found.first, kind.hasSuffix("/table/0") else {
      let what =
        switch found.first?.split(separator: "/").dropFirst().joined(separator: "/") {
        case "view/0": "a view"
        case "virtual/0", "shadow/0": "a virtual table"
        case "table/1": "a table without rowids"
        default: "not a table of the database main"
        }
      throw RefetchReason(
        "\"\(name)\" is \(what)", help: "select from a table with an INTEGER PRIMARY KEY")
    }
    return String(kind.dropLast("/table/0".count))
  }

  /// Returns the column that stores the rowid. Its values survive VACUUM.
  private func rowidColumn(of table: String, columns: [String]) throws -> String {
    let free = ["rowid", "_rowid_", "oid"].first { name in
      !columns.contains { SQLText.isSameName($0, name) }
    }
    // SQLite reports the column of which the rowid is an alias.
    if let free,
      let reads = database.reads(
        of: "SELECT \(free) FROM main.\(SQLText.quoted(table))")?.columns[ByteString(table)],
      // If there is no such column, SQLite reports ROWID, which may also be the name of a column.
      reads.count == 1, let name = reads.first, name != "ROWID",
      let column = columns.first(where: { ByteString($0) == name })
    {
      return column
    }
    throw RefetchReason(
      "\"\(table)\" has no INTEGER PRIMARY KEY", help: "declare one when you create the table")
  }

  @discardableResult
  private func checkReads(of sql: String, table: String) throws -> [String] {
    guard let reads = database.reads(of: sql) else {
      throw RefetchReason("its SQL cannot be analyzed", help: "write a plain SELECT")
    }
    if let name = reads.functions.sorted().first(where: { !Self.pureFunctions.contains($0) }) {
      throw RefetchReason(
        "it calls \(name)(), whose result may depend on more than the row",
        help: "call it in Swift, in the closure that maps rows")
    }
    guard !reads.isOther, reads.columns.allSatisfy({ $0.key == ByteString(table) }) else {
      throw RefetchReason(
        "it reads more than the table \"\(table)\"", help: "select from one table")
    }
    return (reads.columns[ByteString(table)] ?? []).sorted().map(\.description)
  }

  /// Checks that the clauses were read as SQLite reads them.
  ///
  /// - Parameter start: The statement that was made from the clauses, as far as its condition.
  private func checkReading(of clauses: SelectClauses, _ start: String) throws {
    let order = clauses.order.map(\.sql).joined(separator: ", ")
    let reading =
      start + (order.isEmpty ? "" : " ORDER BY \(order)")
      + (clauses.limitSQL.map { " LIMIT \($0)" } ?? "")
    guard try program(of: reading) == program(of: query.sql) else {
      throw RefetchReason("its SQL cannot be analyzed", help: "write a plain SELECT")
    }
  }

  /// Returns the program into which SQLite compiles a statement. Two statements with the same
  /// program have the same result.
  private func program(of sql: String) throws -> [[SQLiteValue]] {
    try database.withStatement(
      "EXPLAIN " + sql, argumentsFrom: query.arguments, rowid: nil
    ) { statement throws(SQLiteError) in try statement.rows() }
    .map(\.values)
  }

  /// Returns the column of the table by which a term orders the rows.
  ///
  /// A term may name a column, or a result, which may be a column. Which one it is, SQLite decides:
  /// ordered by the same values, the table has the same program.
  ///
  /// - Parameters:
  ///   - term: The term.
  ///   - results: The names of the results.
  ///   - origins: The column that is a result, or `nil`, for each result.
  ///   - columns: The columns of the table.
  ///   - rowid: The column that stores the rowid.
  ///   - table: The name of the table in the query, in quotes.
  ///   - probe: The query as far as its first term, without condition and index: a condition may
  ///     make two orders equal, and an index may serve two orders.
  private func column(
    orderingBy term: SelectClauses.Term, _ results: [String], _ origins: [String?],
    columns: [String], rowid: String, of table: String, probe: String
  ) throws -> String {
    func isName(_ name: String) -> Bool { SQLText.isSameName(name, term.name) }
    var candidates: [(value: String, column: String)] = []
    if let column = columns.first(where: isName)
      ?? (["rowid", "_rowid_", "oid"].contains(where: isName) ? rowid : nil)
    {
      candidates.append(("\(table).\(SQLText.quoted(column))", column))
    }
    for (position, origin) in origins.enumerated() where isName(results[position]) {
      if let origin { candidates.append(("\(position + 1)", origin)) }
    }
    let program = try program(of: probe + term.sql)
    for (value, column) in candidates
    where try self.program(of: probe + term.sql(orderingBy: value)) == program {
      return column
    }
    let isExpression = !candidates.isEmpty || results.contains(where: isName)
    throw RefetchReason(
      isExpression
        ? "it is ordered by an expression, \"\(term.name)\""
        : "it is ordered by \"\(term.name)\", which is not a column of \(table)",
      help: "order by columns of the table")
  }

  private func key(
    _ column: String, _ term: SelectClauses.Term, of table: String
  ) throws -> IncrementalPlan.Key {
    let collation = term.collation ?? database.collation(of: column, in: table) ?? ""
    switch SQLText.uppercased(collation) {
    case "BINARY": return .init(column: column, isDescending: term.isDescending)
    case "NOCASE":
      return .init(column: column, ignoresCase: true, isDescending: term.isDescending)
    default:
      throw RefetchReason(
        "it is ordered by \"\(column)\" with the collation \(collation)",
        help: "order by the collation BINARY or NOCASE")
    }
  }

  private func limit(_ limit: SelectClauses.Limit?) throws -> Int? {
    let number: Int
    switch limit {
    case nil: return nil
    case .number(let literal): number = literal
    case .argument(let name):
      guard case .integer(let value)? = query.arguments.value(named: name),
        let value = Int(exactly: value)
      else {
        throw RefetchReason("its LIMIT is not an integer", help: "pass an integer as the argument")
      }
      number = value
    }
    return number < 0 ? nil : number
  }

  /// The functions of SQLite that depend on nothing but their arguments, in lower case. They exclude
  /// aggregates, and functions that depend on time, randomness, the connection or settings.
  private static let pureFunctions: Set<ByteString> = [
    "->", "->>", "abs", "char", "coalesce", "concat", "concat_ws", "format", "glob", "hex", "if",
    "ifnull", "iif", "instr", "json", "json_array", "json_array_length", "json_extract",
    "json_object", "json_quote", "json_type", "json_valid", "length", "like", "likelihood",
    "likely", "lower", "ltrim", "nullif", "octet_length", "printf", "quote", "replace", "round",
    "rtrim", "sign", "substr", "substring", "trim", "typeof", "unhex", "unicode", "unlikely",
    "upper", "zeroblob",
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh",
    "degrees", "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power",
    "radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
  ]
}

/// The columns that a statement reads and the functions that it calls, as SQLite reports them.
final class StatementReads {
  /// The columns for each table of the database "main".
  private(set) var columns: [ByteString: Set<ByteString>] = [:]
  private(set) var functions: Set<ByteString> = []
  private var tables: Set<ByteString> = []
  private var doesMore = false
  /// A Boolean value that indicates whether the statement may read another database, or may do more
  /// than read.
  var isOther: Bool { doesMore || !tables.isSubset(of: columns.keys) }

  /// Notes an action of the statement, with the arguments of an authorizer.
  func note(_ action: Int32, _ first: String, _ second: String, _ database: String) {
    switch action {
    case SQLITE_SELECT: break
    case SQLITE_READ:
      if second.isEmpty {
        // The table as a whole. SQLite names its database only if the statement does.
        tables.insert(ByteString(first))
      } else if database == "main" {
        columns[ByteString(first), default: []].insert(ByteString(second))
      } else {
        doesMore = true
      }
    case SQLITE_FUNCTION: functions.insert(SQLText.lowered(second))
    default: doesMore = true
    }
  }
}

extension SQLiteDatabase {
  /// Returns the reads of a statement, or `nil` if it cannot be prepared.
  func reads(of sql: String) -> StatementReads? {
    let reads = StatementReads()
    var statement: OpaquePointer?
    var result = SQLITE_OK
    authorizer.collect(in: reads) {
      result = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    }
    sqlite3_finalize(statement)
    return result == SQLITE_OK ? reads : nil
  }

  func collation(of column: String, in table: String) -> String? {
    var collation: UnsafePointer<CChar>?
    guard
      sqlite3_table_column_metadata(
        handle, "main", table, column, nil, &collation, nil, nil, nil) == SQLITE_OK
    else { return nil }
    return collation.map { String(cString: $0) }
  }
}
