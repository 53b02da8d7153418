import DataSourceTesting
import PostgresSources
import TestSupport

/// A database of the stress, with all its writers and a reader.
final class PostgresStressDatabase: @unchecked Sendable {
  // Sendable: the run changes the schema while no other task uses the database.

  private(set) var schema: PostgresStressSchema
  let initialStatements: [String]
  private let hints: PostgresStressRun.Hints
  let writerCount = 3
  /// The latest writes, with their writers.
  let log = Log<String>()
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

  init(hints: PostgresStressRun.Hints, _ random: inout SeededGenerator) async throws {
    self.hints = hints
    schema = PostgresStressSchema(&random)
    initialStatements = schema.statements
    database = try await TestDatabase()
    for statement in schema.statements { try await database.connection.execute(statement) }
    if hints == .triggers || hints == .wakeup {
      try await database.connection.installChangeTriggers(
        on: ["m", "p", "part", "w"], wakesReaders: hints == .wakeup)
    }
    let connectionString = database.connectionString
    func connect() async throws -> PostgresConnection {
      let connection = try PostgresConnection(connectionString)
      try await connection.execute("SET deadlock_timeout = '10ms'")
      try await connection.execute("SET lock_timeout = '60ms'")
      return connection
    }
    var writers: [PostgresConnection] = []
    for _ in 0..<writerCount { writers.append(try await connect()) }
    self.writers = writers
    holder = try await connect()
  }

  /// Returns a pool for a data source of its own.
  ///
  /// With triggers, only sources that cannot rely on them look at the server often. They must not wake up others.
  func makePool() throws -> PostgresPool {
    let rare = Duration.seconds(100_000)
    return try database.makePool(
      polling: hints == .none ? rare : .milliseconds(2), safety: rare,
      looking: hints == .triggers ? .milliseconds(2) : rare, listens: hints == .wakeup)
  }

  /// Drops the database.
  func remove() async {
    for connection in writers + [holder] { connection.close() }
    database.connection.close()
    _ = try? database.server.psql("DROP DATABASE \(database.name) WITH (FORCE)")
  }

  /// Returns the result of a fresh query, or `nil` if it fails because something is renamed.
  func rows(_ query: PostgresStressQuery) async throws -> [PostgresStressRow]? {
    do {
      return try await database.connection.query(query.sql, query.arguments) {
        PostgresStressRow($0, identityCount: query.identityCount)
      }
    } catch let error as PostgresError where error.sqlState == "42P01" {
      return nil
    }
  }

  /// Returns the number of rows in `m`.
  func count() async throws -> Int {
    try await database.connection.query("SELECT count(*) FROM m") {
      try $0.value(at: 0, as: Int.self)
    }[0]
  }

  // MARK: Writing

  /// Writes, and ignores the expected errors.
  ///
  /// - Parameter onCommit: A closure to call after each statement that may have committed.
  func run(
    _ write: PostgresStressWrite, _ writer: Int, onCommit: () async throws -> Void
  ) async throws {
    for (index, statement) in write.script.enumerated() {
      try await tolerating { try await self.run(statement, writers[writer], "\(writer)") }
      if write.transaction == nil || index == write.script.count - 1 { try await onCommit() }
    }
  }

  /// Begins a transaction that stays open, unless there is one.
  func hold(_ write: PostgresStressWrite) async throws {
    guard !isHolding else { return }
    isHolding = true
    // A lock of TRUNCATE would also hold the readers.
    for statement in ["BEGIN"] + write.statements.filter({ !$0.contains("TRUNCATE") }) {
      try await tolerating { try await self.run(statement, holder, "holder") }
    }
  }

  /// Ends the transaction that is open.
  func release(isKept: Bool) async throws {
    guard isHolding else { return }
    isHolding = false
    try await tolerating { try await self.run(isKept ? "COMMIT" : "ROLLBACK", holder, "holder") }
  }

  /// Runs a statement that must succeed.
  func alter(_ sql: String) async throws {
    note("owner", sql)
    try await database.connection.execute(sql)
  }

  /// Returns statements that change the schema, or how rows are stored.
  func makeSchemaChange(_ random: inout SeededGenerator) -> [String] {
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
