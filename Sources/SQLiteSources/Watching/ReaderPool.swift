import Dispatch
import SwappablePrimitives

/// The connections by which the data sources on one database read it, as many as read at one time.
///
/// A slow query keeps only its own source waiting. All of them are read-only and follow the path.
final class ReaderPool: Sendable {
  /// How many read at one time while reading is quick: more would only compete for the processors.
  private static let limit = 8
  private static let idleLimit = 2
  /// How long nobody may have begun or ended before one more reads than the limit: all that read
  /// are slow then, and it may be quick.
  private static let patience = Duration.milliseconds(200)

  /// The database in memory, which has only the connection that holds it.
  private let memory: DatabaseReader?
  private let path: String
  private let idle = Locked<[DatabaseReader]>([])
  private let free = DispatchSemaphore(value: ReaderPool.limit)
  private let clock: AnyClock
  /// The time at which a client last began or ended to read.
  private let lastProgress: Locked<AnyClock.Instant>

  /// Creates a pool of readers of the database that another reader reads.
  init(like reader: DatabaseReader, clock: AnyClock = .continuous) {
    self.clock = clock
    lastProgress = Locked(clock.now)
    memory = reader.path == nil ? reader : nil
    path = reader.path ?? ""
  }

  /// How many connections are kept although nobody reads.
  var idleCount: Int { idle.withLock { $0.count } }

  /// Runs `body` with a reader that nobody else uses; waits a moment for one where many are in use.
  func withReader<Result>(
    _ body: (DatabaseReader) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    if let memory { return try body(memory) }
    let isWithinLimit = waitForTurn()
    let reader = idle.withLock { $0.popLast() } ?? DatabaseReader(path: path)
    defer {
      // One that is not kept is closed here, outside the lock.
      idle.withLock { if $0.count < ReaderPool.idleLimit { $0.append(reader) } }
      noteProgress()
      if isWithinLimit { free.signal() }
    }
    return try body(reader)
  }

  /// Waits until reading may begin.
  ///
  /// - Returns: Whether it is one of those that the limit allows.
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

  /// Runs `body` in one read transaction, so that all that it reads is of one state.
  func read<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withReader { reader throws(SQLiteError) in
      try reader.read { database, _ throws(SQLiteError) in try body(database) }
    }
  }
}
