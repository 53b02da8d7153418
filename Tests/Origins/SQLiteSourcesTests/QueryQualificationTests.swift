import ObservableCollections
import SQLSources
import Testing

@testable import SQLiteSources

@Suite struct QueryQualificationTests {
  private let memory: SQLiteConnection

  init() throws {
    memory = try SQLiteConnection.makeInMemory()
    try memory.executeScript(
      """
      CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, x REAL, "order" ANY,
        trimmed TEXT COLLATE RTRIM, twice AS (x * 2));
      CREATE TABLE plain (a, b);
      CREATE TABLE intkey (id INT PRIMARY KEY, a);
      CREATE TABLE descending (id INTEGER PRIMARY KEY DESC, a);
      CREATE TABLE keyed (id INTEGER PRIMARY KEY, a) WITHOUT ROWID;
      CREATE TABLE shadow (rowid TEXT, oid INTEGER PRIMARY KEY, a);
      CREATE TABLE hidden (rowid, _rowid_, oid, id INTEGER PRIMARY KEY);
      CREATE TABLE upper (ROWID INTEGER, a);
      CREATE VIEW seen AS SELECT * FROM item;
      CREATE TABLE covered (id INTEGER PRIMARY KEY, a);
      CREATE TEMP TABLE covered (id INTEGER PRIMARY KEY, a);
      CREATE TEMP TABLE passing (id INTEGER PRIMARY KEY, a);
      """)
  }

  private func decide(
    _ sql: String, _ arguments: SQLiteArguments = []
  ) throws -> Result<IncrementalPlan, RefetchReason> {
    let query = SQLiteQuery(sql: sql, arguments: arguments, needsUniqueColumnNames: false)
    return try memory.withDatabase { database throws(SQLiteError) in
      try query.check(on: database)
      return try IncrementalPlan.make(for: query, on: database)
    }
  }

  @Test(arguments: [
    "SELECT * FROM item", "select id from item;", "SELECT item.* FROM main.item -- all\n",
    "SELECT i.name AS n, x + 1 FROM item AS i WHERE i.x > 3 AND name LIKE 'a%' ORDER BY i.name",
    "SELECT id FROM item i ORDER BY name COLLATE BINARY DESC, x ASC, rowid",
    "SELECT id, name FROM [item] WHERE (x BETWEEN 1 AND 2) OR name IN ('a', 'b') LIMIT 10",
    "SELECT id FROM `item` ORDER BY \"order\" LIMIT -1", "SELECT id FROM item ORDER BY twice",
    "SELECT /* FROM nowhere */ name || ' FROM ' || 'it''s' FROM item WHERE name <> ' LIMIT '",
    "SELECT CASE WHEN x > 1 THEN 'a' ELSE 'b' END kind, id FROM item ORDER BY id DESC",
    "SELECT id, lower(name) AS name2 FROM item ORDER BY name", "SELECT x, x'00', 1e+3 FROM item",
    "SELECT name AS x, x AS name FROM item ORDER BY x", "SELECT oid FROM shadow ORDER BY rowid",
    "SELECT name AS id FROM item ORDER BY x, id", "SELECT name FROM item WHERE upper(name) = 'A'",
    "SELECT main.item.name FROM item", "SELECT CAST(x AS TEXT) AS t FROM item WHERE t = '1.0'",
    "SELECT json_extract(name, '$.a'), name ->> 'b' FROM item WHERE json_valid(name)",
  ])
  func `plain queries of one table are incremental`(sql: String) throws {
    _ = try decide(sql).get()
  }

