import SQLSources
import SwappablePQ
import SwappablePrimitives

/// A connection to a PostgreSQL server, for any task.
///
///     let connection = try PostgresConnection("host=db.example dbname=shop user=app")
///     try await connection.execute("CREATE TABLE task (id integer PRIMARY KEY, title text)")
///     try await connection.transaction {
///       try await connection.execute("INSERT INTO task VALUES ($1, $2)", [1, "Water the plants"])
///     }
///     let titles = try await connection.query("SELECT title FROM task") { row in
///       try row.value("title", as: String.self)
///     }
///
/// The connection string is libpq's: keywords and values, or a URI, with several hosts, TLS (`sslmode`, `sslrootcert`,
/// …), service files, and passwords from `PGPASSFILE`. Error messages mask its passwords.
///
/// The first call opens the connection. If the server ends it, the call that runs fails, and the next call opens it
/// again. One statement runs at a time, and other tasks wait. Canceling a task cancels its statement on the server.
///
/// The server infers the type of each argument from its place. If it cannot, add a cast, for example `$1::integer`.
public final class PostgresConnection: Sendable {
  /// The options of the connection.
  public let options: PostgresOptions

  let connectionString: ConnectionString
  private let gate = TaskGate()
  private let state = Locked(State())

  private struct State: Sendable {
    var session: PostgresSession?
    var isClosed = false
  }

  /// Creates a connection. The first call of another method opens it.
  ///
  /// - Parameters:
  ///   - connectionString: Keywords and values (`host=… dbname=…`), or a URI (`postgresql://…`).
  ///   - options: The timeouts of the connection.
  /// - Throws: A ``PostgresError`` if the string cannot be a connection string.
  public init(
    _ connectionString: String, options: PostgresOptions = PostgresOptions()
  ) throws(PostgresError) {
    self.connectionString = try ConnectionString(connectionString)
    self.options = options
  }

  init(_ connectionString: ConnectionString, options: PostgresOptions) {
    self.connectionString = connectionString
    self.options = options
  }

  deinit {
    state.withLock { $0.session }?.close()
  }

  // MARK: Statements

  /// Runs a query and maps its rows.
  ///
  /// - Parameters:
  ///   - sql: One statement. Its arguments are `$1`, `$2`, ….
  ///   - arguments: A value for each argument.
  ///   - map: A closure that makes a value from a row.
  /// - Returns: The values, in the order of the rows.
  /// - Throws: A ``PostgresError``, or the error of `map`.
  public func query<Value>(
    _ sql: String, _ arguments: PostgresArguments = [], map: (PostgresRow) throws -> Value
  ) async throws -> [Value] {
    let receiver = RowReceiver()
    try await run(sql, arguments, receiver, readsRows: true)
    return try receiver.map(map)
  }

  /// Runs a query.
  ///
  /// - Parameters:
  ///   - sql: One statement. Its arguments are `$1`, `$2`, ….
  ///   - arguments: A value for each argument.
  /// - Returns: The rows.
  public func query(
    _ sql: String, _ arguments: PostgresArguments = []
  ) async throws -> [PostgresRow] {
    try await query(sql, arguments) { $0 }
  }

  /// Runs a statement.
  ///
  /// - Parameters:
  ///   - sql: One statement. Its arguments are `$1`, `$2`, ….
  ///   - arguments: A value for each argument.
  /// - Returns: The number of rows that were written.
  @discardableResult
  public func execute(
    _ sql: String, _ arguments: PostgresArguments = []
  ) async throws(PostgresError) -> Int {
    let receiver = ResultReceiver()
    try await run(sql, arguments, receiver, readsRows: false)
    return receiver.commandCount
  }

  /// Runs several statements without arguments, separated by semicolons, as one transaction.
  ///
  /// - Parameter sql: The statements. They must not come from a user. A single statement runs as `execute` runs it, so it
  ///   can be one that the server refuses in a transaction, for example VACUUM.
  public func executeScript(_ sql: String) async throws(PostgresError) {
    if (try? PostgresText.singleStatement(sql)) != nil {
      try await execute(sql)
      return
    }
    let timeout = options.statementTimeout.map {
      "SET LOCAL statement_timeout = \($0.milliseconds); "
    }
    try await withSession { session throws(PostgresError) in
      // In a transaction, its own settings apply.
      let isInside = await session.transactionStatus() != PQTRANS_IDLE
      try await session.run(isInside ? sql : (timeout ?? "") + sql)
    }
  }

