import Diffing
import ObservableCollections
import SwappablePrimitives

/// An error of a live query. Its result stays as it was.
struct LiveQueryError: Error {
  let error: PostgresError
  /// The interval after which the data source tries again, or `nil` if it waits for a change.
  var retryInterval: Duration?
}

/// The reason for a read.
enum ReadRequest: Sendable, Comparable {
  /// Something was written.
  case change
  /// Read the whole result, also if nothing is known to have changed.
  case everything
}

/// Reads the changes of a query's result.
///
/// One task at a time uses it. While rows are mapped, and when a call returns, no transaction is open.
final class LiveQuery<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: one task at a time uses it.

  /// The number of reads that looked for changes, of reads of the whole result, and of reads of some keys.
  private(set) var counts = (looks: 0, all: 0, keyed: 0)

  private let pool: PostgresPool
  private let query: PostgresQuery
  private let map: @Sendable (PostgresRow) throws -> Element
  private var refetch = FullRefetch<Element>()
  /// The state of the database at the last read, or `nil` if the next read must read everything.
  private var lastState: String?
  private var lastError: PostgresError?
  private var backoff = ConnectionBackoff()
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

  var diagnostics: [SourceStatus.Diagnostic] { [refetch.diagnostic].compactMap(\.self) }

  var mode: (String, reason: String) { ("refetch", "") }

  /// Reads the changes since the last call.
  func update(_ request: ReadRequest) async throws(LiveQueryError) -> ResultChange<Element> {
    do throws(PostgresError) {
      return try await pool.withConnection { connection throws(PostgresError) in
        running.withLock { $0 = connection }
        defer { running.withLock { $0 = nil } }
        do throws(PostgresError) {
          return try await self.read(connection, request)
        } catch {
          // The server may have closed a connection that was not in use. A new one tells.
          guard error.code == .connectionLost, !Task.isCancelled else { throw error }
          return try await self.read(connection, request)
        }
      }
    } catch {
      throw failure(error)
    }
  }

  /// Gives up the connection of a read that runs. The read begins again on a new one. Any thread may call this method.
  func abandonConnection() {
    running.withLock { $0 }?.abandonSession()
  }

  private func read(
    _ connection: PostgresConnection, _ request: ReadRequest
  ) async throws(PostgresError) -> ResultChange<Element> {
    var read: ReadRows?
    var state = ""
    try await connection.withSnapshot { session throws(PostgresError) in
      counts.looks += 1
      state = try await ServerState.read(session)
      if request == .change, state == lastState { return }
      counts.all += 1
      let receiver = RefetchReceiver(query: query, known: refetch.known)
      try await session.run(query.sql, query.arguments, receiver: receiver)
      guard let rows = receiver.rows else {
        throw PostgresError(
          .notAQuery, "the statement returns no rows", sql: query.sql, help: "use a SELECT")
      }
      read = rows
    }
    guard let rows = read.take() else {
      backoff.succeeded()
      if let lastError { throw lastError }
      return .unchanged
    }
    // Store the state only after the rows were mapped. Until then, the known rows are older.
    let change = try refetch.apply(rows, map)
    lastState = state
    lastError = nil
    backoff.succeeded()
    return change
  }

  private func failure(_ error: PostgresError) -> LiveQueryError {
    var error = error.located(server: nil, sql: error.endsConnection ? nil : query.sql)
    if error.code == .readOnly { error.help = "use a query that only reads in a data source" }
    switch error.code {
    case .decoding, .unexpectedNull, .typeMismatch, .noColumn, .duplicateColumn, .notAQuery,
      .tooLarge, .noClientLibrary, .connectionString:
      // Only a change of the rows can help.
      return LiveQueryError(error: error)
    default:
      return LiveQueryError(
        error: error, retryInterval: backoff.failed(random: .random(in: 0..<1)))
    }
  }
}

extension PostgresConnection {
  /// Runs a closure in a read-only transaction in which the database does not change.
  func withSnapshot(
    _ body: (PostgresSession) async throws(PostgresError) -> Void
  ) async throws(PostgresError) {
    try await withSession { session throws(PostgresError) in
      // A query that waits for a lock must not keep its data source waiting without a word.
      try await session.run(
        """
        BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
        SELECT pg_catalog.set_config('lock_timeout', '\(options.lockTimeout.milliseconds)', true) \
        WHERE pg_catalog.current_setting('lock_timeout') = '0'
        """, receiver: ResultReceiver(), limit: session.answerLimit)
      do throws(PostgresError) {
        try await body(session)
        try await session.run(
          "COMMIT", receiver: ResultReceiver(), limit: session.answerLimit)
      } catch {
        // The rollback must also run if the task was canceled.
        await Task {
          _ = try? await session.run(
            "ROLLBACK", receiver: ResultReceiver(), limit: session.answerLimit)
        }.value
        throw error
      }
    }
  }
}
