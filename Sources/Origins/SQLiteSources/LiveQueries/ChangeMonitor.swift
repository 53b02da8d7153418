import Dispatch
import FileWatching
import ObservableCollections
import SwappablePrimitives

/// Notifies the data sources of one database that it may have changed, in any process.
///
/// A check reads `data_version` and looks up the file at the path. Checks follow each hint of the file
/// system, and run steadily. They use a reader of their own, so a slow query does not delay them.
/// Clients compare versions themselves. An unnecessary notification therefore costs little.
final class ChangeMonitor: Sendable {
  /// A closure that receives the changes that the client has not read, on any thread.
  typealias Client = @Sendable (DatabaseChange.Extent) -> Void

  private struct State: Sendable {
    var lastClient = 0
    var clients: [Int: Client] = [:]
    weak var writer: SQLiteConnection?
    var intervals: CheckIntervals
    var watch: DatabaseWatch.Running?
    var lastCheck: DatabaseReader.Check?
    var diagnostic: String?
    /// The time of the last commit by a connection of this process.
    var lastCommit: AnyClock.Instant?
    /// The time of the last check that has found a change.
    var lastChange: AnyClock.Instant?
    /// A Boolean value that indicates whether pages of the write-ahead log are or may be missing.
    var isLogShort = false
    /// How many times the files of the write-ahead log were deleted or replaced while they were open.
    var lostLogs = 0
  }

  /// The path of the database, or `nil` if it is in memory.
  let path: ByteString?
  /// The reader of the checks. Its lock orders them: the result that is stored last is the newest.
  private let reader: Locked<DatabaseReader>
  /// The readers of the clients.
  let readers: ReaderPool
  /// The clock of the monitor and of its clients.
  let clock: AnyClock
  private let watch: DatabaseWatch
  private let loop: ReadLoop
  private let state: Locked<State>

  /// Creates a monitor of a database.
  ///
  /// - Parameters:
  ///   - reader: The reader of the database.
  ///   - watch: The watch that reports writes to the files of the database.
  ///   - interval: The shortest interval between two steady checks.
  ///   - clock: The clock that measures the intervals of the monitor and of its clients, or `nil` for the system's clock.
  init(
    reader: DatabaseReader, watch: DatabaseWatch = .files,
    interval: Duration = .milliseconds(100), clock: AnyClock? = nil
  ) {
    path = reader.path
    self.reader = Locked(reader)
    self.clock = clock ?? .continuous
    readers = ReaderPool(like: reader)
    immutableRemark = reader.isImmutable ? .immutable(path ?? "") : nil
    loop = ReadLoop(clock: clock ?? .regular, threads: BlockingThreads.checking)
    self.watch = watch
    state = Locked(
      State(intervals: CheckIntervals(pace: CheckPace(shortest: interval, at: self.clock.now))))
    // A database in memory has no other writers, and an immutable one has none.
    if path != nil, !reader.isImmutable { loop.start { [weak self] in self?.checkIfWatched() } }
  }

  deinit {
    state.withLock { $0.watch }?.end()
  }

  /// Adds a client. The first client starts the checks.
  ///
  /// - Parameter onChange: A closure to call after each commit by a connection of this process, and after
  ///   any other possible change.
  /// - Returns: The number of the client.
  func attach(_ onChange: @escaping Client) -> Int {
    let (number, isFirst) = state.withLock { state in
      state.lastClient += 1
      state.clients[state.lastClient] = onChange
      return (state.lastClient, state.clients.count == 1)
    }
    if isFirst { loop.request(.now) }
    return number
  }

  /// Removes a client. Without clients, the checks stop.
  func detach(_ number: Int) {
    // The client is released outside the lock.
    let (_, isLast) = state.withLock { state in
      (state.clients.removeValue(forKey: number), state.clients.isEmpty)
    }
    if isLast { loop.request(.now) }
  }

  /// The reason why only steady checks find the changes of other processes, or `nil` if the file system
  /// notifies of changes.
  ///
  /// The clients are called after each change of this property.
  var diagnostic: String? { state.withLock { $0.diagnostic } }

  /// A remark on a file that is read without its log, or `nil`.
  let immutableRemark: SourceStatus.Diagnostic?

