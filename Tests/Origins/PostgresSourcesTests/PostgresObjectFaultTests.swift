import Diffing
import Foundation
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

/// Tables that change, roles without privileges, transactions of others, and SQL that a data source refuses.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresObjectFaultTests
{
  private static let rows =
    itemTable + "; INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 3) n"

  @Test(arguments: [
    ("ALTER TABLE item RENAME TO other", "ALTER TABLE other RENAME TO item", "42P01"),
    (
      "ALTER TABLE item RENAME COLUMN title TO name",
      "ALTER TABLE item RENAME COLUMN name TO title",
      "42703"
    ),
    (
      "ALTER TABLE item DROP COLUMN title",
      "ALTER TABLE item ADD COLUMN title text NOT NULL DEFAULT 'x'; UPDATE item SET title = 'row ' || id",
      "42703"
    ),
    (
      "DROP TABLE item",
      itemTable + "; INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 3) n", "42P01"
    ),
    (
      "CREATE SCHEMA hidden; ALTER TABLE item SET SCHEMA hidden",
      "ALTER TABLE hidden.item SET SCHEMA public", "42P01"
    ),
  ])
  func `a change of the schema is a status, and its restoration is no change`(
    breaking: String, repairing: String, sqlState: String
  ) async throws {
    let database = try await TestDatabase(Self.rows)
    let recorder = SourceRecorder(try makeSource(makePool(database.connectionString)))
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.executeScript(breaking)
    let error = try await recorder.waitForFailure(.undefined)
    #expect(error.sqlState == sqlState && error.offset != nil)
    #expect(error.help.contains("check the name"))
    #expect(recorder.record.contents == makeItems(1...3))
    try await database.connection.executeScript(repairing)
    try await recorder.wait(for: makeItems(1...3))
    #expect(recorder.record.changes.count == 1)
    try await database.connection.execute("DELETE FROM item WHERE id = 1")
    let record = try await recorder.wait(for: makeItems(2...3))
    #expect(record.changes.count == 2 && record.violations.isEmpty)
  }

  @Test func `a change of a column's type is decoded anew or a status`() async throws {
    let database = try await TestDatabase(Self.rows)
    let recorder = SourceRecorder(
      try makeSource(makePool(database.connectionString), "SELECT * FROM item ORDER BY id"))
    try await recorder.wait(for: makeItems(1...3))
    // A wider type and a further column give equal elements.
    try await database.connection.executeScript(
      "ALTER TABLE item ALTER id TYPE bigint; ALTER TABLE item ADD COLUMN more integer DEFAULT 1")
    try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
    try await recorder.wait(for: makeItems(1...4))
    #expect(recorder.record.changes.last?.changeset.insertions == [3])
    try await database.connection.executeScript("ALTER TABLE item ALTER id TYPE text")
    let error = try await recorder.waitForFailure(.typeMismatch)
    #expect(error.message.contains("\"id\"") && error.row == 0, "\(error)")
    #expect(recorder.record.contents == makeItems(1...4))
    try await database.connection.executeScript(
      "ALTER TABLE item ALTER id TYPE integer USING id::integer")
    let record = try await recorder.wait(for: makeItems(1...4))
    #expect(record.changes.count == 2 && record.violations.isEmpty)
  }

  @Test func `a row that cannot be mapped is a status until it is repaired`() async throws {
    let database = try await TestDatabase(
      Self.rows + "; ALTER TABLE item ALTER title DROP NOT NULL")
    let recorder = SourceRecorder(try makeSource(makePool(database.connectionString)))
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.execute("UPDATE item SET title = NULL WHERE id = 2")
    let error = try await recorder.waitForFailure(.unexpectedNull)
    #expect(error.row == 1 && error.message.contains("title"))
    try await database.connection.execute("UPDATE item SET title = 'two' WHERE id = 2")
    let record = try await recorder.wait { $0.state == .loaded && $0.contents[1].title == "two" }
    #expect(record.changes.count == 2 && record.contents.count == 3 && record.violations.isEmpty)
  }

  @Test func `a role needs SELECT only, and a revoked privilege is a status`() async throws {
    let database = try await TestDatabase(Self.rows)
    let role = "reader_\(UInt32.random(in: .min ... .max))"
    try await database.connection.executeScript(
      "CREATE ROLE \(role) LOGIN; GRANT SELECT ON item TO \(role)")
    defer {
      _ = try? database.server.psql(
        "DROP OWNED BY \(role); DROP ROLE \(role)", database: database.name)
    }
    let string = database.server.connectionString(database: database.name, user: role)
    let recorder = SourceRecorder(try makeSource(makePool(string)))
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.execute("UPDATE item SET title = 'row 2' WHERE id = 2")
    try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
    try await recorder.wait(for: makeItems(1...4))
    try await database.connection.execute("REVOKE SELECT ON item FROM \(role)")
    let error = try await recorder.waitForFailure(.privilege)
    #expect(error.sqlState == "42501" && error.help.contains("grant"), "\(error)")
    #expect(recorder.record.contents == makeItems(1...4))
    try await database.connection.execute("GRANT SELECT ON item TO \(role)")
    try await recorder.wait(for: makeItems(1...4))
    // Without the right to connect, the connection that is open goes on, and a new one is refused.
    try await database.connection.executeScript(
      "REVOKE CONNECT ON DATABASE \(database.name) FROM PUBLIC")
    try database.server.psql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(role)'")
    let refused = try await recorder.waitForFailure(.privilege) { $0.sqlState == nil }
    #expect(refused.message.contains("permission denied for database"), "\(refused)")
    #expect(refused.help.contains("GRANT CONNECT"), "\(refused)")
    try await database.connection.executeScript(
      "GRANT CONNECT ON DATABASE \(database.name) TO \(role)")
    let record = try await recorder.wait(for: makeItems(1...4))
    #expect(record.changes.count == 2 && record.violations.isEmpty)
  }

  @Test func `a lock of another transaction is a status until the transaction ends`() async throws {
    let database = try await TestDatabase(Self.rows)
    let pool = try makePool(
      database.connectionString, options: PostgresOptions(lockTimeout: .milliseconds(100)))
    let recorder = SourceRecorder(try makeSource(pool))
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.transaction {
      try await database.connection.execute("LOCK TABLE item IN ACCESS EXCLUSIVE MODE")
      try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
      // Another commit leads to a read, which waits for the lock.
      try database.server.psql("CREATE TABLE other ()", database: database.name)
      let error = try await recorder.waitForFailure(.lockTimeout)
      #expect(error.sqlState == "55P03" && error.help.contains("end the transaction"), "\(error)")
      #expect(recorder.record.contents == makeItems(1...3))
      // A first load waits as well.
      try await SourceRecorder(try makeSource(pool)).waitForFailure(.lockTimeout)
    }
    let record = try await recorder.wait(for: makeItems(1...4))
    #expect(record.changes.count == 2 && record.violations.isEmpty)
  }

  @Test func `a transaction that stays open elsewhere hides only its own writes`() async throws {
    let database = try await TestDatabase(Self.rows)
    let other = try PostgresConnection(database.connectionString)
    let recorder = SourceRecorder(try makeSource(makePool(database.connectionString)))
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.transaction {
      try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
      try await other.execute("INSERT INTO item VALUES (5, 'row 5')")
      try await recorder.wait(for: makeItems([1, 2, 3, 5]))
    }
    let record = try await recorder.wait(for: makeItems(1...5))
    #expect(record.changes.count == 3 && record.violations.isEmpty && recorder.failures.isEmpty)
  }

  @Test func `a statement timeout is a status until the statement is fast`() async throws {
    let database = try await TestDatabase(
      Self.rows + """
        ; CREATE TABLE wait (seconds float8); INSERT INTO wait VALUES (0);
        CREATE FUNCTION slow() RETURNS boolean LANGUAGE sql AS
        'SELECT pg_sleep(seconds) IS NOT NULL FROM wait'
        """)
    let pool = try makePool(
      database.connectionString, options: PostgresOptions(statementTimeout: .milliseconds(200)))
    let recorder = SourceRecorder(
      try makeSource(pool, "SELECT id, title FROM item WHERE slow() ORDER BY id"))
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.execute("UPDATE wait SET seconds = 3600")
    let error = try await recorder.waitForFailure(.timeout)
    #expect(error.sqlState == "57014" && error.help.contains("statement_timeout"), "\(error)")
    #expect(recorder.record.contents == makeItems(1...3))
    try await database.connection.execute("UPDATE wait SET seconds = 0")
    let record = try await recorder.wait(for: makeItems(1...3))
    #expect(record.changes.count == 1 && record.violations.isEmpty)
  }

  @Test func `a database that is dropped is missing until it is created again`() async throws {
    let database = try await TestDatabase(Self.rows)
    let recorder = SourceRecorder(try makeSource(makePool(database.connectionString)))
    try await recorder.wait(for: makeItems(1...3))
    try database.server.psql("DROP DATABASE \(database.name) WITH (FORCE)")
    let error = try await recorder.waitForFailure(.missing) { _ in
      if case .missing = recorder.record.state { true } else { false }
    }
    #expect(error.description.contains(database.name) && error.help.contains("create the database"))
    #expect(recorder.record.contents == makeItems(1...3))
    try database.server.psql("CREATE DATABASE \(database.name)")
    try await recorder.waitForFailure(.undefined)
    try await database.connection.executeScript(
      Self.rows + "; INSERT INTO item VALUES (4, 'row 4')")
    let record = try await recorder.wait(for: makeItems(1...4))
    #expect(record.changes.count == 2 && record.violations.isEmpty)
  }

  @Test func `a wrong password is a status until it is corrected`() async throws {
    let database = try await TestDatabase(Self.rows)
    try await database.connection.executeScript(
      """
      DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN PASSWORD 'another one';
      GRANT SELECT ON item TO guarded
      """)
    defer {
      _ = try? database.server.psql(
        "DROP OWNED BY guarded; DROP ROLE guarded", database: database.name)
    }
    let string =
      database.server.connectionString(database: database.name, user: "guarded")
      + " password=correcthorse"
    let recorder = SourceRecorder(try makeSource(makePool(string)))
    let error = try await recorder.waitForFailure(.authentication)
    #expect(error.help.contains("PGPASSFILE") && !error.description.contains("correcthorse"))
    try await database.connection.executeScript("ALTER ROLE guarded PASSWORD 'correcthorse'")
    let record = try await recorder.wait(for: makeItems(1...3))
    #expect(record.changes.count == 1 && record.violations.isEmpty)
    let unknown = SourceRecorder(
      try makeSource(
        makePool(database.server.connectionString(database: database.name, user: "nobody_here"))))
    try await unknown.waitForFailure(.authentication) { $0.message.contains("nobody_here") }
  }

  @Test(arguments: [
    ("SELECT 1; SELECT 2", PostgresError.Code.severalStatements), ("", .emptySQL),
    ("-- nothing", .emptySQL), ("/* */ ;", .emptySQL), ("DELETE FROM item", .notAQuery),
    ("INSERT INTO item VALUES (9, 'x') RETURNING *", .notAQuery),
    ("COPY item TO STDOUT", .notAQuery),
    ("LISTEN x", .notAQuery), ("BEGIN", .notAQuery), ("EXPLAIN SELECT 1", .notAQuery),
    ("SELECT $1", .arguments), ("SELECT 1; COMMIT; DROP TABLE item", .severalStatements),
    ("SELECT '\0'", .sql), ("SELECT id \0; DROP TABLE item", .severalStatements),
  ])
  func `SQL that cannot be a query is an error at creation`(
    sql: String, code: PostgresError.Code
  ) throws {
    let pool = try makePool("host=/nowhere dbname=x")
    let error = try #require(throws: PostgresError.self) { try makeSource(pool, sql) }
    #expect(error.code == code && !error.help.isEmpty, "\(error)")
  }

  @Test(arguments: [
    (
      "WITH gone AS (DELETE FROM item RETURNING *) SELECT * FROM gone", PostgresError.Code.readOnly
    ), ("SELECT id, title INTO copy FROM item", .notAQuery),
    ("SELECT nextval('numbers')::int AS id, '' AS title", .readOnly),
    ("SELECT setval('numbers', 1)::int AS id, '' AS title", .readOnly),
    ("SELECT write()::int AS id, '' AS title", .readOnly), ("SELEC 1", .notAQuery),
    ("SELECT nowhere FROM item", .undefined), ("SELECT id, title FROM item FOR UPDATE", .readOnly),
    ("SELECT FROM item", .notAQuery), ("SELECT id, title FROM item WHERE", .sql),
    ("SELECT id, title FROM item WHERE id = 1/(id - 1)", .other),
  ])
  func `SQL that writes or is wrong is a status, and nothing is written`(
    sql: String, code: PostgresError.Code
  ) async throws {
    let database = try await TestDatabase(
      Self.rows + """
        ; CREATE SEQUENCE numbers; CREATE FUNCTION write() RETURNS integer LANGUAGE plpgsql AS
        'BEGIN INSERT INTO item VALUES (9, ''row 9''); RETURN 1; END'
        """)
    let recorder: SourceRecorder<Item>
    do {
      recorder = SourceRecorder(try makeSource(makePool(database.connectionString), sql))
    } catch {
      #expect((error as? PostgresError)?.code == code)
      return
    }
    let error = try await recorder.waitForFailure(code)
    #expect(error.sql != nil && !error.help.isEmpty, "\(error)")
    if code == .readOnly { #expect(error.help.contains("only reads"), "\(error)") }
    #expect(recorder.record.contents.isEmpty)
    let count = try await database.connection.query("SELECT count(*) FROM item") {
      try $0.value(at: 0, as: Int.self)
    }
    #expect(count == [3])
  }

  @Test func `text of another encoding is converted, and text that is wrong is a status`()
    async throws
  {
    let server = try PostgresServer.shared()
    for (encoding, bytes, text) in [
      ("LATIN1", "\\xfc", "\u{fc}"), ("SQL_ASCII", "\\xc3bc", "\u{fc}"),
    ] {
      let name = try server.makeDatabase() + "_e"
      try server.psql(
        "CREATE DATABASE \(name) ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0")
      try server.psql(
        "\(itemTable); INSERT INTO item VALUES (1, convert_from('\(bytes)', '\(encoding)'))",
        database: name)
      let recorder = SourceRecorder(
        try makeSource(makePool(server.connectionString(database: name))))
      let record = try await recorder.wait(for: [Item(id: 1, title: text)])
      #expect(record.violations.isEmpty)
    }
    // The server refuses to send bytes that are no text.
    let name = try server.makeDatabase() + "_e"
    try server.psql("CREATE DATABASE \(name) ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    try server.psql(
      "\(itemTable); INSERT INTO item VALUES (1, convert_from('\\xff41', 'SQL_ASCII'))",
      database: name)
    let recorder = SourceRecorder(
      try makeSource(makePool(server.connectionString(database: name))))
    let invalid = try await recorder.waitForFailure(.other)
    #expect(invalid.sqlState == "22021" && invalid.help.contains("convert"), "\(invalid)")
    try server.psql("UPDATE item SET title = 'A'", database: name)
    try await recorder.wait(for: [Item(id: 1, title: "A")])
    let connection = try PostgresConnection(server.connectionString(database: "postgres"))
    let error = await #expect(throws: PostgresError.self) {
      try await connection.execute("SELECT $1::text", ["a\0b"])
    }
    #expect(error?.code == .arguments && error?.message.contains("NUL") == true)
  }

  @Test(arguments: [itemQuery, "SELECT id, title FROM item WHERE id > (SELECT 0) ORDER BY id"])
  func `change triggers that come and go leave the contents as they are`(sql: String) async throws {
    let database = try await TestDatabase(
      itemTable + "; INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 3) n")
    let source = try makeSource(
      try database.makePool(polling: .seconds(3600), safety: .seconds(3600)), sql)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.installChangeTriggers(on: ["item"])
    await source.refresh()
    #expect(recorder.record.contents == makeItems(1...3))
    try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
    try await recorder.wait(for: makeItems(1...4))
    try await database.connection.uninstallChangeTriggers(on: ["item"])
    await source.refresh()
    #expect(recorder.record.contents == makeItems(1...4))
    try await database.connection.execute("DELETE FROM item WHERE id = 4")
    await source.refresh()
    let record = recorder.record
    #expect(record.contents == makeItems(1...3))
    #expect(record.changes.count == 3 && record.violations.isEmpty && recorder.failures.isEmpty)
  }

  @Test(arguments: [false, true])
  func `two rows with one primary key are a status`(isKeyed: Bool) async throws {
    let database = try await TestDatabase(
      itemTable + "; INSERT INTO item VALUES (1, 'a'), (2, 'b')")
    try await database.connection.installChangeTriggers(on: ["item"])
    let proxy = try PostgresProxy(to: database.server)
    let source = try makeSource(
      makePool(proxy.connectionString(database: database.name)))
    let recorder = SourceRecorder(source)
    let old = [Item(id: 1, title: "a"), Item(id: 2, title: "b")]
    let long = String(repeating: "long", count: 1000)
    try await recorder.wait(for: old)
    // Only the changed row is as long.
    proxy.setPolicy { message in
      message.type == UInt8(ascii: "D") && message.size > 4000 ? .forwardTwice : .forward
    }
    // A writer that bypasses the triggers leaves no keys, so all rows are read.
    let role = isKeyed ? "origin" : "replica"
    try await database.connection.executeScript(
      "SET session_replication_role = \(role); UPDATE item SET title = '\(long)' WHERE id = 1")
    if !isKeyed { await source.refresh() }
    let error = try await recorder.waitForFailure(.other)
    #expect(error.message.contains("same primary key"))
    #expect(recorder.record.contents == old)
    proxy.setPolicy { _ in .forward }
    let record = try await recorder.wait(for: [Item(id: 1, title: long), old[1]])
    #expect(record.changes.count == 2 && record.violations.isEmpty)
  }
}
