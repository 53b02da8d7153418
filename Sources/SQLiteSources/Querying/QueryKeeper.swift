import Diffing
import ObservableCollections
import SwappablePrimitives

/// Finds out what became of a query's result: row by row where that is right, as a whole elsewhere.
///
/// It is used by one thread at a time, on the data source's queue. No transaction is open, and nothing
/// is locked, when rows are mapped and when a call returns.
final class QueryKeeper<Element: Differentiable & Sendable> {
  /// What a data source has to do after a run.
  enum Outcome {
    /// The contents are what they were.
    case unchanged
    /// These are the contents now.
    case replaced([Element])
    /// The contents change by these.
    case changed(Changeset, inserted: [Element], updated: [Element])
    /// They could not be read; with a pause, try again after it.
    case failed(SQLiteError, retryAfter: Duration?, isWorthTelling: Bool)
  }

  /// How the result is maintained.
  private enum Mode {
    case undecided
    case rows(MaintainedRows<Element>)
    case whole(QueryRefetch<Element>, Disqualification)
  }

  /// The schema that the mode was decided by.
  private struct Schema: Equatable {
    var opening: Int
    var version: Int64?
  }

  /// What was read of the database.
  private enum Reading {
    case rows(RowDelta, base: CommitBase?)
    case whole(SQLiteQuery.Result)
    /// The schema is another one than that which the mode was decided by.
    case outdated
  }

  /// How often everything was read, and how often written rows alone.
  private(set) var counts = (all: 0, written: 0)

  private let monitor: ChangeMonitor
  private let query: SQLiteQuery
  private let tracking: ChangeTracking
  private let map: @Sendable (SQLiteRow) throws -> Element
  private var mode = Mode.undecided
  private var schema: Schema?
  private var base: CommitBase?
  private var retry = RetryBackoff()
  /// The version that was read last, and why nothing could be made of it.
  private var seen: (version: DatabaseReader.Version, error: SQLiteError?)?

  init(
    monitor: ChangeMonitor, query: SQLiteQuery, tracking: ChangeTracking,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) {
    self.monitor = monitor
    self.query = query
    self.tracking = tracking
    self.map = map
  }

  /// What a user may want to know of how the result is maintained.
  var diagnostics: [SourceDiagnostic] {
    switch mode {
    case .undecided: []
    case .rows(let rows): rows.duplicate.map { [$0] } ?? []
    case .whole(let refetch, let reason):
      [
        refetch.duplicate,
        SourceDiagnostic(
          code: "not-incremental", message: "\(reason.sentence) \(reason.suggestion)"),
      ].compactMap(\.self)
    }
  }

  /// Reads what has changed since the last run.
  ///
  /// - Parameters:
  ///   - looks: Whether anybody else may have changed something than a connection of this process.
  ///   - client: The data source's number at the monitor.
  ///   - shown: The elements that are shown.
  func run(looks: Bool, client: Int?, shown: () -> Snapshot<Element>) -> Outcome {
    if !looks, isBaseInPlace, let outcome = readWritten(shown) { return outcome }
    let version: DatabaseReader.Version
    do throws(SQLiteError) {
      version = try monitor.look(by: client)
    } catch {
      return failure(error)
    }
    guard version != seen?.version else {
      retry.succeeded()
      return seen?.error.map { .failed($0, retryAfter: nil, isWorthTelling: true) } ?? .unchanged
    }
    if version.opening == schema?.opening, let outcome = readWritten(shown) {
      seen?.version = version
      return outcome
    }
    return readAll(version, shown)
  }

  /// Has the next run read again what could not be read or mapped.
  func forgetFailure() {
    if seen?.error != nil { seen = nil }
  }

  // MARK: After commits of this process

  /// Whether the file that the writer has open still stands at the path.
  private var isBaseInPlace: Bool {
    guard let base else { return false }
    guard let path = monitor.reader.path else { return true }
    return base.identity.map { System.lookUp(path) == .file($0) } ?? false
  }

  /// Reads the rows that the writer has written; `nil` where that tells too little.
  private func readWritten(_ shown: () -> Snapshot<Element>) -> Outcome? {
    guard let base, seen != nil, case .rows(var rows) = mode else { return nil }
    // Let go of the mode's own copy, so that the index is changed in place.
    mode = .undecided
    defer { mode = .rows(rows) }
    let scan = RowScan(query, rows.plan)
    let found: CommitBase.Finding<RowDelta>
    do throws(SQLiteError) {
      found = try base.find(limit: max(64, rows.index.count / 20), tracking: tracking) {
        rowids, database throws(SQLiteError) in
        try scan.delta(of: rowids, to: &rows.index, on: database)
      }
    } catch {
      // Whether that is worth telling is seen where everything is read.
      if error.code != .busy { self.base = nil }
      return nil
    }
    switch found {
    case .isOccupied: return nil
    case .isOver:
      self.base = nil
      return nil
    case .rows(var delta, let next):
      counts.written += 1
      if let limit = rows.plan.limit {
        guard let windowed = delta.windowed(rows.index, limit: limit) else { return nil }
        delta = windowed
      }
      do throws(MappingError) {
        let step = try rows.take(delta, shown: shown, map: map)
        self.base = next
        seen?.error = nil
        retry.succeeded()
        return Outcome(step)
      } catch {
        let error = described(error)
        seen?.error = error
        return .failed(error, retryAfter: nil, isWorthTelling: true)
      }
    }
  }

  // MARK: After any other change