  /// The connection of this process that has committed last, or that is expected to commit.
  var writer: SQLiteConnection? { state.withLock { $0.writer } }

  /// Expects commits from a connection, unless another writer is known.
  func expect(_ connection: SQLiteConnection) {
    guard !connection.access.isReadOnly, writer == nil else { return }
    state.withLock { $0.writer = connection }
  }

  /// Notifies the clients immediately that a connection of this process has committed.
  func noteCommit(by connection: SQLiteConnection) {
    let now = clock.now
    let clients = state.withLock { state in
      state.writer = connection
      state.lastCommit = now
      return Array(state.clients.values)
    }
    for client in clients { client(.ownCommits) }
  }

  /// Returns the version of the database, for a client that is about to read.
  ///
  /// If the monitor itself has found the changes, this is the version that it has found. Otherwise, the
  /// method checks the database now. If the check finds a change, the other clients are notified.
  func version(
    including changes: DatabaseChange.Extent, for client: Int?
  ) throws(SQLiteError) -> DatabaseReader.Version {
    if changes == .found, case .success(let found)? = state.withLock({ $0.lastCheck })?.version {
      return found
    }
    return try check(for: client).version.get()
  }

  /// Notes whether pages are missing in the write-ahead log.
  ///
  /// Another program has deleted the log, and a program that has it open still runs. As long as a process
  /// has the index of that log open, no process can read the database, and no program saves its commits
  /// when it ends. Therefore, no handle stays open. The clients try again from time to time.
  func noteLog(isShort: Bool) {
    let isNew = state.withLock { state in
      defer { state.isLogShort = isShort }
      return isShort && !state.isLogShort
    }
    guard isNew else { return }
    reader.withLock { $0.release() }
    readers.releaseIdleReaders()
  }

  /// Plans checks after a hint that files were written.
  func hint() {
    guard !(loop.isRequested && state.withLock { $0.intervals.isRestarted }) else { return }
    let isWAL = isWAL
    let now = clock.now
    let pause = state.withLock { state in
      state.intervals.restart(isWAL: isWAL, at: now)
      return CheckIntervals.first(
        isWAL: isWAL, sinceCommit: state.lastCommit?.duration(to: now),
        sinceChange: state.lastChange?.duration(to: now))
    }
    loop.request(.insteadOfPause(pause))
  }

  /// A Boolean value that indicates whether the database has a write-ahead log. Reading then delays no
  /// commit.
  private var isWAL: Bool {
    guard let path, case .file = FileLookup(path + "-wal") else { return false }
    return true
  }

  /// Checks the database, and watches it while there are clients. The loop runs one call at a time.
  ///
  /// - Returns: The pause before the next check.
  private func checkIfWatched() -> Duration? {
    let isWanted = state.withLock { !$0.clients.isEmpty }
    guard isWanted, let path else {
      state.withLock { $0.watch.take() }?.end()
      return nil
    }
    if state.withLock({ $0.watch == nil }) {
      let watch = watch.start(path) { [weak self] in self?.hint() }
      state.withLock { state in
        state.watch = watch
        // Forget the last check: no client was notified of the changes since then.
        state.lastCheck = nil
      }
    }
    let (isLogShort, watch) = state.withLock { ($0.isLogShort, $0.watch) }
    if watch?.diagnostic() != nil { watch?.check() }
    if !isLogShort { _ = check(for: nil) }
    let (now, isPolled) = (clock.now, watch?.diagnostic() != nil)
    // After a hint, the requested check comes first.
    return loop.isRequested
      ? nil : state.withLock { $0.intervals.next(at: now, isPolled: isPolled) }
  }

  private var silence: String {
    "Checks \(path?.description ?? "") regularly, because its file system reports no changes."
  }

