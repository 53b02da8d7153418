import SwappablePrimitives

/// Watches a database for the data sources of a pool, with a connection of its own.
///
/// The monitor connects, listens to the channel of the change triggers, and only then asks its clients to read. A
/// change that is committed after their read therefore leads to a notification. The monitor also looks for changes at
/// an interval. If the connection is lost, it connects again after an interval that grows and varies at random.
final class ServerMonitor: Sendable {
  /// The name of the channel on which change triggers wake up the monitor.
  static let channel = "swappable"

  /// An event for the clients.
  enum Event: Sendable {
    /// The monitor has connected, and listens. Anything may have changed.
    case connected
    /// A writer has committed a change of a table with change triggers.
    case notified
    /// Something was written. `state` is the state of the database after it.
    case found(state: String)
    /// Read even if no change is known.
    case safety
    /// The connection was lost, or cannot be opened.
    case failed(PostgresError)
  }

  typealias Client = @Sendable (Event) -> Void

  private struct State: Sendable {
    var lastClient = 0
    var clients: [Int: (client: Client, needsPolling: Bool)] = [:]
    var task: Task<Void, Never>?
    var isConnected = false
    var canListen = false
    var failure: PostgresError?
    /// Interrupts the wait for the next look, because the interval has changed.
    var wake: (@Sendable () -> Void)?
  }

  private struct WeakMonitor: Sendable {
    weak let monitor: ServerMonitor?
  }

  let clock: AnyClock
  let intervals: PostgresIntervals
  private let connectionString: ConnectionString
  private let options: PostgresOptions
  private let state = Locked(State())

  init(
    _ connectionString: ConnectionString, options: PostgresOptions, intervals: PostgresIntervals,
    clock: AnyClock
  ) {
    self.connectionString = connectionString
    self.options = options
    self.intervals = intervals
    self.clock = clock
  }

  deinit {
    state.withLock { $0.task }?.cancel()
  }

  /// Adds a client. The first client starts the monitor.
  ///
  /// - Returns: The number of the client.
  func attach(_ client: @escaping Client) -> Int {
    let (number, event) = state.withLock { state -> (Int, Event?) in
      state.lastClient += 1
      state.clients[state.lastClient] = (client, true)
      if state.task == nil {
        let monitor = WeakMonitor(monitor: self)
        state.task = Task.detached { await ServerMonitor.run { monitor.monitor } }
      }
      return (
        state.lastClient, state.isConnected ? .connected : state.failure.map { .failed($0) }
      )
    }
    if let event { client(event) }
    return number
  }

  /// Removes a client. Without clients, the monitor disconnects.
  func detach(_ number: Int) {
    let (_, task) = state.withLock { state in
      let client = state.clients.removeValue(forKey: number)
      guard state.clients.isEmpty else { return (client, nil as Task<Void, Never>?) }
      (state.isConnected, state.failure) = (false, nil)
      return (client, state.task.take())
    }
    task?.cancel()
  }

  /// Sets whether a client reads tables without change triggers.
  func setNeedsPolling(_ needsPolling: Bool, of number: Int) {
    let wake = state.withLock { state -> (@Sendable () -> Void)? in
      guard let old = state.clients[number], old.needsPolling != needsPolling else { return nil }
      state.clients[number]?.needsPolling = needsPolling
      return state.wake
    }
    wake?()
  }

  /// A Boolean value that indicates whether notifications arrive.
  var canListen: Bool { state.withLock { $0.canListen } }

  private var interval: Duration {
    state.withLock { state in
      state.clients.values.contains { $0.needsPolling } || !state.canListen
        ? intervals.polling : intervals.safety
    }
  }

  private func notify(_ event: Event) {
    let clients = state.withLock { state in
      switch event {
      case .connected: (state.isConnected, state.failure) = (true, nil)
      case .failed(let error): (state.isConnected, state.failure) = (false, error)
      case .notified, .found, .safety: break
      }
      return Array(state.clients.values)
    }
    for client in clients { client.client(event) }
  }

  // MARK: The task

  /// Connects and watches until the task is canceled. It does not keep the monitor alive while it waits.
  private static func run(_ monitor: @escaping @Sendable () -> ServerMonitor?) async {
    var backoff = ConnectionBackoff()
    while !Task.isCancelled {
      guard let (connect, clock) = monitor().map({ ($0.connecting, $0.clock) }) else { return }
      var connected: AnyClock.Instant?
      do throws(PostgresError) {
        let session = try await connect()
        defer { session.close() }
        try await watch(session, monitor) { connected = clock.now }
      } catch {
        if Task.isCancelled { return }
        monitor()?.notify(.failed(error))
      }
      // A server that ends each connection soon is not asked again and again.
      if let connected, connected.duration(to: clock.now) >= ConnectionBackoff.longest {
        backoff.succeeded()
      }
      let interval = backoff.failed(random: .random(in: 0..<1))
      try? await clock.sleep(until: clock.now.advanced(by: interval), tolerance: nil)
    }
  }

  private var connecting: () async throws(PostgresError) -> PostgresSession {
    let (connectionString, options) = (connectionString, options)
    return { () async throws(PostgresError) in
      try await PostgresSession.connect(connectionString, options: options)
    }
  }

  private static func listen(_ session: PostgresSession) async throws(PostgresError) {
    try await session.run(
      "LISTEN \(PostgresText.quoted(channel))", receiver: ResultReceiver(),
      limit: session.answerLimit)
  }

  private enum Wake: Sendable {
    case notification
    case time
    case intervalChanged
    case loss(PostgresError)
  }

