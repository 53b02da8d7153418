package import SwappablePrimitives

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
///
/// A connection belongs to the file that it has opened. If another file takes the path and is opened in
/// this process, or if the write-ahead log is deleted while a data source uses it, the connection is
/// closed. Its calls then throw a ``SQLiteError`` with the code `moved`: open the path again.
public final class SQLiteConnection: Sendable {
  /// The operations that a connection allows.
  public enum Access: Sendable, Hashable {
    /// Read and write. A database that does not exist is created.
    case create
    /// Read and write a database that exists.
    case readWrite
    /// Only read, and never create a database.
    case readOnly
    /// Only read a file that has no writer, without its locks and its write-ahead log.
    ///
    /// Reading then needs no permission to write in the folder, and creates no file. It shows the file as it is when it is
    /// opened: data sources do not follow changes, and say so in a diagnostic. If a program writes meanwhile, or if commits
    /// are still in the log, the contents may be wrong.
    case immutable

    var isReadOnly: Bool { self == .readOnly || self == .immutable }
  }

  /// The absolute path of the database, or `nil` if it is in memory.
  ///
  /// A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  public var path: String? { file?.description }

  /// The absolute path of the database, or `nil` if it is in memory.
  let file: ByteString?

  /// The operations that the connection allows.
  public let access: Access

  private let gate: ConnectionGate
  // Sendable: only code between `enter` and `leave` of `gate` accesses it.
  private nonisolated(unsafe) let database: SQLiteDatabase

  /// Opens the database at a path.
  ///
  /// - Parameters:
  ///   - path: The path of the file, absolute or relative to the current directory. It is never
  ///     interpreted as a URI.
  ///   - access: The operations that the connection allows.
  ///   - busyTimeout: How long a call waits for the locks of other connections.
  /// - Throws: A ``SQLiteError`` if the database does not exist, if it cannot be opened, or if the
  ///   file is not a database.
  public convenience init(
    path: String, access: Access = .create, busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    try self.init(path: ByteString(path), access: access, busyTimeout: busyTimeout)
  }

  /// Opens the database at a path, which need not be UTF-8.
  package convenience init(
    path: ByteString, access: Access, busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    try self.init(
      file: try SQLiteConnection.absolutePath(path), access: access, busyTimeout: busyTimeout)
  }

  private init(
    file: ByteString?, access: Access, busyTimeout: Duration
  ) throws(SQLiteError) {
    self.file = file
    self.access = access
    let gate = ConnectionGate()
    self.gate = gate
    database = try gate.withAccess { () throws(SQLiteError) in
      try SQLiteDatabase(
        path: file ?? SQLiteDatabase.memoryPath, access: access, busyTimeout: busyTimeout,
        gate: gate)
    }
  }

  /// Opens a new, empty database in memory. Only this connection can use it.
  ///
  /// - Throws: A ``SQLiteError`` if there is not enough memory.
  public static func makeInMemory() throws(SQLiteError) -> SQLiteConnection {
    try SQLiteConnection(file: nil, access: .create, busyTimeout: .zero)
  }

  /// Checks a path and makes it absolute.
  ///
  /// SQLite interprets some names in a special way, for example URIs. None of these names begins
  /// with a slash.
  static func absolutePath(_ path: ByteString) throws(SQLiteError) -> ByteString {
    guard !path.bytes.isEmpty, !path.bytes.contains(0) else {
      throw SQLiteError(
        .cannotOpen, "\"\(path)\" is not a path", path: path, help: "use the path of a file")
    }
    return path.absolutePath
  }

  /// Closes the connection. Later calls throw.
  ///
  /// If you do not call this method, the release of the last reference closes the connection.
  public func close() {
    gate.withAccess { database.close() }
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
    guard database.isOpen else { throw database.closedError }
    return database
  }

  private func leave(_ depth: Int) {
    let hasCommitted = depth == 1 && database.takeCommit()
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
      if !isNested, !access.isReadOnly {
        try withDatabase { database throws(SQLiteError) in try database.refuseIfMoved() }
      }
      // Savepoints with one name nest. Each statement refers to the innermost one.
      let (begin, commit, rollback) =
        isNested
        ? ("SAVEPOINT swappable", "RELEASE swappable", "ROLLBACK TO swappable; RELEASE swappable")
        : ("BEGIN \((access.isReadOnly ? .deferred : kind).rawValue)", "COMMIT", "ROLLBACK")
      try execute(begin)
      do {
        let result = try body()
        guard try withDatabase({ $0.isInTransaction }) else {
          throw SQLiteError(
            .transaction, "the transaction ended before its body did", path: file,
            help: "let the body throw if a statement fails, and do not run COMMIT or ROLLBACK in it"
          )
        }
        try execute(commit)
        return result
      } catch {
        // SQLite may have rolled back by itself. If the rollback fails, the first error explains
        // more than the second.
        if try withDatabase({ $0.isInTransaction }) { try? executeScript(rollback) }
        throw error
      }
    }
  }
}

// MARK: - Without blocking the caller

extension SQLiteConnection {
  /// Runs a closure that reads, as one transaction, on a thread that it may block.
  ///
  ///     let titles = try await connection.read { connection in
  ///       try connection.query("SELECT title FROM task") { row in try row.value("title", as: String.self) }
  ///     }
  ///
  /// The other methods of a connection wait for locks and for the disk, so they do not belong on the main actor.
  ///
  /// - Parameter body: A closure that uses the connection, which it receives.
  /// - Returns: The return value of `body`.
  /// - Throws: The error of `body`, a ``SQLiteError``, or a `CancellationError` if the task was canceled before it began.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
  ) async throws -> Result {
    try await run(.deferred, body)
  }

  /// Runs a closure that writes, as one transaction, on a thread that it may block.
  ///
  ///     try await connection.write { try $0.execute("INSERT INTO task (title) VALUES (?)", [title]) }
  ///
  /// The transaction is committed if the closure returns, and rolled back if it throws.
  ///
  /// - Parameter body: A closure that uses the connection, which it receives.
  /// - Returns: The return value of `body`.
  /// - Throws: The error of `body`, a ``SQLiteError``, or a `CancellationError` if the task was canceled before it began.
  @discardableResult
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
  ) async throws -> Result {
    try await run(.immediate, body)
  }

  private func run<Result: Sendable>(
    _ kind: TransactionKind, _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
  ) async throws -> Result {
    try await withTaskExecutorPreference(BlockingThreads.reading) {
      try Task.checkCancellation()
      return try transaction(kind) { try body(self) }
    }
  }
}
