public import Diffing
import Dispatch
public import ObservableCollections
import SQLSources
import SwappablePrimitives

/// The live result of a query on a PostgreSQL database.
///
///     let tasks = try PostgresDataSource(
///       connectionString: "host=db.example dbname=shop user=app",
///       sql: "SELECT id, title FROM task WHERE list = $1 ORDER BY title", arguments: [7]
///     ) { row in
///       Task(id: try row.value("id"), title: try row.value("title"))
///     }
///     let observation = tasks.observe { event in … }
///
/// Each commit that changes the result is one change. Any client of the server may have committed it. Commits in quick
/// succession may be merged into one change. The last commit is always delivered.
///
/// | event | result |
/// |---|---|
/// | first load | a change, and status `loaded` |
/// | a commit that changes the result | one change, the keyed difference of the results |
/// | a commit that does not, a rollback | nothing |
/// | the server restarts, the connection is lost | status `failed`; the contents stay; it connects again by itself |
/// | the database does not exist | status `missing`; the contents stay |
/// | a table or column is missing, a privilege is revoked, a row cannot be mapped | status `failed`; the contents stay |
/// | the query can be read again | one change if the result differs, and status `loaded` |
///
/// Nothing is read before ``start()``. If change triggers are installed, the source may ask the server to maintain the
/// records, and writes nothing else. A row is mapped again only if its values have changed. No transaction is open
/// while observers run. The release of the source cancels a query that still runs.
public final class PostgresDataSource<Element: Differentiable & Sendable>: DataSource {
  // A commit reaches the collection in four steps:
  // 1. The `ServerMonitor` finds new records, or finds that something was written.
  // 2. `requestRead` notes the change, and the `ReadLoop` decides when to read.
  // 3. `PostgresLiveQuery` reads the change in a transaction, and maps new rows to elements after it.
  // 4. The writer edits the collection.

  private struct State: Sendable {
    /// The number of the source at the monitor.
    var number: Int?
    var request = ReadRequest.change
    /// A Boolean value that indicates whether more than one change was reported since the last read began.
    var isBurst = false
    var isRequested = false
    var reading: Task<Void, Never>?
    /// The error of the monitor, while it cannot follow changes.
    var monitorFailure: PostgresError?
    /// A Boolean value that indicates whether the last read found no connection.
    var isOffline = false
    var counts = (checks: 0, all: 0, keyed: 0)
    /// The tables whose records tell of all changes, or `nil` if some changes have no record.
    var tables: Set<UInt32>?
  }

  private let writer: SourceWriter<Element>
  private let pool: PostgresPool
  private let query: PostgresQuery
  /// Only the holder of `gate` uses it.
  let liveQuery: PostgresLiveQuery<Element>
  private let gate = TaskGate()
  private let queue = DispatchQueue(label: "swappable.postgres.source")
  private let loop: ReadLoop
  private let state = Locked(State())

  /// The elements of the result, as a read-only collection.
  public var collection: LiveCollection<Element> { writer.collection }

  /// The SQL of the query.
  public var sql: String { query.sql }

  /// Creates a source for a query on the database of a connection string.
  ///
  /// All sources with one connection string share their connections.
  ///
  /// - Parameters:
  ///   - connectionString: Keywords and values (`host=… dbname=…`), or a URI (`postgresql://…`).
  ///   - sql: One SELECT statement. Its arguments are `$1`, `$2`, ….
  ///   - arguments: A value for each argument.
  ///   - uniqueColumnNames: A Boolean value that indicates whether equal column names are an error.
  ///   - map: A closure that makes an element from a row. It must return equal elements for equal rows.
  /// - Throws: A ``PostgresError`` if the SQL is not one query, or if the number of arguments is wrong. The status shows
  ///   the errors of the server.
  public convenience init(
    connectionString: String, sql: String, arguments: PostgresArguments = [],
    uniqueColumnNames: Bool = false, map: @escaping @Sendable (PostgresRow) throws -> Element
  ) throws(PostgresError) {
    try self.init(
      pool: .shared(try ConnectionString(connectionString)), sql: sql, arguments: arguments,
      uniqueColumnNames: uniqueColumnNames, map: map)
  }