  private static func watch(
    _ session: PostgresSession, _ monitor: @escaping @Sendable () -> ServerMonitor?,
    whenConnected: () -> Void
  ) async throws(PostgresError) {
    let (wakes, continuation) = AsyncStream.makeStream(of: Wake.self)
    // Notifications need no memory, however many arrive before the task reads one.
    let isNotified = Locked(false)
    session.onNotification { _ in
      let isFirst = isNotified.withLock { isNotified in
        defer { isNotified = true }
        return !isNotified
      }
      if isFirst { continuation.yield(.notification) }
    }
    session.onLoss { error in continuation.yield(.loss(error)) }
    var isStandby = try await ServerState.isStandby(session)
    // A standby server cannot listen.
    if !isStandby { try await listen(session) }
    var known = try await ServerState.read(session)
    guard let started = monitor() else { return }
    started.state.withLock { state in
      state.canListen = !isStandby
      state.wake = { continuation.yield(.intervalChanged) }
    }
    whenConnected()
    started.notify(.connected)
    let (clock, safety) = (started.clock, started.intervals.safety)
    var timer = clock.call(after: started.interval) { continuation.yield(.time) }
    defer { timer.cancel() }
    var lastSafety = clock.now
    // Release the monitor while the task waits.
    await Task.yield()
    for await wake in wakes {
      if Task.isCancelled { return }
      switch wake {
      case .loss(let error): throw error
      case .notification:
        isNotified.withLock { $0 = false }
        monitor()?.notify(.notified)
      case .intervalChanged:
        guard let interval = monitor()?.interval else { return }
        timer = clock.call(after: interval) { continuation.yield(.time) }
      case .time:
        let now = try await ServerState.read(session)
        if isStandby, !ServerState.isOfStandby(now) {
          // The standby server was promoted. Its change triggers can be used from now on.
          try await listen(session)
          isStandby = false
          monitor()?.state.withLock { $0.canListen = true }
          monitor()?.notify(.connected)
        }
        guard let monitor = monitor() else { return }
        if lastSafety.duration(to: clock.now) >= safety {
          lastSafety = clock.now
          monitor.notify(.safety)
        } else if now != known {
          monitor.notify(.found(state: now))
        }
        known = now
        timer = clock.call(after: monitor.interval) { continuation.yield(.time) }
      }
    }
  }
}

/// The state of a database: which transactions are visible.
///
/// Two equal states have equal contents. On a primary server, the state is the snapshot: a transaction that commits
/// leaves the list of running transactions, or raises its end. The position in the write-ahead log is not sufficient
/// there, because it moves before the transaction is visible. On a standby server, the snapshot does not list the
/// running transactions, and the position moves after the transaction is visible.
enum ServerState {
  static let sql = """
    SELECT pg_catalog.pg_current_snapshot()::pg_catalog.text || \
    CASE WHEN pg_catalog.pg_is_in_recovery() \
    THEN ' ' || COALESCE(pg_catalog.pg_last_wal_replay_lsn()::pg_catalog.text, '') \
    ELSE '' END
    """

  /// Returns a Boolean value that indicates whether a standby server has this state.
  static func isOfStandby(_ state: String) -> Bool { state.contains(" ") }

  static func read(_ session: PostgresSession) async throws(PostgresError) -> String {
    try await value(of: sql, session)
  }

  static func isStandby(_ session: PostgresSession) async throws(PostgresError) -> Bool {
    try await value(of: "SELECT pg_catalog.pg_is_in_recovery()", session) == "t"
  }

  private static func value(
    of sql: String, _ session: PostgresSession
  ) async throws(PostgresError) -> String {
    guard let row = try await session.texts(sql, columns: 1).first else {
      throw .unexpectedAnswer("the server answered without a row", sql: sql)
    }
    return row[0] ?? ""
  }
}

extension PostgresSession {
  /// Runs a quick query of this module, and returns the texts of all values.
  ///
  /// - Parameter columns: The number of values in each row.
  /// - Throws: A ``PostgresError``, also if the answer has another number of columns.
  func texts(
    _ sql: String, _ arguments: [PostgresValue] = [], columns: Int
  ) async throws(PostgresError) -> [[String?]] {
    let receiver = RowReceiver(byteLimit: 64 << 20)
    try await run(sql, arguments, receiver: receiver, limit: answerLimit)
    let count = receiver.rows?.columns.names.count ?? 0
    guard count == columns else {
      // Answers may belong to other statements from here on.
      close()
      throw .unexpectedAnswer(
        "the server answered with \(count) columns instead of \(columns)", sql: sql)
    }
    do {
      return try receiver.map { row in (0..<row.count).map { row.text(at: $0) } }
    } catch {
      preconditionFailure("reading the texts of a row cannot fail")
    }
  }
}

/// The intervals between two attempts to connect.
///
/// They double from 50 milliseconds to 5 seconds. Each one varies at random between half and all of it, so many
/// processes do not connect at the same moment after a restart of the server.
struct ConnectionBackoff: Sendable {
  private static let first = Duration.milliseconds(50)
  /// The longest interval. A connection that lasts as long is a success.
  static let longest = Duration.seconds(5)

  private var next = ConnectionBackoff.first

  /// Counts a failure and returns the interval before the next attempt.
  ///
  /// - Parameter random: A number between 0 and 1.
  mutating func failed(random: Double) -> Duration {
    defer { next = min(next * 2, ConnectionBackoff.longest) }
    return next * (0.5 + random / 2)
  }

  mutating func succeeded() {
    next = ConnectionBackoff.first
  }
}
