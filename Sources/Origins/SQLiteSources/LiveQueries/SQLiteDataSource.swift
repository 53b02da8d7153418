public import Diffing
public import ObservableCollections
import SQLSources
package import SwappablePrimitives

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
/// Each commit that changes the result is one change. The commit may come from a `SQLiteConnection` of
/// this process, from another connection, or from another process. Commits in quick succession may be
/// merged into one change, which includes the last one.
///
/// | event | result |
/// |---|---|
/// | first load | a change, and status `loaded` |
/// | a commit that changes the result | one change, the keyed difference of the results |
/// | a commit that does not, a rollback, VACUUM, a checkpoint | nothing |
/// | the file does not exist | status `missing`; the contents stay; a new file is loaded when it appears |
/// | another file takes its place | one change, the difference of the two results |
/// | a column or table is missing, a row cannot be mapped, the file is damaged | status `failed`; the contents stay |
/// | the database can be read again | one change if the result differs, and status `loaded` |
///
/// The database is opened read-only and never created. Nothing is read before ``start()``.
/// A row is mapped again only if its stored values have changed. No transaction is open while observers
/// run: they may write. The release of the source interrupts a query that still runs.
///
/// The SQL of a query and the file may come from anyone: a query cannot write, attach databases or load
/// code, and SQLite refuses values above 100 MB and expressions that are nested more than 250 levels deep.
/// The source refuses results above 2 GB. A query that never returns a row can run forever: pass a timeout
/// with SQL that is not your own. A read that takes longer fails, and the next commit starts another one.
///
/// If each row of the result is one row of a table, the result is maintained *incrementally*. The query
/// must select from one table with an INTEGER PRIMARY KEY. It may have WHERE, ORDER BY columns and LIMIT,
/// and may call only functions of SQLite whose results depend on nothing but their arguments. After a
/// commit by a `SQLiteConnection` of this process, only the rows that it has written are read. After any
/// other commit, all rows are scanned and the changed rows are decoded. The primary key orders rows that
/// ORDER BY leaves in no order. Any other query runs again as a whole after each commit, on a queue of the
/// source. ``explainQuery()`` returns the mode of a query and the reason.
///
/// The diagnostics of the status report a query that is not incremental, elements with equal identities,
/// and a file system that must be polled.
///
/// - Complexity: In incremental mode, a commit of this process costs O(*k* log *n*) for *k* written rows,
///   and any other commit costs a scan of the table. Otherwise, a commit costs a run of the query. Only
///   new rows are mapped.
public final class SQLiteDataSource<Element: Differentiable & Sendable>: DataSource {
  // A commit reaches the collection in four steps:
  // 1. A `SQLiteConnection` reports its commit, or the `ChangeMonitor` finds the commit of another writer.
  // 2. The `PolledDataSource` notes the change, and decides when to read.
  // 3. `SQLiteLiveQuery` reads the change in a transaction, and maps new rows to elements after it.
  // 4. The `PolledDataSource` publishes them.

  private let monitor: ChangeMonitor
  private let query: SQLiteQuery
  private let reader: PolledDataSource<SQLiteLiveQuery<Element>>

  /// The elements of the result, as a read-only collection.
  public var collection: LiveCollection<Element> { reader.collection }

  /// The SQL of the query.
  public var sql: String { query.sql }

  /// Creates a source for a query on the database at a path.
  ///
  /// If the database does not exist, the status is `missing`, and the SQL is checked when it appears.
  ///
  /// - Parameters:
  ///   - path: The path of the file, absolute or relative to the current directory. It is never
  ///     interpreted as a URI.
  ///   - sql: One SELECT statement.
  ///   - arguments: A value for each argument of the statement.
  ///   - uniqueColumnNames: A Boolean value that indicates whether equal column names are an error.
  ///   - timeout: The longest time that one read of the database may take, or `nil` if there is no limit.
  ///   - map: A closure that makes an element from a row, on a queue of the source. It must return equal
  ///     elements for equal rows.
  /// - Throws: A ``SQLiteError`` if the path cannot be the path of a database, if the SQL is not one
  ///   correct SELECT, or if the arguments do not match it.
  public convenience init(
    path: String, sql: String, arguments: SQLiteArguments = [], uniqueColumnNames: Bool = false,
    timeout: Duration? = nil, map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    try self.init(
      path: ByteString(path), sql: sql, arguments: arguments, uniqueColumnNames: uniqueColumnNames,
      timeout: timeout, map: map)
  }

