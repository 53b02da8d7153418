import SwappablePrimitives

/// A moment from which on all writes to a table are known, as long as one connection alone writes.
///
/// Contents that were read at that moment or later differ from what its writer sees now in no more
/// rows than those of its log since then, unless somebody else has written: then SQLite's
/// `data_version` on the writer is another one. Later contents may have some of the changes already;
/// to read their rows once more is harmless.
struct CommitBase {
  /// Not kept alive: once it is gone, its rows are found by reading everything.
  private weak let writer: SQLiteConnection?
  private let log: WriteLog
  private let dataVersion: Int64?
  private let schemaVersion: Int64?
  private var sequence: Int
  /// The file that the writer has open; `nil` in memory.
  let identity: FileIdentity?

  /// How long a source waits for a writer before it reads without it.
  private static let patience = Duration.milliseconds(20)

  /// What a look at the writer came to.
  enum Finding<Value> {
    /// This became of the rows, and the base to go on from once that is taken.
    case rows(Value, next: CommitBase)
    /// Somebody else has written, the schema is another one, or too much was written.
    case isOver
    /// The writer is busy with a transaction.
    case isOccupied
  }

  /// Begins to collect what `writer` writes to `table`.
  ///
  /// - Returns: `nil` where the writer is in a transaction, or cannot be trusted.
  static func begin(
    at writer: SQLiteConnection, table: String, tracking: ChangeTracking
  ) throws(SQLiteError) -> CommitBase? {
    let found = try writer.withDatabase(within: patience) {
      database throws(SQLiteError) -> CommitBase? in
      guard !database.isInTransaction, database.isPlain,
        writer.path == nil || database.identity != nil && !database.hasMoved,
        let tracker = database.track(by: tracking.collector)
      else { return nil }
      let log = tracker.log(of: table)
      return try database.withoutWaiting { () throws(SQLiteError) in
        try database.inReadTransaction { () throws(SQLiteError) in
          CommitBase(
            writer: writer, log: log, dataVersion: try database.number("PRAGMA data_version"),
            schemaVersion: try database.schemaVersion(), sequence: log.mark(),
            identity: database.identity)
        }
      }
    }
    return found ?? nil
  }

  private init(
    writer: SQLiteConnection, log: WriteLog, dataVersion: Int64?, schemaVersion: Int64?,
    sequence: Int, identity: FileIdentity?
  ) {
    self.writer = writer
    self.log = log
    self.dataVersion = dataVersion
    self.schemaVersion = schemaVersion
    self.sequence = sequence
    self.identity = identity
  }

  /// Whether it was begun under the schema of that version.
  func isOf(schemaVersion: Int64?) -> Bool { self.schemaVersion == schemaVersion }

  /// Reads on the writer what became of the rows written since, in one transaction.
  ///
  /// - Parameters:
  ///   - limit: How many rows are worth it.
  ///   - read: Reads rows by their rowids, ascending.
  func find<Value>(
    limit: Int, tracking: ChangeTracking,
    _ read: ([Int64], SQLiteDatabase) throws(SQLiteError) -> Value
  ) throws(SQLiteError) -> Finding<Value> {
    guard let writer else { return .isOver }
    let found = try writer.withDatabase(within: CommitBase.patience) {
      database throws(SQLiteError) -> Finding<Value> in
      // A thread that left a transaction open by SQL of its own has the connection to itself.
      guard !database.isInTransaction else { return .isOccupied }
      guard database.isPlain else { return .isOver }
      return try database.withoutWaiting { () throws(SQLiteError) in
        try database.inReadTransaction { () throws(SQLiteError) in
          let dataVersion = try database.number("PRAGMA data_version")
          guard dataVersion == self.dataVersion || !tracking.checksDataVersion,
            try database.schemaVersion() == schemaVersion,
            let rowids = log.rows(since: sequence), rowids.count <= limit
          else { return .isOver }
          var next = self
          next.sequence = log.mark()
          return .rows(try read(rowids, database), next: next)
        }
      }
    }
    return found ?? .isOccupied
  }
}

extension SQLiteDatabase {
  /// Runs `body` in a transaction of its own that only reads.
  func inReadTransaction<Result>(
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
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
}
