public import Diffing
import Dispatch
public import ObservableCollections
import SwappablePrimitives

/// The live result of a query on a SQLite database.
///
///     let tasks = try SQLiteDataSource(
///       path: "tasks.db", sql: "SELECT id, title FROM task WHERE list = ? ORDER BY title",
///       arguments: [7]
///     ) { row in
///       Task(id: try row.value("id"), title: try row.value("title"))
///     }
///     let observation = tasks.observe { event in … }
///
/// Each commit that changes the result is one change, whoever made it: a `SQLiteConnection` of this
/// process, another connection, or another process. Commits that follow each other closely may be
/// told as one; the last is always seen.
///
/// | what happens | what is told |
/// |---|---|
/// | first load | a change, and status `loaded` |
/// | a commit that changes the result | one change, the keyed difference of the results |
/// | a commit that does not, a rollback, VACUUM, a checkpoint | nothing |
/// | the file is not there | status `missing`; the contents stay; alive when it appears |
/// | another file takes its place | one change, the difference of the two results |
/// | a column or table is gone, a row cannot be mapped, the file is damaged | status `failed`; the contents stay |
/// | it can be read again | one change, if anything differs, and status `loaded` |
///
/// The database is opened read-only and never created. Nothing is read before somebody observes.
/// Rows whose stored values are known are not mapped again. No transaction is open while observers run:
/// they may write.
///
/// Where each row of the result stands for one row of a table, the result is maintained *incrementally*:
/// a SELECT from one table with an INTEGER PRIMARY KEY, with WHERE, ORDER BY columns and LIMIT only, that
/// calls nothing but functions of SQLite that depend on their arguments alone. After a commit by a
/// `SQLiteConnection` of this process only the rows that it wrote are read; after any other, all are
/// scanned and only those that differ are decoded. Rows that its ORDER BY leaves in no order, and all
/// where it has none, are ordered by the primary key. Any other query runs again as a whole after each
/// commit, on a queue of the source. `explain()` tells which it is, and why.
///
/// That a query is not incremental, elements of one identity, and a file system that has to be polled, are
/// diagnostics of the status.
///
/// - Complexity: incrementally, a commit of this process costs O(*k* log *n*) for *k* rows written, any
///   other a scan of the table; else a commit costs a run of the query. Only rows that are new are mapped.
public final class SQLiteDataSource<Element: Differentiable & Sendable>: DataSource {
  private struct State: Sendable {
    var isStarted = false
    var isRetryDue = false
    var number: Int?
    var runs = RunSchedule()
  }

  // Sendable: used by one block of the serial queue at a time, and by no one else.
  private struct Confined: @unchecked Sendable {
    let keeper: QueryKeeper<Element>
  }

  private let contents: CollectionProperty<Element>
  let monitor: ChangeMonitor
  let query: SQLiteQuery
  private let confined: Confined
  private let queue = DispatchQueue(label: "swappable.sqlite.source")
  private let state = Locked(State())
  private let runTimer: QueueTimer
  private let retryTimer: QueueTimer

  /// The read-only end of the collection.
  public var collection: LiveCollection<Element> { contents.collection }

  /// The SQL of the query.
  public var sql: String { query.sql }

  /// Makes a source of the query `sql` on the database at `path`, which need not be there yet.
  ///
  /// Where there is no database the status is `missing`, and the SQL is checked when it appears.
  ///
  /// - Parameters:
  ///   - path: the path of the file, never read as a URI. A relative one is taken from the current
  ///     directory.
  ///   - sql: one SELECT.
  ///   - arguments: a value for each of its arguments.
  ///   - uniqueColumnNames: whether two columns of one name are an error.
  ///   - map: makes an element of a row, the same for the same row; called on a queue of the source.
  /// - Throws: a `SQLiteError` where the path is no database's, where the SQL is wrong, is several
  ///   statements, or would write, and where the arguments do not fit it.
  public convenience init(
    path: String, sql: String, arguments: SQLiteArguments = [], uniqueColumnNames: Bool = false,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    try self.init(
      monitor: .shared(path: try SQLiteConnection.absolutePath(path)),
      query: SQLiteQuery(
        sql: sql, arguments: arguments, needsUniqueColumnNames: uniqueColumnNames), map: map)
  }

  /// Makes a source of the query `sql` on the database of `connection`.
  ///
  /// A file is read by a connection of the source's own. A database in memory is read through
  /// `connection`, which the source keeps.
  ///
  /// - Parameters:
  ///   - connection: a connection to the database.
  ///   - sql: one SELECT.
  ///   - arguments: a value for each of its arguments.
  ///   - uniqueColumnNames: whether two columns of one name are an error.
  ///   - map: makes an element of a row, the same for the same row; called on a queue of the source.
  /// - Throws: a `SQLiteError` where the SQL is wrong, is several statements, or would write, and
  ///   where the arguments do not fit it.
  public convenience init(
    connection: SQLiteConnection, sql: String, arguments: SQLiteArguments = [],
    uniqueColumnNames: Bool = false, map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    let monitor = ChangeMonitor.shared(connection: connection)
    monitor.expect(connection)
    try self.init(
      monitor: monitor,
      query: SQLiteQuery(
        sql: sql, arguments: arguments, needsUniqueColumnNames: uniqueColumnNames), map: map)
  }

