import ObservableCollections
import SQLSources
import SwappablePrimitives

/// Watches a database for the data sources of a pool, with a connection of its own.
///
/// The monitor looks for records of the change triggers, and for new transactions if a data source needs them. It looks
/// 10 times a second while there are records. Without records, the interval grows to a tenth of the time since the last
/// one, up to a second. A look finds the records that are visible now and were not visible at the look before, so its cost
/// depends on their number only.
///
/// If the pool has a connection string for it, a second connection listens to the channel of the change triggers, and a
/// notification leads to a look at once. If a connection is lost, it connects again after an interval that grows and varies
/// at random.
final class ServerMonitor: Sendable {
  /// The name of the channel on which change triggers wake up the monitor.
  static let channel = "swappable"

  /// An event for the clients.
  enum Event: Sendable {
    /// The monitor has connected, perhaps again after a failure. Anything may have changed.
    case connected(isBack: Bool)
    /// Writes to some tables were recorded, or to any tables if `tables` is `nil`.
    case recorded(tables: Set<UInt32>?)
    /// Something was written.
    case found
    /// Read even if no change is known.
    case safety
    /// The connection was lost, or cannot be opened.
    case failed(PostgresError)
  }

  typealias Client = @Sendable (Event) -> Void

  private struct State: Sendable {
    var lastClient = 0
    var clients: [Int: (client: Client, tables: Set<UInt32>?)] = [:]
    /// The tasks that watch and listen, while there are clients.
    var tasks: [Task<Void, Never>] = []
    var isConnected = false
    var isListening = false
    var failure: PostgresError?
    /// Makes the task look now, or compute the time of the next look.
    var wake: (@Sendable (Wake) -> Void)?

    /// Returns a Boolean value that indicates whether records tell a client of all changes.
    func isRecorded(_ number: Int) -> Bool { clients[number]?.tables?.isEmpty == false }
  }

  let clock: AnyClock
  let intervals: PostgresIntervals
  private let connectionString: ConnectionString
  /// The connection string for notifications, or `nil` if it does not listen.
  private let listeningString: ConnectionString?
  private let options: PostgresOptions
  private let state = Locked(State())

  init(
    _ connectionString: ConnectionString, listeningOn listeningString: ConnectionString? = nil,
    options: PostgresOptions, intervals: PostgresIntervals, clock: AnyClock
  ) {
    self.connectionString = connectionString
    self.listeningString = listeningString
    self.options = options
    self.intervals = intervals
    self.clock = clock
  }

  deinit {
    for task in state.withLock({ $0.tasks }) { task.cancel() }
  }

  /// Adds a client. The first client starts the monitor.
  ///
  /// - Returns: The number of the client.
  func attach(_ client: @escaping Client) -> Int {
    let (number, event) = state.withLock { state -> (Int, Event?) in
      state.lastClient += 1
      state.clients[state.lastClient] = (client, nil)
      if state.tasks.isEmpty { state.tasks = startTasks() }
      return (
        state.lastClient,
        state.isConnected ? .connected(isBack: false) : state.failure.map { .failed($0) }
      )
    }
    if let event { client(event) }
    return number
  }

  /// Removes a client. Without clients, the monitor disconnects.
  func detach(_ number: Int) {
    // The client is returned, because it must be released outside the lock.
    let (_, tasks) = state.withLock {
      state -> (client: (Client, Set<UInt32>?)?, [Task<Void, Never>]) in
      let client = state.clients.removeValue(forKey: number)
      guard state.clients.isEmpty else { return (client, []) }
      defer { state.tasks = [] }
      (state.isConnected, state.isListening, state.failure) = (false, false, nil)
      return (client, state.tasks)
    }
    for task in tasks { task.cancel() }
  }