  private func readAll(
    _ version: DatabaseReader.Version, _ shown: () -> Snapshot<Element>
  ) -> Outcome {
    counts.all += 1
    do {
      let outcome = try take(try read(version), shown)
      // The version counts as read only now: where mapping failed, what is known stayed behind.
      seen = (version, nil)
      retry.succeeded()
      return outcome
    } catch let error as SQLiteError where isPassing(error) {
      return failure(error)
    } catch {
      base = nil
      let error = (error as? MappingError).map(described) ?? described(error)
      seen = (version, error)
      retry.succeeded()
      return .failed(error, retryAfter: nil, isWorthTelling: true)
    }
  }

  private func read(_ version: DatabaseReader.Version) throws(SQLiteError) -> Reading {
    try monitor.readers.withReader { reader throws(SQLiteError) in
      for _ in 0..<10 {
        if schema == nil || schema?.opening != version.opening {
          try reader.read { database, _ throws(SQLiteError) in
            try decide(on: database, opening: version.opening)
          }
        }
        let begun = beginBase()
        let reading = try reader.read { database, _ throws(SQLiteError) in
          try read(database, begun)
        }
        if case .outdated = reading { schema = nil } else { return reading }
      }
      throw SQLiteError(
        .busy, "the schema changes all the time", path: reader.path, sql: query.sql,
        help: "wait until it stays")
    }
  }

  /// Decides how the result is maintained; what is known is kept where that stays the same.
  private func decide(on database: SQLiteDatabase, opening: Int) throws(SQLiteError) {
    try database.loadSchema()
    try query.check(on: database)
    let version = try database.schemaVersion()
    switch (try Qualification.decide(query, on: database), mode) {
    case (.success(let plan), .rows(let rows)) where rows.plan == plan: break
    case (.success(let plan), _): mode = .rows(MaintainedRows(plan: plan))
    case (.failure(let reason), .whole(let refetch, _)): mode = .whole(refetch, reason)
    case (.failure(let reason), _): mode = .whole(QueryRefetch(), reason)
    }
    base = nil
    schema = Schema(opening: opening, version: version)
  }

  /// A base to go on from after a reading that begins now.
  private func beginBase() -> CommitBase? {
    guard case .rows(let rows) = mode, let writer = monitor.writer else { return nil }
    // Why it failed, if it did, matters to those who use the writer.
    return try? CommitBase.begin(at: writer, table: rows.plan.table, tracking: tracking)
  }

  private func read(
    _ database: SQLiteDatabase, _ begun: CommitBase?
  ) throws(SQLiteError) -> Reading {
    let version = try database.schemaVersion()
    guard version == schema?.version else { return .outdated }
    switch mode {
    case .undecided: return .outdated
    case .whole(let refetch, _): return .whole(try refetch.read(query, on: database))
    case .rows(var rows):
      mode = .undecided
      defer { mode = .rows(rows) }
      let scan = RowScan(query, rows.plan)
      let delta =
        if let sql = rows.plan.windowSQL {
          try scan.delta(toWindow: &rows.index, sql, on: database)
        } else {
          try scan.delta(to: &rows.index, on: database)
        }
      guard let begun, begun.isOf(schemaVersion: version), begun.identity == database.identity
      else { return .rows(delta, base: nil) }
      return .rows(delta, base: begun)
    }
  }

  private func take(
    _ reading: Reading, _ shown: () -> Snapshot<Element>
  ) throws(MappingError) -> Outcome {
    switch (reading, mode) {
    case (.rows(let delta, let begun), .rows(var rows)):
      mode = .undecided
      defer { mode = .rows(rows) }
      let step = try rows.take(delta, shown: shown, map: map)
      // What was begun before is as good, as long as its writer alone has written.
      if let begun { base = begun }
      return Outcome(step)
    case (.whole(let result), .whole(var refetch, let reason)):
      mode = .undecided
      defer { mode = .whole(refetch, reason) }
      return try refetch.take(result, map: map).map { .replaced($0) } ?? .unchanged
    default:
      preconditionFailure("the mode stays as it is between reading and taking")
    }
  }

  // MARK: Failures

  /// Whether an error may pass without a change that a look would find.
  private func isPassing(_ error: SQLiteError) -> Bool {
    switch error.code {
    case .missing, .directory, .moved, .notADatabase: true
    default: RetryBackoff.applies(to: error)
    }
  }

  private func failure(_ error: SQLiteError) -> Outcome {
    let error = error.located(path: monitor.reader.path, sql: nil)
    let now = monitor.clock.now
    let pause = isPassing(error) ? retry.failed(at: now) : nil
    return .failed(
      error, retryAfter: pause,
      isWorthTelling: !RetryBackoff.applies(to: error) || retry.isWorthTelling(at: now))
  }

  private func described(_ error: MappingError) -> SQLiteError {
    var described = described(error.underlying)
    described.row = error.offset
    return described
  }

  private func described(_ error: any Error) -> SQLiteError {
    let own =
      error as? SQLiteError
      ?? SQLiteError(
        .decoding, "a row cannot be turned into an element: \(error)",
        help: "change the query, or what maps its rows")
    return own.located(path: monitor.reader.path, sql: query.sql)
  }
}

extension QueryKeeper.Outcome {
  fileprivate init(_ step: MaintainedRows<Element>.Step) {
    self =
      switch step {
      case .unchanged: .unchanged
      case .replaced(let elements): .replaced(elements)
      case .changed(let changeset, let inserted, let updated):
        .changed(changeset, inserted: inserted, updated: updated)
      }
  }
}
