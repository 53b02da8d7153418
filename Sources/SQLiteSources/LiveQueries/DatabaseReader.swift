import Dispatch
import SwappablePrimitives

/// A read-only handle of the database at a path.
///
/// If another file takes the path, the reader opens that file. A database in memory has no second
/// handle. It is read through the connection that holds it.
final class DatabaseReader: @unchecked Sendable {
  // Sendable: one thread at a time uses `database` and `openings`. It has taken the reader from a
  // `ReaderPool`, or it holds the lock of a change monitor. All other properties are constants.

  /// An identifier of one state of the database.
  ///
  /// It changes with each commit of another connection. It may also change without a commit.
  struct Version: Sendable, Hashable {
    /// The number of the file. Each opened file has another number.
    var opening: Int
    /// SQLite's `data_version`, which changes with each commit of another connection or process.
    var data: Int64?
    /// The number of commits of the connection itself. Only a database in memory has any.
    var commits: Int
  }

  /// The result of a check.
  ///
  /// Two results differ if the database has changed in between, even if it is missing in both.
  struct Check: Sendable, Equatable {
    var version: Result<Version, SQLiteError>
    /// How many times a file was opened or abandoned.
    var openings: Int
  }

  /// The path of the database, or `nil` if it is in memory.
  let path: String?
  private let memory: SQLiteConnection?
  private var database: SQLiteDatabase?
  /// How many times a file was opened or abandoned.
  private var openings = 0

  init(path: String) {
    self.path = path
    memory = nil
  }

  init(memory connection: SQLiteConnection) {
    path = nil
    memory = connection
  }

  /// Reads the version of the database.
  func check() -> Check {
    let version = Result { () throws(SQLiteError) in
      try withDatabase { database throws(SQLiteError) in
        Version(
          opening: openings, data: try database.number("PRAGMA data_version"),
          commits: path == nil ? database.commitCount : 0)
      }
    }
    return Check(version: version, openings: openings)
  }

  /// Runs a closure in one read transaction, in which the database does not change.
  ///
  /// The closure must not call user code: it may have exclusive access to the connection in memory.
  func read<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withDatabase { database throws(SQLiteError) in
      if database.isInTransaction {
        // A statement of the user has left a transaction open on the connection in memory.
        throw SQLiteError(
          .busy, "a transaction is open on the connection in memory", path: path,
          help: "commit it, or use transaction(_:_:)")
      }
      return try database.inReadTransaction { () throws(SQLiteError) in try body(database) }
    }
  }

  /// Runs a closure with the database that is at the path now.
  private func withDatabase<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    if let memory { return try memory.withDatabase(body) }
    guard let path else { preconditionFailure("a reader has a path or a connection in memory") }
    if let database {
      if let identity = database.identity, FileLookup(path) == .file(identity) {
        return try body(database)
      }
      self.database = nil
      openings += 1
    }
    // SQLite does not wait for locks, because the wait would block other threads. The caller tries
    // again later.
    let opened = try SQLiteDatabase(path: path, access: .readOnly, busyTimeout: .zero)
    database = opened
    openings += 1
    return try body(opened)
  }
}

/// The readers of the data sources of one database.
///
/// A slow query delays only its own source.
final class ReaderPool: Sendable {
  /// The number of reads at the same time, as long as reads are quick. More reads would only
  /// compete for the processors.
  private static let limit = 8
  private static let idleLimit = 2
  /// If no read begins or ends for this time, all reads are slow, and one more may begin.
  private static let patience = Duration.milliseconds(200)

  /// The reader of a database in memory, which has no other connection.
  private let memory: DatabaseReader?
  private let path: String
  private let idle = Locked<[DatabaseReader]>([])
  private let free = DispatchSemaphore(value: ReaderPool.limit)
  private let clock: AnyClock
  /// The time at which a read last began or ended.
  private let lastProgress: Locked<AnyClock.Instant>

  init(like reader: DatabaseReader, clock: AnyClock = .continuous) {
    self.clock = clock
    lastProgress = Locked(clock.now)
    memory = reader.path == nil ? reader : nil
    path = reader.path ?? ""
  }

  /// The number of open connections that are not in use.
  var idleCount: Int { idle.withLock { $0.count } }

  /// Runs a closure with a reader that no other thread uses, and waits for a reader if many are in
  /// use.
  func withReader<Result>(
    _ body: (DatabaseReader) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    if let memory { return try body(memory) }
    let isWithinLimit = waitForTurn()
    let reader = idle.withLock { $0.popLast() } ?? DatabaseReader(path: path)
    defer {
      // A reader beyond the limit is closed here, outside the lock.
      idle.withLock { if $0.count < ReaderPool.idleLimit { $0.append(reader) } }
      noteProgress()
      if isWithinLimit { free.signal() }
    }
    return try body(reader)
  }

  /// Waits until a read may begin.
  ///
  /// - Returns: `true` if the read counts toward the limit.
  private func waitForTurn() -> Bool {
    while free.wait(timeout: .after(ReaderPool.patience)) == .timedOut {
      let now = clock.now
      let isStuck = lastProgress.withLock { last in
        guard last.duration(to: now) >= ReaderPool.patience else { return false }
        last = now
        return true
      }
      if isStuck { return false }
    }
    noteProgress()
    return true
  }

  private func noteProgress() {
    let now = clock.now
    lastProgress.withLock { $0 = now }
  }

  /// Runs a closure in one read transaction, in which the database does not change.
  func read<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withReader { reader throws(SQLiteError) in try reader.read(body) }
  }
}
