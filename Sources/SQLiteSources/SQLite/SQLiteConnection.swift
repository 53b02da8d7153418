import Dispatch
import SwappablePrimitives

/// A connection to a SQLite database, for any thread.
///
///     let connection = try SQLiteConnection(path: "tasks.db")
///     try connection.execute("CREATE TABLE task (id INTEGER PRIMARY KEY, title TEXT)")
///     try connection.transaction {
///       try connection.execute("INSERT INTO task (title) VALUES (?)", ["Water the plants"])
///     }
///     let titles = try connection.query("SELECT title FROM task") { row in
///       try row.value("title", as: String.self)
///     }
///
/// One thread at a time has access, and other threads wait. The thread that has access, for example
/// in the body of a transaction, may call any method again. Observers of data sources may call any
/// method, because no data source holds a connection while they run.
public final class SQLiteConnection: Sendable {
  /// The operations that a connection allows.
  public enum Access: Sendable, Hashable {
    /// Read and write. A database that does not exist is created.
    case create
    /// Read and write a database that exists.
    case readWrite
    /// Only read, and never create a database.
    case readOnly
  }

  // Sendable: only code between `enter` and `leave` of `gate` accesses `database`.
  private struct Guarded: @unchecked Sendable {
    let database: SQLiteDatabase
  }

  /// The absolute path of the database, or `nil` if it is in memory.
  public let path: String?

  /// The operations that the connection allows.
  public let access: Access

  private let gate = ConnectionGate()
  private let guarded: Guarded

  /// Opens the database at a path.
  ///
  /// - Parameters:
  ///   - path: The path of the file, absolute or relative to the current directory. It is never
  ///     interpreted as a URI.
  ///   - access: The operations that the connection allows.
  ///   - busyTimeout: How long a call waits for the locks of other connections.
  /// - Throws: A ``SQLiteError`` if the database does not exist, if it cannot be opened, or if the
  ///   file is not a database.
  public init(
    path: String, access: Access = .create, busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    let absolute = try SQLiteConnection.absolutePath(path)
    self.path = absolute
    self.access = access
    guarded = Guarded(
      database: try SQLiteDatabase(path: absolute, access: access, busyTimeout: busyTimeout))
  }

  /// Opens a new, empty database in memory. Only this connection can use it.
  ///
  /// - Throws: A ``SQLiteError`` if there is not enough memory.
  public static func makeInMemory() throws(SQLiteError) -> SQLiteConnection {
    SQLiteConnection(
      inMemory: try SQLiteDatabase(
        path: SQLiteDatabase.memoryPath, access: .create, busyTimeout: .zero))
  }

  /// Checks a path and makes it absolute.
  ///
  /// SQLite interprets some names in a special way, for example URIs. None of these names begins
  /// with a slash.
  static func absolutePath(_ path: String) throws(SQLiteError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SQLiteError(
        .cannotOpen, "\"\(path)\" is not a path", path: path, help: "use the path of a file")
    }
    return SwappablePrimitives.absolutePath(path)
  }

  private init(inMemory database: SQLiteDatabase) {
    path = nil
    access = .create
    guarded = Guarded(database: database)
  }

  /// Closes the connection. Later calls throw.
  ///
  /// If you do not call this method, the release of the last reference closes the connection.
  public func close() {
    _ = gate.enter()
    defer { gate.leave() }
    guarded.database.close()
  }

  /// Runs a closure with access to the database, and reports a commit afterward.
  func withDatabase<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withAccess { () throws(SQLiteError) in try body(try openDatabase()) }
  }

  /// Runs a closure with access to the database, and returns `nil` if there is no access within a
  /// limit.
  func withDatabase<Result>(
    within limit: Duration, _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result? {
    guard let depth = gate.enter(within: limit) else { return nil }
    defer { leave(depth) }
    return try body(try openDatabase())
  }

  /// Keeps access during several calls, for example of a transaction, and reports a commit
  /// afterward.
  func withAccess<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let depth = gate.enter()
    defer { leave(depth) }
    return try body()
  }

  private func openDatabase() throws(SQLiteError) -> SQLiteDatabase {
    guard guarded.database.isOpen else {
      throw SQLiteError(
        .closed, "the connection was closed", path: path, help: "open a new one")
    }
    return guarded.database
  }

  private func leave(_ depth: Int) {
    let hasCommitted = depth == 1 && guarded.database.takeCommit()
    gate.leave()
    if hasCommitted { ChangeMonitor.existing(for: self)?.noteCommit(by: self) }
  }
}

// MARK: - Transactions

extension SQLiteConnection {
  /// The time at which a transaction takes its locks.
  public enum TransactionKind: String, Sendable, Hashable {
    /// The first read or write takes the lock. A transaction that has read may fail to write.
    case deferred = "DEFERRED"
    /// The transaction begins with the write lock.
    case immediate = "IMMEDIATE"
    /// The transaction begins with all locks.
    case exclusive = "EXCLUSIVE"
  }

