import DataSourceTesting
import PostgresSources
import TestSupport

/// A database of the stress, with all its writers and a reader.
final class PostgresStressDatabase: StressDatabase, @unchecked Sendable {
  // Sendable: the run changes the schema while no other task uses the database.

  /// The way in which data sources hear of writes.
  enum Hints: Sendable {
    /// Frequent looks at the server.
    case polling
    /// Triggers on all tables. Other looks at the server are rare.
    case triggers
    /// Triggers on all tables that notify. All looks at the server are rare.
    case notifications
    /// Nothing, so a source misses all writes.
    case none
  }

  static let sizes = [12, 40, 40, 120, 300]

  private var schema: PostgresStressSchema
  private let initialStatements: [String]
  private let hints: Hints
  private var sources: [PostgresDataSource<PostgresStressRow>] = []
  /// The number of reads of changed keys only, by the sources of all databases of a run.
  private let keyedCount: Shared<Int>
  private let log = Log<String>()
  private let database: TestDatabase
  private let writers: [PostgresConnection]
  private let holder: PostgresConnection
  private var isHolding = false

  /// The classes and codes of errors that random writes may cause: wrong data, constraints, conflicts of
  /// transactions, and what follows from them.
  private static let refusals = [
    "22", "23", "40", "25P02", "25P01", "3B001", "21000", "55P03", "55006", "54000", "27000",
    "428C9",
  ]

  init(
    hints: Hints, keyedCount: Shared<Int>, _ random: inout SeededGenerator
  ) async throws {
    (self.hints, self.keyedCount) = (hints, keyedCount)
    schema = PostgresStressSchema(&random)
    initialStatements = schema.statements
    database = try await TestDatabase()
    for statement in schema.statements { try await database.connection.execute(statement) }
    if hints == .triggers || hints == .notifications {
      try await database.connection.installChangeTriggers(
        on: ["m", "p", "part", "w"], wakesReaders: hints == .notifications)
    }
    let connectionString = database.connectionString
    func connect() async throws -> PostgresConnection {
      let connection = try PostgresConnection(connectionString)
      try await connection.execute("SET deadlock_timeout = '10ms'")
      try await connection.execute("SET lock_timeout = '60ms'")
      return connection
    }
    var writers: [PostgresConnection] = []
    for _ in 0..<3 { writers.append(try await connect()) }
    self.writers = writers
    holder = try await connect()
  }

  /// Returns a pool for a data source of its own.
  ///
  /// With triggers, only sources that cannot rely on them look at the server often. They must not wake up others.
  private func makePool() throws -> PostgresPool {
    let rare = Duration.seconds(100_000)
    return try database.makePool(
      polling: hints == .none ? rare : .milliseconds(2), safety: rare,
      looking: hints == .triggers ? .milliseconds(2) : rare, listens: hints == .notifications)
  }

  var description: String { "\(hints): " + initialStatements.joined(separator: ";\n") }

  var latestWrites: [String] { log.value }

  /// Drops the database.
  func remove() async {
    let count = sources.reduce(0) { $0 + $1.readCounts.keyed }
    keyedCount.modify { $0 += count }
    sources = []
    for connection in writers + [holder] { connection.close() }
    database.connection.close()
    _ = try? database.server.psql("DROP DATABASE \(database.name) WITH (FORCE)")
  }

  // MARK: Reading

  func makeQuery(_ random: inout SeededGenerator) -> PostgresStressQuery {
    PostgresStressQuery(schema, &random)
  }

  func makeSource(
    _ query: PostgresStressQuery
  ) throws -> PostgresDataSource<PostgresStressRow> {
    let identityCount = query.identityCount
    let source = try PostgresDataSource(
      pool: try makePool(), sql: query.sql, arguments: query.arguments
    ) { PostgresStressRow($0, identityCount: identityCount) }
    sources.append(source)
    return source
  }

  func refresh(_ source: PostgresDataSource<PostgresStressRow>) async { await source.refresh() }

  func check(
    _ source: PostgresDataSource<PostgresStressRow>, _ query: PostgresStressQuery
  ) throws {}

  func rows(
    _ query: PostgresStressQuery, shownBy source: PostgresDataSource<PostgresStressRow>
  ) async throws -> [PostgresStressRow]? {
    do {
      return try await database.connection.query(query.sql, query.arguments) {
        PostgresStressRow($0, identityCount: query.identityCount)
      }
    } catch let error as PostgresError where error.sqlState == "42P01" {
      return nil
    }
  }

  func count() async throws -> Int {
    try await database.connection.query("SELECT count(*) FROM m") {
      try $0.value(at: 0, as: Int.self)
    }[0]
  }

  // MARK: Writing