  /// Checks the database, and notifies the clients, except one, if the result is new.
  private func check(for client: Int?) -> DatabaseReader.Check {
    let (check, clients) = reader.withLock { reader -> (DatabaseReader.Check, [Client]) in
      let (watch, isSilent) = state.withLock { ($0.watch, $0.intervals.pace.isSilent) }
      let diagnostic = watch?.diagnostic() ?? (isSilent ? silence : nil)
      let check = reader.check()
      let (isLogLost, isLogShort) = state.withLock { state in
        defer { state.lostLogs = check.lostLogs }
        if check.lostLogs > state.lostLogs { state.isLogShort = true }
        return (check.lostLogs > state.lostLogs, state.isLogShort)
      }
      if isLogShort { reader.release() }
      if isLogLost { readers.releaseIdleReaders() }
      if isLogShort, !isLogLost { return (check, []) }
      let now = clock.now
      let clients = state.withLock { state -> [Client] in
        let isSame = state.lastCheck == check
        if isSame, state.diagnostic == diagnostic { return [] }
        if !isSame {
          // The first check finds what is there, and this process knows of its own commits.
          let isKnown = state.lastCommit.map { $0.duration(to: now) < .seconds(1) } ?? false
          if state.lastCheck != nil, !isKnown { state.intervals.pace.noteFind(at: now) }
          state.lastChange = now
        }
        (state.lastCheck, state.diagnostic) = (check, diagnostic)
        return state.clients.filter { $0.key != client }.map(\.value)
      }
      return (check, clients)
    }
    for notify in clients { notify(.found) }
    return check
  }
}

// MARK: - The monitors of the process

extension ChangeMonitor {
  /// The path identifies a monitor, not the file: if a symbolic link changes its target, only the users of
  /// that path follow it.
  private enum Key: Sendable, Hashable {
    case path(ByteString)
    case immutable(ByteString)
    case memory(ObjectIdentifier)
  }

  /// The databases that have a monitor.
  private static let monitors = SharedObjects<Key, ChangeMonitor>()

  /// Returns the monitor of the database at an absolute path.
  static func shared(path: ByteString) -> ChangeMonitor {
    // Creating a monitor opens nothing.
    monitors.object(for: .path(path)) { ChangeMonitor(reader: DatabaseReader(path: path)) }
  }

  /// Returns the monitor of a connection's database.
  static func shared(connection: SQLiteConnection) -> ChangeMonitor {
    if let path = connection.file {
      guard connection.access == .immutable else { return shared(path: path) }
      return monitors.object(for: .immutable(path)) {
        ChangeMonitor(reader: DatabaseReader(path: path, isImmutable: true))
      }
    }
    // The monitor keeps the connection alive, so its object identifier stays unique.
    return monitors.object(for: .memory(ObjectIdentifier(connection))) {
      ChangeMonitor(reader: DatabaseReader(memory: connection))
    }
  }

  /// Returns the monitor of a connection's database, if it is in use.
  static func existing(for connection: SQLiteConnection) -> ChangeMonitor? {
    monitors[connection.file.map(Key.path) ?? .memory(ObjectIdentifier(connection))]
  }
}

// MARK: - When to check

extension BlockingThreads {
  /// The threads of the checks of all databases. A check takes some microseconds.
  ///
  /// One thread makes those that are due together, as long as none takes long.
  static let checking = BlockingThreads(width: 1, limit: 16)
}

/// The intervals between the checks of a database: short ones after a hint, and growing ones later.
///
/// In WAL mode, the file system reports a write before the commit is visible. Therefore, checks follow
/// 0.1, 0.3, 1, 3, 10, 30 and 100 ms after a hint. With a rollback journal, checks follow after 3, 10, 30
/// and 100 ms. The steady check finds everything else.
struct CheckIntervals: Sendable {
  private static let afterHint: [Duration] = [
    .microseconds(100), .microseconds(200), .microseconds(700), .milliseconds(2),
    .milliseconds(7), .milliseconds(20), .milliseconds(70),
  ]

  /// The pace of the steady checks.
  var pace: CheckPace
  var position = CheckIntervals.afterHint.count
  /// A Boolean value that indicates whether no check has ended since the last hint.
  var isRestarted = false

