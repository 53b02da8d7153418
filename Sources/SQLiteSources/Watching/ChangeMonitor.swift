import Dispatch
import SwappablePrimitives

/// Tells the data sources on one database that it may have changed, by whichever process.
///
/// It looks at `data_version` and at which file stands at the path: when the file system hints at a
/// change, a few times after that, and steadily. It looks on a connection that reads nothing else, so
/// that no query delays a look. Those that it calls compare versions themselves, so that one call too
/// many costs little.
final class ChangeMonitor: Sendable {
  private struct Client: Sendable {
    let call: @Sendable () -> Void
    let onCommit: (@Sendable () -> Void)?
  }

  private struct Writer: Sendable {
    weak let connection: SQLiteConnection?
  }

  private struct State: Sendable {
    var next = 0
    var clients: [Int: Client] = [:]
    var writer: Writer?
    var isRunning = false
    var schedule: RecheckSchedule
    var watch: DatabaseWatch.Running?
    var isLookDue = false
    var seen: DatabaseReader.Sight?
    var diagnostic: String?
    /// The time of the last commit by a connection of this process.
    var lastCommit: AnyClock.Instant?
    /// The time of the last look that found a change.
    var lastChange: AnyClock.Instant?
  }

  /// What the monitor looks with.
  let reader: DatabaseReader
  /// What its clients read with.
  let readers: ReaderPool
  /// The time of the monitor and of its clients.
  let clock: AnyClock
  private let watch: DatabaseWatch
  private let queue = DispatchQueue(label: "swappable.sqlite.monitor")
  /// Makes the next look, while the monitor runs.
  private let timer: QueueTimer
  /// Orders the looks: what is seen last is what was looked at last.
  private let looking = ThreadGate()
  private let state: Locked<State>

  /// Creates a monitor of a database.
  ///
  /// - Parameters:
  ///   - reader: The reader of the database.
  ///   - watch: Reports that the files of the database were touched.
  ///   - schedule: The times of the looks.
  ///   - clock: The clock that measures the pauses between looks, and those of the clients.
  init(
    reader: DatabaseReader, watch: DatabaseWatch = .files,
    schedule: RecheckSchedule = RecheckSchedule(), clock: AnyClock = .continuous
  ) {
    self.reader = reader
    self.clock = clock
    readers = ReaderPool(like: reader, clock: clock)
    timer = QueueTimer(queue: queue, clock: clock)
    self.watch = watch
    state = Locked(State(schedule: schedule))
  }

  deinit {
    state.withLock { $0.watch }?.end()
  }

  /// Has `call` called, by any thread, after each possible change. The first begins the looking.
  ///
  /// - Parameters:
  ///   - onCommit: called instead after a commit by a connection of this process.
  ///   - call: called after any other.
  func attach(
    onCommit: (@Sendable () -> Void)? = nil, _ call: @escaping @Sendable () -> Void
  ) -> Int {
    let number = state.withLock { state in
      state.next += 1
      state.clients[state.next] = Client(call: call, onCommit: onCommit)
      return state.next
    }
    queue.async { [weak self] in self?.startOrStop() }
    return number
  }

  /// Ends what `attach` began. The last ends the looking.
  func detach(_ number: Int) {
    // Released outside the lock.
    let (_, isLast) = state.withLock { state in
      (state.clients.removeValue(forKey: number), state.clients.isEmpty)
    }
    if isLast { queue.async { [weak self] in self?.startOrStop() } }
  }

  /// Why changes of other processes are only found by looking steadily; `nil` where they are told.
  ///
  /// It stays as it is until the clients are called.
  var diagnostic: String? { state.withLock { $0.diagnostic } }

  /// The connection of this process that committed last, or is the first expected to.
  var writer: SQLiteConnection? { state.withLock { $0.writer }?.connection }

