import Diffing
import ObservableCollections
import ReactiveSignals
import SQLSources
import SwappablePrimitives
import SwappableSQLite3

/// Reads the changes of a query's result, incrementally if possible.
///
/// A read has two parts, because rows are mapped to elements after the transaction has ended. If an element cannot be
/// made, the result stays as it was.
///
/// One thread at a time reads. While rows are mapped, and when a call returns, no transaction is open and no lock is held.
final class SQLiteLiveQuery<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: one thread at a time reads. The other methods use constants.

  /// The schema for which the plan was made.
  private struct Schema: Equatable {
    var opening: Int
    var version: Int64?
  }

  /// The rows of a read, before they are mapped.
  private enum Rows {
    case all(RefetchedRows<SQLiteRow>)
    case changed(RowChange)
  }

  /// The number of reads of the whole result, and of written rows only.
  private(set) var counts = (all: 0, written: 0)

  private let monitor: ChangeMonitor
  private let query: SQLiteQuery
  private let tracking: ChangeTracking
  private let map: @Sendable (SQLiteRow) throws -> Element
  private let cancellation: QueryCancellation
  /// The plan by which `incremental` maintains the result, or the reason why `refetch` does.
  private var plan: Result<RowScan, RefetchReason>?
  private var incremental = IncrementalResult<Element, SQLiteRow>()
  private var refetch = FullRefetch<Element, SQLiteRow>()
  /// The state of the writer at the last read, or `nil` if the next update must read the whole result.
  private var checkpoint: WriteCheckpoint?
  private var schema: Schema?
  /// The version of the last read, and the error that makes its result unusable.
  private var lastRead: (version: DatabaseReader.Version, error: SQLiteError?)?
  /// How many losses of the write-ahead log were reported, or `nil` before the first read.
  private var reportedLosses: Int?

  init(
    monitor: ChangeMonitor, query: SQLiteQuery, tracking: ChangeTracking,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) {
    self.monitor = monitor
    self.query = query
    self.tracking = tracking
    cancellation = QueryCancellation(timeout: query.timeout)
    self.map = map
  }

  var diagnostics: [SourceStatus.Diagnostic] {
    guard case .failure(let reason) = plan else { return [] }
    return [SourceStatus.Diagnostic(code: "not-incremental", message: reason.text)]
  }

  /// A Boolean value that indicates whether no two elements are known to have one identity.
  var areIdentitiesUnique: Bool {
    if case .success = plan { incremental.areIdentitiesUnique } else { false }
  }

  /// The way in which the result is kept in step, and the reason, or `nil` before the first read.
  var mode: (SQLiteQueryExplanation.Mode, reason: String)? {
    switch plan {
    case .success(let scan): (.incremental, scan.plan.reason)
    case .failure(let reason): (.refetch, reason.text)
    case nil: nil
    }
  }

  /// Reads the changes since the last call.
  ///
  /// - Parameters:
  ///   - changes: The changes that the result must include.
  ///   - client: The number of the data source at the monitor.
  ///   - failures: The number of reads that have failed one after another.
  ///   - shown: A closure that returns the current elements.
  func update(
    including changes: DatabaseChange.Extent, client: Int?, failures: Int = 0,
    _ shown: () -> Snapshot<Element>
  ) -> ReadResult {
    if changes == .ownCommits, hasWriter, let result = readWrittenRows(shown) { return result }
    let version: DatabaseReader.Version
    do throws(SQLiteError) {
      version = try monitor.version(including: changes, for: client)
    } catch {
      return transientFailure(error, after: failures)
    }
    if version.lostLogs > reportedLosses ?? version.lostLogs {
      reportedLosses = version.lostLogs
      // The database has been opened again. Show first why the contents may change.
      return failure(
        SQLiteError(lostLogOf: monitor.path?.description ?? ""), again: .milliseconds(250))
    }
    reportedLosses = version.lostLogs
    if let lastRead, lastRead.version == version {
      return lastRead.error.map { failure($0) } ?? .contents(.same)
    }
    if version.opening == schema?.opening, let result = readWrittenRows(shown) {
      lastRead?.version = version
      return result
    }
    return readAll(version, after: failures, shown)
  }

  // MARK: Reading

  /// A Boolean value that indicates whether the writer of this process is known, and has the file open.
  private var hasWriter: Bool {
    guard let checkpoint else { return false }
    guard let path = monitor.path else { return true }
    return checkpoint.identity.map { FileLookup(path) == .file($0) } ?? false
  }

  /// Reads only the rows that the writer of this process has written.
  ///
  /// - Returns: The result, or `nil` if the whole result must be read.
  private func readWrittenRows(_ shown: () -> Snapshot<Element>) -> ReadResult? {
    guard lastRead != nil, let checkpoint, case .success(let scan) = plan else { return nil }
    let found: WriteCheckpoint.Outcome<RowChange?>
    do throws(SQLiteError) {
      let limit = max(64, incremental.index.count / 20)
      found = try checkpoint.read(limit: limit, tracking: tracking) {
        rowids, database throws(SQLiteError) in
        try scan.change(of: &incremental.index, rowids: rowids, on: database)
      }
    } catch {
      // Reading the whole result reports the error, if it lasts.
      if error.code != .busy { self.checkpoint = nil }
      return nil
    }
    switch found {
    case .isOccupied, .rows(nil, _): return nil
    case .isOver:
      self.checkpoint = nil
      return nil
    case .rows(let change?, let next):
      do throws(SQLiteError) {
        let contents = try incremental.apply(change, shown, map)
        self.checkpoint = next
        counts.written += 1
        lastRead?.error = nil
        return .contents(contents)
      } catch {
        let error = located(error)
        lastRead?.error = error
        return failure(error)
      }
    }
  }

  private func readAll(
    _ version: DatabaseReader.Version, after failures: Int, _ shown: () -> Snapshot<Element>
  ) -> ReadResult {
    counts.all += 1
    var isRead = false
    do throws(SQLiteError) {
      let (rows, checkpoint) = try read(version)
      isRead = true
      let contents =
        switch rows {
        case .all(let rows): try refetch.apply(rows, map)
        case .changed(let change): try incremental.apply(change, shown, map)
        }
      // Without a new checkpoint, the old one is still valid if only its writer has written.
      if let checkpoint { self.checkpoint = checkpoint }
      // Store the version only after the mapping has succeeded. Until then, the known rows are older.
      lastRead = (version, nil)
      monitor.noteLog(isShort: false)
      return .contents(contents)
    } catch {
      if !isRead, isTransient(error) { return transientFailure(error, after: failures) }
      checkpoint = nil
      let error = located(error)
      lastRead = (version, error)
      return failure(error)
    }
  }

  /// Reads the whole result, and returns its rows with the state of the writer before the read.
  private func read(
    _ version: DatabaseReader.Version
  ) throws(SQLiteError) -> (Rows, WriteCheckpoint?) {
    try monitor.readers.withReader { reader throws(SQLiteError) in
      for _ in 0..<10 {
        if schema == nil || schema?.opening != version.opening {
          try reader.read(until: cancellation) { database throws(SQLiteError) in
            try makePlan(for: database, opening: version.opening)
          }
        }
        let next = makeCheckpoint()
        let found = try reader.read(until: cancellation) {
          database throws(SQLiteError) -> (Rows, WriteCheckpoint?)? in
          let version = try database.schemaVersion()
          guard version == schema?.version else { return nil }
          let isValid =
            next?.hasSchemaVersion(version) == true && next?.identity == database.identity
          return (try readRows(database), isValid ? next : nil)
        }
        if let found { return found }
        schema = nil
      }
      throw SQLiteError(
        .busy, "the schema changes too often", path: reader.path, sql: query.sql,
        help: "wait until no program changes it")
    }
  }

  /// Begins to log the writes of the connection of this process that commits.
  private func makeCheckpoint() -> WriteCheckpoint? {
    guard let writer = monitor.writer, case .success(let scan) = plan else { return nil }
    // If this fails, the users of the writer receive the error.
    return try? WriteCheckpoint.begin(at: writer, table: scan.plan.table, tracking: tracking)
  }

  /// Reads the rows of the whole result, in a transaction.
  private func readRows(_ database: SQLiteDatabase) throws(SQLiteError) -> Rows {
    if case .success(let scan) = plan {
      return .changed(try scan.change(of: &incremental.index, on: database))
    }
    return try database.withStatement(query.sql, query.arguments) {
      statement throws(SQLiteError) in
      try query.check(statement)
      var hasRow = try statement.step()
      // Read the columns after the first step: SQLite prepares the statement anew if the schema has
      // changed.
      let columns = statement.columns
      try query.check(columns, path: statement.path)
      var rows = refetch.begin(columns)
      let emptyHasher = RowHasher()
      while hasRow {
        var hasher = emptyHasher
        hasher.combine(statement, 0..<statement.valueCount)
        if rows.add(hasher.fingerprint) { rows.newRows.append(statement) }
        try query.check(byteCount: rows.byteCount)
        hasRow = try statement.step()
      }
      return .all(rows)
    }
  }

  /// Makes the plan for a schema. If it stays the same, the known rows are kept.
  private func makePlan(for database: SQLiteDatabase, opening: Int) throws(SQLiteError) {
    try database.loadSchema()
    try query.check(on: database)
    let version = try database.schemaVersion()
    checkpoint = nil
    switch (plan, try IncrementalPlan.make(for: query, on: database)) {
    case (.success(let scan), .success(let new)) where scan.plan == new: break
    case (_, .success(let new)):
      plan = .success(RowScan(plan: new, query: query))
      (incremental, refetch) = (IncrementalResult(isByIdentity: new.keys.isEmpty), FullRefetch())
    case (.failure, .failure(let reason)): plan = .failure(reason)
    case (_, .failure(let reason)):
      plan = .failure(reason)
      (incremental, refetch) = (IncrementalResult(), FullRefetch())
    }
    schema = Schema(opening: opening, version: version)
  }

  // MARK: Errors

  /// Returns a Boolean value that indicates whether an error may pass without a visible change of the
  /// database.
  private func isTransient(_ error: SQLiteError) -> Bool {
    switch error.code {
    case .missing, .directory, .moved, .notADatabase: true
    default: error.mayPass
    }
  }

  private func transientFailure(_ error: SQLiteError, after failures: Int) -> ReadResult {
    if error.isLostLog { monitor.noteLog(isShort: true) }
    let backoff = Backoff(first: .milliseconds(1), longest: .milliseconds(250))
    return failure(
      error.located(path: monitor.path),
      again: isTransient(error) ? backoff.pause(after: failures + 1) : nil)
  }

  private func failure(_ error: SQLiteError, again pause: Duration? = nil) -> ReadResult {
    // A lock is usually held for a moment only.
    .failure(
      error.sourceState, shownAfter: error.mayPass ? .seconds(1) : .zero, again: pause)
  }

  private func located(_ error: SQLiteError) -> SQLiteError {
    error.located(path: monitor.path, sql: query.sql)
  }
}

