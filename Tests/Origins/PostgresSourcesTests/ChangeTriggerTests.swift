import DataSourceTesting
import Diffing
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct ChangeTriggerTests {
  private static let table = """
    CREATE TABLE item (id integer PRIMARY KEY, title text COLLATE "C" NOT NULL);
    INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 300) n
    """
  private static let sql = "SELECT id, title FROM item ORDER BY title, id"

  /// A pool that never polls within a test, if the source does not need it.
  private func makePool(_ database: TestDatabase) throws -> PostgresPool {
    try database.makePool(polling: .seconds(3600))
  }

  private func rows(_ database: TestDatabase, _ sql: String = Self.sql) async throws -> [Item] {
    try await database.connection.query(sql) { try Item($0) }
  }

  @Test func `a record leads to a read of the changed keys only`() async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    let source = try PostgresDataSource(pool: try makePool(database), sql: Self.sql) {
      try Item($0)
    }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: try await rows(database))
    let explanation = try await source.explainQuery()
    #expect(explanation.mode == .keyed, "\(explanation)")
    #expect(explanation.detection == .records)
    #expect(source.status.diagnostics.isEmpty, "\(source.status)")
    for sql in [
      "UPDATE item SET title = 'row 150x' WHERE id = 7", "DELETE FROM item WHERE id = 8",
      "INSERT INTO item VALUES (1000, 'a'), (1001, 'z')",
      "UPDATE item SET id = id + 5000 WHERE id < 4",
      "INSERT INTO item VALUES (7, 'q') ON CONFLICT (id) DO UPDATE SET title = excluded.title",
    ] {
      try await database.connection.execute(sql)
      let record = try await recorder.wait(for: try await rows(database))
      #expect(record.violations.isEmpty)
    }
    #expect(source.readCounts.all == 1)
    #expect(source.readCounts.keyed == 5)
    // A statement that writes many rows is recorded without keys.
    try await database.connection.execute("UPDATE item SET title = title || '!'")
    try await recorder.wait(for: try await rows(database))
    try await database.connection.execute("TRUNCATE item")
    try await recorder.wait(for: [])
    #expect(source.readCounts.all == 3)
  }

  @Test func `installing again changes nothing, and uninstalling removes everything`() async throws
  {
    let database = try await TestDatabase(Self.table)
    let connection = database.connection
    func objects() async throws -> [String?] {
      try await connection.query(
        """
        SELECT tgname::text AS name FROM pg_trigger WHERE tgname LIKE 'swappable%'
        UNION ALL SELECT relname::text FROM pg_class WHERE relname IN ('record', 'epoch') AND relkind = 'r'
        UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = to_regnamespace('swappable')
        ORDER BY 1
        """
      ) { try $0.value("name") }
    }
    try await connection.installChangeTriggers(on: ["item"])
    let first = try await objects()
    #expect(first.count == 4 + 2 + 4, "\(first)")
    try await connection.installChangeTriggers(on: ["item"])
    #expect(try await objects() == first)
    try await connection.uninstallChangeTriggers(on: ["item"])
    #expect(try await objects().count == 5)
    try await connection.uninstallChangeTriggers()
    #expect(try await objects().isEmpty)
  }

  @Test func `the SQL for an administrator creates the same triggers`() async throws {
    let database = try await TestDatabase(Self.table)
    let sql = try await database.connection.changeTriggersSQL(on: ["public.item"])
    try database.server.psql(sql, database: database.name)
    let source = try PostgresDataSource(pool: try makePool(database), sql: Self.sql) {
      try Item($0)
    }
    #expect(try await source.explainQuery().mode == .keyed)
  }

  @Test func `a commit that does not touch the tables of the query reads nothing`() async throws {
    let database = try await TestDatabase(
      Self.table + "; CREATE TABLE other (id integer PRIMARY KEY)")
    try await database.connection.installChangeTriggers(on: ["item", "other"])
    let source = try PostgresDataSource(pool: try makePool(database), sql: Self.sql) {
      try Item($0)
    }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: try await rows(database))
    try await database.connection.execute("INSERT INTO other VALUES (1)")
    try await database.connection.execute("DELETE FROM item WHERE id = 5")
    try await recorder.wait(for: try await rows(database))
    #expect(source.readCounts.all == 1)
    #expect(recorder.record.changes.count == 2)
  }

  @Test func `removed records lead to a read of everything`() async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    let source = try PostgresDataSource(pool: try makePool(database), sql: Self.sql) {
      try Item($0)
    }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: try await rows(database))
    try await database.connection.execute("UPDATE item SET title = 'new' WHERE id = 3")
    try await recorder.wait(for: try await rows(database))
    let before = source.readCounts
    try await database.connection.transaction {
      try await database.connection.execute("UPDATE item SET title = 'newer' WHERE id = 3")
      // As if a record of this transaction had been pruned.
      try await database.connection.execute(
        """
        WITH gone AS (DELETE FROM swappable.record WHERE xid = pg_current_xact_id() RETURNING xid)
        INSERT INTO swappable.record (xid, relation, at) SELECT xid, 0, now() FROM gone
        """)
    }
    try await recorder.wait(for: try await rows(database))
    #expect(source.readCounts.all == before.all + 1)
  }

  @Test func `maintenance removes old records, and readers that have them continue`() async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    let source = try PostgresDataSource(pool: try makePool(database), sql: Self.sql) {
      try Item($0)
    }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: try await rows(database))
    try await database.connection.execute("UPDATE item SET title = 'new' WHERE id = 3")
    try await recorder.wait(for: try await rows(database))
    try await database.connection.execute("SELECT swappable.maintain('0 seconds')")
    let count = try await database.connection.query(
      "SELECT count(*) AS n FROM swappable.record WHERE relation > 1"
    ) {
      try $0.value("n", as: Int.self)
    }
    #expect(count == [0])
    try await database.connection.execute("UPDATE item SET title = 'newer' WHERE id = 3")
    try await recorder.wait(for: try await rows(database))
    #expect(source.readCounts.all == 1)
  }
}