  @Test(arguments: [
    ("SELECT DISTINCT name FROM item", "DISTINCT"), ("SELECT count(*) FROM item", "count()"),
    ("SELECT max(x) FROM item", "max()"), ("SELECT name FROM item GROUP BY name", "groups"),
    ("SELECT id, row_number() OVER (ORDER BY x) FROM item", "window"),
    ("SELECT a.id FROM item a, item b", "more than one table"),
    ("SELECT a.id FROM item a JOIN item b", "joins"),
    ("SELECT id FROM item NATURAL JOIN plain", "joins"),
    ("SELECT id FROM (SELECT * FROM item)", "subquery"),
    ("SELECT id FROM item WHERE id IN (SELECT a FROM plain)", "subquery"),
    ("SELECT id FROM item WHERE id IN plain", "second table"),
    ("SELECT id FROM item WHERE EXISTS (SELECT 1)", "subquery"),
    ("SELECT (SELECT 1), id FROM item", "subquery"), ("VALUES (1)", "not a plain SELECT"),
    ("WITH a AS (SELECT 1) SELECT id FROM item", "not a plain SELECT"),
    ("SELECT id FROM item UNION SELECT a FROM plain", "compound"),
    ("SELECT id FROM item LIMIT 1 OFFSET 2", "OFFSET"), ("SELECT id FROM item LIMIT 1, 2", "LIMIT"),
    ("SELECT id FROM item LIMIT 1 + 1", "LIMIT"), ("SELECT 1", "no table"),
    ("SELECT id FROM item ORDER BY 1", "plain columns"),
    ("SELECT id FROM item ORDER BY x + 1", "plain columns"),
    ("SELECT id FROM item ORDER BY lower(name)", "plain columns"),
    ("SELECT lower(name) AS name FROM item ORDER BY name", "expression"),
    ("SELECT lower(name) name FROM item ORDER BY name", "expression"),
    ("SELECT id FROM item ORDER BY trimmed", "RTRIM"),
    ("SELECT id FROM item ORDER BY name COLLATE RTRIM", "RTRIM"),
    ("SELECT id FROM item ORDER BY x NULLS LAST", "NULLs"),
    ("SELECT id FROM item ORDER BY \"nowhere\"", "not a column"),
    ("SELECT id FROM item WHERE x > random()", "random()"),
    ("SELECT id, date('now') FROM item", "date()"),
    ("SELECT id FROM item WHERE x < CURRENT_TIMESTAMP", "time"),
    ("SELECT id, last_insert_rowid() FROM item", "last_insert_rowid()"),
    ("SELECT a FROM plain", "no INTEGER PRIMARY KEY"),
    ("SELECT a FROM intkey", "no INTEGER PRIMARY KEY"),
    ("SELECT a FROM descending", "no INTEGER PRIMARY KEY"),
    ("SELECT a FROM keyed", "without rowids"), ("SELECT id FROM seen", "a view"),
    ("SELECT name FROM pragma_table_info('item')", "more than one table"),
    ("SELECT name FROM sqlite_schema", "no INTEGER"), ("SELECT id FROM hidden", "no INTEGER"),
    ("SELECT a FROM upper", "no INTEGER"),
    ("SELECT a FROM covered", "more than"), ("SELECT 1 FROM covered", "more than"),
    ("SELECT a FROM temp.passing", "other than main"),
    ("SELECT a FROM passing", "not a table"), ("SELECT id FROM item INDEXED BY nowhere", "index"),
  ])
  func `any other query has a reason`(sql: String, reason: String) throws {
    let decision: Result<IncrementalPlan, RefetchReason>
    do {
      decision = try decide(sql)
    } catch let error as SQLiteError where error.code == .sql {
      return
    }
    let refusal = try #require(throws: RefetchReason.self) { _ = try decision.get() }
    #expect(refusal.sentence.contains(reason), "\(refusal.sentence)")
  }

  @Test(arguments: [
    ("SELECT * FROM keys ORDER BY a, b", 0), ("SELECT ID, A, b FROM keys ORDER BY a DESC, b", 0),
    ("SELECT a AS b, b AS a, id FROM keys ORDER BY keys.b", 0),
    ("SELECT k.*, a FROM keys AS k ORDER BY k.a", 0),
    ("SELECT id, k.a, k.* FROM keys AS k ORDER BY a, b", 0),
    ("SELECT upper(a) AS b, a || b a FROM keys ORDER BY keys.a, keys.b", 3),
    ("SELECT -a, a + 1, (b), id FROM keys ORDER BY a, b", 1),
    ("SELECT NULL, 'a', a FROM keys ORDER BY a, \"null\"", 2),
    ("SELECT 'b' FROM keys ORDER BY id DESC", 2), ("SELECT b FROM keys ORDER BY rowid", 1),
  ])
  func `a key column is read once`(sql: String, added: Int) throws {
    try memory.executeScript(
      """
      CREATE TABLE keys (id INTEGER PRIMARY KEY, a, b, "null");
      INSERT INTO keys VALUES (7, 'x', 1, 2), (8, 'y', 2, 'n'), (9, NULL, 3.5, NULL);
      """)
    let plan = try decide(sql).get()
    let rows = try memory.query(plan.scanSQL) { $0.values }
    #expect(rows.first?.count == plan.columns.names.count + added)
    #expect(plan.valueCount + 1 >= plan.columns.names.count + added)
    for (row, id) in zip(rows, 7...9) {
      #expect(row[plan.rowidPosition] == .integer(Int64(id)))
      for key in plan.keys {
        let column = SQLText.quoted(key.column)
        let expected = try memory.query("SELECT \(column) FROM keys WHERE id = \(id)") { $0[0] }
        #expect([row[key.position]] == expected, "\(column)")
      }
    }
  }