  /// Sets the tables whose records tell a client of all changes, or `nil` if some changes have no record.
  func follow(_ tables: Set<UInt32>?, for number: Int) {
    let wake = state.withLock { state -> (@Sendable (Wake) -> Void)? in
      let wasRecorded = state.isRecorded(number)
      state.clients[number]?.tables = tables
      return state.isRecorded(number) == wasRecorded ? nil : state.wake
    }
    wake?(.intervalChanged)
  }

  /// A Boolean value that indicates whether notifications arrive.
  var isListening: Bool { state.withLock { $0.isListening } }

  /// The interval before the next look.
  ///
  /// - Parameter pause: The time since the last record, or since the connection opened.
  private func interval(after pause: Duration) -> Duration {
    state.withLock { state in
      let recorded = state.clients.keys.count { state.isRecorded($0) }
      let (isPolled, isRecorded) = (recorded < state.clients.count, recorded > 0)
      let looking =
        state.isListening
        ? intervals.looking * 10
        : min(max(intervals.looking, pause / 10), intervals.looking * 10)
      return min(
        isRecorded ? looking : intervals.safety, isPolled ? intervals.polling : intervals.safety)
    }
  }

  private var hasRecordedClients: Bool {
    state.withLock { state in state.clients.keys.contains { state.isRecorded($0) } }
  }

  private func notify(_ event: Event, onlyPolled: Bool = false) {
    let clients = state.withLock { state in
      switch event {
      case .connected: (state.isConnected, state.failure) = (true, nil)
      case .failed(let error): (state.isConnected, state.failure) = (false, error)
      case .recorded(let recorded):
        return state.clients.values.filter { client in
          guard let tables = client.tables else { return false }
          return recorded.map { !$0.isDisjoint(with: tables) } ?? true
        }
      case .found, .safety: break
      }
      return state.clients.filter { !onlyPolled || !state.isRecorded($0.key) }.map(\.value)
    }
    for client in clients { client.client(event) }
  }

  // MARK: The tasks

  private func startTasks() -> [Task<Void, Never>] {
    // The tasks do not keep the monitor alive while they wait.
    let monitor: @Sendable () -> ServerMonitor? = { [weak self] in self }
    let watching = Task.detached { [connectionString, options, clock] in
      await ServerMonitor.stayConnected(connectionString, options, clock) {
        session, didConnect throws(PostgresError) in
        try await ServerMonitor.watch(session, monitor, didConnect)
      } onFailure: {
        monitor()?.notify(.failed($0))
      }
    }
    guard let listeningString else { return [watching] }
    let listening = Task.detached { [options, clock] in
      await ServerMonitor.stayConnected(listeningString, options, clock) {
        session, didConnect throws(PostgresError) in
        try await ServerMonitor.listen(session, monitor, didConnect)
      }
    }
    return [watching, listening]
  }

  /// Connects and uses the connection, again and again until the task is canceled.
  private static func stayConnected(
    _ connectionString: ConnectionString, _ options: PostgresOptions, _ clock: AnyClock,
    _ use: (PostgresSession, _ didConnect: () -> Void) async throws(PostgresError) -> Void,
    onFailure: (PostgresError) -> Void = { _ in }
  ) async {
    var failures = 0
    while !Task.isCancelled {
      var connected: AnyClock.Instant?
      do throws(PostgresError) {
        let session = try await PostgresSession.connect(connectionString, options: options)
        defer { session.close() }
        try await use(session) { connected = clock.now }
      } catch {
        if Task.isCancelled { return }
        onFailure(error)
      }
      // A server that ends each connection soon is not asked again and again.
      if let connected, connected.duration(to: clock.now) >= Backoff.connections.longest {
        failures = 0
      }
      failures += 1
      let interval = Backoff.connections.pause(after: failures)
      try? await clock.sleep(until: clock.now.advanced(by: interval), tolerance: nil)
    }
  }

  private enum Wake: Sendable {
    case look
    case intervalChanged
    case loss(PostgresError)
  }