  /// Takes `connection` for the one that will commit, unless another one already has.
  func expect(_ connection: SQLiteConnection) {
    guard connection.access != .readOnly, writer == nil else { return }
    state.withLock { $0.writer = Writer(connection: connection) }
  }

  /// Tells the clients at once: a connection of this process has committed.
  func commitSeen(by connection: SQLiteConnection) {
    let now = clock.now
    let clients = state.withLock { state in
      state.writer = Writer(connection: connection)
      state.lastCommit = now
      return Array(state.clients.values)
    }
    for client in clients { (client.onCommit ?? client.call)() }
  }

  /// Looks now, for a client that is about to read; the others are called where something is new.
  func look(by client: Int?) throws(SQLiteError) -> DatabaseReader.Version {
    let (seen, others) = lookOnce(by: client)
    for other in others { other.call() }
    return try seen.version.get()
  }

  /// Takes a hint that files were touched: looks soon, and a few times after that.
  ///
  /// In WAL mode it looks at once, readers and writers do not meet. With a rollback journal a look
  /// keeps a writer waiting that comes at that moment, and writers wait in long steps: there the look
  /// comes a little later, once for all the hints until then, and later still within a burst. While
  /// connections of this process commit, most hints are of what is known already: the look waits for
  /// more of them.
  func hint() {
    guard !state.withLock({ $0.isLookDue }) else { return }
    let isWAL = reader.isWAL
    let now = clock.now
    let isNow = state.withLock { state in
      guard !state.isLookDue else { return false }
      state.isLookDue = true
      state.schedule.restart(isWAL: isWAL)
      let pause =
        isWAL
        ? RecheckSchedule.pause(after: state.lastCommit?.duration(to: now))
        : RecheckSchedule.journalPause(after: state.lastChange?.duration(to: now))
      // Before the first look, the timer is not used.
      guard let pause, state.isRunning else { return true }
      scheduleLook(after: pause)
      return false
    }
    if isNow { queue.async { [weak self] in self?.look() } }
  }

  private func startOrStop() {
    let (shouldRun, isRunning) = state.withLock { ($0.clients.isEmpty == false, $0.isRunning) }
    guard shouldRun != isRunning else { return }
    if shouldRun {
      guard let path = reader.path else { return }
      let watch = watch.start(path) { [weak self] in self?.hint() }
      state.withLock { state in
        state.isRunning = true
        state.watch = watch
        // Forget the earlier sight: no client was told of the changes since then.
        state.seen = nil
      }
      look()
    } else {
      let watch = state.withLock { state in
        state.isRunning = false
        return state.watch.take()
      }
      timer.cancel()
      watch?.end()
    }
  }

  private func scheduleLook(after pause: Duration) {
    timer.schedule(after: pause) { [weak self] in self?.look() }
  }

  /// Looks once and sets the time of the next look. Runs on `queue`.
  private func look() {
    state.withLock { $0.isLookDue = false }
    let watch = state.withLock { $0.watch }
    let diagnostic = watch?.diagnostic()
    let isOther = state.withLock { state in
      defer { state.diagnostic = diagnostic }
      return state.diagnostic != diagnostic
    }
    var (_, clients) = lookOnce(by: nil)
    state.withLock { state in
      if isOther { clients = Array(state.clients.values) }
      // A look that a hint has requested meanwhile comes sooner.
      if !state.isLookDue, state.isRunning { scheduleLook(after: state.schedule.next()) }
    }
    for client in clients { client.call() }
  }

  /// What is to be seen, and who has to be told because it is new.
  private func lookOnce(by number: Int?) -> (DatabaseReader.Sight, [Client]) {
    _ = looking.enter()
    defer { looking.leave() }
    let seen = reader.look()
    let now = clock.now
    let clients = state.withLock { state -> [Client] in
      guard state.seen != seen else { return [] }
      state.seen = seen
      state.lastChange = now
      return state.clients.filter { $0.key != number }.map(\.value)
    }
    return (seen, clients)
  }
}