  /// Runs a closure as one transaction.
  ///
  /// The transaction is committed if the closure returns, and rolled back if it throws.
  ///
  /// Other threads wait until the transaction ends. Inside another transaction, the closure is a
  /// savepoint: only its own writes are rolled back, and the outermost transaction commits.
  ///
  /// - Parameters:
  ///   - kind: The time at which the transaction takes its locks. A read-only connection always
  ///     uses `deferred`.
  ///   - body: The closure to run. It must not run COMMIT or ROLLBACK itself.
  /// - Returns: The return value of `body`.
  /// - Throws: The error of `body`, or a ``SQLiteError``.
  @discardableResult
  public func transaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: () throws -> Result
  ) throws -> Result {
    try withAccess {
      let isNested = try withDatabase { $0.isInTransaction }
      if isNested { return try savepoint(body) }
      if access != .readOnly {
        try withDatabase { database throws(SQLiteError) in try database.refuseIfMoved() }
      }
      try execute("BEGIN \((access == .readOnly ? .deferred : kind).rawValue)")
      do {
        let result = try body()
        try checkTransaction()
        try execute("COMMIT")
        return result
      } catch {
        // SQLite may have rolled back by itself. If the rollback fails, the first error explains
        // more than the second.
        if try withDatabase({ $0.isInTransaction }) { _ = try? execute("ROLLBACK") }
        throw error
      }
    }
  }

  private func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    // Savepoints with one name nest. Each statement refers to the innermost one.
    try execute("SAVEPOINT swappable")
    do {
      let result = try body()
      try checkTransaction()
      try execute("RELEASE swappable")
      return result
    } catch {
      if try withDatabase({ $0.isInTransaction }) {
        _ = try? execute("ROLLBACK TO swappable")
        _ = try? execute("RELEASE swappable")
      }
      throw error
    }
  }

  private func checkTransaction() throws(SQLiteError) {
    try withDatabase { database throws(SQLiteError) in
      guard !database.isInTransaction else { return }
      throw SQLiteError(
        .transaction, "the transaction ended before its body did", path: path,
        help: "let the body throw if a statement fails, and do not run COMMIT or ROLLBACK in it")
    }
  }
}

// MARK: - Access

/// Exclusive access to a connection for one thread at a time.
///
/// The thread that has access may enter again. Other threads wait in order of arrival. Code that
/// runs inside may call user code, for example the body of a transaction.
private final class ConnectionGate: Sendable {
  private struct Waiter: Sendable {
    let thread: ThreadID
    let turn: DispatchSemaphore
  }

  private struct State: Sendable {
    var owner: ThreadID?
    var depth = 0
    var waiters: [Waiter] = []
  }

  private let state = Locked(State())

  /// Waits until the calling thread has access.
  ///
  /// - Returns: How many times the thread has entered, including this time.
  func enter() -> Int {
    let (depth, turn) = begin()
    guard let turn else { return depth }
    turn.wait()
    // The thread sanitizer does not see the semaphore. The lock shows it that the previous owner's
    // writes come first.
    return state.withLock { $0.depth }
  }

  /// Waits until the calling thread has access, but no longer than a limit.
  ///
  /// - Returns: How many times the thread has entered, including this time, or `nil` if the limit
  ///   has passed.
  func enter(within limit: Duration) -> Int? {
    let (depth, turn) = begin()
    guard let turn else { return depth }
    if turn.wait(timeout: .after(limit)) == .success {
      return state.withLock { $0.depth }
    }
    let isOwner = state.withLock { state in
      state.waiters.removeAll { $0.turn === turn }
      return state.owner == .current
    }
    // Access may have been granted at the last moment.
    return isOwner ? 1 : nil
  }

  /// Enters if no other thread is inside. Otherwise, returns a semaphore to wait for.
  private func begin() -> (depth: Int, turn: DispatchSemaphore?) {
    let thread = ThreadID.current
    return state.withLock { state in
      if state.owner == nil || state.owner == thread {
        state.owner = thread
        state.depth += 1
        return (state.depth, nil)
      }
      let turn = DispatchSemaphore(value: 0)
      state.waiters.append(Waiter(thread: thread, turn: turn))
      return (1, turn)
    }
  }

  func leave() {
    let next = state.withLock { state -> DispatchSemaphore? in
      state.depth -= 1
      guard state.depth == 0 else { return nil }
      guard !state.waiters.isEmpty else {
        state.owner = nil
        return nil
      }
      let waiter = state.waiters.removeFirst()
      state.owner = waiter.thread
      state.depth = 1
      return waiter.turn
    }
    next?.signal()
  }
}