  init(
    monitor: ChangeMonitor, query: SQLiteQuery, tracking: ChangeTracking = ChangeTracking(),
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    self.monitor = monitor
    self.query = query
    runTimer = QueueTimer(queue: queue, clock: monitor.clock)
    retryTimer = QueueTimer(queue: queue, clock: monitor.clock)
    confined = Confined(
      keeper: QueryKeeper(monitor: monitor, query: query, tracking: tracking, map: map))
    var status = SourceStatus.idle
    do throws(SQLiteError) {
      try monitor.readers.read { database throws(SQLiteError) in try query.check(on: database) }
    } catch {
      switch error.code {
      case .missing: status = SQLiteDataSource.status(of: error)
      case .busy: break
      default: throw error
      }
    }
    contents = CollectionProperty(status: status)
  }

  deinit {
    if let number = state.withLock({ $0.number }) { monitor.detach(number) }
  }

  /// Starts to read and to look for changes; does nothing where that has begun.
  public func start() {
    let isFirst = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    guard isFirst else { return }
    contents.setStatus(.loading)
    let number = monitor.attach(onCommit: { [weak self] in self?.runSoon(looks: false) }) {
      [weak self] in self?.runSoon(looks: true)
    }
    state.withLock { $0.number = number }
    runSoon(looks: true)
  }

  /// Looks for changes now, and waits until what was committed before has been told.
  ///
  /// Without it that comes by itself, a little later. What could not be read or mapped is read again,
  /// whether or not it was changed. Immediate observers have been called when it returns.
  ///
  /// While another connection's lock keeps the database from being read, it returns without.
  public func refresh() async {
    start()
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        state.withLock { $0.runs.mustLook() }
        confined.keeper.forgetFailure()
        run()
        continuation.resume()
      }
    }
  }

  private func runSoon(looks: Bool) {
    let now = monitor.clock.now
    if let pause = state.withLock({ $0.runs.ask(looks: looks, at: now) }) { run(after: pause) }
  }

  private func run(after pause: Duration) {
    if pause > .zero {
      runTimer.schedule(after: pause) { [weak self] in self?.run() }
    } else {
      queue.async { [weak self] in self?.run() }
    }
  }

  private func runAgain(after pause: Duration) {
    let isNew = state.withLock { state in
      defer { state.isRetryDue = true }
      return !state.isRetryDue
    }
    guard isNew else { return }
    retryTimer.schedule(after: pause) { [weak self] in
      self?.state.withLock { state in
        state.isRetryDue = false
        state.runs.mustLook()
      }
      self?.run()
    }
  }

  /// Reads what changed and publishes it. Runs on `queue`.
  private func run() {
    // Begin first: a hint from here on leads to another run.
    let begun = monitor.clock.now
    let (looks, number) = state.withLock { ($0.runs.begin(at: begun), $0.number) }
    let outcome = confined.keeper.run(looks: looks, client: number) { contents.collection.snapshot }
    switch outcome {
    case .unchanged:
      show(.loaded)
    case .replaced(let elements):
      contents.publish(elements, status: SourceStatus(.loaded, diagnostics: diagnostics))
    case .changed(let changeset, let inserted, let updated):
      let status = SourceStatus(.loaded, diagnostics: diagnostics)
      contents.edit { draft in
        draft.apply(changeset, inserted: inserted, updated: updated)
        draft.newStatus = status
      }
    case .failed(let error, let pause, let isWorthTelling):
      if isWorthTelling { show(SQLiteDataSource.status(of: error).state) }
      if let pause { runAgain(after: pause) }
    }
    let ended = monitor.clock.now
    if let pause = state.withLock({ $0.runs.end(at: ended) }) { self.run(after: pause) }
  }

  private func show(_ state: SourceStatus.State) {
    let status = SourceStatus(state, diagnostics: diagnostics)
    if contents.collection.status != status { contents.setStatus(status) }
  }

  private var diagnostics: [SourceDiagnostic] {
    guard let polling = monitor.diagnostic else { return confined.keeper.diagnostics }
    return [SourceDiagnostic(code: "polling", message: polling)] + confined.keeper.diagnostics
  }

  private static func status(of error: SQLiteError) -> SourceStatus {
    let source = SourceError(
      code: error.code.rawValue, message: error.description, underlying: error)
    return error.code == .missing ? .missing(source) : .failed(source)
  }
}

extension SQLiteDataSource where Element: Decodable {
  /// Makes a source that decodes the rows of `sql`, each column for the coding key of its name.
  ///
  /// - Parameters:
  ///   - path: the path of the file, which need not be there yet.
  ///   - sql: one SELECT, whose columns differ in their names.
  ///   - arguments: a value for each of its arguments.
  /// - Throws: a `SQLiteError`, as the other initialisers do.
  public convenience init(
    path: String, sql: String, arguments: SQLiteArguments = []
  ) throws(SQLiteError) {
    try self.init(path: path, sql: sql, arguments: arguments, uniqueColumnNames: true) {
      try $0.decode(Element.self)
    }
  }

  /// Makes a source that decodes the rows of `sql`, each column for the coding key of its name.
  ///
  /// - Parameters:
  ///   - connection: a connection to the database.
  ///   - sql: one SELECT, whose columns differ in their names.
  ///   - arguments: a value for each of its arguments.
  /// - Throws: a `SQLiteError`, as the other initialisers do.
  public convenience init(
    connection: SQLiteConnection, sql: String, arguments: SQLiteArguments = []
  ) throws(SQLiteError) {
    try self.init(connection: connection, sql: sql, arguments: arguments, uniqueColumnNames: true) {
      try $0.decode(Element.self)
    }
  }
}
