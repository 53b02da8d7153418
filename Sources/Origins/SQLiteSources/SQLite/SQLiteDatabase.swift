import SQLSources
import SwappablePrimitives
import SwappableSQLite3

/// An open handle of SQLite with its prepared statements.
///
/// One thread at a time uses it. The owner, a `SQLiteConnection` or a `DatabaseReader`, grants access.
final class SQLiteDatabase {
  /// The counts of SQLite's hooks, which run inside a call of the thread that has access.
  private final class Commits {
    var isPending = false
    var count = 0
  }

  private struct CachedStatement {
    let statement: SQLiteStatement
    var lastUse: Int
  }

  /// The path that SQLite takes for a database in memory. The path of a file begins with a slash.
  static let memoryPath: ByteString = ":memory:"
  private static let cacheLimit = 64

  let path: ByteString
  /// The file that was opened, or `nil` in memory and if another file may have taken its place
  /// meanwhile.
  let identity: FileIdentity?
  let handle: OpaquePointer
  let authorizer: StatementAuthorizer
  private let busyMilliseconds: Int32
  private let commits = Commits()
  /// The handles on the same path, or `nil` in memory.
  private let handles: OpenHandles?
  /// The files of the write-ahead log that the handle has open, or `nil` if it has none.
  private(set) var log: LogFiles?
  /// The reason why the handle was closed by another one, or `nil`.
  private(set) var staleness: Staleness?
  /// Collects the written rows, from the first call of `track(by:)` on.
  private(set) var tracker: WriteTracker?
  /// A Boolean value that indicates whether statements mean the same here as on any other
  /// connection.
  private(set) var isPlain = true
  private var cache: [String: CachedStatement] = [:]
  private var uses = 0
  private(set) var isOpen = true

  /// Opens the database at a path.
  ///
  /// The initializer looks up the file first, for clear error messages. It throws if the file is not a
  /// database.
  ///
  /// - Parameters:
  ///   - gate: The access of the owner, which has entered it.
  ///   - isTrusted: A Boolean value that indicates whether the SQL comes from the application.
  init(
    path: ByteString, access: SQLiteConnection.Access, busyTimeout: Duration, gate: ConnectionGate,
    isTrusted: Bool = true
  ) throws(SQLiteError) {
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    switch access {
    case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    case .readWrite: flags |= SQLITE_OPEN_READWRITE
    case .readOnly: flags |= SQLITE_OPEN_READONLY
    case .immutable: flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    }
    let isFile = path != SQLiteDatabase.memoryPath
    if isFile { try SQLiteDatabase.checkFile(at: path, mayBeMissing: access == .create) }
    var opened: OpaquePointer?
    let name = access == .immutable ? SQLiteDatabase.immutableAddress(of: path) : path
    let result = name.withCString { sqlite3_open_v2($0, &opened, flags, nil) }
    guard result == SQLITE_OK, let opened else {
      defer { sqlite3_close_v2(opened) }
      throw SQLiteError(result: result, database: opened, path: path)
    }
    self.path = path
    handle = opened
    authorizer = StatementAuthorizer(isTrusted: isTrusted)
    authorizer.protect(opened, isReadOnly: access.isReadOnly)
    // SQLite resolves symbolic links. It names the files of the log after the result.
    let file = isFile ? ByteString(cString: sqlite3_db_filename(opened, "main")) : nil
    if let file, case .file(let found) = FileLookup(file), !SQLiteDatabase.hasMoved(opened) {
      identity = found
    } else {
      identity = nil
    }
    handles = file.map { OpenHandles.at($0) }
    // SQLite stores the timeout in 32 bits.
    busyMilliseconds = Int32(clamping: max(0, busyTimeout.milliseconds))
    sqlite3_busy_timeout(opened, busyMilliseconds)
    // Unretained: the hooks end with the handle, and this object closes the handle before it is
    // released.
    let context = Unmanaged.passUnretained(commits).toOpaque()
    sqlite3_commit_hook(
      opened,
      { context in
        let commits = context.object(Commits.self)
        commits?.isPending = true
        commits?.count += 1
        return 0
      }, context)
    sqlite3_rollback_hook(opened, { $0.object(Commits.self)?.isPending = false }, context)
    guard let handles else { return }
    if access == .readOnly { try checkLogFiles(of: handles.file) }
    handles.add(self, gate: gate, isReader: !isTrusted)
    try handles.closeStaleHandles(for: self, within: busyTimeout)
    // SQLite reads the file when a statement needs it. This statement finds out if the file is a
    // database.
    do throws(SQLiteError) {
      _ = try number("PRAGMA schema_version")
      // An immutable file is read without its log.
      if access != .immutable { noteLog() }
    } catch {
      // If another connection has locked the file, it is a database.
      if error.code != .busy { throw error }
    }
  }

