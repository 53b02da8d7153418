import Diffing
import ObservableCollections
import SQLSources
import SwappablePrimitives

/// Reads the changes of a query's result.
///
/// One task at a time uses it. While rows are mapped, and when a call returns, no transaction is open.
///
/// The state of the contents is a snapshot of the server. If triggers record all changes, a read takes the records that
/// are visible now and were not visible in that snapshot, and then only the rows with those keys, all in one
/// transaction. Nothing can be missing: the records are written by the transactions that they describe. If some records
/// may be gone (another epoch, another server, or records that were pruned), or if the catalog has changed, the whole
/// result is read.
final class PostgresLiveQuery<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: one task at a time uses it, except `abandonConnection()`, which uses a lock.

  /// The contents at the last read.
  private struct ReadPoint: Sendable {
    /// The state of the database, as `ServerState` reads it.
    var state: String
    /// The snapshot, and the epoch of the records, if records exist.
    var snapshot: String?
    var epoch: String?
  }

  /// The number of reads that looked for changes, of reads of the whole result, and of reads of some keys.
  let readCounts = Locked((checks: 0, all: 0, keyed: 0))

  /// Returns the changed keys instead of the records, for a test that shows why keys must come from the transaction
  /// that reads.
  var keysInsteadOfRecords: (@Sendable () -> [[PostgresValue]])?

  let pool: PostgresPool
  private let query: PostgresQuery
  private let map: @Sendable (PostgresRow) throws -> Element
  private var analysis: QueryAnalysis?
  /// The plan by which `incremental` maintains the result, or `nil` if `refetch` does.
  private var plan: PostgresIncrementalPlan?
  private var incremental = IncrementalResult<Element, PostgresRow>()
  private var refetch = FullRefetch<Element, PostgresRow>()
  private var readPoint: ReadPoint?
  /// The state at the last read of the whole result.
  private var lastFullState: String?
  /// The connection that a read uses.
  private let running = Locked<PostgresConnection?>(nil)

  init(
    pool: PostgresPool, query: PostgresQuery,
    map: @escaping @Sendable (PostgresRow) throws -> Element
  ) {
    self.pool = pool
    self.query = query
    self.map = map
  }

  /// The tables whose records tell of all changes, or `nil` if some changes have no record.
  var recordedTables: Set<UInt32>? {
    analysis.flatMap { $0.polling == nil ? Set($0.tableOIDs) : nil }
  }

  var diagnostics: [SourceStatus.Diagnostic] {
    analysis?.diagnostics ?? []
  }

  /// The way in which the result is kept in step, and the reason.
  var mode: (String, reason: String) {
    guard let analysis else { return ("refetch", "The query was not read yet.") }
    let explanation = PostgresQueryExplanation(analysis, plan: [])
    return (explanation.mode.rawValue, explanation.reason)
  }

  /// Reads the changes since the last call.
  ///
  /// - Parameter shown: A closure that returns the current elements.
  func update(
    _ request: ReadRequest, _ shown: () -> Snapshot<Element>
  ) async throws(PostgresError) -> SourceWriter<Element>.Contents {
    do throws(PostgresError) {
      return try await pool.withCleanConnection { connection throws(PostgresError) in
        running.withLock { $0 = connection }
        defer { running.withLock { $0 = nil } }
        var request = request
        var (isRetried, isAnalyzed) = (false, false)
        while true {
          do throws(PostgresError) {
            return try await self.read(connection, request, shown)
          } catch {
            if Task.isCancelled { throw error }
            switch error.code {
            // The server may have closed a connection that was not in use. A new one tells. A statement that changes the
            // schema may have waited for this read, and this read for it.
            case .connectionLost where !isRetried, .deadlock where !isRetried: isRetried = true
            // The schema has changed since the query was analyzed.
            case .undefined, .other, .sql, .arguments:
              guard self.analysis != nil, !isAnalyzed else { throw error }
              self.analysis = nil
              (request, isAnalyzed) = (.everything, true)
            default: throw error
            }
          }
        }
      }
    } catch {
      var error = error.located(server: nil, sql: error.endsConnection ? nil : query.sql)
      if error.code == .readOnly { error.help = "use a query that only reads in a data source" }
      throw error
    }
  }

  /// Gives up the connection of a read that runs. The read begins again on a new one. Any thread may call this method.
  func abandonConnection() {
    running.withLock { $0 }?.abandonSession()
  }

  // MARK: Reading

  /// The rows of a read, before they are mapped.
  private enum Rows {
    case unchanged
    case all(RefetchedRows<PostgresRow>)
    case changed(ResultChange<PostgresRow>)
  }

  private func read(
    _ connection: PostgresConnection, _ request: ReadRequest, _ shown: () -> Snapshot<Element>
  ) async throws(PostgresError) -> SourceWriter<Element>.Contents {
    if request > .change || analysis == nil { try await prepare(connection) }
    guard let analysis else { preconditionFailure("a prepared query has an analysis") }
    readCounts.withLock { $0.checks += 1 }
    let (now, extent, rows) = try await connection.withSnapshot(locking: analysis.lockSQL) {
      session throws(PostgresError) in
      let (now, extent) = try await rowsToRead(session, request, analysis)
      return (now, extent, try await readRows(extent, session))
    }
    if case .analysis = extent {
      self.analysis = nil
      return try await read(connection, .everything, shown)
    }
    let contents: SourceWriter<Element>.Contents =
      switch rows {
      case .unchanged: .same
      case .all(let rows): try refetch.apply(rows, map)
      case .changed(let change): try incremental.apply(change, shown, map)
      }
    // Store the state only after the rows were mapped. Until then, the known rows are older.
    readPoint = now
    if case .all = extent { lastFullState = now.state }
    return contents
  }

  /// Analyzes the query if that was not done, or if the schema has changed since.
  private func prepare(_ connection: PostgresConnection) async throws(PostgresError) {
    try await connection.withSession { session throws(PostgresError) in
      let analyzer = QueryAnalyzer(query: query, session: session)
      if let analysis, let signature = analysis.signature {
        let oids = analysis.relations.map(\.oid)
        if try await analyzer.signature(of: oids) == signature {
          if analysis.polling == nil { await session.maintainRecords() }
          return
        }
      }
      // Changes before the analysis may not be recorded, so everything is read after it.
      let new = try await analyzer.analyze()
      readPoint = nil
      lastFullState = nil
      analysis = new
      if new.polling == nil { await session.maintainRecords() }
      let newPlan = new.polling == nil ? try? new.plan.get() : nil
      guard newPlan != plan else { return }
      plan = newPlan
      (incremental, refetch) = (IncrementalResult(), FullRefetch())
    }
  }

  /// The rows to read.
  private enum RowsToRead {
    case nothing
    case keys([[PostgresValue]])
    case all
    /// The catalog has changed since the analysis. Analyze the query again, and then read all rows.
    case analysis
  }

  private static var recordLimit: Int { 1000 }

  /// Reads the state of the database, and the records of changes since the last read, in one snapshot, and decides what
  /// to read.
  private func rowsToRead(
    _ session: PostgresSession, _ request: ReadRequest, _ analysis: QueryAnalysis
  ) async throws(PostgresError) -> (ReadPoint, RowsToRead) {
    let isRecorded = analysis.polling == nil
    guard isRecorded, !analysis.tableOIDs.isEmpty else {
      let now = ReadPoint(state: try await ServerState.read(session))
      // After a reconnection, another server may have the same state by chance.
      let isSame = isRecorded || now.state == readPoint?.state && request != .reconnection
      return (now, isSame && !needsAll(request, analysis, now) ? .nothing : .all)
    }
    let rows = try await session.texts(
      """
      SELECT (\(ServerState.sql)), pg_catalog.pg_current_snapshot(), \(Self.epochSQL),
        \(QueryAnalyzer.signatureSQL("$3")), \(Self.isPrunedSQL), c.relation, c.keys
      FROM (SELECT 1) AS one LEFT JOIN LATERAL (
        \(ServerState.recordsSQL(
          "r.relation, r.keys", of: "r.relation = ANY ($2::pg_catalog.oid[])",
          limit: Self.recordLimit + 1))
      ) c ON true
      """, [readPoint?.snapshot, analysis.tableOIDs, analysis.relations.map(\.oid)], columns: 7)
    guard let first = rows.first else { throw .noRows(query) }
    let now = ReadPoint(state: first[0] ?? "", snapshot: first[1], epoch: first[2])
    if request != .everything, let signature = analysis.signature, signature != first[3] {
      return (now, .analysis)
    }
    guard !needsAll(request, analysis, now), let readPoint, readPoint.snapshot != nil,
      let epoch = now.epoch, epoch == readPoint.epoch, first[4] == "f"
    else { return (now, .all) }
    if let keysInsteadOfRecords { return (now, .keys(keysInsteadOfRecords())) }
    if first[5] == nil { return (now, .nothing) }
    guard plan != nil, rows.count <= Self.recordLimit else { return (now, .all) }
    // Values are compared as bytes. Two equal strings can be two keys.
    var keys: Set<[PostgresValue]> = []
    for row in rows {
      // In a database without an encoding, a key need not be UTF-8, and cannot be sent back.
      guard let text = row[6], !text.unicodeScalars.contains("\u{FFFD}"),
        let recorded = PostgresValue.array(in: text)
      else { return (now, .all) }
      for case .array(let key) in recorded { keys.insert(key) }
    }
    let areFew = keys.count <= max(256, incremental.index.count / 16)
    return (now, areFew ? .keys(Array(keys)) : .all)
  }

  /// Returns a Boolean value that indicates whether the changes since the last read do not suffice.
  private func needsAll(_ request: ReadRequest, _ analysis: QueryAnalysis, _ now: ReadPoint) -> Bool
  {
    if readPoint == nil || request == .everything { return true }
    return request == .verification
      && (analysis.instability != nil || now.state != lastFullState)
  }

  /// An expression for the identity of the records: the server's start and timeline, the server, the database, and the
  /// epoch. It is NULL if another server or database made the records.
  ///
  /// While a server is stopped, its files can be replaced by an older copy.
  private static var epochSQL: String {
    """
    (SELECT pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8)
        || ' ' || pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time())
        || ' ' || e.cluster || ' ' || e.tableoid || ' ' || e.epoch
      FROM swappable.epoch e WHERE e.cluster = \(ChangeTriggers.clusterSQL) LIMIT 1)
    """
  }

  /// An expression that tells whether records may be gone that were not visible in the snapshot `$1`: those of
  /// transactions that began later, or that ended since.
  private static var isPrunedSQL: String {
    """
    (SELECT COALESCE(p.xid >= pg_catalog.pg_snapshot_xmax($1::pg_catalog.pg_snapshot)
        OR EXISTS (
          SELECT FROM pg_catalog.pg_snapshot_xip($1::pg_catalog.pg_snapshot) AS x(xid)
          WHERE x.xid <= p.xid
            AND pg_catalog.pg_visible_in_snapshot(x.xid, pg_catalog.pg_current_snapshot())), false)
      FROM (SELECT 1) AS one LEFT JOIN LATERAL (
        SELECT r.xid FROM swappable.record r WHERE r.relation = 0 ORDER BY r.xid DESC LIMIT 1
      ) p ON true)
    """
  }

  private func readRows(
    _ extent: RowsToRead, _ session: PostgresSession
  ) async throws(PostgresError) -> Rows {
    var (sql, arguments) = (query.sql, query.arguments)
    var keys: [[PostgresValue]]?
    switch extent {
    case .nothing, .analysis: return .unchanged
    case .all: readCounts.withLock { $0.all += 1 }
    case .keys(let changed):
      guard let plan else { preconditionFailure("keys are read with a plan") }
      readCounts.withLock { $0.keyed += 1 }
      (sql, keys) = (plan.sql, changed)
      arguments += plan.keyPositions.indices.map { part in
        .array(Array(Set(changed.map { $0.indices.contains(part) ? $0[part] : .null })))
      }
    }
    guard let plan else {
      let receiver = RefetchReceiver(query: query, known: refetch)
      try await session.run(sql, arguments, receiver: receiver)
      guard let rows = receiver.rows else { throw .noRows(query) }
      return .all(rows)
    }
    let receiver = IncrementalReceiver(query: query, plan: plan, known: incremental, keys: keys)
    try await session.run(sql, arguments, receiver: receiver)
    guard let change = receiver.finish() else { throw .noRows(query) }
    return .changed(change)
  }

  // MARK: Explanation

  /// Explains how the query is followed.
  func explain() async throws(PostgresError) -> PostgresQueryExplanation {
    try await pool.withCleanConnection { connection throws(PostgresError) in
      try await connection.withSession { session throws(PostgresError) in
        let analysis = try await QueryAnalyzer(query: query, session: session).analyze()
        let plan = try await session.texts(
          "EXPLAIN " + query.sql, PostgresArguments(query.arguments), columns: 1)
        return PostgresQueryExplanation(analysis, plan: plan.compactMap { $0[0] })
      }
    }
  }
}

extension PostgresError {
  /// A Boolean value that indicates whether the query may succeed without a change of its rows.
  var mayPass: Bool {
    switch code {
    case .decoding, .unexpectedNull, .typeMismatch, .noColumn, .duplicateColumn, .notAQuery,
      .tooLarge, .noClientLibrary, .connectionString:
      false
    default: true
    }
  }

  fileprivate static func noRows(_ query: PostgresQuery) -> PostgresError {
    .unexpectedAnswer("the server answered to a query without a result", sql: query.sql)
  }
}

extension PostgresConnection {
  /// Runs a closure in a read-only transaction in which the database does not change.
  ///
  /// After a TRUNCATE or a rewrite of a table, older snapshots show an empty table. The tables are therefore locked
  /// before the snapshot is taken.
  func withSnapshot<Result>(
    locking lockSQL: String?,
    _ body: (PostgresSession) async throws(PostgresError) -> Result
  ) async throws(PostgresError) -> Result {
    try await withSession { session throws(PostgresError) in
      do throws(PostgresError) {
        try await session.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", locking: lockSQL)
        let result = try await body(session)
        try await session.run("COMMIT", limit: session.answerLimit)
        return result
      } catch {
        await session.rollBack()
        throw error
      }
    }
  }
}
