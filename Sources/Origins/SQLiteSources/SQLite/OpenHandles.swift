import Dispatch
import SwappablePrimitives
import SwappableSQLite3

/// The files of a write-ahead log.
struct LogFiles: Sendable, Hashable {
  /// The log itself, whose name ends with `-wal`.
  let log: FileIdentity
  /// The index of the log, whose name ends with `-shm`.
  let index: FileIdentity

  /// Looks up the files of the database at a path. Returns `nil` if one of them does not exist.
  init?(of path: ByteString) {
    guard case .file(let log) = FileLookup(path + "-wal"),
      case .file(let index) = FileLookup(path + "-shm")
    else { return nil }
    self.log = log
    self.index = index
  }
}

/// The handles that this process has open on the databases at one path.
///
/// SQLite names the files of a write-ahead log after the path, and protects them with POSIX locks. A
/// process that closes any descriptor of a file loses all its locks on that file. Suppose that another
/// database takes the path, and a handle opens it, and with it the same index. When the last handle of
/// the previous database is closed, the index is no longer locked. The next process that opens it
/// truncates memory that this process has mapped, and this process crashes at its next read.
///
/// Therefore, a handle reads its database only after all handles of other databases at the path are
/// closed.
final class OpenHandles: Sendable {
  private struct Entry: @unchecked Sendable {
    // Sendable: the lock of the entries guards the variables. The database is used with access by `gate`, except to
    // interrupt it, which any thread may do while it is open.
    weak let database: SQLiteDatabase?
    let id: ObjectIdentifier
    let identity: FileIdentity?
    let gate: ConnectionGate
    /// A Boolean value that indicates whether a data source uses the handle, and opens another one if
    /// necessary.
    let isReader: Bool
    /// The files of the log that the handle has open, or `nil` if it has none, or if they are unknown.
    var log: LogFiles?
    /// A Boolean value that indicates whether the files of the log were deleted or replaced.
    var hasLostLog = false
  }

  /// The result of an attempt to close all stale handles.
  private enum Attempt {
    case done
    /// A thread uses a stale handle.
    case inUse(ConnectionGate)
    /// A stale handle is being released.
    case closing
  }

  /// The handles of each path.
  private static let paths = SharedObjects<ByteString, OpenHandles>()

  /// The path of the database file, without symbolic links.
  let file: ByteString
  private let entries = Locked<[Entry]>([])

  private init(file: ByteString) {
    self.file = file
  }

  /// Returns the handles on a path without symbolic links.
  static func at(_ file: ByteString) -> OpenHandles {
    paths.object(for: file) { OpenHandles(file: file) }
  }

  /// Adds a handle that has not read its database.
  func add(_ database: SQLiteDatabase, gate: ConnectionGate, isReader: Bool) {
    let entry = Entry(
      database: database, id: ObjectIdentifier(database), identity: database.identity, gate: gate,
      isReader: isReader)
    entries.withLock { $0.append(entry) }
  }

  /// Removes a handle and closes it. No other handle begins to read meanwhile.
  func remove(_ database: SQLiteDatabase, _ close: () -> Void) {
    let id = ObjectIdentifier(database)
    entries.withLock { entries in
      close()
      entries.removeAll { $0.id == id }
    }
  }

  /// Notes the files of the log that a handle has open.
  func setLog(_ log: LogFiles, of database: SQLiteDatabase) {
    let id = ObjectIdentifier(database)
    entries.withLock { entries in
      for index in entries.indices where entries[index].id == id { entries[index].log = log }
    }
  }

  /// Notes that the files of a log were deleted or replaced, for all handles that may have them open.
  func noteLost(_ log: LogFiles) {
    entries.withLock { entries in
      for index in entries.indices where entries[index].log ?? log == log {
        entries[index].hasLostLog = true
      }
    }
  }

  /// Closes the handles of other databases at the path, and the handles that have lost their log.
  ///
  /// The statements of readers are interrupted. For a connection that is in use, the method waits.
  ///
  /// - Parameters:
  ///   - database: The handle that is about to read its database.
  ///   - limit: The longest time to wait.
  /// - Throws: A ``SQLiteError`` with the code `busy` if a stale handle is still in use.
  func closeStaleHandles(
    for database: SQLiteDatabase, within limit: Duration
  ) throws(SQLiteError) {
    // A file system without identities of files cannot tell which handles are stale.
    guard let identity = database.identity else { return }
    let deadline = DispatchTime.after(limit)
    while true {
      let now = DispatchTime.now()
      let isLast = now >= deadline
      switch closeOthers(than: ObjectIdentifier(database), identity) {
      case .done: return
      case .inUse(let gate):
        guard !isLast, !gate.isMine else { throw busyError }
        let rest = deadline.uptimeNanoseconds - now.uptimeNanoseconds
        if gate.enter(within: .nanoseconds(Int64(clamping: rest))) != nil { gate.leave() }
      case .closing:
        if isLast { throw busyError }
        ThreadID.yield()
      }
    }
  }

  private var busyError: SQLiteError {
    SQLiteError(
      .busy,
      "the previous database at this path is still in use by a connection of this process",
      path: file, help: "end its transaction, and close the connection")
  }

  private func closeOthers(than id: ObjectIdentifier, _ identity: FileIdentity) -> Attempt {
    // The handles are released outside the lock.
    let (attempt, _) = entries.withLock { entries -> (Attempt, [SQLiteDatabase]) in
      var seen: [SQLiteDatabase] = []
      var attempt = Attempt.done
      // Readers first: if a connection is the last handle, it saves the commits in its log.
      for isReader in [true, false] {
        for entry in entries where entry.id != id && entry.isReader == isReader {
          let isOther = entry.identity != nil && entry.identity != identity
          guard let database = entry.database else {
            if isOther { attempt = .closing }
            continue
          }
          seen.append(database)
          guard entry.gate.enterIfFree() else {
            guard isOther else { continue }
            if isReader { sqlite3_interrupt(database.handle) }
            attempt = .inUse(entry.gate)
            continue
          }
          if isOther || entry.hasLostLog {
            database.closeHandle(because: isOther ? .moved : .lostLog)
            entries.removeAll { $0.id == entry.id }
          }
          entry.gate.leave()
        }
        if case .done = attempt { continue }
        break
      }
      return (attempt, seen)
    }
    return attempt
  }
}