  /// Creates a source for a query on the database of a pool.
  ///
  /// - Parameters:
  ///   - pool: The connections to use.
  ///   - sql: One SELECT statement. Its arguments are `$1`, `$2`, ….
  ///   - arguments: A value for each argument.
  ///   - uniqueColumnNames: A Boolean value that indicates whether equal column names are an error.
  ///   - map: A closure that makes an element from a row. It must return equal elements for equal rows.
  /// - Throws: A ``PostgresError`` if the SQL is not one query, or if the number of arguments is wrong.
  public init(
    pool: PostgresPool, sql: String, arguments: PostgresArguments = [],
    uniqueColumnNames: Bool = false, map: @escaping @Sendable (PostgresRow) throws -> Element
  ) throws(PostgresError) {
    self.pool = pool
    query = try PostgresQuery(
      sql: sql, arguments: arguments, needsUniqueColumnNames: uniqueColumnNames)
    liveQuery = PostgresLiveQuery(pool: pool, query: query, map: map)
    // In a burst of changes, many processes read. A busy server has time for its writers between their reads.
    loop = ReadLoop(
      queue: queue, timer: QueueTimer(queue: queue, clock: pool.monitor.clock),
      clock: pool.monitor.clock, longestRest: pool.monitor.intervals.polling)
    writer = SourceWriter(
      of: PostgresDataSource.self,
      location: "\(pool.connectionString.redacted): \(query.sql)")
  }

  deinit {
    let (number, reading) = state.withLock { ($0.number, $0.reading) }
    reading?.cancel()
    if let number { pool.monitor.detach(number) }
  }

  /// Begins to read and to follow changes.
  ///
  /// The first observation calls this method, and so does an operator or a container over this source.
  public func start() {
    // The monitor requests the first read when it listens.
    guard loop.activate({ [weak self] in self?.readLater() }) else { return }
    state.withLock { $0.request = .everything }
    writer.show(.loading)
    let number = pool.monitor.attach { [weak self] event in self?.receive(event) }
    state.withLock { $0.number = number }
  }

  /// Reads now, and waits until all commits before the call are delivered.
  ///
  /// Without this method, the commits are delivered a little later. An error of the last read is retried. When the
  /// method returns, immediate observers have been called.
  ///
  /// If the server cannot be reached, the method returns after the status has changed.
  public func refresh() async {
    start()
    state.withLock { $0.request = max($0.request, .verification) }
    await PostgresDataSource.read(isForced: true) { self }
  }

  /// Returns how the source follows its database under the present schema, and why.
  ///
  /// - Throws: A ``PostgresError`` if the server cannot be reached, or if its schema does not fit the query.
  public func explainQuery() async throws(PostgresError) -> PostgresQueryExplanation {
    try await liveQuery.explain()
  }

  /// The number of reads that looked for changes, of reads of the whole result, and of reads of some keys.
  package var readCounts: (checks: Int, all: Int, keyed: Int) {
    state.withLock { $0.counts }
  }

  // MARK: Reading

  private func receive(_ event: ServerMonitor.Event) {
    switch event {
    case .connected:
      let failure = state.withLock { $0.monitorFailure.take() }
      // Connections that opened before may be as dead as the one that was lost.
      if failure != nil { liveQuery.abandonConnection() }
      requestRead(.reconnection)
    case .safety: requestRead(.verification)
    case .found: requestRead(.change)
    case .recorded(let recorded):
      guard let tables = state.withLock({ $0.tables }) else { return }
      if recorded.map({ !$0.isDisjoint(with: tables) }) ?? true { requestRead(.change) }
    case .failed(let error):
      state.withLock { $0.monitorFailure = error }
      writer.show(error.sourceState)
    }
  }

  private func requestRead(_ request: ReadRequest) {
    let (isDue, isBurst) = state.withLock { state in
      state.request = max(state.request, request)
      // Without a connection, a change does not lead to an attempt before the next one is due.
      if state.isOffline, request == .change { return (false, false) }
      state.isBurst = state.isBurst || state.isRequested
      state.isRequested = true
      return (true, state.isBurst)
    }
    if isDue { loop.request(isThrottled: isBurst) }
  }

  private func readLater() {
    let source: @Sendable () -> PostgresDataSource? = { [weak self] in self }
    let task = Task { await PostgresDataSource.read(source) }
    state.withLock { $0.reading = task }
  }

