import Dispatch
import SwappablePrimitives

/// A read-only connection that follows a path.
///
/// If another file takes the path, the reader opens that file. A database in memory has no second
/// connection. It is read through the connection that holds it.
final class DatabaseReader: Sendable {
  /// An identifier of one state of the database.
  ///
  /// It changes with each commit of another connection. It may also change without a commit.
  struct Version: Sendable, Hashable {
    /// The number of the file. Each opened file has another number.
    var opening: Int
    /// SQLite's `data_version`, which changes with each commit of another connection or process.
    var data: SQLiteValue
    /// The number of commits of the connection itself. Only a database in memory has any.
    var commits: Int
  }

  // Sendable: only `read` and `check` access it, between `enter` and `leave` of `gate`.
  private final class Opened: @unchecked Sendable {
    var connection: SQLiteConnection?
    var identity: FileIdentity?
    /// How many times a file was opened or abandoned.
    var openings = 0
  }

  let path: String?
  /// This connection is used without the gate of the reader: a thread that has access to the
  /// connection may call the reader, and two gates in different orders would deadlock.
  private let memory: SQLiteConnection?
  private let gate = ConnectionGate()
  private let opened = Opened()

  init(path: String) {
    self.path = path
    memory = nil
  }

  init(memory connection: SQLiteConnection) {
    path = nil
    memory = connection
  }

  /// A Boolean value that indicates whether the database has a write-ahead log. Reading then never
  /// delays a writer.
  var isWAL: Bool {
    guard let path else { return false }
    if case .file = FileLookup(path + "-wal") { return true }
    return false
  }

  /// The result of a check.
  ///
  /// Two results differ if the database has changed in between, even if it is missing in both.
  struct Check: Sendable, Equatable {
    var version: Result<Version, SQLiteError>
    /// How many times a file was opened or abandoned.
    var openings: Int
  }

  func check() -> Check {
    _ = gate.enter()
    defer { gate.leave() }
    let found = Result { () throws(SQLiteError) in try version() }
    return Check(version: found, openings: opened.openings)
  }

  func version() throws(SQLiteError) -> Version {
    try withConnection { connection, opening throws(SQLiteError) in
      try connection.withDatabase { database throws(SQLiteError) in
        try version(of: database, opening: opening)
      }
    }
  }

  /// Runs a closure in one read transaction, in which the database does not change.
  ///
  /// The closure must not call user code: no other thread can read until it returns.
  func read<Result>(
    _ body: (SQLiteDatabase, Version) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withConnection { connection, opening throws(SQLiteError) in
      try connection.withDatabase { database throws(SQLiteError) in
        if database.isInTransaction {
          // A statement of the user has left a transaction open on the connection in memory.
          throw SQLiteError(
            .busy, "a transaction is open on the connection in memory", path: path,
            help: "commit it, or use transaction(_:_:)")
        }
        return try database.inReadTransaction { () throws(SQLiteError) in
          try body(database, try version(of: database, opening: opening))
        }
      }
    }
  }

  private func version(
    of database: SQLiteDatabase, opening: Int
  ) throws(SQLiteError) -> Version {
    let data = try database.withStatement("PRAGMA data_version", []) {
      statement throws(SQLiteError) in
      try statement.step() ? statement.row()[0] : .null
    }
    return Version(opening: opening, data: data, commits: path == nil ? database.commitCount : 0)
  }

  private func withConnection<Result>(
    _ body: (SQLiteConnection, _ opening: Int) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    if let memory { return try body(memory, 0) }
    _ = gate.enter()
    defer { gate.leave() }
    return try body(try connection(), opened.openings)
  }

  /// Returns the connection to the file that is at the path now.
  private func connection() throws(SQLiteError) -> SQLiteConnection {
    guard let path else { preconditionFailure("a reader has a path or a connection in memory") }
    // Look up the file before opening it. If another file takes the path meanwhile, the next lookup
    // differs.
    let found = FileLookup(path)
    if let connection = opened.connection {
      if let identity = opened.identity, found == .file(identity) { return connection }
      opened.connection = nil
      opened.identity = nil
      opened.openings += 1
    }
    // SQLite does not wait for locks, because the wait would block other threads. The caller tries
    // again later.
    let connection = try SQLiteConnection(path: path, access: .readOnly, busyTimeout: .zero)
    opened.connection = connection
    if case .file(let identity) = found { opened.identity = identity }
    opened.openings += 1
    return connection
  }
}

/// The connections with which the data sources of one database read. They are read-only and follow
/// the path.
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
    try withReader { reader throws(SQLiteError) in
      try reader.read { database, _ throws(SQLiteError) in try body(database) }
    }
  }
}