  @Test(arguments: [
    ("SELECT *, x AS name FROM item ORDER BY name", "name"),
    ("SELECT x AS name, * FROM item ORDER BY name", "x"),
    ("SELECT id, twice AS x, item.*, x AS twice FROM item ORDER BY x", "twice"),
    ("SELECT *, x AS other FROM item ORDER BY other", "x"),
    ("SELECT x AS q, name AS q FROM item ORDER BY q", "x"),
  ])
  func `the first result with a name orders the rows`(sql: String, column: String) throws {
    #expect(try decide(sql).get().keys.map(\.column) == [column])
  }

  @Test func `a limit may be an integer argument`() throws {
    #expect(try decide("SELECT id FROM item WHERE x > ? LIMIT ?", [1, 5]).get().limit == 5)
    #expect(try decide("SELECT id FROM item WHERE x > ?2 LIMIT ?1", [5, 1]).get().limit == 5)
    #expect(try decide("SELECT id FROM item LIMIT :n", ["n": 5]).get().limit == 5)
    #expect(try decide("SELECT id FROM item LIMIT ?", [-1]).get().limit == nil)
    #expect(throws: RefetchReason.self) {
      try decide("SELECT id FROM item LIMIT ?", ["5"]).get()
    }
    #expect(throws: RefetchReason.self) {
      try decide("SELECT id FROM item LIMIT :n", [5]).get()
    }
  }

  @Test func `a PRAGMA that changes meanings disqualifies a connection`() throws {
    try memory.executeScript("SELECT 1; PRAGMA case_sensitive_like = 1")
    #expect(throws: RefetchReason.self) { try decide("SELECT id FROM item").get() }
  }

  @Test func `a table query quotes its names`() throws {
    try memory.executeScript(
      "CREATE TABLE \"a \"\"b\" (id INTEGER PRIMARY KEY, \"select\" TEXT, \"c d\")")
    let query = SQLiteTableQuery(
      table: "a \"b", columns: ["select", "c d"], where: "\"c d\" > ? -- more", arguments: [1],
      orderBy: [.init("select", isDescending: true, collation: .ignoringCase), "c d"], limit: 3)
    let plan = try decide(query.sql, query.arguments).get()
    #expect(plan.keys.map(\.column) == ["select", "c d"])
    #expect(plan.keys[0].ignoresCase && plan.keys[0].isDescending)
    #expect(plan.limit == 3 && plan.columns.names == ["select", "c d"])
    #expect(throws: SQLiteError.self) {
      // SQLite must not read a quoted unknown name as a string.
      try memory.query(SQLiteTableQuery(table: "item", columns: ["nowhere"]).sql)
    }
  }

  @Test func `an explanation contains mode, reason, columns and plan`() throws {
    let fast = try SQLiteDataSource<Item>(
      connection: memory, sql: "SELECT id, name FROM item WHERE x > ?", arguments: [1])
    let explanation = try fast.explainQuery()
    #expect(explanation.mode == .incremental && explanation.suggestion == nil)
    #expect(explanation.columnsRead == ["item": ["id", "name", "x"]])
    #expect(explanation.plan.count == 1)
    let slow = try SQLiteDataSource<Item>(
      connection: memory, sql: "SELECT a AS id, b AS name FROM plain ORDER BY a")
    let refusal = try slow.explainQuery()
    #expect(refusal.mode == .refetch && refusal.reason.contains("no INTEGER PRIMARY KEY"))
    #expect(refusal.suggestion?.contains("declare one") == true)
    #expect(refusal.columnsRead == ["plain": ["a", "b"]])
    #expect(!refusal.plan.isEmpty)
  }
}