  /// Creates a source for a query on the database at a path, which need not be UTF-8.
  package convenience init(
    path: ByteString, sql: String, arguments: SQLiteArguments, uniqueColumnNames: Bool,
    timeout: Duration?, map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    try self.init(
      monitor: .shared(path: try SQLiteConnection.absolutePath(path)),
      query: SQLiteQuery(
        sql: sql, arguments: arguments, needsUniqueColumnNames: uniqueColumnNames, timeout: timeout),
      map: map)
  }

  /// Creates a source for a query on the database of a connection.
  ///
  /// The source reads a file with connections of its own. It reads a database in memory through
  /// `connection`, and keeps that connection alive.
  ///
  /// - Parameters:
  ///   - connection: A connection to the database.
  ///   - sql: One SELECT statement.
  ///   - arguments: A value for each argument of the statement.
  ///   - uniqueColumnNames: A Boolean value that indicates whether equal column names are an error.
  ///   - timeout: The longest time that one read of the database may take, or `nil` if there is no limit.
  ///   - map: A closure that makes an element from a row, on a queue of the source. It must return equal
  ///     elements for equal rows.
  /// - Throws: A ``SQLiteError`` if the SQL is not one correct SELECT, or if the arguments do not match it.
  public convenience init(
    connection: SQLiteConnection, sql: String, arguments: SQLiteArguments = [],
    uniqueColumnNames: Bool = false, timeout: Duration? = nil,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    let monitor = ChangeMonitor.shared(connection: connection)
    monitor.expect(connection)
    try self.init(
      monitor: monitor,
      query: SQLiteQuery(
        sql: sql, arguments: arguments, needsUniqueColumnNames: uniqueColumnNames, timeout: timeout),
      map: map)
  }

  init(
    monitor: ChangeMonitor, query: SQLiteQuery, tracking: ChangeTracking = ChangeTracking(),
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    self.monitor = monitor
    self.query = query
    var state = SourceStatus.State.idle
    do throws(SQLiteError) {
      try monitor.readers.read { database throws(SQLiteError) in try query.check(on: database) }
    } catch {
      switch error.code {
      case .missing: state = error.sourceState
      case .busy: break
      default: throw error
      }
    }
    reader = PolledDataSource(
      SQLiteLiveQuery(monitor: monitor, query: query, tracking: tracking, map: map),
      writer: SourceWriter(
        of: SQLiteDataSource.self,
        location: "\(monitor.path?.description ?? "in memory"): \(query.sql)",
        status: SourceStatus(state)),
      loop: ReadLoop(clock: monitor.clock))
  }

  /// Begins to read and to follow changes.
  ///
  /// The first observation calls this method, and so does an operator or a container over this source.
  public func start() { reader.start() }

  /// Reads now, and waits until all commits before the call are delivered.
  ///
  /// Without this method, the commits are delivered a little later. An error of the last read is retried,
  /// even if nothing has changed. When the method returns, immediate observers have been called.
  ///
  /// If the lock of another connection prevents a read, the method returns without it. If the calling task is
  /// canceled, the method returns at once, and the read continues.
  public func refresh() async { await reader.refresh() }

  /// Returns how the source follows its database under the current schema, and why.
  ///
  /// The method reads the schema with a connection of its own and waits for no other read. It reads a
  /// database in memory through the connection that holds it.
  ///
  /// - Throws: A ``SQLiteError`` if the database cannot be read, or if its schema does not fit the query.
  public func explainQuery() throws(SQLiteError) -> SQLiteQueryExplanation {
    try monitor.readers.read { database throws(SQLiteError) in try query.explain(on: database) }
  }
}

