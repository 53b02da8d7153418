import SQLSources
import SwappablePrimitives

/// The change of a table's rows in a result. The identity of a row is its rowid.
typealias RowChange = ResultChange<SQLiteRow>

/// Reads the change of rows, in a transaction.
struct RowScan {
  let plan: IncrementalPlan
  let query: SQLiteQuery
  private let emptyHasher = RowHasher()

  /// Reads the whole result and compares it with the known rows.
  ///
  /// - Parameter index: The known rows. The keys of new rows are added to its arena.
  func change(
    of index: inout ResultIndex, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowChange {
    if let sql = plan.windowSQL { return try windowChange(of: &index, sql, on: database) }
    var found = begin(&index)
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
        var row: ResultIndex.Row?
        if next?.rowid == rowid {
          row = next
          next = known.next()
        }
        try add(statement, rowid, known: row, to: &found, &index, &writer)
      }
    }
    while let row = next {
      found.removed.append(row)
      next = known.next()
    }
    return found
  }

  /// Reads the rows of a result with a limit and compares them with the known rows.
  private func windowChange(
    of index: inout ResultIndex, _ sql: String, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowChange {
    var found = begin(&index)
    var writer = SortKeyWriter()
    var seen: Set<Int64> = []
    try run(sql, on: database) { statement throws(SQLiteError) in
      while try statement.step() {
        let rowid = try rowid(statement)
        guard seen.insert(rowid).inserted else { throw wrongOrder(statement) }
        try add(
          statement, rowid, known: index.row(SortKey(rowid)), to: &found, &index, &writer)
      }
    }
    for row in index.rows where !seen.contains(row.rowid) { found.removed.append(row) }
    return found
  }

  /// Reads some rows and compares them with the known rows.
  ///
  /// - Parameter rowids: The rows to read, by ascending rowid.
  /// - Returns: The change, or `nil` if unknown rows move into a result with a limit.
  func change(
    of index: inout ResultIndex, rowids: [Int64], on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowChange? {
    var found = begin(&index)
    guard let first = rowids.first else { return found }
    var writer = SortKeyWriter()
    try run(plan.rowSQL, rowid: first, on: database) { statement throws(SQLiteError) in
      for (number, rowid) in rowids.enumerated() {
        if number > 0 { try statement.restart(rowid: rowid) }
        let known = index.row(SortKey(rowid))
        if try statement.step() {
          try add(statement, rowid, known: known, to: &found, &index, &writer)
        } else if let known {
          found.removed.append(known)
        }
      }
    }
    return plan.limit.map { found.windowed(index, limit: $0) } ?? found
  }

  /// Begins a read, and releases keys that an earlier read has added in vain.
  private func begin(_ index: inout ResultIndex) -> RowChange {
    index.compact()
    return RowChange(columns: plan.columns)
  }

  private func run(
    _ sql: String, rowid: Int64? = nil, on database: SQLiteDatabase,
    _ body: (SQLiteStatement) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    try database.withStatement(sql, argumentsFrom: query.arguments, rowid: rowid, body)
  }

  private func rowid(_ statement: SQLiteStatement) throws(SQLiteError) -> Int64 {
    guard let rowid = statement.integer(at: plan.rowidPosition) else { throw wrongOrder(statement) }
    return rowid
  }

  /// Adds a statement's current row to a change, unless it is known and has the same values.
  private func add(
    _ statement: SQLiteStatement, _ rowid: Int64, known: ResultIndex.Row?,
    to change: inout RowChange, _ index: inout ResultIndex, _ writer: inout SortKeyWriter
  ) throws(SQLiteError) {
    var hasher = emptyHasher
    let number: Int
    if let known {
      hasher.combine(statement, 0..<plan.valueCount)
      if hasher.fingerprint == known.fingerprint { return }
      change.removed.append(known)
      number = change.values.append(statement)
    } else {
      // Each value of a new row is read only once.
      number = change.values.append(statement) { hasher.combine($0) }
      hasher.combine(statement, plan.columns.names.count..<plan.valueCount)
    }
    var order = SortKey()
    if !plan.keys.isEmpty {
      writer.write(plan.keys, of: statement)
      guard let key = index.makeKey(writer) else {
        throw SQLiteError(
          .other, "the values that order a row are too large", path: statement.path,
          sql: statement.sql, help: "order by shorter columns")
      }
      order = key
    }
    let row = ResultIndex.Row(
      identity: SortKey(rowid), order: order, fingerprint: hasher.fingerprint)
    change.added.append(AddedRow(row: row, number: number))
    try query.check(byteCount: change.values.byteCount)
  }

  private func wrongOrder(_ statement: SQLiteStatement) -> SQLiteError {
    SQLiteError(
      .corrupt, "rows ordered by rowid are not in ascending order", path: statement.path,
      sql: statement.sql, help: "check the database with PRAGMA integrity_check")
  }
}

extension ResultIndex.Row {
  fileprivate var rowid: Int64 { identity.integer ?? 0 }
}

extension ResultChange<SQLiteRow> {
  /// Restricts the change to a result with a limit, of which only the first rows are known.
  ///
  /// - Parameters:
  ///   - index: The known rows.
  ///   - limit: The maximal number of rows in the result.
  /// - Returns: The restricted change, or `nil` if unknown rows move into the result.
  func windowed(_ index: ResultIndex, limit: Int) -> RowChange? {
    var change = self
    func count() -> Int { index.count - change.removed.count + change.added.count }
    if index.count >= limit {
      // All unknown rows follow the last known row. A new row behind it is not in the result.
      guard let last = index.last else { return RowChange(columns: values.columns) }
      change.added.removeAll { index.precedes(last, $0.row) }
      if count() < limit { return nil }
    }
    guard count() > limit else { return change }
    var next = index
    for row in change.removed { next.remove(row) }
    for added in change.added { next.insert(added.row) }
    var pushedOut: Set<Int64> = []
    while next.count > limit, let last = next.last {
      next.remove(last)
      pushedOut.insert(last.rowid)
    }
    let removed = Set(change.removed.map(\.rowid))
    change.added.removeAll { pushedOut.contains($0.row.rowid) }
    for rowid in pushedOut.sorted() where !removed.contains(rowid) {
      if let row = index.row(SortKey(rowid)) { change.removed.append(row) }
    }
    return change
  }
}

// MARK: - Sort keys

extension SortKeyWriter {
  /// Writes the columns that order a row.
  mutating func write(_ keys: [IncrementalPlan.Key], of statement: SQLiteStatement) {
    removeAll()
    for key in keys {
      switch statement.storedValue(at: key.position) {
      case .null: addNull()
      case .integer(let number): add(number)
      case .real(let number): add(number)
      case .text(let text): add(text: text, ignoresCase: key.ignoresCase)
      case .blob(let blob): add(blob: blob)
      }
      end(isDescending: key.isDescending)
    }
  }
}
