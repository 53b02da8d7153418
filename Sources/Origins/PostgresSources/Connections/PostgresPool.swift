import SwappablePrimitives

/// Some connections to one database, which the data sources of a process share.
///
///     let shop = try PostgresPool("host=db.example dbname=shop user=app")
///     let tasks = try PostgresDataSource<Task>(
///       pool: shop, sql: "SELECT id, title FROM task ORDER BY title")
///     let count = try await shop.withConnection { try await $0.execute("DELETE FROM task") }
///
/// A connection opens when it is needed, and is kept for the next use. One more connection of the pool watches the
/// database while data sources are observed.
public final class PostgresPool: Sendable {
  /// The largest number of connections, without the connection that watches the database.
  public let maximumConnections: Int

  /// The timeouts of the connections.
  public let options: PostgresOptions

  let connectionString: ConnectionString
  let monitor: ServerMonitor
  /// Access for as many tasks as there are connections.
  private let gate: TaskGate
  private let idleConnections = Locked<[PostgresConnection]>([])
  /// The tasks that use connections, by their hashes, once for each connection.
  private let users = Locked<[Int?]>([])

  /// Creates a pool. It opens no connection.
  ///
  /// - Parameters:
  ///   - connectionString: Keywords and values (`host=… dbname=…`), or a URI (`postgresql://…`).
  ///   - maximumConnections: The largest number of connections, at least 1.
  ///   - listeningString: A connection string for notifications, or `nil` to look for records only. Change triggers
  ///     notify if they were installed with `wakesReaders`. A pooler usually has no notifications, so this string must
  ///     lead to the server itself.
  ///   - options: The timeouts of the connections.
  ///   - intervals: How often data sources look for changes.
  /// - Throws: A ``PostgresError`` if a string cannot be a connection string.
  public convenience init(
    _ connectionString: String, maximumConnections: Int = 4,
    listeningOn listeningString: String? = nil, options: PostgresOptions = PostgresOptions(),
    intervals: PostgresIntervals = PostgresIntervals()
  ) throws(PostgresError) {
    var listening: ConnectionString?
    if let listeningString { listening = try ConnectionString(listeningString) }
    self.init(
      try ConnectionString(connectionString), maximumConnections: maximumConnections,
      listeningOn: listening, options: options, intervals: intervals)
  }

  init(
    _ connectionString: ConnectionString, maximumConnections: Int = 4,
    listeningOn listeningString: ConnectionString? = nil,
    options: PostgresOptions = PostgresOptions(),
    intervals: PostgresIntervals = PostgresIntervals(), clock: AnyClock = .continuous
  ) {
    precondition(
      maximumConnections >= 1, "maximumConnections must be at least 1, but is \(maximumConnections)"
    )
    self.connectionString = connectionString
    self.maximumConnections = maximumConnections
    self.options = options
    gate = TaskGate(places: maximumConnections)
    monitor = ServerMonitor(
      connectionString, listeningOn: listeningString, options: options, intervals: intervals,
      clock: clock)
  }

  /// Runs a closure with a connection that no other task uses, and waits if all are in use.
  ///
  /// When the closure has returned or thrown, an open transaction is rolled back, and the session is reset as with
  /// `DISCARD ALL`: settings, temporary tables and advisory locks do not stay. That takes one more message to the server.
  /// If it fails, or if the connection listens to a channel, the connection is closed.
  ///
  /// - Parameter body: The closure. It must not keep the connection.
  /// - Returns: The return value of `body`.
  /// - Throws: The error of `body`, a `CancellationError` if the task is canceled while it waits, or a ``PostgresError`` if the
  ///   task itself uses all connections already, because it would wait for itself.
  public func withConnection<Result: Sendable>(
    _ body: (PostgresConnection) async throws -> Result
  ) async throws -> Result {
    guard let connection = try await borrow() else { throw CancellationError() }
    do {
      let result = try await body(connection)
      await connection.reset()
      giveBack(connection)
      return result
    } catch {
      await connection.reset()
      giveBack(connection)
      throw error
    }
  }

  /// Runs a closure that leaves the session of its connection as it was.
  func withCleanConnection<Result>(
    _ body: (PostgresConnection) async throws(PostgresError) -> Result
  ) async throws(PostgresError) -> Result {
    guard let connection = try await borrow() else { throw .canceledBeforeStart }
    defer { giveBack(connection) }
    return try await body(connection)
  }

  /// Returns a connection, or `nil` if the task was canceled before there was one.
  private func borrow() async throws(PostgresError) -> PostgresConnection? {
    try checkCaller()
    guard await gate.enter() else { return nil }
    let task = withUnsafeCurrentTask { $0?.hashValue }
    users.withLock { $0.append(task) }
    return idleConnections.withLock { $0.popLast() }
      ?? PostgresConnection(connectionString, options: options)
  }

  /// Throws an error if the task that calls would wait for itself.
  func checkCaller() throws(PostgresError) {
    let task = withUnsafeCurrentTask { $0?.hashValue }
    if users.withLock({ users in users.count { $0 == task } }) == maximumConnections {
      throw PostgresError(
        .tooManyConnections,
        "the task uses all \(maximumConnections) connections of the pool, so it would wait for itself",
        help: "pass the connection on, or raise maximumConnections")
    }
  }

  private func giveBack(_ connection: PostgresConnection) {
    let task = withUnsafeCurrentTask { $0?.hashValue }
    users.withLock { users in
      if let index = users.lastIndex(of: task) { users.remove(at: index) }
    }
    if !connection.isClosed { idleConnections.withLock { $0.append(connection) } }
    gate.leave()
  }

  /// Closes all connections that are not in use. They open again when they are needed.
  public func closeIdleConnections() {
    for connection in idleConnections.exchange([]) { connection.close() }
  }
}

// MARK: - The pools of the process

extension PostgresPool {
  /// The pools of data sources that were created with a connection string.
  private static let pools = SharedObjects<ConnectionString, PostgresPool>()

  /// Returns the pool of all data sources with one connection string.
  static func shared(_ connectionString: ConnectionString) -> PostgresPool {
    pools.object(for: connectionString) { PostgresPool(connectionString) }
  }
}

/// How often data sources look for changes of a database.
public struct PostgresIntervals: Sendable, Hashable {
  /// The interval between two looks for changes without a record, if a table has no change triggers.
  public var polling: Duration
  /// The interval between two looks for changes if all tables have change triggers.
  ///
  /// These looks find the changes of writers that bypass the triggers, and changes of the schema.
  public var safety: Duration
  /// The interval between two looks for records of change triggers while there are writes.
  ///
  /// Without writes, it grows to a tenth of the time since the last one, and to 10 times this value at most. Such a look
  /// costs the server less than a millisecond.
  public var looking: Duration

  /// Creates intervals.
  ///
  /// - Parameters:
  ///   - polling: The interval between two looks if a table has no change triggers.
  ///   - safety: The interval between two checks if all tables have change triggers.
  ///   - looking: The interval between two looks for records while there are writes.
  public init(
    polling: Duration = .milliseconds(500), safety: Duration = .seconds(30),
    looking: Duration = .milliseconds(100)
  ) {
    precondition(
      polling > .zero && safety > .zero && looking > .zero,
      "intervals must be greater than 0, but are \(polling), \(safety) and \(looking)")
    self.polling = polling
    self.safety = safety
    self.looking = looking
  }
}