  deinit {
    close()
  }

  func close() {
    guard isOpen else { return }
    if let handles {
      handles.remove(self) { closeHandle() }
    } else {
      closeHandle()
    }
  }

  /// Closes the handle, for a caller that removes it from the open handles.
  ///
  /// - Parameter staleness: The reason, if the owner has not closed the handle.
  func closeHandle(because staleness: Staleness? = nil) {
    self.staleness = staleness
    isOpen = false
    cache = [:]
    sqlite3_close_v2(handle)
  }

  /// The error of a call after the handle was closed.
  var closedError: SQLiteError {
    switch staleness {
    case .moved: movedError
    case .lostLog: SQLiteError(lostLogOf: path.description)
    case nil: SQLiteError(.closed, "the connection was closed", path: path, help: "open a new one")
    }
  }

  /// Returns a Boolean value that indicates whether a transaction was committed since the last
  /// call.
  ///
  /// The hook runs before SQLite commits. Therefore, a commit is done only after its transaction
  /// has ended.
  func takeCommit() -> Bool {
    guard isOpen, commits.isPending, !isInTransaction else { return false }
    commits.isPending = false
    return true
  }

  var commitCount: Int { commits.count }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
  var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle) }
  var changes: Int { Int(sqlite3_changes64(handle)) }

  private static func checkFile(at path: ByteString, mayBeMissing: Bool) throws(SQLiteError) {
    switch FileLookup(path) {
    case .file: break
    case .missing:
      guard !mayBeMissing else { return }
      throw SQLiteError(
        .missing, "there is no database", path: path,
        help: "check the path, or create the database first")
    case .directory:
      throw SQLiteError(
        .directory, "the path is a directory, but a database is required", path: path,
        help: "use the path of the database file in it")
    case .unreachable(let reason):
      throw SQLiteError(
        .cannotOpen, "the database cannot be reached: \(reason)", path: path,
        help: "check the path and its permissions")
    }
  }
}

// MARK: - The files of the write-ahead log

extension SQLiteDatabase {
  /// The reason why a handle no longer shows the database at its path.
  enum Staleness: Sendable, Hashable {
    /// The database was renamed, deleted or replaced.
    case moved
    /// A file of the write-ahead log was deleted or replaced.
    case lostLog
  }

  /// Notes the files of the write-ahead log, after the handle has begun to use one.
  ///
  /// As long as the handle uses them, SQLite neither deletes nor replaces these files.
  func noteLog() {
    guard log == nil, let handles, let files = LogFiles(of: handles.file) else { return }
    // A database with a rollback journal may have the remains of a log.
    let mode = try? withStatement("PRAGMA journal_mode", []) {
      statement throws(SQLiteError) in try statement.rows().first?.values
    }
    guard mode == [.text("wal")] else { return }
    log = files
    handles.setLog(files, of: self)
  }

  /// A Boolean value that indicates whether a file of the write-ahead log was deleted or replaced. Other
  /// processes then cannot read the commits in it.
  ///
  /// All handles that have these files open are then closed before the next one reads the database.
  var hasLostLog: Bool {
    guard isOpen else { return staleness == .lostLog }
    guard let log, let handles, LogFiles(of: handles.file) != log else { return false }
    // A program that moves the whole database begins with the database file. Its log is not lost.
    guard let identity, FileLookup(handles.file) == .file(identity) else { return false }
    handles.noteLost(log)
    return true
  }
}

