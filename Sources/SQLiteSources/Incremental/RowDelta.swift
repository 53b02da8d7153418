/// What became of the rows of a result.
struct RowDelta {
  /// A row as it is now.
  struct Added {
    var row: RowIndex.Row
    /// Its number among the values.
    var number: Int
  }

  /// Rows that are gone, or were changed.
  var removed: [RowIndex.Row] = []
  /// Rows that came, or were changed, each rowid once.
  var added: [Added] = []
  /// All rows by ascending rowid, where none was known; in place of `added`.
  var loaded: SortedChunks<RowIndex.Row>?
  /// What the rows hold that came or were changed.
  var values: RowBatches

  init(values: RowBatches) {
    self.values = values
  }

  var isEmpty: Bool { count == 0 }
  var count: Int { removed.count + added.count + (loaded?.count ?? 0) }
}

/// Reads what became of rows, inside a transaction.
struct RowScan {
  let plan: TablePlan
  private let columns: SQLiteColumns
  private let arguments: SQLiteArguments
  private let noValues = RowHasher()

  /// Reads the rows of `query` by its plan.
  init(_ query: SQLiteQuery, _ plan: TablePlan) {
    self.plan = plan
    columns = plan.columns
    arguments = query.arguments
  }

  /// All rows of the result, compared with those that are known.
  ///
  /// - Parameter index: what is known; keys of rows that came are added to its arena, once those are gone
  ///   from it that were added in vain.
  func delta(
    to index: inout RowIndex, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowDelta {
    var found = begin(&index)
    if index.count == 0 { return try load(&index, on: database) }
    var writer = SortKeyWriter()
    var known = index.rows.makeIterator()
    var next = known.next()
    var lastRowid: Int64?
    try run(plan.scanSQL, on: database) { statement throws(SQLiteError) in
      while try statement.step() {
        let rowid = try rowid(statement)
        if let lastRowid, lastRowid >= rowid { throw wrongOrder(statement) }
        lastRowid = rowid
        while let row = next, row.rowid < rowid {
          found.removed.append(row)
          next = known.next()
        }
        let fingerprint = fingerprint(statement)
        if let row = next, row.rowid == rowid {
          next = known.next()
          if row.fingerprint == fingerprint { continue }
          found.removed.append(row)
        }
        try add(rowid, fingerprint, statement, to: &found, &index, &writer)
      }
    }
    while let row = next {
      found.removed.append(row)
      next = known.next()
    }
    found.values.seal()
    return found
  }

  /// All rows of the result, where none is known.
  private func load(
    _ index: inout RowIndex, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowDelta {
    var found = RowDelta(values: RowBatches(columns: columns))
    var rows = SortedChunks<RowIndex.Row>()
    var writer = SortKeyWriter()
    var lastRowid: Int64?
    let otherValues = columns.names.count..<plan.valueCount
    try run(plan.scanSQL, on: database) { statement throws(SQLiteError) in
      while try statement.step() {
        let rowid = try rowid(statement)
        if let lastRowid, lastRowid >= rowid { throw wrongOrder(statement) }
        lastRowid = rowid
        var hasher = noValues
        found.values.append(statement) { hasher.combine($0) }
        hasher.combine(statement, otherValues)
        let key = try key(statement, &index, &writer)
        rows.append(RowIndex.Row(rowid: rowid, fingerprint: hasher.fingerprint, key: key))
      }
    }
    found.loaded = rows
    found.values.seal()
    return found
  }

  /// The rows that are shown of a limited result, compared with those that are known.
  func delta(
    toWindow index: inout RowIndex, _ sql: String, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowDelta {
    var found = begin(&index)
    var writer = SortKeyWriter()
    var kept: Set<Int64> = []
    var seen: Set<Int64> = []
    try run(sql, on: database) { statement throws(SQLiteError) in
      while try statement.step() {
        let rowid = try rowid(statement)
        guard seen.insert(rowid).inserted else { throw wrongOrder(statement) }
        let fingerprint = fingerprint(statement)
        if index.row(rowid)?.fingerprint == fingerprint {
          kept.insert(rowid)
        } else {
          try add(rowid, fingerprint, statement, to: &found, &index, &writer)
        }
      }
    }
    for row in index.rows where !kept.contains(row.rowid) { found.removed.append(row) }
    // By ascending rowid, as from a scan of all rows.
    found.added.sort { $0.row.rowid < $1.row.rowid }
    found.values.seal()
    return found
  }

  /// What became of some rows.
  func delta(
    of rowids: [Int64], to index: inout RowIndex, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowDelta {
    var found = begin(&index)
    guard let first = rowids.first else { return found }
    var writer = SortKeyWriter()
    try run(plan.rowSQL, rowid: first, on: database) { statement throws(SQLiteError) in
      for (number, rowid) in rowids.enumerated() {
        if number > 0 { try statement.restart(rowid: rowid) }
        let known = index.row(rowid)
        if try statement.step() {
          let fingerprint = fingerprint(statement)
          if known?.fingerprint == fingerprint { continue }
          try add(rowid, fingerprint, statement, to: &found, &index, &writer)
        }
        if let known { found.removed.append(known) }
      }
    }
    found.values.seal()
    return found
  }

  /// Begins a reading. What an earlier one left that came to nothing is let go.
  private func begin(_ index: inout RowIndex) -> RowDelta {
    index.compact()
    return RowDelta(values: RowBatches(columns: columns))
  }

  private func run(
    _ sql: String, rowid: Int64? = nil, on database: SQLiteDatabase,
    _ body: (SQLiteStatement) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    try database.withStatement(sql, argumentsFrom: arguments, rowid: rowid, body)
  }

  private func rowid(_ statement: SQLiteStatement) throws(SQLiteError) -> Int64 {
    guard let rowid = statement.integer(at: plan.rowidPosition) else { throw wrongOrder(statement) }
    return rowid
  }

  private func fingerprint(_ statement: SQLiteStatement) -> RowFingerprint {
    var hasher = noValues
    hasher.combine(statement, 0..<plan.valueCount)
    return hasher.fingerprint
  }

  private func add(
    _ rowid: Int64, _ fingerprint: RowFingerprint, _ statement: SQLiteStatement,
    to delta: inout RowDelta, _ index: inout RowIndex, _ writer: inout SortKeyWriter
  ) throws(SQLiteError) {
    let key = try key(statement, &index, &writer)
    delta.added.append(
      RowDelta.Added(
        row: RowIndex.Row(rowid: rowid, fingerprint: fingerprint, key: key),
        number: delta.values.append(statement)))
  }

  /// Keeps the key of the row that `statement` has come to.
  private func key(
    _ statement: SQLiteStatement, _ index: inout RowIndex, _ writer: inout SortKeyWriter
  ) throws(SQLiteError) -> SortKey {
    if plan.keys.isEmpty { return SortKey() }
    writer.write(plan.keys, of: statement)
    guard let key = index.makeKey(writer) else {
      throw SQLiteError(
        .other, "the values that rows are ordered by are too large", path: statement.path,
        sql: statement.sql, help: "order by shorter columns")
    }
    return key
  }

  private func wrongOrder(_ statement: SQLiteStatement) -> SQLiteError {
    SQLiteError(
      .corrupt, "the rows have no rowids in ascending order", path: statement.path,
      sql: statement.sql, help: "check the database by PRAGMA integrity_check")
  }
}
