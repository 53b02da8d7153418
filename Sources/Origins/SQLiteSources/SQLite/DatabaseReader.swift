import FileWatching
import SwappablePrimitives
import SwappableSQLite3

/// A read-only handle of the database at a path.
///
/// If another file takes the path, the reader opens that file. A database in memory has no second
/// handle. It is read through the connection that holds it.
final class DatabaseReader: @unchecked Sendable {
  // Sendable: one thread at a time uses the variables. It has taken the reader from a `ReaderPool`, or
  // it holds the lock of a change monitor. All other properties are constants. Another thread may close
  // the database, but only while no thread is inside `gate`.

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
    /// How many times the files of the write-ahead log were deleted or replaced while they were open.
    var lostLogs = 0
  }

  /// The result of a check.
  ///
  /// Two results differ if the database has changed in between, even if it is missing in both.
  struct Check: Sendable, Equatable {
    var version: Result<Version, SQLiteError>
    /// How many times a file was opened or abandoned.
    var openings: Int
    /// How many times the files of the write-ahead log were deleted or replaced while they were open.
    var lostLogs: Int
  }

  /// The contents of a file with a rollback journal, as far as they are known without reading it.
  private struct Contents: Equatable {
    var data: Int64?
    var stamp: FileStamp?
  }

  /// The path of the database, or `nil` if it is in memory.
  let path: ByteString?
  /// A Boolean value that indicates whether no writer is expected.
  let isImmutable: Bool
  private let memory: SQLiteConnection?
  private let gate = ConnectionGate()
  private var database: SQLiteDatabase?
  /// How many times a file was opened or abandoned.
  private var openings = 0
  private var lostLogs = 0
  /// The contents at the last read, or `nil` in WAL mode.
  private var contents: Contents?
  /// The stamp of the file when the handle was opened, or when it has last read the file without an error.
  private var cleanStamp: FileStamp?

  init(path: ByteString, isImmutable: Bool = false) {
    (self.path, self.isImmutable) = (path, isImmutable)
    memory = nil
  }

  init(memory connection: SQLiteConnection) {
    (path, isImmutable) = (nil, false)
    memory = connection
  }

  /// Reads the version of the database.
  func check() -> Check {
    let version = Result { () throws(SQLiteError) in
      try withDatabase { database throws(SQLiteError) in
        let data =
          if path == nil || database.log != nil {
            try database.number("PRAGMA data_version")
          } else {
            try database.inReadTransaction { () throws(SQLiteError) in try note(database) }
          }
        return Version(
          opening: openings, data: data, commits: path == nil ? database.commitCount : 0,
          lostLogs: lostLogs)
      }
    }
    return Check(version: version, openings: openings, lostLogs: lostLogs)
  }

  /// Runs a closure in one read transaction, in which the database does not change.
  ///
  /// The closure must not call user code: it may have exclusive access to the connection in memory.
  ///
  /// - Parameter cancellation: The cancellation that ends the statements of the closure.
  func read<Result>(
    until cancellation: QueryCancellation = QueryCancellation(),
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withDatabase { database throws(SQLiteError) in
      if database.isInTransaction {
        // A statement of the user has left a transaction open on the connection in memory.
        throw SQLiteError(
          .busy, "a transaction is open on the connection in memory", path: path,
          help: "commit it, or use transaction(_:_:)")
      }
      return try database.inReadTransaction { () throws(SQLiteError) in
        if path != nil { _ = try note(database) }
        // The end of the transaction is not interrupted.
        return try database.interruptible(by: cancellation) { () throws(SQLiteError) in
          try body(database)
        }
      }
    }
  }

  /// Reads the data version in a read transaction, and notes the contents of a file with a rollback
  /// journal.
  ///
  /// During the transaction, no other connection writes such a file. A file that has changed although its
  /// data version has not was written without SQLite. The pages that SQLite has kept are then out of
  /// date.
  ///
  /// - Throws: The error `overwritten` if the file must be opened again.
  private func note(_ database: SQLiteDatabase) throws(SQLiteError) -> Int64? {
    let data = try database.number("PRAGMA data_version")
    if !isImmutable { database.noteLog() }
    guard database.log == nil, let path else {
      contents = nil
      return data
    }
    let now = Contents(data: data, stamp: FileStamp(at: path))
    if let contents, contents.data == now.data, contents.stamp != now.stamp { throw .overwritten }
    contents = now
    return data
  }

  /// Runs a closure with the database that is at the path now.
  private func withDatabase<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    if let memory { return try memory.withDatabase(body) }
    guard let path else { preconditionFailure("a reader has a path or a connection in memory") }
    return try gate.withAccess { () throws(SQLiteError) in
      let stamp = FileStamp(at: path)
      let database = try current(at: path, stamp)
      do throws(SQLiteError) {
        let result = try body(database)
        cleanStamp = stamp
        return result
      } catch {
        if error.code == .busy || error.code == .timeout { throw error }
        if error.isShortLog {
          abandon()
          throw SQLiteError(lostLogOf: path.description)
        }
        // SQLite may have kept pages from before the last change of the file.
        guard error == .overwritten || cleanStamp != stamp else { throw error }
        abandon()
        return try body(try current(at: path, stamp))
      }
    }
  }

  /// Returns the database that is at the path now.
  private func current(
    at path: ByteString, _ stamp: FileStamp?
  ) throws(SQLiteError) -> SQLiteDatabase {
    if let database {
      let hasLostLog = database.hasLostLog
      if !hasLostLog, database.isOpen, database.identity != nil,
        database.identity == stamp?.identity
      {
        return database
      }
      if hasLostLog { lostLogs += 1 }
      abandon()
    }
    do throws(SQLiteError) {
      // SQLite does not wait for locks, because the wait would block other threads. The caller tries
      // again later.
      let opened = try SQLiteDatabase(
        path: path, access: isImmutable ? .immutable : .readOnly, busyTimeout: .zero, gate: gate,
        isTrusted: false)
      database = opened
      cleanStamp = stamp
      openings += 1
      return opened
    } catch {
      guard error.isShortLog else { throw error }
      throw SQLiteError(lostLogOf: path.description)
    }
  }

  /// Closes the handle until the next call.
  func release() {
    gate.withAccess { abandon() }
  }

  private func abandon() {
    guard database != nil else { return }
    (database, contents) = (nil, nil)
    openings += 1
  }
}

