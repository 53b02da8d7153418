import SwappablePrimitives
import SwappableSQLite3

/// An open handle of SQLite with its statements: what a `SQLiteConnection` gives access to.
final class SQLiteDatabase {
  /// Set by SQLite's hooks, which run inside a call of the thread that has access.
  private final class Commits {
    var isPending = false
    var count = 0
  }

  private struct CachedStatement {
    let statement: SQLiteStatement
    var lastUse: Int
  }

  private static let cacheLimit = 64

  let path: String
  /// The file that was opened; `nil` in memory, and where another one may have come in between.
  let identity: FileIdentity?
  let handle: OpaquePointer
  private let busyMilliseconds: Int32
  private let commits = Commits()
  /// What collects the rows that are written, once somebody has asked for it.
  private(set) var tracker: WriteTracker?
  /// Whether statements mean here what they mean on any other connection.
  private(set) var isPlain = true
  private var cache: [String: CachedStatement] = [:]
  private var uses = 0
  private var isOpen = true

  /// Opens `path` as `mode` says; it has looked at the file before, so that errors are plain.
  init(path: String, mode: SQLiteConnection.Mode, busyTimeout: Duration) throws(SQLiteError) {
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    switch mode {
    case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    case .readWrite: flags |= SQLITE_OPEN_READWRITE
    case .readOnly: flags |= SQLITE_OPEN_READONLY
    case .inMemory: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY
    }
    var before = FileLookup.missing
    if mode != .inMemory {
      before = try SQLiteDatabase.checkFile(at: path, mayBeMissing: mode == .create)
    }
    var opened: OpaquePointer?
    let result = sqlite3_open_v2(path, &opened, flags, nil)
    guard result == SQLITE_OK, let opened else {
      defer { sqlite3_close_v2(opened) }
      throw SQLiteError(result: result, database: opened, path: path)
    }
    self.path = path
    handle = opened
    if mode != .inMemory, case .file(let found) = System.lookUp(path),
      before == .missing || before == .file(found)
    {
      identity = found
    } else {
      identity = nil
    }
    let (seconds, attoseconds) = busyTimeout.components
    // SQLite counts in 32 bits; whoever wants to wait for ever may ask for more.
    busyMilliseconds = Int32(
      clamping: min(max(0, seconds), Int64(Int32.max)) * 1000
        + attoseconds / 1_000_000_000_000_000)
    sqlite3_busy_timeout(opened, busyMilliseconds)
    // Unretained: the hooks end with the handle, which this object closes before it goes.
    let context = Unmanaged.passUnretained(commits).toOpaque()
    sqlite3_commit_hook(
      opened,
      { context in
        if let context {
          let commits = Unmanaged<Commits>.fromOpaque(context).takeUnretainedValue()
          commits.isPending = true
          commits.count += 1
        }
        return 0
      }, context)
    sqlite3_rollback_hook(
      opened,
      { context in
        if let context {
          Unmanaged<Commits>.fromOpaque(context).takeUnretainedValue().isPending = false
        }
      }, context)
  }

  deinit {
    close()
  }

  /// Lets go of all statements and of the file.
  func close() {
    guard isOpen else { return }
    isOpen = false
    cache = [:]
    sqlite3_close_v2(handle)
  }

  /// Whether something was committed since the last call. The hook runs before SQLite commits:
  /// only once no transaction is open is the commit done.
  func takeCommit() -> Bool {
    guard isOpen, commits.isPending, !isInTransaction else { return false }
    commits.isPending = false
    return true
  }

  /// How often a commit was begun.
  var commitCount: Int { commits.count }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
  var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle) }
  var changes: Int { Int(sqlite3_changes64(handle)) }

  private static func checkFile(
    at path: String, mayBeMissing: Bool
  ) throws(SQLiteError) -> FileLookup {
    let found = System.lookUp(path)
    switch found {
    case .file: return found
    case .missing:
      guard !mayBeMissing else { return found }
      throw SQLiteError(
        .missing, "there is no database", path: path,
        help: "check the path, or create the database first")
    case .directory:
      throw SQLiteError(
        .directory, "there is a directory, where a database is needed", path: path,
        help: "give the path of the database file in it")
    case .unreachable(let reason):
      throw SQLiteError(
        .cannotOpen, "the database cannot be reached: \(reason)", path: path,
        help: "check the path and who may read it")
    }
  }
}

// MARK: - Statements

extension SQLiteDatabase {
  /// Runs `body` with the one statement that `sql` holds, bound to `arguments`, and resets it.
  func withStatement<Result>(
    _ sql: String, _ arguments: SQLiteArguments,
    _ body: (SQLiteStatement) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withStatement(sql) { statement throws(SQLiteError) in
      try statement.bind(arguments)
      return try body(statement)
    }
  }