  private static func watch(
    _ session: PostgresSession, _ monitor: @Sendable () -> ServerMonitor?,
    _ didConnect: () -> Void
  ) async throws(PostgresError) {
    let (wakes, continuation) = AsyncStream.makeStream(
      of: Wake.self, bufferingPolicy: .bufferingNewest(100))
    session.onLoss { error in continuation.yield(.loss(error)) }
    var known = ServerState(text: try await ServerState.read(session))
    var polledText = known.text
    guard let started = monitor() else { return }
    started.state.withLock { $0.wake = { continuation.yield($0) } }
    didConnect()
    started.notify(.connected(isBack: started.state.withLock { $0.failure != nil }))
    let (clock, intervals) = (started.clock, started.intervals)
    var (lastSafety, lastPoll, lastRecord) = (clock.now, clock.now, clock.now)
    var timer = clock.call(after: started.interval(after: .zero)) { continuation.yield(.look) }
    defer { timer.cancel() }
    // Release the monitor while the task waits.
    await Task.yield()
    for await wake in wakes {
      if Task.isCancelled { return }
      if case .loss(let error) = wake { throw error }
      // A client may have begun to need records after the last look.
      if case .intervalChanged = wake { known.objects = nil }
      guard let needsRecords = monitor()?.hasRecordedClients else { return }
      let now = try await ServerState.next(session, since: known, records: needsRecords)
      guard let monitor = monitor() else { return }
      let tables = known.objects == nil ? nil : now.tables
      let hasRecords = tables.map { !$0.isEmpty } ?? true
      if lastSafety.duration(to: clock.now) >= intervals.safety {
        lastSafety = clock.now
        monitor.notify(.safety)
      } else if known.isStandby, !now.isStandby {
        // The standby server was promoted.
        monitor.notify(.connected(isBack: false))
      } else if needsRecords, known.objects != nil, now.objects != known.objects {
        // It may be that nothing is recorded any more.
        monitor.notify(.connected(isBack: false))
      } else if needsRecords, hasRecords {
        monitor.notify(.recorded(tables: tables))
      }
      if needsRecords, hasRecords { lastRecord = clock.now }
      if polledText != now.text, lastPoll.duration(to: clock.now) >= intervals.polling {
        (polledText, lastPoll) = (now.text, clock.now)
        monitor.notify(.found, onlyPolled: true)
      }
      known = now
      timer.cancel()
      let interval = monitor.interval(after: lastRecord.duration(to: clock.now))
      timer = clock.call(after: interval) { continuation.yield(.look) }
    }
  }

  private static func listen(
    _ session: PostgresSession, _ monitor: @Sendable () -> ServerMonitor?,
    _ didConnect: () -> Void
  ) async throws(PostgresError) {
    let (wakes, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    session.onNotification { _ in continuation.yield() }
    session.onLoss { _ in continuation.finish() }
    // Servers before version 14 have no such setting.
    _ = try? await session.run("SET idle_session_timeout = 0", limit: session.answerLimit)
    try await session.run("LISTEN \(SQLText.quoted(channel))", limit: session.answerLimit)
    didConnect()
    func wake(isListening: Bool, _ wake: Wake) {
      let action = monitor()?.state.withLock { state in
        state.isListening = isListening
        return state.wake
      }
      action?(wake)
    }
    // Writes before this moment are found by the next look.
    wake(isListening: true, .look)
    for await _ in wakes { wake(isListening: true, .look) }
    wake(isListening: false, .intervalChanged)
  }
}

/// The state of a database: which transactions are visible.
///
/// Two equal states have equal contents. On a primary server, the state is the snapshot: a transaction that commits
/// leaves the list of running transactions, or raises its end. The position in the write-ahead log is not sufficient
/// there, because it moves before the transaction is visible. On a standby server, the snapshot does not list the
/// running transactions, and the position moves after the transaction is visible.
struct ServerState: Sendable {
  var text: String
  /// The state of the objects of the change triggers, or `nil` if it is not known.
  var objects: String?
  /// The last mark of pruned records, or `nil` if there is none.
  var pruned: String?
  /// The tables with new records, or `nil` if there may be records of any table.
  var tables: Set<UInt32>? = []

