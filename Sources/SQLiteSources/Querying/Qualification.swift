/// Decides whether the result of a query can be maintained row by row, and how.
///
/// It is so where the rows of a change alone tell what becomes of the result: each row stands for
/// itself, is known by an INTEGER PRIMARY KEY, and what it shows depends on nothing else. Whatever is
/// not known to be so is refused.
struct Qualification {
  private let query: SQLiteQuery
  private let database: SQLiteDatabase

  /// How `query` is maintained, by the schema that `database` has now. It runs in a transaction.
  ///
  /// - Throws: a `SQLiteError` where the database cannot be read.
  static func decide(
    _ query: SQLiteQuery, on database: SQLiteDatabase
  ) throws(SQLiteError) -> Result<TablePlan, Disqualification> {
    do {
      return .success(try Qualification(query: query, database: database).plan())
    } catch let reason as Disqualification {
      return .failure(reason)
    } catch let error as SQLiteError {
      throw error
    } catch {
      preconditionFailure("qualifying throws nothing else: \(error)")
    }
  }

  private func plan() throws -> TablePlan {
    guard database.isPlain else {
      throw Disqualification(
        "a PRAGMA changed what statements mean on the connection",
        help: "leave case_sensitive_like and writable_schema as they are")
    }
    let clauses = try SelectClauses(query.sql)
    let table = try tableName(clauses.table)
    let columns = try strings("SELECT name FROM pragma_table_xinfo(?, 'main')", [table])
    let rowid = try rowidColumn(of: table, columns: columns)
    guard try strings("PRAGMA encoding", []) == ["UTF-8"] else {
      throw Disqualification(
        "the database is not encoded in UTF-8", help: "set PRAGMA encoding before the first table")
    }
    try checkReads(of: query.sql, table: table)

    let name = SQLText.quoted(clauses.alias ?? table)
    var keys = try keys(clauses, table: table, columns: columns, rowid: rowid)
    let resultNames = try database.withStatement(query.sql, query.arguments) { $0.columns }
    // What is selected already is not read twice.
    let found = clauses.resultColumns ?? resultNames.names
    func position(of column: String) -> Int? {
      found.firstIndex { name in name.map { SQLText.isSameName($0, column) } ?? false }
    }
    var selected = [clauses.results]
    for index in keys.indices {
      let column = keys[index].column
      if let position = position(of: column) {
        keys[index].position = position
      } else {
        keys[index].position = resultNames.names.count + selected.count - 1
        selected.append("\(name).\(SQLText.quoted(column))")
      }
    }
    let valueCount = resultNames.names.count + selected.count - 1
    let row = "\(name).\(SQLText.quoted(rowid))"
    if position(of: rowid) == nil { selected.append(row) }
    let start =
      "SELECT \(selected.joined(separator: ", ")) FROM main.\(SQLText.quoted(table))"
      + (clauses.alias.map { " AS \(SQLText.quoted($0))" } ?? "")
    // The brackets stand on lines of their own: a condition may end in a comment.
    let condition = clauses.condition.map { "(\($0)\n)" }
    let filtered = start + (condition.map { " WHERE \($0)" } ?? "")
    let limit = try limit(clauses.limit)
    var plan = TablePlan(
      table: table, columnsRead: [], columns: resultNames, keys: keys, limit: limit,
      scanSQL: "\(filtered) ORDER BY \(row)",
      rowSQL: "\(start) WHERE \(condition.map { "\($0) AND " } ?? "")\(row) = ?",
      rowidPosition: position(of: rowid) ?? valueCount, valueCount: valueCount)
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
      guard columns.count == resultNames.names.count + selected.count - 1,
        columns.starts(with: resultNames.names)
      else {
        throw Disqualification("its columns are not understood", help: "name the columns")
      }
    }
    return plan
  }

  private func strings(_ sql: String, _ arguments: SQLiteArguments) throws -> [String] {
    try database.withStatement(sql, arguments) { statement throws(SQLiteError) in
      var found: [String] = []
      while try statement.step() {
        if case .text(let text) = statement.row()[0] { found.append(text) }
      }
      return found
    }
  }

  /// The table as the schema names it.
  private func tableName(_ name: String) throws -> String {
    let kinds =
      "SELECT name || '/' || type || '/' || wr FROM pragma_table_list "
      + "WHERE schema = 'main' AND name = ? COLLATE NOCASE"
    let found: [String]
    do {
      found = try strings(kinds, [name])
    } catch let error as SQLiteError where error.code == .sql {
      throw Disqualification("this SQLite does not list tables", help: "use SQLite 3.37 or later")
    }
    guard found.count == 1, let kind = found.first, kind.hasSuffix("/table/0") else {
      let what =
        switch found.first?.split(separator: "/").dropFirst().joined(separator: "/") {
        case "view/0": "a view"
        case "virtual/0", "shadow/0": "a virtual table"
        case "table/1": "a table without rowids"
        default: "no table of the database main"
        }
      throw Disqualification(
        "\"\(name)\" is \(what)", help: "select from a table with an INTEGER PRIMARY KEY")
    }
    return String(kind.dropLast("/table/0".count))
  }

  /// The column that is the rowid, and thus stays as it is when the database is vacuumed.
  private func rowidColumn(of table: String, columns: [String]) throws -> String {
    let free = ["rowid", "_rowid_", "oid"].first { name in
      !columns.contains { SQLText.isSameName($0, name) }
    }
    // SQLite tells the name of the column that a rowid stands for.
    if let free,
      let reads = database.reads(
        of: "SELECT \(free) FROM main.\(SQLText.quoted(table))")?.columns[table],
      // Where it stands for none SQLite says ROWID, which may be the name of any column.
      reads.count == 1, let name = reads.first, name != "ROWID", columns.contains(name)
    {
      return name
    }
    throw Disqualification(
      "\"\(table)\" has no INTEGER PRIMARY KEY", help: "declare one when creating the table")
  }

  @discardableResult
  private func checkReads(of sql: String, table: String) throws -> [String] {
    guard let reads = database.reads(of: sql) else {
      throw Disqualification("its text is not understood", help: "write a plain SELECT")
    }
    if let name = reads.functions.sorted().first(where: { !SQLFunctions.areKnown($0) }) {
      throw Disqualification(
        "it calls \(name)(), of which it is not known that it depends on the row alone",
        help: "call it in Swift, when rows are mapped")
    }
    guard !reads.isOther, reads.columns.allSatisfy({ $0.key == table }) else {
      throw Disqualification(
        "it reads more than the table \"\(table)\"", help: "select from one table")
    }
    return (reads.columns[table] ?? []).sorted()
  }

  private func keys(
    _ clauses: SelectClauses, table: String, columns: [String], rowid: String
  ) throws -> [TablePlan.Key] {
    var keys: [TablePlan.Key] = []
    for term in clauses.order {
      let unknown = Disqualification(
        "it is ordered by \"\(term.column)\", which is no column of \"\(table)\"",
        help: "order by columns of the table")
      if let qualifier = term.table {
        guard SQLText.isSameName(qualifier, clauses.alias ?? table) else { throw unknown }
      }
      var name = term.column
      if term.table == nil, let alias = alias(of: name, clauses, columns: columns) {
        // An alias stands before a column; it may stand for that column.
        guard let last = alias.tokens.last, last.isName,
          alias.tokens.count == 1 || alias.tokens.count == 3 && alias.tokens[1].isMark(".")
        else {
          throw Disqualification(
            "it is ordered by an expression, \"\(name)\"", help: "order by columns of the table")
        }
        name = last.text
      }
      if !columns.contains(where: { SQLText.isSameName($0, name) }),
        ["rowid", "_rowid_", "oid"].contains(where: { SQLText.isSameName($0, name) })
      {
        name = rowid
      }
      guard let column = columns.first(where: { SQLText.isSameName($0, name) }) else {
        throw unknown
      }
      if column == rowid {
        // Nothing that follows can matter. Ascending, it is the tie-break itself.
        if term.isDescending { keys.append(.init(column: column, isDescending: true)) }
        break
      }
      let collation = term.collation ?? database.collation(of: column, in: table) ?? ""
      switch collation.uppercased() {
      case "BINARY": keys.append(.init(column: column, isDescending: term.isDescending))
      case "NOCASE":
        keys.append(.init(column: column, ignoresCase: true, isDescending: term.isDescending))
      default:
        throw Disqualification(
          "it is ordered by \"\(name)\" with the collation \(collation)",
          help: "order by the collation BINARY or NOCASE")
      }
    }
    return keys
  }

  /// What `name` is an alias of: the first result of that name counts, and a star gives each column's.
  private func alias(
    of name: String, _ clauses: SelectClauses, columns: [String]
  ) -> (name: String, tokens: [SQLToken])? {
    let place = clauses.aliases.firstIndex { SQLText.isSameName($0.name, name) }
    guard let place else { return nil }
    if let star = clauses.aliasesBeforeStar, place >= star,
      columns.contains(where: { SQLText.isSameName($0, name) })
    {
      return nil
    }
    return clauses.aliases[place]
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
        throw Disqualification("its LIMIT is no integer", help: "give an INTEGER as argument")
      }
      number = value
    }
    return number < 0 ? nil : number
  }
}