  /// Runs `body` with a statement made from another one, bound to the first of its `arguments`.
  ///
  /// - Parameter rowid: the value of the last argument, if that is a rowid.
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
    // Taken out while in use, so that a body may run the same SQL again.
    let statement: SQLiteStatement
    // Equal strings may differ in their bytes, and these are what SQLite goes by.
    if let cached = cache.removeValue(forKey: sql), SQLText.isSame(cached.statement.sql, sql) {
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

  /// Runs one statement that takes no arguments.
  func run(_ sql: String) throws(SQLiteError) {
    try withStatement(sql, []) { statement throws(SQLiteError) in
      while try statement.step() {}
    }
  }

  /// Runs all statements of `sql` in turn.
  func runScript(_ sql: String) throws(SQLiteError) {
    var start = 0
    while let (statement, end) = try prepare(sql, from: start) {
      start = end
      try refuseIfMoved(statement)
      while try statement.step() {}
    }
  }

  /// SQLite does not notice in WAL mode that another file has taken the path of its own; what it
  /// then writes damages both.
  func refuseIfMoved(_ statement: SQLiteStatement) throws(SQLiteError) {
    guard !statement.isReadOnly, !isInTransaction else { return }
    try refuseIfMoved()
  }

  /// Whether the file that is open no longer stands at its path.
  var hasMoved: Bool {
    var moved: Int32 = 0
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK
      && moved != 0
  }

  /// Throws where the file that is open no longer stands at its path.
  func refuseIfMoved() throws(SQLiteError) {
    guard hasMoved else { return }
    throw SQLiteError(
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

  /// Runs `body` without waiting for locks of other connections: it fails at once.
  func withoutWaiting<Result>(
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    sqlite3_busy_timeout(handle, 0)
    defer { sqlite3_busy_timeout(handle, busyMilliseconds) }
    return try body()
  }

  /// The one integer that `sql` gives.
  func number(_ sql: String) throws(SQLiteError) -> Int64? {
    try withStatement(sql, []) { statement throws(SQLiteError) in
      guard try statement.step() else { return nil }
      return statement.integer(at: 0)
    }
  }

  /// Tells one schema from another, as statements of this connection that only read see it.
  ///
  /// In memory that is the connection of those who write, whose TEMP tables hide others of their name.
  func schemaVersion() throws(SQLiteError) -> Int64? {
    let version = try number("PRAGMA main.schema_version")
    guard path == ":memory:", let version else { return version }
    return version ^ (try number("PRAGMA temp.schema_version") ?? 0) << 32
  }

  /// Collects from now on the rows that are written.
  ///
  /// - Returns: What collects them; `nil` where SQLite was built without what that needs.
  func track(by collector: ChangeTracking.Collector) -> WriteTracker? {
    if let tracker { return tracker.collector == collector ? tracker : nil }
    guard let tracker = WriteTracker(handle: handle, collector: collector) else { return nil }
    self.tracker = tracker
    // A DELETE of all rows that was prepared before empties the table without telling of its rows.
    cache = [:]
    return tracker
  }

  /// Takes in the schema as it is now. A statement does so only when it is stepped: prepared before,
  /// even in this transaction, it tells the columns of the schema that the connection knew.
  func loadSchema() throws(SQLiteError) {
    _ = try number("SELECT 1 FROM sqlite_master LIMIT 1")
    cache = [:]
  }

  private func prepareOne(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
    guard let (statement, end) = try prepare(sql, from: 0) else {
      throw SQLiteError(
        .emptySQL, "the SQL holds no statement", path: path, sql: sql, help: "write a statement")
    }
    let hasMore: Bool
    do {
      hasMore = try prepare(sql, from: end) != nil
    } catch {
      // The rest names what the first statement may be to create; it is a second one all the same.
      hasMore = true
    }
    guard !hasMore else {
      throw SQLiteError(
        .severalStatements, "the SQL holds more than one statement", path: path, sql: sql,
        offset: end, help: "give one statement at a time, or run them by executeScript(_:)")
    }
    return statement
  }

  /// Prepares the first statement of `sql` from byte `start` on, and tells where it ends; `nil`
  /// where nothing but white space and comments is left.
  private func prepare(
    _ sql: String, from start: Int
  ) throws(SQLiteError) -> (SQLiteStatement, end: Int)? {
    if let zero = sql.utf8.firstIndex(of: 0) {
      throw SQLiteError(
        .sql, "the SQL holds a NUL character", path: path, sql: sql,
        offset: sql.utf8.distance(from: sql.utf8.startIndex, to: zero),
        help: "remove it, or bind the text that holds it as an argument")
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
        if !SQLText.isPlain(sql.utf8.dropFirst(position - max(read, 1))) { isPlain = false }
        return (
          SQLiteStatement(handle: statement, database: handle, sql: sql, path: path), position
        )
      }
    }
    return nil
  }
}
