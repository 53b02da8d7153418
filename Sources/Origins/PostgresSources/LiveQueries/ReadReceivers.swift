import Diffing
import SQLSources
import SwappablePQ

/// Receives a whole result. Only rows with new values are copied.
final class RefetchReceiver<Element: Differentiable & Sendable>: ResultReceiver, @unchecked Sendable
{
  // Sendable: as the superclass is.

  private let query: PostgresQuery
  private let known: FullRefetch<Element, PostgresRow>
  private let emptyHasher = RowHasher()
  private(set) var rows: RefetchedRows<PostgresRow>?

  init(query: PostgresQuery, known: FullRefetch<Element, PostgresRow>) {
    (self.query, self.known) = (query, known)
  }

  override func receive(_ library: LibPQ, _ result: LibPQ.Result) -> PostgresError? {
    if rows == nil {
      let columns = Self.columns(library, result)
      if let error = query.error(of: columns) { return error }
      rows = known.begin(columns)
    }
    guard var rows = rows.take() else { return nil }
    let columns = rows.newRows.columns
    for number in 0..<library.rowCount(result) {
      let row = ReceivedRow(library: library, result: result, row: number)
      if rows.add(row.fingerprint(emptyHasher, columns: columns)) { rows.newRows.append(row) }
    }
    self.rows = rows
    return rows.byteCount > query.byteLimit ? .tooLarge(query.byteLimit) : nil
  }
}

/// Receives the rows of a result, or of some keys, and compares them with the known rows.
final class IncrementalReceiver<Element: Differentiable & Sendable>: ResultReceiver,
  @unchecked Sendable
{
  // Sendable: only the queue of the session uses the known rows while the live query waits for the operation.

  private let query: PostgresQuery
  private let plan: PostgresIncrementalPlan
  /// The known rows. The keys of new rows are added to the arena of their index.
  private let known: IncrementalResult<Element, PostgresRow>
  /// The keys that are read, or `nil` if all rows are.
  private let keys: [[PostgresValue]]?
  private let emptyHasher = RowHasher()
  private var change: ResultChange<PostgresRow>?
  /// For each known row, by its number, a Boolean value that indicates whether it was read, if all rows are read.
  private var isSeen: [Bool]
  /// The numbers of the known rows that were read, if some keys are read.
  private var seen: Set<Int> = []
  private var areColumnsNew = false
  /// Kept for all rows, because its memory is used again.
  private var writer = SortKeyWriter()

  init(
    query: PostgresQuery, plan: PostgresIncrementalPlan,
    known: IncrementalResult<Element, PostgresRow>,
    keys: [[PostgresValue]]?
  ) {
    (self.query, self.plan, self.known, self.keys) = (query, plan, known, keys)
    known.index.compact()
    isSeen = [Bool](repeating: false, count: keys == nil ? known.index.count : 0)
  }

  override func receive(_ library: LibPQ, _ result: LibPQ.Result) -> PostgresError? {
    if change == nil {
      let columns = Self.columns(library, result)
      if let error = query.error(of: columns) { return error }
      if columns != known.columns {
        // Nothing is known of rows with other columns, except their places.
        if keys != nil { return .columnsChanged(query) }
        areColumnsNew = true
      }
      change = ResultChange(columns: columns)
    }
    guard var change = change.take() else { return nil }
    for number in 0..<library.rowCount(result) {
      let error = receive(ReceivedRow(library: library, result: result, row: number), &change)
      if let error { return error }
    }
    let byteCount = change.values.byteCount + known.index.arena.bytes.count
    self.change = change
    return byteCount > query.byteLimit ? .tooLarge(query.byteLimit) : nil
  }

  private func receive(
    _ row: ReceivedRow, _ change: inout ResultChange<PostgresRow>
  ) -> PostgresError? {
    let fingerprint = row.fingerprint(emptyHasher, columns: change.values.columns)
    plan.writeKey(of: row, &writer)
    guard let identity = known.index.makeKey(writer) else { return .tooLarge(query.byteLimit) }
    if let row = known.index.row(identity) {
      guard see(known.index.number(of: identity)) else { return .keyTwice(query) }
      if row.fingerprint == fingerprint, !areColumnsNew {
        known.index.removeLastKey(identity)
        return nil
      }
      change.removed.append(row)
    }
    plan.writeOrder(of: row, &writer)
    guard let order = known.index.makeKey(writer) else { return .tooLarge(query.byteLimit) }
    let place = ResultIndex.Row(identity: identity, order: order, fingerprint: fingerprint)
    change.added.append(.init(row: place, number: change.values.append(row)))
    return nil
  }

  /// Notes that a known row was read. Returns `false` if it was read before.
  private func see(_ number: Int) -> Bool {
    guard keys == nil else { return seen.insert(number).inserted }
    defer { isSeen[number] = true }
    return !isSeen[number]
  }

  /// Ends the read, and adds the rows that were not found to the deleted rows.
  func finish() -> ResultChange<PostgresRow>? {
    guard var change = change.take() else { return nil }
    for key in keys ?? [] {
      PostgresIncrementalPlan.writeKey(key, &writer)
      guard let identity = known.index.makeKey(writer) else { continue }
      if let row = known.index.row(identity), see(known.index.number(of: identity)) {
        change.removed.append(row)
      }
    }
    if keys == nil {
      for (row, isSeen) in zip(known.index.rows, isSeen) where !isSeen {
        change.removed.append(row)
      }
    }
    return change
  }
}

extension PostgresError {
  fileprivate static func keyTwice(_ query: PostgresQuery) -> PostgresError {
    PostgresError(
      .other, "two rows of the result have the same primary key", sql: query.sql,
      help: "check the index of the primary key, for example with pg_amcheck, and run REINDEX")
  }

  fileprivate static func columnsChanged(_ query: PostgresQuery) -> PostgresError {
    PostgresError(
      .other, "the columns of the result have changed", sql: query.sql, help: "read it again")
  }
}