  /// Returns the interval from a hint to the first check.
  ///
  /// In WAL mode, a check never delays a writer, and it comes at once. While this process commits, most
  /// hints report its own commits. The check then waits for more hints. With a rollback journal, a check
  /// can delay a writer by a whole busy wait. It comes later, and later still within a burst.
  ///
  /// - Parameters:
  ///   - sinceCommit: The time since the last commit of this process, or `nil` if there was none.
  ///   - sinceChange: The time since a check has found a change, or `nil` if no check has.
  static func first(isWAL: Bool, sinceCommit: Duration?, sinceChange: Duration?) -> Duration {
    if isWAL {
      return sinceCommit.map { $0 < .milliseconds(1) } ?? false ? .milliseconds(1) : .zero
    }
    return sinceChange.map { $0 < .milliseconds(100) } ?? false
      ? .milliseconds(30) : .milliseconds(3)
  }

  /// Begins the short intervals again, after a hint.
  mutating func restart(isWAL: Bool, at now: AnyClock.Instant) {
    pace.noteReport(at: now)
    position = isWAL ? 0 : 4
    isRestarted = true
  }

  /// Returns the interval to the next check. Call this method once after each check.
  mutating func next(at now: AnyClock.Instant, isPolled: Bool = false) -> Duration {
    isRestarted = false
    guard position < CheckIntervals.afterHint.count else {
      return pace.next(at: now, isPolled: isPolled)
    }
    defer { position += 1 }
    return CheckIntervals.afterHint[position]
  }
}

// MARK: - The watch of the files

/// Starts watches of the files of a database. Tests replace it.
struct DatabaseWatch: Sendable {
  /// A watch that has begun.
  struct Running: Sendable {
    /// Ends the watch.
    var end: @Sendable () -> Void
    /// Returns the reason why the system does not notify of changes, or `nil` if it does.
    var diagnostic: @Sendable () -> String?
    /// Tries again to be notified.
    var check: @Sendable () -> Void = {}
  }

  /// Watches the database at a path, and calls the closure for each write.
  var start: @Sendable (_ path: ByteString, _ onHint: @escaping @Sendable () -> Void) -> Running

  /// Watches nothing. The steady checks find every change.
  static let none = DatabaseWatch { _, _ in Running(end: {}, diagnostic: { nil }) }

  /// The queues of the hints of all databases. A hint only plans a check.
  private static let queues = (0..<4).map { DispatchQueue(label: "swappable.sqlite.watch.\($0)") }

  /// Watches the files that a commit writes.
  static let files = DatabaseWatch { path, onHint in
    let queue = queues[Int(UInt(bitPattern: path.hashValue) % UInt(queues.count))]
    let watches = watchedSuffixes.map { suffix in
      // The monitor checks the database itself.
      FileWatch(path: path + suffix, queue: queue, intervals: nil) { _ in onHint() }
    }
    return Running(
      end: { for watch in watches { watch.cancel() } },
      // A journal may come and go with each commit, faster than it can be watched. Only the diagnostic of
      // the first file lasts.
      diagnostic: { watches.first?.diagnostic },
      check: { for watch in watches { watch.check() } })
  }
}

// MARK: - The readers of the data sources

/// The readers of the data sources of one database.
///
/// A slow query delays only its own source.
final class ReaderPool: Sendable {
  private static let idleLimit = 2

  /// The reader of a database in memory, which has no other connection.
  private let memory: DatabaseReader?
  private let path: ByteString
  private let isImmutable: Bool
  private let idle = Locked<[DatabaseReader]>([])

  init(like reader: DatabaseReader) {
    memory = reader.path == nil ? reader : nil
    path = reader.path ?? ""
    isImmutable = reader.isImmutable
  }

  /// The number of open connections that are not in use.
  var idleCount: Int { idle.withLock { $0.count } }

  /// Closes the connections that are not in use.
  func releaseIdleReaders() {
    _ = idle.exchange([])
  }

  /// Runs a closure with a reader that no other thread uses.
  func withReader<Result>(
    _ body: (DatabaseReader) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    if let memory { return try body(memory) }
    let reader =
      idle.withLock { $0.popLast() }
      ?? DatabaseReader(path: path, isImmutable: isImmutable)
    defer {
      // A reader beyond the limit is closed here, outside the lock.
      idle.withLock { if $0.count < ReaderPool.idleLimit { $0.append(reader) } }
    }
    return try body(reader)
  }

  /// Runs a closure in one read transaction, in which the database does not change.
  func read<Result>(
    _ body: (SQLiteDatabase) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try withReader { reader throws(SQLiteError) in try reader.read(body) }
  }
}