  private func run(
    _ sql: String, _ arguments: PostgresArguments, _ receiver: ResultReceiver, readsRows: Bool
  ) async throws(PostgresError) {
    let sql = try PostgresText.singleStatement(sql)
    let error = PostgresError.argumentCount(
      of: sql, "statement", given: arguments.values.count)
    if let error { throw error }
    // The settings that the form of values depends on, and the timeout, are those of a transaction.
    let needsSettings =
      (readsRows || options.statementTimeout != nil)
      && Self.wordsInTransaction.contains(PostgresText.firstWord(sql))
    try await withSession { session throws(PostgresError) in
      guard needsSettings, await session.transactionStatus() == PQTRANS_IDLE else {
        return try await session.run(sql, arguments.values, receiver: receiver)
      }
      do throws(PostgresError) {
        try await session.run("BEGIN; \(session.localSettings)")
        try await session.run(sql, arguments.values, receiver: receiver)
        try await session.run("COMMIT")
      } catch {
        await session.rollBack()
        throw error
      }
    }
  }

  /// The first words of statements that always can run in a transaction.
  private static let wordsInTransaction: Set<String> = [
    "SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE", "EXECUTE", "FETCH",
  ]

  /// Closes the connection. Later calls throw.
  ///
  /// If you do not call this method, the release of the last reference closes the connection.
  public func close() {
    let session = state.withLock { state in
      state.isClosed = true
      return state.session.take()
    }
    session?.close()
  }

  /// Gives up the open session. An operation that runs fails, and the next call opens a new session.
  func abandonSession() {
    state.withLock { $0.session }?.abandon()
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  // MARK: Sessions

  /// Brings the session back to its first state, or closes it, also if the task was canceled.
  func reset() async {
    guard await gate.enter(ignoringCancellation: true) else { return }
    defer { gate.leave() }
    guard let session = state.withLock({ $0.session }), await session.isOpen() else { return }
    await session.reset()
  }

  /// Runs a closure with the session, while no other task uses it.
  func withSession<Result>(
    _ body: (PostgresSession) async throws(PostgresError) -> Result
  ) async throws(PostgresError) -> Result {
    if let scope = TransactionScope.current(of: self) {
      // One statement at a time, also if the body of the transaction has several tasks.
      guard await scope.gate.enter() else { throw .canceledBeforeStart }
      defer { scope.gate.leave() }
      try scope.check()
      return try await body(scope.session)
    }
    guard await gate.enter() else { throw .canceledBeforeStart }
    defer { gate.leave() }
    return try await body(try await openSession())
  }

  private func openSession() async throws(PostgresError) -> PostgresSession {
    let (session, isClosed) = state.withLock { ($0.session, $0.isClosed) }
    if isClosed { throw .connectionClosed }
    if let session, await session.isOpen() { return session }
    let new = try await PostgresSession.connect(connectionString, options: options)
    let isUnwanted = state.withLock { state in
      if !state.isClosed { state.session = new }
      return state.isClosed
    }
    if isUnwanted { new.close() }
    return new
  }

  // MARK: Transactions

  /// The isolation of a transaction from others.
  public enum Isolation: String, Sendable, Hashable {
    /// Each statement sees what was committed before it began.
    case readCommitted = "READ COMMITTED"
    /// All statements see what was committed before the first of them began.
    case repeatableRead = "REPEATABLE READ"
    /// Transactions have the same effect as if they ran one after the other.
    case serializable = "SERIALIZABLE"
  }

  /// Runs a closure as one transaction.
  ///
  /// The transaction is committed if the closure returns, and rolled back if it throws. If it conflicts with another
  /// transaction (SQLSTATE 40001 or 40P01), the closure runs again.
  ///
  /// Statements of this connection inside the closure belong to the transaction. Other tasks wait until it ends. Inside
  /// another transaction, the closure is a savepoint: only its own writes are rolled back, and it does not run again.
  ///
  /// - Parameters:
  ///   - isolation: The isolation from other transactions.
  ///   - isReadOnly: A Boolean value that indicates whether the server refuses writes.
  ///   - maximumAttempts: How many times the closure runs at most.
  ///   - body: The closure to run. It must not run COMMIT or ROLLBACK itself.
  /// - Returns: The return value of `body`.
  /// - Throws: The error of `body`, or a ``PostgresError``.
  @discardableResult
  public func transaction<Result: Sendable>(
    isolation: Isolation = .readCommitted, isReadOnly: Bool = false, maximumAttempts: Int = 5,
    _ body: () async throws -> Result
  ) async throws -> Result {
    precondition(
      maximumAttempts >= 1, "maximumAttempts must be at least 1, but is \(maximumAttempts)")
    if let scope = TransactionScope.current(of: self) { return try await savepoint(scope, body) }
    guard await gate.enter() else { throw PostgresError.canceledBeforeStart }
    defer { gate.leave() }
    let begin = "BEGIN ISOLATION LEVEL \(isolation.rawValue)\(isReadOnly ? " READ ONLY" : "")"
    var attempt = 1
    while true {
      do {
        return try await runTransaction(begin, body)
      } catch let error as PostgresError where error.isRetryable && attempt < maximumAttempts {
        attempt += 1
        // Let the other transaction end first.
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...(5 << min(attempt, 6)))))
      }
    }
  }

  private func runTransaction<Result: Sendable>(
    _ begin: String, _ body: () async throws -> Result
  ) async throws -> Result {
    let session = try await openSession()
    try await session.run("\(begin); \(session.localSettings)")
    let scope = TransactionScope(self, session)
    do {
      let result = try await scope.run(body)
      await scope.end()
      // If the connection is lost, COMMIT throws the reason.
      let status = await session.transactionStatus()
      guard status == nil || status == PQTRANS_INTRANS else {
        throw PostgresError(
          .transaction,
          "the transaction ended, or one of its statements failed, before its body returned",
          help: "let the body throw if a statement fails, and do not run COMMIT or ROLLBACK in it")
      }
      try await session.run("COMMIT")
      return result
    } catch {
      await scope.end()
      await session.rollBack()
      throw error
    }
  }

  private func savepoint<Result: Sendable>(
    _ scope: TransactionScope, _ body: () async throws -> Result
  ) async throws -> Result {
    // Savepoints with one name nest. Each statement refers to the innermost one.
    try await executeScript("SAVEPOINT swappable")
    do {
      let result = try await body()
      try await executeScript("RELEASE swappable")
      return result
    } catch {
      await scope.session.rollBack("ROLLBACK TO swappable; RELEASE swappable")
      throw error
    }
  }

  // MARK: Notifications

  /// Listens to a channel.
  ///
  /// - Parameter channel: The name of the channel.
  /// - Returns: The notifications of the channel. Those that the caller has not read yet are kept in memory. They end with
  ///   an error when the connection is lost: notifications may then be missing. A pooler between client and server
  ///   may not support notifications.
  package func listen(
    to channel: String
  ) async throws(PostgresError) -> AsyncThrowingStream<PostgresNotification, any Error> {
    guard (1...63).contains(channel.utf8.count) else {
      throw PostgresError(
        .arguments,
        "the name of a channel has 1 to 63 bytes, but this name has \(channel.utf8.count)",
        help: "use a shorter name, because the server would cut it off")
    }
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: PostgresNotification.self)
    try await withSession { session throws(PostgresError) in
      session.onNotification { notification in
        if channel.hasSameBytes(as: notification.channel) { continuation.yield(notification) }
      }
      session.onLoss { continuation.finish(throwing: $0) }
      try await session.run("LISTEN \(SQLText.quoted(channel))")
    }
    return stream
  }
}