  static let sql = """
    SELECT pg_catalog.pg_current_snapshot()::pg_catalog.text || \
    CASE WHEN pg_catalog.pg_is_in_recovery() \
    THEN ' ' || COALESCE(pg_catalog.pg_last_wal_replay_lsn()::pg_catalog.text, '') \
    ELSE '' END
    """

  var isStandby: Bool { text.contains(" ") }

  /// The largest number of records that a look reads.
  private static let recordLimit = 1000

  /// A query for the records that were not visible in the snapshot `$1` and are now.
  ///
  /// It finds them by the index: records of transactions that began after the snapshot, or ran in it.
  static func recordsSQL(_ columns: String, of condition: String = "true", limit: Int) -> String {
    """
    (SELECT \(columns) FROM swappable.record r
      WHERE r.xid >= pg_catalog.pg_snapshot_xmax($1::pg_catalog.pg_snapshot) AND \(condition)
      ORDER BY r.xid LIMIT \(limit))
    UNION ALL
    (SELECT \(columns) FROM swappable.record r
      WHERE r.xid = ANY (ARRAY(SELECT pg_catalog.pg_snapshot_xip($1::pg_catalog.pg_snapshot)))
        AND \(condition)
      LIMIT \(limit))
    """
  }

  /// The columns of a look since the snapshot `$1`: the state, the state of the objects of the change triggers, the number
  /// of new records, their tables, and the last mark of pruned records.
  ///
  /// The function `swappable.look` contains the query, so the server plans it once for a session and not for each look.
  static let lookColumns = [
    sql, QueryAnalyzer.objectsSQL, "pg_catalog.count(c.relation)",
    "pg_catalog.string_agg(DISTINCT c.relation::pg_catalog.text, ' ')",
    """
    (SELECT p.xid || ' ' || p.at FROM swappable.record p WHERE p.relation = 0
      ORDER BY p.xid DESC, p.at DESC LIMIT 1)
    """,
  ].map { "(\($0))" }.joined(separator: ",\n")

  /// The rows of a look.
  static let lookRows = "(\(recordsSQL("r.relation", limit: recordLimit))) c"

  /// Reads the state, and the tables with records that were not visible in an earlier state.
  ///
  /// - Parameter records: A Boolean value that indicates whether a client needs the records.
  static func next(
    _ session: PostgresSession, since known: ServerState, records: Bool
  ) async throws(PostgresError) -> ServerState {
    guard records, !known.isStandby else { return ServerState(text: try await read(session)) }
    do throws(PostgresError) {
      let sql = "SELECT * FROM swappable.look($1)"
      let rows = try await session.texts(sql, [known.text], columns: 5)
      guard let row = rows.first else { throw .unexpectedAnswer("no row", sql: sql) }
      var state = ServerState(text: row[0] ?? "", objects: row[1] ?? "")
      let tables = (row[3] ?? "").split(separator: " ").compactMap { UInt32($0) }
      state.pruned = row[4]
      // The relation 0 marks records that were pruned.
      let isComplete =
        (row[2].flatMap { Int($0) } ?? 0) < recordLimit && !tables.contains(0)
        && (known.objects == nil || state.pruned == known.pruned)
      state.tables = isComplete ? Set(tables) : nil
      return state
    } catch {
      if error.endsConnection || error.code == .canceled { throw error }
      // The records were removed, or this role may not read them any more.
      return ServerState(text: try await read(session), objects: "\(error.code)")
    }
  }

  static func read(_ session: PostgresSession) async throws(PostgresError) -> String {
    try await session.requiredText(sql)
  }
}

extension Backoff {
  /// The pauses between attempts to connect. A connection that lasts as long as the longest of them is a success.
  static let connections = Backoff(first: .milliseconds(50), longest: .seconds(5), jitter: 0.5)
}