// MARK: - When and what to read

/// The changes of a database that a data source has not read.
struct DatabaseChange: Sendable {
  enum Extent: Hashable, Sendable {
    /// Only commits of this process.
    case ownCommits
    /// Only changes that the change monitor has found.
    case found
    /// All changes, including changes that nobody has found yet.
    case all
  }

  private(set) var extent: Extent
  private var ownCommits: Int

  init(_ extent: Extent) {
    self.extent = extent
    ownCommits = extent == .ownCommits ? 1 : 0
  }

  mutating func merge(_ other: DatabaseChange) {
    if extent != other.extent { extent = .all }
    ownCommits += other.ownCommits
  }

  /// A Boolean value that indicates whether this process commits faster than the source reads.
  var isBurst: Bool { ownCommits > 1 }
}

extension SQLiteError {
  /// A Boolean value that indicates whether the error may pass without a visible change of the database.
  var mayPass: Bool {
    switch code {
    // A value that is too big stays too big.
    case .other: primaryResultCode != SQLITE_TOOBIG
    case .busy, .inputOutput, .cannotOpen, .logFiles, .readOnly, .full: true
    default: false
    }
  }
}

extension SQLiteLiveQuery: PolledSource {
  struct Memory: Sendable {
    /// The number of the client at the monitor.
    let client: Int
    let subscription: Disposable
    /// A Boolean value that indicates whether more than one commit of this process came before the last read.
    var isBurst = false
  }