extension SQLiteError {
  /// The error of a file that was written without SQLite, which never leaves its reader.
  fileprivate static let overwritten = SQLiteError(
    .moved, "the file was overwritten", help: "open it again")
}

/// Ends the statements of a query, because its result is no longer needed, or because they take too long.
final class QueryCancellation: Sendable {
  private struct State {
    var isRequested = false
    /// The time at which the closure that runs must have ended.
    var deadline: ContinuousClock.Instant?
    var isTooLate = false
  }

  private let timeout: Duration?
  private let state = Locked(State())

  /// - Parameter timeout: The longest time that one closure may take, or `nil` if there is no limit.
  init(timeout: Duration? = nil) {
    self.timeout = timeout
  }

  /// Ends the statements that run, and all later ones until ``reset()``. Any thread may call this method.
  func cancel() {
    state.withLock { $0.isRequested = true }
  }

  /// Lets statements run again.
  func reset() { state.withLock { $0.isRequested = false } }

  fileprivate func begin() {
    guard let timeout else { return }
    state.withLock { state in
      state.deadline = .now.advanced(by: timeout)
      state.isTooLate = false
    }
  }

  fileprivate var isDue: Bool {
    state.withLock { state in
      if let deadline = state.deadline, deadline <= .now { state.isTooLate = true }
      return state.isRequested || state.isTooLate
    }
  }

  /// The error of a closure that took too long, or `nil` if the time was not the reason for its end.
  fileprivate var timeoutError: SQLiteError? {
    guard let timeout, state.withLock({ $0.isTooLate && !$0.isRequested }) else { return nil }
    return SQLiteError(
      .timeout, "the query took longer than \(timeout)",
      help: "make the query faster, for example with an index, or allow it more time")
  }
}

extension SQLiteDatabase {
  /// The number of steps of SQLite's machine between two looks at a cancellation, a few microseconds.
  private static let stepsBetweenLooks: Int32 = 1000

  /// Runs a closure whose statements fail after a cancellation, or when their time is over.
  func interruptible<Result>(
    by cancellation: QueryCancellation, _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    cancellation.begin()
    // Unretained: the handler is removed before this method returns.
    sqlite3_progress_handler(
      handle, SQLiteDatabase.stepsBetweenLooks,
      { $0.object(QueryCancellation.self)?.isDue == true ? 1 : 0 },
      Unmanaged.passUnretained(cancellation).toOpaque())
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    do throws(SQLiteError) {
      return try body()
    } catch {
      throw cancellation.timeoutError ?? error
    }
  }
}
