import SwappablePrimitives
import SwappableSQLite3

/// A request to end the statements of a query, because its result is no longer needed.
final class QueryCancellation: Sendable {
  private let isRequested = Locked(false)

  /// Ends the statements that run, and all later ones. Any thread may call this method.
  func cancel() {
    isRequested.withLock { $0 = true }
  }

  fileprivate var isCancelled: Bool { isRequested.withLock { $0 } }
}

extension SQLiteDatabase {
  /// The number of steps of SQLite's machine between two looks at a cancellation, a few microseconds.
  private static let stepsBetweenLooks: Int32 = 1000

  /// Runs a closure whose statements fail after a cancellation.
  func interruptible<Result>(
    by cancellation: QueryCancellation, _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    // Unretained: the handler is removed before this method returns.
    sqlite3_progress_handler(
      handle, SQLiteDatabase.stepsBetweenLooks,
      { context in
        guard let context else { return 0 }
        return Unmanaged<QueryCancellation>.fromOpaque(context).takeUnretainedValue().isCancelled
          ? 1 : 0
      }, Unmanaged.passUnretained(cancellation).toOpaque())
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    return try body()
  }
}