// MARK: - Statements

extension SQLiteDatabase {
  /// Runs a closure with the only statement of a text, after its arguments are bound.
  ///
  /// When the closure returns, the statement is reset.
  func withStatement<Result>(
    _ sql: String, _ arguments: SQLiteArguments,
    _ body: (SQLiteStatement) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withStatement(sql) { statement throws(SQLiteError) in
      try statement.bind(arguments)
      return try body(statement)
    }
  }

  /// Runs a closure with a statement that was derived from another one.
  ///
  /// It takes its arguments from the first arguments of the other statement.
  ///
  /// - Parameter rowid: The value of the last argument, if it is a rowid.
  func withStatement<Result>(
    _ sql: String, argumentsFrom arguments: SQLiteArguments, rowid: Int64?,
    _ body: (SQLiteStatement) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withStatement(sql) { statement throws(SQLiteError) in
      try statement.bind(firstOf: arguments, rowid: rowid)
      return try body(statement)
    }
  }

  private func withStatement<Result>(
    _ sql: String, _ body: (SQLiteStatement) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    // Remove the statement from the cache while it is in use: the closure may run the same SQL.
    let statement: SQLiteStatement
    if let cached = cache.removeValue(forKey: sql), cached.statement.isPrepared(from: sql) {
      statement = cached.statement
    } else {
      statement = try prepareOne(sql)
    }
    defer {
      statement.reset()
      keep(statement)
    }
    return try body(statement)
  }

  func run(_ sql: String) throws(SQLiteError) {
    try withStatement(sql, []) { statement throws(SQLiteError) in
      while try statement.step() {}
    }
  }

  func runScript(_ sql: String) throws(SQLiteError) {
    var start = 0
    while let (statement, end) = try prepare(sql, from: start) {
      start = end
      try refuseIfMoved(statement)
      while try statement.step() {}
    }
  }

  /// Throws if a statement writes to a file that was moved.
  ///
  /// In WAL mode, SQLite does not notice that another file has taken its path. Its next write would
  /// damage both files.
  func refuseIfMoved(_ statement: SQLiteStatement) throws(SQLiteError) {
    guard !statement.isReadOnly, !isInTransaction else { return }
    try refuseIfMoved()
  }

  /// A Boolean value that indicates whether the open file is no longer the file at its path.
  var hasMoved: Bool { SQLiteDatabase.hasMoved(handle) }

  private static func hasMoved(_ handle: OpaquePointer) -> Bool {
    var moved: Int32 = 0
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK
      && moved != 0
  }

  /// Throws if the open file is no longer the file at its path.
  func refuseIfMoved() throws(SQLiteError) {
    if hasMoved { throw movedError }
  }

  private var movedError: SQLiteError {
    SQLiteError(
      .moved, "the database was renamed, deleted or replaced while it was open", path: path,
      help: "close this connection and open the path again")
  }

  private func keep(_ statement: SQLiteStatement) {
    uses += 1
    cache[statement.sql] = CachedStatement(statement: statement, lastUse: uses)
    guard cache.count > SQLiteDatabase.cacheLimit,
      let oldest = cache.min(by: { $0.value.lastUse < $1.value.lastUse })
    else { return }
    cache.removeValue(forKey: oldest.key)
  }

  /// Runs a closure in a read transaction of its own.
  ///
  /// The transaction does not wait for the locks of other connections, but fails immediately.
  func inReadTransaction<Result>(
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    sqlite3_busy_timeout(handle, 0)
    defer { sqlite3_busy_timeout(handle, busyMilliseconds) }
    try run("BEGIN")
    do throws(SQLiteError) {
      let result = try body()
      try run("COMMIT")
      return result
    } catch {
      if isInTransaction { try? run("ROLLBACK") }
      throw error
    }
  }

  func number(_ sql: String) throws(SQLiteError) -> Int64? {
    try withStatement(sql, []) { statement throws(SQLiteError) in
      guard try statement.step() else { return nil }
      return statement.integer(at: 0)
    }
  }