/// A notification that another session has sent with NOTIFY.
package struct PostgresNotification: Sendable {
  /// The name of the channel.
  package let channel: String
  /// The text that the sender has added.
  package let payload: String
}

/// The timeouts of connections.
public struct PostgresOptions: Sendable, Hashable {
  /// The longest time to wait for a connection to one host.
  ///
  /// It also limits the wait for the answer to a statement that is quick on any server.
  public var connectTimeout: Duration
  /// The time after which the server cancels a statement, or `nil` for the server's own setting.
  public var statementTimeout: Duration?
  /// The longest time that a data source waits for a lock of another transaction before its status says so.
  public var lockTimeout: Duration
  /// The names of libpq. Tests replace them.
  var libraryNames = LibPQ.names

  /// Creates options.
  ///
  /// - Parameters:
  ///   - connectTimeout: The longest time to wait for a connection to one host.
  ///   - statementTimeout: The time after which the server cancels a statement, or `nil` for the server's own setting.
  ///   - lockTimeout: The longest time that a data source waits for a lock.
  public init(
    connectTimeout: Duration = .seconds(10), statementTimeout: Duration? = nil,
    lockTimeout: Duration = .seconds(5)
  ) {
    self.connectTimeout = connectTimeout
    self.statementTimeout = statementTimeout
    self.lockTimeout = lockTimeout
  }
}

// MARK: - Access

/// An open transaction of a connection, which the tasks of its body find.
final class TransactionScope: Sendable {
  @TaskLocal private static var open: [TransactionScope] = []

  let session: PostgresSession
  let gate = TaskGate()
  private let owner: ObjectIdentifier
  private let hasEnded = Locked(false)

  init(_ connection: PostgresConnection, _ session: PostgresSession) {
    owner = ObjectIdentifier(connection)
    self.session = session
  }

  /// Returns the transaction of a connection in whose body this task runs.
  static func current(of connection: PostgresConnection) -> TransactionScope? {
    open.last { $0.owner == ObjectIdentifier(connection) && !$0.hasEnded.withLock { $0 } }
  }

  func run<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await TransactionScope.$open.withValue(TransactionScope.open + [self]) {
      try await body()
    }
  }

  func check() throws(PostgresError) {
    if hasEnded.withLock({ $0 }) {
      throw PostgresError(
        .transaction, "the transaction has ended", help: "await all statements in its body")
    }
  }

  /// Ends the scope after the statement that runs.
  func end() async {
    hasEnded.withLock { $0 = true }
    if await gate.enter(ignoringCancellation: true) { gate.leave() }
  }
}