  func write(
    size: Int, count: Int, _ random: inout SeededGenerator, onCommit: () async throws -> Void
  ) async throws -> Bool {
    func makeWrite() -> StressWrite {
      PostgresStressWrite.make(schema, size: size, count: count, &random)
    }
    let kind = random.below(38)
    switch kind {
    case 0..<5:
      let writes = writers.map { _ in (0...random.below(6)).map { _ in makeWrite() } }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (writer, writes) in writes.enumerated() {
          group.addTask { for write in writes { try await self.run(write, writer) {} } }
        }
        try await group.waitForAll()
      }
    case 5: try await hold(makeWrite())
    default:
      for _ in 0..<(random.oneIn(4) ? 1 + random.below(4) : 1) {
        try await run(makeWrite(), random.below(writers.count), onCommit: onCommit)
      }
    }
    if random.oneIn(8) {
      try await release(isKept: random.oneIn(2))
      try await onCommit()
    }
    return kind >= 5
  }

  func change(
    _ random: inout SeededGenerator, onCommit: () async throws -> Void, refresh: () async -> Void
  ) async throws -> Bool {
    try await release(isKept: random.oneIn(2))
    try await onCommit()
    for statement in makeSchemaChange(&random) {
      note("owner", statement)
      try await database.connection.execute(statement)
      try await onCommit()
      if statement.hasSuffix("RENAME TO away") { await refresh() }
    }
    // Triggers do not report changes of the schema. The safety poll would.
    if hints == .triggers || hints == .notifications { await refresh() }
    return true
  }

  func settle() async throws { try await release(isKept: true) }

  /// Writes, and ignores the expected errors.
  private func run(
    _ write: StressWrite, _ writer: Int, onCommit: () async throws -> Void
  ) async throws {
    for (index, statement) in write.script.enumerated() {
      try await tolerating { try await self.run(statement, writers[writer], "\(writer)") }
      if write.transaction == nil || index == write.script.count - 1 { try await onCommit() }
    }
  }

  /// Begins a transaction that stays open, unless there is one.
  private func hold(_ write: StressWrite) async throws {
    guard !isHolding else { return }
    isHolding = true
    // A lock of TRUNCATE would also hold the readers.
    for statement in ["BEGIN"] + write.statements.filter({ !$0.contains("TRUNCATE") }) {
      try await tolerating { try await self.run(statement, holder, "holder") }
    }
  }

  /// Ends the transaction that is open.
  private func release(isKept: Bool) async throws {
    guard isHolding else { return }
    isHolding = false
    try await tolerating { try await self.run(isKept ? "COMMIT" : "ROLLBACK", holder, "holder") }
  }

  /// Returns statements that change the schema, or how rows are stored.
  private func makeSchemaChange(_ random: inout SeededGenerator) -> [String] {
    switch random.below(16) {
    case 0, 1:
      let column = schema.makeColumn(&random)
      schema.columns.append(column)
      let value = random.pick(column.kind.values)
      return [
        "ALTER TABLE m ADD COLUMN \(column.name) \(column.declaration)"
          + random.pick(["", " DEFAULT \(value)"])
      ]
    case 2: return [schema.makeIndex(&random)]
    case 3 where !schema.indexes.isEmpty:
      return ["DROP INDEX \(schema.indexes.remove(at: random.below(schema.indexes.count)))"]
    case 4, 5: return ["ALTER TABLE m RENAME TO away", "ALTER TABLE away RENAME TO m"]
    case 6: return ["CREATE TABLE aside (x integer)", "DROP TABLE aside"]
    case 7: return ["VACUUM m"]
    case 8: return ["VACUUM FULL \(random.pick(["m", "p", "part"]))"]
    case 9: return ["ANALYZE"]
    case 10: return ["REFRESH MATERIALIZED VIEW stored"]
    case 11: return [PostgresStressSchema.view(schema.key, schema.columns, &random)]
    case 12:
      return [
        "ALTER TABLE part DETACH PARTITION part_2",
        "ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES IN (2)",
      ]
    case 13: return ["CLUSTER m USING m_pkey"]
    case 14: return ["ALTER TABLE w ALTER y TYPE \(random.pick(["bigint", "integer", "numeric"]))"]
    default: return ["REINDEX TABLE m"]
    }
  }

  private func run(_ sql: String, _ connection: PostgresConnection, _ writer: String) async throws {
    note(writer, sql)
    try await connection.execute(sql)
  }

  private func tolerating(_ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as PostgresError {
      guard let state = error.sqlState, Self.refusals.contains(where: state.hasPrefix) else {
        throw error
      }
      note("refused", "\(state) \(error.description.prefix(80))")
    }
  }

  private func note(_ writer: String, _ sql: String) {
    log.modify { log in
      if log.count > 200 { log.removeFirst(100) }
      log.append("\(writer): \(sql.prefix(400))")
    }
  }
}
