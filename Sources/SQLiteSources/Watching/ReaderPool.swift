import Dispatch
import ReactiveSignals

/// The connections by which the data sources on one database read it, as many as read at one time.
///
/// A slow query keeps only its own source waiting. All of them are read-only and follow the path.
final class ReaderPool: Sendable {
  private static let limit = 8
  private static let idleLimit = 2

  /// The database in memory, which has only the connection that holds it.
  private let memory: DatabaseReader?
  private let path: String
  private let idle = Locked<[DatabaseReader]>([])
  private let free = DispatchSemaphore(value: ReaderPool.limit)

  /// Readers of what `reader` reads.
  init(like reader: DatabaseReader) {
    memory = reader.path == nil ? reader : nil
    path = reader.path ?? ""
  }

  /// How many connections are kept although nobody reads.
  var idleCount: Int { idle.withLock { $0.count } }

  /// Runs `body` with a reader that nobody else uses; waits for one where too many are in use.
  func withReader<Result>(
    _ body: (DatabaseReader) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    if let memory { return try body(memory) }
    free.wait()
    let reader = idle.withLock { $0.popLast() } ?? DatabaseReader(path: path)
    defer {
      // One that is not kept is closed here, outside the lock.
      idle.withLock { if $0.count < ReaderPool.idleLimit { $0.append(reader) } }
      free.signal()
    }
    return try body(reader)
  }

  /// Runs `body` in one read transaction, so that all that it reads is of one state.
  func read<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withReader { reader throws(SQLiteError) in
      try reader.read { database, _ throws(SQLiteError) in try body(database) }
    }
  }
}
