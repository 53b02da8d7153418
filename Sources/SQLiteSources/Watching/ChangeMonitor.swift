import Dispatch
import SwappablePrimitives

/// Tells the data sources on one database that it may have changed, by whichever process.
///
/// It looks at `data_version` and at which file stands at the path: when the file system hints at a
/// change, a few times after that, and steadily. It looks on a connection that reads nothing else, so
/// that no query delays a look. Those that it calls compare versions themselves, so that one call too
/// many costs little.
final class ChangeMonitor: Sendable {
  // Sendable: Dispatch's sources may be scheduled and cancelled by any thread.
  private struct LookTimer: @unchecked Sendable {
    let source: any DispatchSourceTimer
  }

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
    var timer: LookTimer?
    var watch: DatabaseWatch.Running?
    var isLookDue = false
    var seen: DatabaseReader.Sight?
    var diagnostic: String?
    /// When a connection of this process last committed.
    var lastCommit: ContinuousClock.Instant?
    /// When a look last found something new.
    var lastChange: ContinuousClock.Instant?
  }

  /// What the monitor looks with.
  let reader: DatabaseReader
  /// What its clients read with.
  let readers: ReaderPool
  private let watch: DatabaseWatch
  private let queue = DispatchQueue(label: "swappable.sqlite.monitor")
  /// Orders the looks: what is seen last is what was looked at last.
  private let looking = ThreadGate()
  private let state: Locked<State>

  /// A monitor of the database that `reader` reads.
  init(
    reader: DatabaseReader, watch: DatabaseWatch = .files,
    schedule: RecheckSchedule = RecheckSchedule()
  ) {
    self.reader = reader
    readers = ReaderPool(like: reader)
    self.watch = watch
    state = Locked(State(schedule: schedule))
  }

  deinit {
    let (timer, watch) = state.withLock { ($0.timer, $0.watch) }
    timer?.source.cancel()
    watch?.end()
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
    let clients = state.withLock { state in
      state.writer = Writer(connection: connection)
      state.lastCommit = .now
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
    let now = ContinuousClock.now
    let isNow = state.withLock { state in
      guard !state.isLookDue else { return false }
      state.isLookDue = true
      state.schedule.restart(isWAL: isWAL)
      let pause =
        isWAL
        ? RecheckSchedule.pause(after: state.lastCommit?.duration(to: now))
        : RecheckSchedule.journalPause(after: state.lastChange?.duration(to: now))
      // Before the first look there is no timer.
      guard let pause, let timer = state.timer else { return true }
      timer.source.schedule(deadline: .now() + pause.dispatchInterval, leeway: .nanoseconds(0))
      return false
    }
    if isNow { queue.async { [weak self] in self?.look() } }
  }

  private func startOrStop() {
    let (shouldRun, isRunning) = state.withLock { ($0.clients.isEmpty == false, $0.isRunning) }
    guard shouldRun != isRunning else { return }
    if shouldRun {
      guard let path = reader.path else { return }
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { [weak self] in self?.look() }
      let watch = watch.start(path) { [weak self] in self?.hint() }
      state.withLock { state in
        state.isRunning = true
        state.timer = LookTimer(source: timer)
        state.watch = watch
        // What was seen before does not count: its changes since then were told to nobody.
        state.seen = nil
      }
      timer.activate()
      look()
    } else {
      let (timer, watch) = state.withLock { state in
        state.isRunning = false
        defer { (state.timer, state.watch) = (nil, nil) }
        return (state.timer, state.watch)
      }
      timer?.source.cancel()
      watch?.end()
    }
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
      // A look that a hint has asked for meanwhile comes sooner.
      if !state.isLookDue {
        state.timer?.source.schedule(
          deadline: .now() + state.schedule.next().dispatchInterval, leeway: .nanoseconds(0))
      }
    }
    for client in clients { client.call() }
  }

  /// What is to be seen, and who has to be told because it is new.
  private func lookOnce(by number: Int?) -> (DatabaseReader.Sight, [Client]) {
    _ = looking.enter()
    defer { looking.leave() }
    let seen = reader.look()
    let clients = state.withLock { state -> [Client] in
      guard state.seen != seen else { return [] }
      state.seen = seen
      state.lastChange = .now
      return state.clients.filter { $0.key != number }.map(\.value)
    }
    return (seen, clients)
  }
}

extension Duration {
  /// The same, for Dispatch.
  var dispatchInterval: DispatchTimeInterval {
    .nanoseconds(
      Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000))
  }
}
