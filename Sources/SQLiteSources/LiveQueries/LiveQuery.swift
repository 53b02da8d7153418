import Diffing
import ObservableCollections
import SwappablePrimitives

/// Keeps the elements of a query in step with its database.
///
/// There are two ways: `IncrementalResult` and `FullRefetch`. `LiveQuery` chooses one for the
/// current schema, and calls it on one thread at a time. A read has two parts, because rows are
/// mapped to elements after the transaction has ended. If an element cannot be made, the result
/// stays as it was.
///
/// A maintainer that does not follow the writer of this process needs only the first four members.
protocol ResultMaintainer<Element>: AnyObject {
  associatedtype Element: Differentiable & Sendable

  var diagnostics: [SourceStatus.Diagnostic] { get }
  /// A Boolean value that indicates whether the maintainer knows that no two elements have one identity.
  var areIdentitiesUnique: Bool { get }
  /// The way in which the result is kept in step, and the reason.
  var mode: (SQLiteQueryExplanation.Mode, reason: String) { get }

  /// Reads the whole result, in a transaction.
  func read(from database: SQLiteDatabase, schemaVersion: Int64?) throws(SQLiteError)

  /// Maps the rows of the last read to elements.
  ///
  /// - Parameters:
  ///   - shown: A closure that returns the current elements.
  ///   - map: A closure that makes an element from a row.
  func finishRead(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents

  /// Prepares a read of the whole result, before its transaction begins.
  ///
  /// - Parameter writer: The connection of this process that commits.
  func prepareRead(writer: SQLiteConnection?)

  /// Returns a Boolean value that indicates whether the writer of this process is known, and has the file
  /// at the path open.
  func hasWriter(at path: ByteString?) -> Bool

  /// Reads only the rows that the writer of this process has written, and maps them.
  ///
  /// - Returns: The change, or `nil` if the whole result must be read.
  func readWrittenRows(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents?

  /// Forgets the writer, so the next update reads the whole result.
  func forgetWriter()
}

extension ResultMaintainer {
  var areIdentitiesUnique: Bool { false }

  func prepareRead(writer: SQLiteConnection?) {}

  func hasWriter(at path: ByteString?) -> Bool { false }

  func readWrittenRows(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents? {
    nil
  }

  func forgetWriter() {}
}

/// An error of a live query. Its result stays as it was.
struct LiveQueryError: Error {
  let error: SQLiteError
  /// The interval after which the data source tries again, or `nil` if it waits for a change.
  var retryInterval: Duration?
  /// A Boolean value that indicates whether the status of the data source shows the error.
  var isReported = true
}

/// Reads the changes of a query's result, incrementally if possible.
///
/// One thread at a time uses it, on the queue of the data source. While rows are mapped, and when a call
/// returns, no transaction is open and no lock is held.
final class LiveQuery<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: one thread at a time uses it, except `cancel()`, which uses a constant.

  /// The schema for which the maintainer was chosen.
  private struct Schema: Equatable {
    var opening: Int
    var version: Int64?
  }

  /// The number of reads of the whole result, and of written rows only.
  private(set) var counts = (all: 0, written: 0)

  private let monitor: ChangeMonitor
  private let query: SQLiteQuery
  private let tracking: ChangeTracking
  private let map: @Sendable (SQLiteRow) throws -> Element
  private let cancellation: QueryCancellation
  private var maintainer: (any ResultMaintainer<Element>)?
  private var schema: Schema?
  private var failures = ReadFailures()
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

  /// Interrupts the read that runs, and all later ones. Any thread may call this method.
  func cancel() { cancellation.cancel() }

  var diagnostics: [SourceStatus.Diagnostic] { maintainer?.diagnostics ?? [] }

  /// A Boolean value that indicates whether no two elements are known to have one identity.
  var areIdentitiesUnique: Bool { maintainer?.areIdentitiesUnique ?? false }

  /// The way in which the result is kept in step, and the reason, or `nil` before the first read.
  var mode: (SQLiteQueryExplanation.Mode, reason: String)? { maintainer?.mode }

  /// Reads the changes since the last call.
  ///
  /// - Parameters:
  ///   - changes: The changes that the result must include.
  ///   - client: The number of the data source at the monitor.
  ///   - shown: A closure that returns the current elements.
  func update(
    including changes: UnreadChanges.Extent, client: Int?, _ shown: () -> Snapshot<Element>
  ) throws(LiveQueryError) -> SourceFeed<Element>.Contents {
    if changes == .ownCommits, maintainer?.hasWriter(at: monitor.path) == true,
      let result = readWrittenRows(shown)
    {
      return try result.get()
    }
    let version: DatabaseReader.Version
    do throws(SQLiteError) {
      version = try monitor.version(including: changes, for: client)
    } catch {
      throw failure(error)
    }
    if version.lostLogs > reportedLosses ?? version.lostLogs {
      reportedLosses = version.lostLogs
      // The database has been opened again. Show first why the contents may change.
      throw LiveQueryError(
        error: SQLiteError(lostLogOf: monitor.path?.description ?? ""),
        retryInterval: .milliseconds(250))
    }
    reportedLosses = version.lostLogs
    if let lastRead, lastRead.version == version {
      failures = ReadFailures()
      if let error = lastRead.error { throw LiveQueryError(error: error) }
      return .same
    }
    if version.opening == schema?.opening, let result = readWrittenRows(shown) {
      lastRead?.version = version
      return try result.get()
    }
    return try readAll(version, shown)
  }

  /// Forgets the last read if it could not be used, so the next update reads again.
  func forgetError() {
    if lastRead?.error != nil { lastRead = nil }
  }

  // MARK: Reading

  private func readWrittenRows(
    _ shown: () -> Snapshot<Element>
  ) -> Result<SourceFeed<Element>.Contents, LiveQueryError>? {
    guard lastRead != nil, let maintainer else { return nil }
    do throws(SQLiteError) {
      guard let change = try maintainer.readWrittenRows(shown, map) else { return nil }
      counts.written += 1
      lastRead?.error = nil
      failures = ReadFailures()
      return .success(change)
    } catch {
      let error = located(error)
      lastRead?.error = error
      return .failure(LiveQueryError(error: error))
    }
  }

  private func readAll(
    _ version: DatabaseReader.Version, _ shown: () -> Snapshot<Element>
  ) throws(LiveQueryError) -> SourceFeed<Element>.Contents {
    counts.all += 1
    var isRead = false
    do throws(SQLiteError) {
      let reader = try read(version)
      isRead = true
      let change = try reader.finishRead(shown, map)
      // Store the version only after the mapping has succeeded. Until then, the known rows are older.
      lastRead = (version, nil)
      failures = ReadFailures()
      monitor.noteLog(isShort: false)
      return change
    } catch {
      if !isRead, isTransient(error) { throw failure(error) }
      maintainer?.forgetWriter()
      let error = located(error)
      lastRead = (version, error)
      failures = ReadFailures()
      throw LiveQueryError(error: error)
    }
  }

  /// Reads the whole result, and returns the maintainer that has read it.
  private func read(
    _ version: DatabaseReader.Version
  ) throws(SQLiteError) -> any ResultMaintainer<Element> {
    try monitor.readers.withReader { reader throws(SQLiteError) in
      for _ in 0..<10 {
        if schema == nil || schema?.opening != version.opening {
          try reader.read(until: cancellation) { database throws(SQLiteError) in
            try chooseMaintainer(for: database, opening: version.opening)
          }
        }
        guard let maintainer else { preconditionFailure("a known schema has a maintainer") }
        maintainer.prepareRead(writer: monitor.writer)
        let isRead = try reader.read(until: cancellation) { database throws(SQLiteError) in
          let version = try database.schemaVersion()
          guard version == schema?.version else { return false }
          try maintainer.read(from: database, schemaVersion: version)
          return true
        }
        if isRead { return maintainer }
        schema = nil
      }
      throw SQLiteError(
        .busy, "the schema changes too often", path: reader.path, sql: query.sql,
        help: "wait until no program changes it")
    }
  }

  /// Chooses how the result is maintained. If the choice stays the same, the known rows are kept.
  private func chooseMaintainer(
    for database: SQLiteDatabase, opening: Int
  ) throws(SQLiteError) {
    try database.loadSchema()
    try query.check(on: database)
    let version = try database.schemaVersion()
    switch try IncrementalPlan.make(for: query, on: database) {
    case .success(let plan):
      if let incremental = maintainer as? IncrementalResult<Element>, incremental.plan == plan {
        incremental.forgetWriter()
      } else {
        maintainer = IncrementalResult(query: query, plan: plan, tracking: tracking)
      }
    case .failure(let reason):
      if let refetch = maintainer as? FullRefetch<Element> {
        refetch.reason = reason
      } else {
        maintainer = FullRefetch(query: query, reason: reason)
      }
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

  private func failure(_ error: SQLiteError) -> LiveQueryError {
    let now = monitor.clock.now
    if error.isLostLog { monitor.noteLog(isShort: true) }
    return LiveQueryError(
      error: error.located(path: monitor.path, sql: nil),
      retryInterval: isTransient(error) ? failures.add(at: now) : nil,
      isReported: !error.mayPass || failures.isReported(at: now))
  }

  private func located(_ error: SQLiteError) -> SQLiteError {
    error.located(path: monitor.path, sql: query.sql)
  }
}

extension SQLiteError {
  /// Creates the error of a row that cannot be mapped.
  ///
  /// - Parameters:
  ///   - error: The error of the closure that makes an element from a row.
  ///   - row: The offset of the element in the new result.
  init(mapping error: any Error, row: Int) {
    self =
      error as? SQLiteError
      ?? SQLiteError(
        .decoding, "a row cannot be mapped to an element: \(error)",
        help: "change the query or the closure that maps its rows")
    self.row = row
  }
}
