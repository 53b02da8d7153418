import Diffing
import ObservableCollections
import SwappablePrimitives

/// The change of a query's result after a read.
enum ResultChange<Element: Differentiable & Sendable> {
  case unchanged
  /// All elements of the new result.
  case replaced([Element])
  case changed(Changeset, inserted: [Element], updated: [Element])
}

/// Keeps the elements of a query in step with its database.
///
/// There are two ways: `IncrementalResult` and `FullRefetch`. `LiveQuery` chooses one for the
/// current schema, and calls it on one thread at a time. A read has two parts, because rows are
/// mapped to elements after the transaction has ended. If an element cannot be made, the result
/// stays as it was.
///
/// A maintainer that does not follow the writer of this process needs only the first three members.
protocol ResultMaintainer<Element>: AnyObject {
  associatedtype Element: Differentiable & Sendable

  var diagnostics: [SourceDiagnostic] { get }

  /// Reads the whole result, in a transaction.
  func read(from database: SQLiteDatabase, schemaVersion: Int64?) throws(SQLiteError)

  /// Maps the rows of the last read to elements.
  ///
  /// - Parameters:
  ///   - shown: A closure that returns the current elements.
  ///   - map: A closure that makes an element from a row.
  func finishRead(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(MappingError) -> ResultChange<Element>

  /// Prepares a read of the whole result, before its transaction begins.
  ///
  /// - Parameter writer: The connection of this process that commits.
  func prepareRead(writer: SQLiteConnection?)

  /// Returns a Boolean value that indicates whether the writer of this process is known, and has the file
  /// at the path open.
  func hasWriter(at path: String?) -> Bool

  /// Reads only the rows that the writer of this process has written, and maps them.
  ///
  /// - Returns: The change, or `nil` if the whole result must be read.
  func readWrittenRows(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(MappingError) -> ResultChange<Element>?

  /// Forgets the writer, so the next update reads the whole result.
  func forgetWriter()
}

extension ResultMaintainer {
  func prepareRead(writer: SQLiteConnection?) {}

  func hasWriter(at path: String?) -> Bool { false }

  func readWrittenRows(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(MappingError) -> ResultChange<Element>? {
    nil
  }

  func forgetWriter() {}
}

/// An error of the closure that makes an element from a row.
struct MappingError: Error {
  let underlying: any Error
  /// The offset of the element in the new result.
  let offset: Int
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
final class LiveQuery<Element: Differentiable & Sendable> {
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
  private var maintainer: (any ResultMaintainer<Element>)?
  private var schema: Schema?
  private var retry = RetryBackoff()
  /// The version of the last read, and the error that makes its result unusable.
  private var lastRead: (version: DatabaseReader.Version, error: SQLiteError?)?

  init(
    monitor: ChangeMonitor, query: SQLiteQuery, tracking: ChangeTracking,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) {
    self.monitor = monitor
    self.query = query
    self.tracking = tracking
    self.map = map
  }

  var diagnostics: [SourceDiagnostic] { maintainer?.diagnostics ?? [] }

  /// Reads the changes since the last call.
  ///
  /// - Parameters:
  ///   - checksOtherWriters: `false` if only connections of this process can have committed.
  ///   - client: The number of the data source at the monitor.
  ///   - shown: A closure that returns the current elements.
  func update(
    checksOtherWriters: Bool, client: Int?, _ shown: () -> Snapshot<Element>
  ) throws(LiveQueryError) -> ResultChange<Element> {
    if !checksOtherWriters, maintainer?.hasWriter(at: monitor.reader.path) == true,
      let result = readWrittenRows(shown)
    {
      return try result.get()
    }
    let version: DatabaseReader.Version
    do throws(SQLiteError) {
      version = try monitor.check(by: client)
    } catch {
      throw failure(error)
    }
    if let lastRead, lastRead.version == version {
      retry.succeeded()
      if let error = lastRead.error { throw LiveQueryError(error: error) }
      return .unchanged
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
  ) -> Result<ResultChange<Element>, LiveQueryError>? {
    guard lastRead != nil, let maintainer else { return nil }
    do throws(MappingError) {
      guard let change = try maintainer.readWrittenRows(shown, map) else { return nil }
      counts.written += 1
      lastRead?.error = nil
      retry.succeeded()
      return .success(change)
    } catch {
      let error = described(error)
      lastRead?.error = error
      return .failure(LiveQueryError(error: error))
    }
  }

  private func readAll(
    _ version: DatabaseReader.Version, _ shown: () -> Snapshot<Element>
  ) throws(LiveQueryError) -> ResultChange<Element> {
    counts.all += 1
    do {
      let change = try read(version).finishRead(shown, map)
      // Store the version only after the mapping has succeeded. Until then, the known rows are older.
      lastRead = (version, nil)
      retry.succeeded()
      return change
    } catch let error as SQLiteError where isTransient(error) {
      throw failure(error)
    } catch {
      maintainer?.forgetWriter()
      let error = (error as? MappingError).map(described) ?? described(error)
      lastRead = (version, error)
      retry.succeeded()
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
          try reader.read { database, _ throws(SQLiteError) in
            try chooseMaintainer(for: database, opening: version.opening)
          }
        }
        guard let maintainer else { preconditionFailure("a known schema has a maintainer") }
        maintainer.prepareRead(writer: monitor.writer)
        let isRead = try reader.read { database, _ throws(SQLiteError) in
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
    default: RetryBackoff.applies(to: error)
    }
  }

  private func failure(_ error: SQLiteError) -> LiveQueryError {
    let now = monitor.clock.now
    return LiveQueryError(
      error: error.located(path: monitor.reader.path, sql: nil),
      retryInterval: isTransient(error) ? retry.failed(at: now) : nil,
      isReported: !RetryBackoff.applies(to: error) || retry.isReported(at: now))
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
        .decoding, "a row cannot be mapped to an element: \(error)",
        help: "change the query or the closure that maps its rows")
    return own.located(path: monitor.reader.path, sql: query.sql)
  }
}