  func start(_ report: @escaping @Sendable (DatabaseChange) -> Void) -> Memory {
    let client = monitor.attach { report(DatabaseChange($0)) }
    return Memory(client: client, subscription: Disposable { [monitor] in monitor.detach(client) })
  }

  func merge(_ change: DatabaseChange, into unread: inout DatabaseChange) { unread.merge(change) }

  func readTime(of unread: DatabaseChange, _ memory: Memory) -> ReadTime {
    // In a burst, leave most of the time to the writer.
    memory.isBurst || unread.isBurst ? .atRest : .now
  }

  func read(
    _ attempt: ReadAttempt, _ memory: inout Memory
  ) async -> ReadResult {
    memory.isBurst = attempt.change?.isBurst ?? false
    let client = memory.client
    // The release of the data source interrupts the query, and so does a pause of the program.
    cancellation.reset()
    return await withTaskCancellationHandler {
      read(attempt, for: client)
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func read(
    _ attempt: ReadAttempt, for client: Int
  ) -> ReadResult {
    let isWhole = attempt.isRefresh || attempt.failures > 0
    if attempt.isRefresh, lastRead?.error != nil { lastRead = nil }
    let countsBefore = counts
    var result = update(
      including: isWhole ? .all : attempt.change?.extent ?? .all, client: client,
      failures: attempt.failures
    ) { attempt.collection.snapshot }
    if result.hasContents {
      result.hasRead = counts != countsBefore
      result.mode = result.hasRead ? mode.map { ($0.0.rawValue, $0.reason) } : nil
      result.areIdentitiesUnique = areIdentitiesUnique
    }
    result.diagnostics = diagnostics
    if let polling = monitor.diagnostic {
      result.diagnostics.insert(SourceStatus.Diagnostic(code: "polling", message: polling), at: 0)
    }
    if let remark = monitor.immutableRemark { result.diagnostics.append(remark) }
    return result
  }
}