// MARK: - Table queries

extension SQLiteDataSource {
  /// Creates a source for the rows of a table in the database at a path.
  ///
  /// - Parameters:
  ///   - path: The path of the file, absolute or relative to the current directory. It is never
  ///     interpreted as a URI. The file need not exist.
  ///   - query: The rows and columns to read.
  ///   - map: A closure that makes an element from a row, on a queue of the source. It must return equal
  ///     elements for equal rows.
  /// - Throws: A ``SQLiteError``, for the same reasons as ``init(path:sql:arguments:uniqueColumnNames:timeout:map:)``.
  public convenience init(
    path: String, query: SQLiteTableQuery,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    try self.init(path: path, sql: query.sql, arguments: query.arguments, map: map)
  }

  /// Creates a source for the rows of a table in the database of a connection.
  ///
  /// - Parameters:
  ///   - connection: A connection to the database.
  ///   - query: The rows and columns to read.
  ///   - map: A closure that makes an element from a row, on a queue of the source. It must return equal
  ///     elements for equal rows.
  /// - Throws: A ``SQLiteError`` if the query does not fit the schema.
  public convenience init(
    connection: SQLiteConnection, query: SQLiteTableQuery,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) throws(SQLiteError) {
    try self.init(connection: connection, sql: query.sql, arguments: query.arguments, map: map)
  }
}

// MARK: - Decodable elements

extension SQLiteDataSource where Element: Decodable {
  /// Creates a source that decodes the rows of a query on the database at a path.
  ///
  /// Each coding key takes the column with its name.
  ///
  /// - Parameters:
  ///   - path: The path of the file. The file need not exist.
  ///   - sql: One SELECT statement with different column names.
  ///   - arguments: A value for each argument of the statement.
  /// - Throws: A ``SQLiteError``, for the same reasons as ``init(path:sql:arguments:uniqueColumnNames:timeout:map:)``.
  public convenience init(
    path: String, sql: String, arguments: SQLiteArguments = []
  ) throws(SQLiteError) {
    try self.init(path: path, sql: sql, arguments: arguments, uniqueColumnNames: true) {
      try $0.decode(Element.self)
    }
  }

  /// Creates a source that decodes the rows of a query on the database of a connection.
  ///
  /// Each coding key takes the column with its name.
  ///
  /// - Parameters:
  ///   - connection: A connection to the database.
  ///   - sql: One SELECT statement with different column names.
  ///   - arguments: A value for each argument of the statement.
  /// - Throws: A ``SQLiteError`` if the SQL is not one correct SELECT, or if the arguments do not match it.
  public convenience init(
    connection: SQLiteConnection, sql: String, arguments: SQLiteArguments = []
  ) throws(SQLiteError) {
    try self.init(connection: connection, sql: sql, arguments: arguments, uniqueColumnNames: true) {
      try $0.decode(Element.self)
    }
  }

  /// Creates a source that decodes the rows of a table in the database at a path.
  ///
  /// - Parameters:
  ///   - path: The path of the file. The file need not exist.
  ///   - query: The rows and columns to read.
  /// - Throws: A ``SQLiteError`` if the path cannot be the path of a database, or if the query does not fit
  ///   the schema.
  public convenience init(path: String, query: SQLiteTableQuery) throws(SQLiteError) {
    try self.init(path: path, sql: query.sql, arguments: query.arguments)
  }

  /// Creates a source that decodes the rows of a table in the database of a connection.
  ///
  /// - Parameters:
  ///   - connection: A connection to the database.
  ///   - query: The rows and columns to read.
  /// - Throws: A ``SQLiteError`` if the query does not fit the schema.
  public convenience init(
    connection: SQLiteConnection, query: SQLiteTableQuery
  ) throws(SQLiteError) {
    try self.init(connection: connection, sql: query.sql, arguments: query.arguments)
  }
}
