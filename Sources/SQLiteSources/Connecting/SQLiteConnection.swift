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
/// One thread at a time has access; others wait for their turn. A thread that has it, such as the
/// body of a transaction, may call any method again. Observers of data sources may too: no data
/// source holds a connection while they run.
public final class SQLiteConnection: Sendable {
  enum Mode: Sendable {
    case create, readWrite, readOnly, inMemory
  }

  /// What a connection may do with the database.
  public enum Access: Sendable, Hashable {
    /// Read and write; a database that is not there is created.
    case create
    /// Read and write a database that is there.
    case readWrite
    /// Only read, and never create.
    case readOnly
  }

  // Sendable: `database` is reached only between `enter` and `leave` of `gate`, by `withDatabase`,
  // and in `deinit`, when no other reference is left.
  private final class Guarded: @unchecked Sendable {
    let database: SQLiteDatabase
    var isClosed = false

    init(_ database: SQLiteDatabase) {
      self.database = database
    }
  }

  /// The database's absolute path; `nil` where it is in memory.
  public let path: String?

  /// What the connection may do.
  public let access: Access

  private let gate = ThreadGate()
  private let guarded: Guarded

  /// Opens the database at `path`.
  ///
  /// - Parameters:
  ///   - path: the path of the file, never read as a URI. A relative one is taken from the current
  ///     directory.
  ///   - access: what the connection may do with it.
  ///   - busyTimeout: how long a call waits for locks that other connections hold.
  /// - Throws: a `SQLiteError` where there is no database, where it cannot be opened, and where
  ///   the file is none.
  public init(
    path: String, access: Access = .create, busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    let absolute = try SQLiteConnection.absolutePath(path)
    let mode: Mode =
      switch access {
      case .create: .create
      case .readWrite: .readWrite
      case .readOnly: .readOnly
      }
    self.path = absolute
    self.access = access
    guarded = Guarded(
      try SQLiteDatabase(path: absolute, mode: mode, busyTimeout: busyTimeout))
    // SQLite reads the file only when asked for something in it: this tells what is no database.
    do {
      _ = try query("PRAGMA schema_version")
    } catch  where error.code != .busy {
      throw error
    } catch {
      // Locked by another connection, hence a database.
    }
  }

  /// Opens a new, empty database in memory, which only this connection sees.
  ///
  /// - Throws: a `SQLiteError` where memory is short.
  public static func makeInMemory() throws(SQLiteError) -> SQLiteConnection {
    SQLiteConnection(
      inMemory: try SQLiteDatabase(path: ":memory:", mode: .inMemory, busyTimeout: .zero))
  }

  /// Checks that `path` can be one, and makes it absolute: what SQLite takes for more than a path,
  /// such as a URI or a name with a meaning of its own, never begins with a slash.
  static func absolutePath(_ path: String) throws(SQLiteError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SQLiteError(
        .cannotOpen, "\"\(path)\" is no path", path: path, help: "give the path of a file")
    }
    return SwappablePrimitives.absolutePath(path)
  }

  private init(inMemory database: SQLiteDatabase) {
    path = nil
    access = .create
    guarded = Guarded(database)
  }

  deinit {
    guarded.database.close()
  }

  /// Closes the connection; later calls throw. Without it the last reference closes.
  public func close() {
    _ = gate.enter()
    defer { gate.leave() }
    guarded.isClosed = true
    guarded.database.close()
  }

  /// Runs `body` with access to the database; then tells of a commit, if it made one.
  func withDatabase<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withDatabase(depth: gate.enter(), body)
  }

  /// Runs `body` with access to the database, if that is to be had within `limit`; `nil` if not.
  func withDatabase<Result>(
    within limit: Duration, _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result? {
    guard let depth = gate.enter(within: limit) else { return nil }
    return try withDatabase(depth: depth, body)
  }

  private func withDatabase<Result>(
    depth: Int, _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    var hasCommitted = false
    defer {
      if depth == 1 { hasCommitted = guarded.database.takeCommit() }
      gate.leave()
      if hasCommitted { ChangeMonitor.existing(for: self)?.commitSeen(by: self) }
    }
    guard !guarded.isClosed else {
      throw SQLiteError(
        .closed, "the connection was closed", path: path, help: "open a new one")
    }
    return try body(guarded.database)
  }

  /// Keeps access through several calls, such as a transaction's; a commit is told at the end.
  func withAccess<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let depth = gate.enter()
    defer {
      let hasCommitted = depth == 1 && guarded.database.takeCommit()
      gate.leave()
      if hasCommitted { ChangeMonitor.existing(for: self)?.commitSeen(by: self) }
    }
    return try body()
  }
}
