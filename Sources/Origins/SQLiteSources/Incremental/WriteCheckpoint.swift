import SwappablePrimitives

/// A state of a writer, from which on all its writes to a table are known.
///
/// A result that was read at the checkpoint or later differs from the writer's current state in
/// logged rows only. If another connection has written, SQLite's `data_version` of the writer
/// differs, and the checkpoint is invalid. A later result may already contain some of the logged
/// changes. Reading these rows again is harmless.
struct WriteCheckpoint {
  /// Not kept alive: after its release, the whole result is read.
  private weak let writer: SQLiteConnection?
  private let log: WriteLog
  private let dataVersion: Int64?
  private let schemaVersion: Int64?
  private var sequence: Int
  /// The file that the writer has open, or `nil` in memory.
  let identity: FileIdentity?

  /// The time that a source waits for the writer before it reads without it.
  private static let patience = Duration.milliseconds(20)

  /// The result of a read from the writer.
  enum Outcome<Value> {
    /// The value that was read, and the checkpoint of this read.
    case rows(Value, next: WriteCheckpoint)
    /// Another connection has written, the schema has changed, or too many rows were written.
    case isOver
    case isOccupied
  }

  /// Begins to log the writes to a table.
  ///
  /// - Returns: The checkpoint, or `nil` if the writer is in a transaction or cannot be trusted.
  static func begin(
    at writer: SQLiteConnection, table: String, tracking: ChangeTracking
  ) throws(SQLiteError) -> WriteCheckpoint? {
    let found = try writer.withDatabase(within: patience) {
      database throws(SQLiteError) -> WriteCheckpoint? in
      guard !database.isInTransaction, database.isPlain,
        writer.file == nil || database.identity != nil && !database.hasMoved,
        let tracker = database.track(by: tracking.collector)
      else { return nil }
      let log = tracker.log(of: table)
      return try database.inReadTransaction { () throws(SQLiteError) in
        WriteCheckpoint(
          writer: writer, log: log, dataVersion: try database.number("PRAGMA data_version"),
          schemaVersion: try database.schemaVersion(), sequence: log.mark(),
          identity: database.identity)
      }
    }
    return found ?? nil
  }

  /// Returns a Boolean value that indicates whether the checkpoint belongs to a version of the
  /// schema.
  func hasSchemaVersion(_ schemaVersion: Int64?) -> Bool { self.schemaVersion == schemaVersion }

  /// Reads the rows that were written since the checkpoint, in one transaction of the writer.
  ///
  /// - Parameters:
  ///   - limit: The number of rows above which the whole result is read instead.
  ///   - tracking: The way in which written rows are collected.
  ///   - read: A closure that reads rows by their ascending rowids.
  func read<Value>(
    limit: Int, tracking: ChangeTracking,
    _ read: ([Int64], SQLiteDatabase) throws(SQLiteError) -> Value
  ) throws(SQLiteError) -> Outcome<Value> {
    guard let writer else { return .isOver }
    let found = try writer.withDatabase(within: WriteCheckpoint.patience) {
      database throws(SQLiteError) -> Outcome<Value> in
      // A thread that has left a transaction open by its own SQL has exclusive use of the
      // connection.
      guard !database.isInTransaction else { return .isOccupied }
      guard database.isPlain else { return .isOver }
      return try database.inReadTransaction { () throws(SQLiteError) in
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
    return found ?? .isOccupied
  }
}
