import Diffing
import Foundation
import ObservableCollections
import SQLiteSources
import Testing

/// SQL and databases that come from an attacker.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HostileSQLTests {
  private let database: TemporaryDatabase

  init() throws {
    database = try TemporaryDatabase()
    let writer = try database.writer(.delete)
    try writer.executeScript(
      """
      INSERT INTO item VALUES (1, 'a'), (2, 'b');
      CREATE VIRTUAL TABLE old USING fts3(body);
      INSERT INTO old VALUES ('one two');
      CREATE VIRTUAL TABLE new USING fts5(body);
      INSERT INTO new VALUES ('one two');
      CREATE VIRTUAL TABLE box USING rtree(id, x0, x1);
      INSERT INTO box VALUES (1, 2, 3);
      CREATE VIEW evil AS SELECT fts3_tokenizer('simple', x'4141414141414141');
      CREATE VIEW loader AS SELECT load_extension('/tmp/nowhere.so');
      """)
    writer.close()
  }

  // MARK: The tokenizer

  @Test(arguments: [
    "SELECT fts3_tokenizer('simple')", "SELECT FTS3_Tokenizer('simple')",
    "SELECT fts3_tokenizer('simple', x'4141414141414141')", "SELECT * FROM evil",
    "SELECT \"fts3_tokenizer\"('simple', x'4141414141414141') FROM old WHERE body MATCH 'one'",
    "SELECT load_extension('/tmp/nowhere.so')", "SELECT * FROM loader",
  ])
  func `no connection gives a query a pointer`(sql: String) throws {
    for access in [SQLiteConnection.Access.create, .readWrite, .readOnly] {
      let connection = try SQLiteConnection(path: database.path, access: access)
      let error = try #require(throws: SQLiteError.self) { try connection.query(sql) }
      let isRefused = ["not authorized", "unsafe use"].contains { error.message.contains($0) }
      #expect(isRefused, "\(error)")
      #expect(try connection.query("SELECT * FROM old WHERE body MATCH 'one'").count == 1)
      #expect(try connection.query("SELECT * FROM new WHERE new MATCH 'one'").count == 1)
    }
  }

  @Test func `an argument does not reach the tokenizer`() throws {
    let sql = "SELECT fts3_tokenizer(?, ?)"
    let arguments: SQLiteArguments = ["simple", SQLiteValue.blob([0x41, 0, 0, 0, 0, 0, 0, 0])]
    let memory = try SQLiteConnection.makeInMemory()
    #expect(throws: SQLiteError.self) { try memory.query(sql, arguments) }
    #expect(throws: SQLiteError.self) {
      try SQLiteDataSource<TestRow>(connection: memory, sql: sql, arguments: arguments) {
        TestRow($0)
      }
    }
  }

  @Test func `an application may attach a database`() throws {
    let other = try TemporaryDatabase()
    try other.writer().close()
    for access in [SQLiteConnection.Access.create, .readOnly] {
      let connection = try SQLiteConnection(path: database.path, access: access)
      _ = try connection.query("ATTACH ? AS other", [other.path])
      #expect(try connection.query("SELECT * FROM other.item").isEmpty)
    }
  }

  // MARK: Statements

  private func source(_ sql: String) throws -> SQLiteDataSource<TestRow> {
    try SQLiteDataSource(path: database.path, sql: sql) { TestRow($0) }
  }

  /// Returns the names and the bytes of all files, also of those that a statement may have created.
  private func files() throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: database.directory.path)
    return try Dictionary(
      uniqueKeysWithValues: names.map { name in
        (name, try Data(contentsOf: database.directory.appendingPathComponent(name)))
      })
  }

  /// Expects that the process and the files are as they were.
  private func expectUnharmed(_ before: [String: Data]) async throws {
    #expect(try files() == before)
    let rows = try await source("SELECT id, name FROM item ORDER BY id").loaded()
    #expect(rows.map(\.description) == ["1.a", "2.b"])
  }

  @Test(arguments: [
    // Statements that are more than a query.
    "ATTACH '$' AS x", "ATTACH ':memory:' AS x", "DETACH main", "VACUUM", "VACUUM INTO '$'",
    "PRAGMA writable_schema = 1", "PRAGMA journal_mode = OFF", "PRAGMA journal_mode = WAL",
    "PRAGMA user_version = 9", "PRAGMA temp_store_directory = '/'", "PRAGMA mmap_size = 1000000000",
    "PRAGMA hard_heap_limit = 1", "PRAGMA soft_heap_limit = 1", "PRAGMA trusted_schema = 1",
    "SELECT 1; PRAGMA hard_heap_limit = 1", ";; /**/ PRAGMA hard_heap_limit = 1",
    "SELECT 1; PRAGMA writable_schema = 1", "SELECT 1; ATTACH '$' AS x",
    "SELECT 1; DELETE FROM item",
    "CREATE TEMP TABLE t (a)", "CREATE TEMP TABLE t AS SELECT randomblob(1000)",
    "CREATE TEMP TRIGGER t AFTER DELETE ON item BEGIN SELECT load_extension('x'); END",
    "CREATE TEMP VIEW item AS SELECT 9 AS id, 'z' AS name", "DROP TABLE item", "REINDEX", "ANALYZE",
    "CREATE VIRTUAL TABLE temp.t USING fts5(a)", "ALTER TABLE item RENAME TO x",
    "WITH x AS (SELECT 1) DELETE FROM item", "DELETE FROM item RETURNING *",
    "UPDATE sqlite_schema SET sql = 'x'", "INSERT INTO sqlite_schema VALUES (1, 2, 3, 4, 5)",
    "INSERT INTO old(old) VALUES ('rebuild')", "INSERT INTO new(new) VALUES ('delete-all')",
    "UPDATE old_content SET c0body = 'x'", "DELETE FROM new_data",
    "UPDATE box_node SET data = x'00'",
    "BEGIN EXCLUSIVE", "SAVEPOINT s", "EXPLAIN SELECT 1", "SELECT 1; SELECT 2",
    // Functions and tables that are not there.
    "SELECT readfile('/etc/passwd')", "SELECT writefile('$', 'x')", "SELECT edit('x', 'rm')",
    "SELECT * FROM fsdir('/')", "SELECT * FROM pragma_journal_mode('off')",
    "SELECT * FROM pragma_hard_heap_limit(1)", "SELECT * FROM pragma_writable_schema(1)",
    // Statements that are too deep or too long.
    "SELECT " + String(repeating: "(", count: 100_000) + "1"
      + String(repeating: ")", count: 100_000),
    "SELECT 1" + String(repeating: " + 1", count: 5_000),
    "SELECT " + String(repeating: "NOT ", count: 50_000) + "1",
    "SELECT 1" + String(repeating: " UNION SELECT 1", count: 1_000),
    "SELECT " + String(repeating: "abs(", count: 2_000) + "1"
      + String(repeating: ")", count: 2_000),
    "SELECT '" + String(repeating: "x", count: 2_000_000) + "'",
    "SELECT " + (0..<5_000).map { "\($0)" }.joined(separator: ", "),
    // Values that are too big.
    "SELECT zeroblob(999999999)", "SELECT hex(zeroblob(99999999))", "SELECT randomblob(999999999)",
    "SELECT replace(hex(zeroblob(100000)), '0', hex(zeroblob(100000)))",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 10000) "
      + "SELECT group_concat(hex(zeroblob(500000))) FROM c",
    "SELECT json(replace(hex(zeroblob(50000)), '00', '['))",
    "SELECT 1 WHERE 'a' LIKE replace(hex(zeroblob(20000)), '00', '%a')",
  ])
  func `a hostile statement is refused with a reason`(sql: String) async throws {
    let before = try files()
    let created = database.path + ".created"
    let sql = sql.replacingOccurrences(of: "$", with: created)
    do {
      let rows = try await source(sql).loaded()
      Issue.record("loaded \(rows.count) rows: \(sql.prefix(200))")
    } catch {
      #expect(!"\(error)".isEmpty)
    }
    try await expectUnharmed(before)
  }

  @Test(arguments: [
    "SELECT * FROM sqlite_dbpage", "SELECT * FROM dbstat", "SELECT * FROM sqlite_schema",
    "SELECT * FROM pragma_integrity_check", "SELECT * FROM pragma_table_info('item')",
    "SELECT * FROM old_segdir", "SELECT * FROM new_data", "SELECT * FROM box",
    "SELECT matchinfo(old, 'pcnalsxyb') FROM old WHERE body MATCH 'one'",
    "SELECT matchinfo(old, hex(zeroblob(1000))) FROM old WHERE body MATCH 'one'",
    "SELECT snippet(old, 'a', 'b', 'c', -1, 2000000000) FROM old WHERE body MATCH 'one'",
    "SELECT highlight(new, 2000000000, 'a', 'b') FROM new WHERE new MATCH 'one'",
    "SELECT bm25(new, 'x') FROM new WHERE new MATCH '\"'", "SELECT rtreenode(2, x'ffff')",
    "SELECT rtreedepth(x'ff')", "SELECT json_extract('[1', '$[99999999999999999999]')",
    "SELECT json_set('{}', '$' || hex(zeroblob(1000)), 1)",
    "SELECT substr('a', -9223372036854775808)",
    "SELECT abs(-9223372036854775808)", "SELECT -9223372036854775808 / -1, 1 % 0, 1 << -99",
    "SELECT sqlite_compileoption_get(-1)", "SELECT char(-1, 1114112), unicode(x'ff')",
    "SELECT strftime('%f', 1e308), date('9999-12-31', '+999999999 years')",
    "SELECT printf('%999999999d', 1)", "SELECT printf('%.*c', 2000000000, 'x')",
    "SELECT round(1e308, 999999999), printf('%.999f', 1e308)",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) "
      + "SELECT max(x) FROM c",
  ])
  func `a strange query ends`(sql: String) async throws {
    let before = try files()
    do {
      try await source(sql).loaded()
    } catch {
      #expect(!"\(error)".isEmpty)
    }
    try await expectUnharmed(before)
  }

  @Test(arguments: [
    "UPDATE sqlite_schema SET sql = 'CREATE TABLE item (id, name, CHECK (' WHERE name = 'item'",
    "UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'item'",
    "UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'item'",
    "UPDATE sqlite_schema SET sql = 'CREATE TABLE item (id, name AS (load_extension(''x'')))' "
      + "WHERE name = 'item'",
    "UPDATE sqlite_schema SET sql = 'CREATE VIEW item AS SELECT fts3_tokenizer(''simple'') AS id, 1 "
      + "AS name', type = 'view', rootpage = 0 WHERE name = 'item'",
    "UPDATE sqlite_schema SET sql = 'CREATE VIEW item AS SELECT * FROM item', type = 'view', "
      + "rootpage = 0 WHERE name = 'item'",
    "UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE item USING nowhere(x)', rootpage = 0 "
      + "WHERE name = 'item'",
  ])
  func `a hostile schema is refused with a reason`(damage: String) async throws {
    try RawHandle(database.path).execute("PRAGMA writable_schema = 1; \(damage)")
    let before = try files()
    let error = await #expect(throws: (any Error).self) {
      try await source("SELECT id, name FROM item").loaded()
    }
    #expect(error.map { !"\($0)".isEmpty } ?? false)
    #expect(try files() == before)
  }
}
