import SwappablePrimitives

/// The read-only connection that all data sources on one database share in this process.
///
/// It follows the path: when another file stands there, that one is opened. A database in memory
/// has no second connection; it is read through the one that holds it.
final class DatabaseReader: Sendable {
  /// Tells one state of the database from another: it differs after each commit that another
  /// connection made, and may differ when nothing changed.
  struct Version: Sendable, Hashable {
    /// Tells the files apart that were opened one after the other.
    var opening: Int
    /// SQLite's `data_version`: changed by commits of other connections and processes.
    var data: SQLiteValue
    /// Commits of the connection itself; only a database in memory has any.
    var commits: Int
  }

  // Sendable: reached only between `enter` and `leave` of `gate`, by `read`.
  private final class Opened: @unchecked Sendable {
    var connection: SQLiteConnection?
    var identity: FileIdentity?
    /// How often a file was opened or given up.
    var turns = 0
  }

  let path: String?
  /// It needs no gate but its own: waiting for it inside another would be a deadlock for a thread
  /// that has it already and comes to read.
  private let memory: SQLiteConnection?
  private let gate = ThreadGate()
  private let opened = Opened()

  /// A reader of the file at `path`, which is opened when it is first read.
  init(path: String) {
    self.path = path
    memory = nil
  }

  /// A reader of the database in memory that `connection` holds.
  init(memory connection: SQLiteConnection) {
    path = nil
    memory = connection
  }

  /// Whether the database has a write-ahead log, so that reading never keeps a writer waiting.
  var isWAL: Bool {
    guard let path else { return false }
    if case .file = System.lookUp(path + "-wal") { return true }
    return false
  }

  /// What is to be seen of the database now.
  ///
  /// Two sights differ where the database was another in between, even if it is missing in both.
  struct Sight: Sendable, Equatable {
    var version: Result<Version, SQLiteError>
    /// How often a file was opened or given up.
    var turns: Int
  }

  /// Looks at the state that the database is in now.
  func look() -> Sight {
    _ = gate.enter()
    defer { gate.leave() }
    let found = Result { () throws(SQLiteError) in try version() }
    return Sight(version: found, turns: opened.turns)
  }

  /// The state that the database is in now.
  func version() throws(SQLiteError) -> Version {
    try withConnection { connection, opening throws(SQLiteError) in
      try connection.withDatabase { database throws(SQLiteError) in
        try version(of: database, opening: opening)
      }
    }
  }

  /// Runs `body` in one read transaction, so that all that it reads is of one state.
  ///
  /// `body` must be the framework's own code: nobody else can read until it returns.
  func read<Result>(
    _ body: (SQLiteDatabase, Version) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withConnection { connection, opening throws(SQLiteError) in
      try connection.withDatabase { database throws(SQLiteError) in
        if database.isInTransaction {
          // By SQL of its own somebody left a transaction open on the connection in memory.
          throw SQLiteError(
            .busy, "a transaction is open on the connection in memory", path: path,
            help: "commit it, or use transaction(_:_:)")
        }
        try database.run("BEGIN")
        do throws(SQLiteError) {
          let result = try body(database, try version(of: database, opening: opening))
          try database.run("COMMIT")
          return result
        } catch {
          if database.isInTransaction { try? database.run("ROLLBACK") }
          throw error
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
    return try body(try connection(), opened.turns)
  }

  /// The connection to what stands at the path now.
  private func connection() throws(SQLiteError) -> SQLiteConnection {
    guard let path else { preconditionFailure("a reader has a path or a connection in memory") }
    // Looked up before opening: where another file takes the path between the two, the identity
    // is the older one, and the next look opens again.
    let found = System.lookUp(path)
    if let connection = opened.connection {
      if let identity = opened.identity, found == .file(identity) { return connection }
      opened.connection = nil
      opened.identity = nil
      opened.turns += 1
    }
    // No waiting for locks in SQLite: it would keep others from reading. Who reads comes again.
    let connection = try SQLiteConnection(path: path, access: .readOnly, busyTimeout: .zero)
    opened.connection = connection
    if case .file(let identity) = found { opened.identity = identity }
    opened.turns += 1
    return connection
  }
}