  /// Returns a number that changes with the schema that reading statements of this connection see.
  ///
  /// The writers of a database in memory share the connection. Their TEMP tables hide tables with
  /// the same name.
  func schemaVersion() throws(SQLiteError) -> Int64? {
    let version = try number("PRAGMA main.schema_version")
    guard path == SQLiteDatabase.memoryPath, let version else { return version }
    return version ^ (try number("PRAGMA temp.schema_version") ?? 0) << 32
  }

  /// Collects the written rows from now on.
  ///
  /// - Returns: The tracker, or `nil` if SQLite was built without the hook that the collector
  ///   needs.
  func track(by collector: ChangeTracking.Collector) -> WriteTracker? {
    if let tracker { return tracker.collector == collector ? tracker : nil }
    guard let tracker = WriteTracker(handle: handle, collector: collector) else { return nil }
    self.tracker = tracker
    // An old DELETE of all rows empties the table without reporting its rows.
    cache = [:]
    return tracker
  }

  /// Loads the current schema.
  ///
  /// SQLite loads it when a statement is stepped. A statement that was prepared before has the
  /// columns of the previous schema.
  func loadSchema() throws(SQLiteError) {
    _ = try number("SELECT 1 FROM sqlite_master LIMIT 1")
    cache = [:]
  }

  private func prepareOne(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
    guard let (statement, end) = try prepare(sql, from: 0) else {
      throw SQLiteError(
        .emptySQL, "the SQL contains no statement", path: path, sql: sql, help: "write a statement")
    }
    let hasMore: Bool
    do {
      // A PRAGMA can take effect when it is prepared. Even on a connection that allows it, it must not.
      hasMore =
        try SQLText.firstWord(Substring(sql).utf8.dropFirst(end)) == "PRAGMA"
        || prepare(sql, from: end) != nil
    } catch {
      // The rest may need a table that the first statement creates. It is a second statement.
      hasMore = true
    }
    guard !hasMore else {
      throw SQLiteError(
        .severalStatements, "the SQL contains more than one statement", path: path, sql: sql,
        offset: end, help: "pass one statement at a time, or use executeScript(_:)")
    }
    return statement
  }

  /// Prepares the first statement of a text.
  ///
  /// - Parameter start: The offset in bytes at which to begin.
  /// - Returns: The statement and the offset of its end, or `nil` if only space and comments are
  ///   left.
  private func prepare(
    _ sql: String, from start: Int
  ) throws(SQLiteError) -> (SQLiteStatement, end: Int)? {
    if let zero = sql.utf8.firstIndex(of: 0) {
      throw SQLiteError(
        .sql, "the SQL contains a NUL character", path: path, sql: sql,
        offset: sql.utf8.distance(from: sql.utf8.startIndex, to: zero),
        help: "remove it, or bind the text as an argument")
    }
    var sql = sql
    var position = start
    while position < sql.utf8.count {
      var statement: OpaquePointer?
      var read = 0
      let result = sql.withUTF8 { bytes -> Int32 in
        guard let start = bytes.baseAddress else { return SQLITE_OK }
        let count = bytes.count - position
        return (start + position).withMemoryRebound(to: CChar.self, capacity: count) { text in
          var tail: UnsafePointer<CChar>?
          let result = sqlite3_prepare_v3(
            handle, text, Int32(clamping: count), 0, &statement, &tail)
          read = tail.map { $0 - text } ?? count
          return result
        }
      }
      guard result == SQLITE_OK else {
        var error = SQLiteError(result: result, database: handle, path: path, sql: sql)
        error.offset = error.offset.map { $0 + position }
        throw error
      }
      position += max(read, 1)
      if let statement {
        let text = sql.utf8.dropFirst(position - max(read, 1)).prefix(read)
        if !SQLText.isPlain(text) { isPlain = false }
        return (
          SQLiteStatement(handle: statement, database: handle, sql: sql, path: path), position
        )
      }
    }
    return nil
  }
}

extension UnsafeMutableRawPointer? {
  /// Returns the object in the context of a C callback, without retaining the context.
  func object<Object: AnyObject>(_: Object.Type) -> Object? {
    map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
  }
}
