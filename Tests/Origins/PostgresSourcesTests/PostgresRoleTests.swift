import PostgresSources
import TestSupport
import TestTags
import Testing

/// Roles with few privileges, and servers that do less.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresRoleTests {
  private static let table = """
    CREATE TABLE item (id integer PRIMARY KEY, title text COLLATE "C" NOT NULL);
    INSERT INTO item VALUES (1, 'a'), (2, 'b')
    """
  private static let sql = "SELECT id, title FROM item ORDER BY title, id"

  /// Creates a role that may only read the table, and returns a pool of it.
  private func makeReader(
    _ database: TestDatabase
  ) async throws -> (pool: PostgresPool, role: String) {
    let role = "reader_\(database.name)"
    try await database.connection.executeScript(
      "CREATE ROLE \(role) LOGIN; GRANT SELECT ON item TO \(role)")
    let pool = try PostgresPool(
      database.server.connectionString(database: database.name, user: role),
      intervals: PostgresIntervals(polling: .milliseconds(20), safety: .seconds(3600)))
    return (pool, role)
  }

  private func follow(
    _ pool: PostgresPool, _ database: TestDatabase
  ) async throws -> PostgresDataSource<Item> {
    let source = try PostgresDataSource(pool: pool, sql: Self.sql) { try Item($0) }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, title: "a"), Item(id: 2, title: "b")])
    try await database.connection.execute("UPDATE item SET title = 'c' WHERE id = 1")
    try await recorder.wait(for: [Item(id: 2, title: "b"), Item(id: 1, title: "c")])
    return source
  }

  @Test func `a reader of the records needs no other privilege than SELECT`() async throws {
    let database = try await TestDatabase(Self.table)
    let (pool, role) = try await makeReader(database)
    try await database.connection.installChangeTriggers(on: ["item"], readers: [role])
    let source = try await follow(pool, database)
    #expect(try await source.explainQuery().mode == .keyed)
    #expect(source.readCounts.keyed >= 1)
    // The reader may neither write records nor change the triggers.
    try await pool.withConnection { connection in
      for sql in [
        "DELETE FROM swappable.record", "UPDATE swappable.epoch SET cluster = ''",
        "INSERT INTO swappable.record (xid, relation, at) VALUES ('1', 1, now())",
        "DROP TRIGGER swappable_insert ON item",
      ] {
        await #expect { try await connection.execute(sql) } throws: {
          ($0 as? PostgresError)?.code == .privilege
        }
      }
    }
  }

  @Test func `a role that may not read the records looks at an interval`() async throws {
    let database = try await TestDatabase(Self.table)
    let (pool, _) = try await makeReader(database)
    try await database.connection.installChangeTriggers(on: ["item"])
    let source = try await follow(pool, database)
    let explanation = try await source.explainQuery()
    #expect(explanation.mode == .refetch && explanation.detection == .polling)
    #expect(explanation.reason.contains("This role may not read"), "\(explanation)")
  }

  @Test func `a writer needs no privilege on the records`() async throws {
    let database = try await TestDatabase(Self.table)
    let (pool, role) = try await makeReader(database)
    try await database.connection.installChangeTriggers(on: ["item"])
    try await database.connection.executeScript("GRANT INSERT, UPDATE, DELETE ON item TO \(role)")
    let recorded = try await pool.withConnection { connection in
      // A table of the writer must not take the place of the records.
      try await connection.executeScript(
        """
        CREATE TEMPORARY TABLE record (xid xid8, relation oid, keys text[]);
        SET search_path = pg_temp, public;
        INSERT INTO item VALUES (3, 'c'); UPDATE item SET id = 4 WHERE id = 3; DELETE FROM item WHERE id = 4
        """)
      return try await database.connection.query(
        "SELECT keys FROM swappable.record WHERE relation > 1 ORDER BY at"
      ) { try $0.value("keys", as: [[String]].self).map { $0[0] }.sorted() }
    }
    #expect(recorded == [["3"], ["3", "4"], ["4"]])
  }

  @Test func `a role that may create no temporary view looks at an interval`() async throws {
    let database = try await TestDatabase(Self.table)
    let (pool, role) = try await makeReader(database)
    try await database.connection.executeScript(
      "REVOKE TEMPORARY ON DATABASE \(database.name) FROM PUBLIC")
    try await database.connection.installChangeTriggers(on: ["item"], readers: [role])
    let source = try await follow(pool, database)
    let explanation = try await source.explainQuery()
    #expect(explanation.detection == .polling)
    #expect(explanation.suggestion?.contains("Grant TEMPORARY") == true, "\(explanation)")
    #expect(explanation.relations == ["public.item"])
  }

  @Test func `a standby server is looked at, at an interval`() async throws {
    let primary = try PostgresServer()
    let database = try await TestDatabase(Self.table, on: primary)
    try await database.connection.installChangeTriggers(on: ["item"])
    let standby = try PostgresServer(standbyOf: primary)
    let pool = try PostgresPool(
      standby.connectionString(database: database.name),
      intervals: PostgresIntervals(polling: .milliseconds(20), safety: .seconds(3600)))
    let source = try await follow(pool, database)
    let explanation = try await source.explainQuery()
    #expect(explanation.detection == .polling)
    #expect(explanation.reason.contains("standby"), "\(explanation)")
    // After the promotion, the records begin anew.
    try standby.promote()
    let connection = try PostgresConnection(standby.connectionString(database: database.name))
    try await connection.execute("DELETE FROM item WHERE id = 2")
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, title: "c")])
  }
}
