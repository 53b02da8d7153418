public import Diffing
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
  // 2. The `PolledDataSource` notes the change, and decides when to read.
  // 3. `PostgresLiveQuery` reads the change in a transaction, and maps new rows to elements after it.
  // 4. The `PolledDataSource` publishes them.

  let liveQuery: PostgresLiveQuery<Element>
  private let query: PostgresQuery
  private let reader: PolledDataSource<PostgresLiveQuery<Element>>

  /// The elements of the result, as a read-only collection.
  public var collection: LiveCollection<Element> { reader.collection }

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
    query = try PostgresQuery(
      sql: sql, arguments: arguments, needsUniqueColumnNames: uniqueColumnNames)
    liveQuery = PostgresLiveQuery(pool: pool, query: query, map: map)
    // In a burst of changes, many processes read. A busy server has time for its writers between their reads.
    let (clock, longestRest) = (pool.monitor.clock, pool.monitor.intervals.polling)
    reader = PolledDataSource(
      liveQuery,
      writer: SourceWriter(
        of: PostgresDataSource.self,
        location: "\(pool.connectionString.redacted): \(query.sql)"),
      loop: ReadLoop(clock: clock, longestRest: longestRest))
  }

  /// Begins to read and to follow changes.
  ///
  /// The first observation calls this method, and so does an operator or a container over this source.
  public func start() { reader.start() }

  /// Reads now, and waits until all commits before the call are delivered.
  ///
  /// Without this method, the commits are delivered a little later. An error of the last read is retried. When the
  /// method returns, immediate observers have been called.
  ///
  /// If the server cannot be reached, the method returns after the status has changed.
  public func refresh() async {
    do throws(PostgresError) {
      try liveQuery.pool.checkCaller()
      await reader.refresh()
    } catch {
      // The read begins when the caller has given a connection back.
      reader.refreshLater(showing: error.sourceState)
    }
  }

  /// Returns how the source follows its database under the present schema, and why.
  ///
  /// - Throws: A ``PostgresError`` if the server cannot be reached, or if its schema does not fit the query.
  public func explainQuery() async throws(PostgresError) -> PostgresQueryExplanation {
    try await liveQuery.explain()
  }

  /// The number of reads that looked for changes, of reads of the whole result, and of reads of some keys.
  package var readCounts: (checks: Int, all: Int, keyed: Int) {
    liveQuery.readCounts.withLock { $0 }
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