  /// Reads the changes and publishes them, if a read is due or forced.
  ///
  /// While the server runs the query, nothing here keeps the source alive. Its release cancels the query.
  private static func read(
    isForced: Bool = false, _ source: @Sendable () -> PostgresDataSource?
  ) async {
    guard let gate = source()?.gate else { return }
    guard await gate.enter() else { return }
    defer { gate.leave() }
    guard let (liveQuery, collection, request) = source()?.begin(isForced: isForced) else { return }
    let start = ContinuousClock.now
    let counts = liveQuery.counts
    let result: Result<SourceWriter<Element>.Contents, LiveQueryError<PostgresError>>
    do throws(LiveQueryError<PostgresError>) {
      result = .success(try await liveQuery.update(request) { collection.snapshot })
    } catch {
      result = .failure(error)
    }
    source()?.finish(request, result, since: start, counts)
  }

  private func begin(
    isForced: Bool
  ) -> (PostgresLiveQuery<Element>, LiveCollection<Element>, ReadRequest)? {
    // Begin first: a request from here on leads to another read.
    guard loop.beginRead(isForced: isForced) else { return nil }
    return state.withLock { state in
      defer {
        state.request = .change
        state.isRequested = false
      }
      return (liveQuery, writer.collection, state.request)
    }
  }

  private func finish(
    _ request: ReadRequest,
    _ result: Result<SourceWriter<Element>.Contents, LiveQueryError<PostgresError>>,
    since start: ContinuousClock.Instant,
    _ counts: (checks: Int, all: Int, keyed: Int)
  ) {
    var retryInterval: Duration?
    var isOffline = false
    let newCounts = liveQuery.counts
    state.withLock { $0.counts = newCounts }
    switch result {
    case .success(let change):
      let (mode, reason) = liveQuery.mode
      writer.setMode(mode, reason: reason)
      let hasRead = newCounts.all != counts.all || newCounts.keyed != counts.keyed
      // Without a monitor, the contents are right, but nothing follows later changes.
      let failure = state.withLock { $0.monitorFailure }
      writer.publish(
        change, failure?.sourceState ?? .loaded,
        diagnostics: liveQuery.diagnostics, startedAt: hasRead ? start : nil)
      // The monitor may have failed meanwhile. No other read can publish before this method returns.
      if let failure = state.withLock({ $0.monitorFailure }) {
        writer.show(failure.sourceState)
      }
    case .failure(let error):
      // A task that was canceled belongs to a source that is released.
      if error.error.code != .canceled {
        writer.show(
          error.error.sourceState, diagnostics: liveQuery.diagnostics)
      }
      retryInterval = error.retryInterval
      isOffline = error.error.endsConnection && retryInterval != nil
    }
    let tables = liveQuery.recordedTables
    let number = state.withLock { state in
      state.tables = tables
      state.isBurst = false
      state.isOffline = isOffline
      // The changes of a read that is repeated stay unread.
      if retryInterval != nil { state.request = max(state.request, request, .reconnection) }
      return state.number
    }
    if let number { pool.monitor.setIsRecorded(tables?.isEmpty == false, of: number) }
    loop.finishRead(repeatAfter: retryInterval)
  }
}

// MARK: - Decodable elements

extension PostgresDataSource where Element: Decodable {
  /// Creates a source that decodes the rows of a query on the database of a connection string.
  ///
  /// Each coding key takes the column with its name.
  ///
  /// - Parameters:
  ///   - connectionString: Keywords and values (`host=… dbname=…`), or a URI (`postgresql://…`).
  ///   - sql: One SELECT statement with different column names.
  ///   - arguments: A value for each argument.
  /// - Throws: A ``PostgresError`` if the SQL is not one query, or if the number of arguments is wrong.
  public convenience init(
    connectionString: String, sql: String, arguments: PostgresArguments = []
  ) throws(PostgresError) {
    try self.init(
      connectionString: connectionString, sql: sql, arguments: arguments, uniqueColumnNames: true
    ) {
      try $0.decode(Element.self)
    }
  }

  /// Creates a source that decodes the rows of a query on the database of a pool.
  ///
  /// Each coding key takes the column with its name.
  ///
  /// - Parameters:
  ///   - pool: The connections to use.
  ///   - sql: One SELECT statement with different column names.
  ///   - arguments: A value for each argument.
  /// - Throws: A ``PostgresError`` if the SQL is not one query, or if the number of arguments is wrong.
  public convenience init(
    pool: PostgresPool, sql: String, arguments: PostgresArguments = []
  ) throws(PostgresError) {
    try self.init(pool: pool, sql: sql, arguments: arguments, uniqueColumnNames: true) {
      try $0.decode(Element.self)
    }
  }
}
