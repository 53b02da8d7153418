import DataSourceTesting
import Diffing
import ObservableCollections
import TestSupport
import TestTags
import Testing

@testable import PostgresSources

/// Readers and the records of change triggers.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresRecordTests {
  private static let table = """
    CREATE TABLE item (id integer PRIMARY KEY, u integer UNIQUE NOT NULL, title text COLLATE "C");
    INSERT INTO item SELECT n, n + 1000, 'row ' || n FROM generate_series(1, 20) n
    """
  private static let sql = "SELECT id, title FROM item ORDER BY id"

  /// A pool that never polls or checks within a test.
  private func makePool(_ database: TestDatabase, listens: Bool = false) throws -> PostgresPool {
    try database.makePool(
      polling: .seconds(3600), looking: listens ? .seconds(3600) : .milliseconds(2),
      listens: listens)
  }

  private func rows(_ database: TestDatabase) async throws -> [Item] {
    try await database.connection.query(Self.sql) { try Item($0) }
  }

  private func makeSource(_ pool: PostgresPool) throws -> PostgresDataSource<Item> {
    try PostgresDataSource(pool: pool, sql: Self.sql) { try Item($0) }
  }

  // MARK: Notifications

  @Test func `nobody notifies or listens, unless it is asked for`() async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    let recorder = SourceRecorder(try makeSource(try makePool(database)))
    try await recorder.wait(for: try await rows(database))
    let listener = try PostgresConnection(database.connectionString)
    var notifications = try await listener.listen(to: "swappable").makeAsyncIterator()
    try await database.connection.execute("DELETE FROM item WHERE id = 3")
    try await recorder.wait(for: try await rows(database))
    try await database.connection.execute("SELECT pg_notify('swappable', 'by hand')")
    #expect(try await notifications.next()?.payload == "by hand")
    let listening = try await database.connection.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'LISTEN%'",
      [database.name])
    #expect(listening.count == 1)
  }

  @Test func `with triggers that wake, a reader that listens need not look`() async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"], wakesReaders: true)
    let pool = try makePool(database, listens: true)
    let recorder = SourceRecorder(try makeSource(pool))
    try await recorder.wait(for: try await rows(database))
    try await wait(for: "the session that listens") { pool.monitor.isListening }
    for id in 3...6 {
      try await database.connection.execute("DELETE FROM item WHERE id = $1", [id])
      try await recorder.wait(for: try await rows(database))
    }
    let results = try await database.connection.installChangeTriggers(on: ["item"])
    #expect(results[0].remark.contains("no longer wake"))
  }

  @Test func `a limit of idle sessions does not end the session that listens`() async throws {
    let server = try PostgresServer(configuration: ["idle_session_timeout = 200ms"])
    let database = try await TestDatabase(Self.table, on: server)
    try await database.connection.installChangeTriggers(on: ["item"], wakesReaders: true)
    let pool = try database.makePool(looking: .milliseconds(2), listens: true)
    let recorder = SourceRecorder(try makeSource(pool))
    try await recorder.wait(for: try await rows(database))
    try await wait(for: "the session that listens") { pool.monitor.isListening }
    func listeners() throws -> String {
      try server.psql("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' ORDER BY 1")
    }
    let before = try listeners()
    try server.psql("SELECT pg_sleep(0.6)")
    #expect(!before.isEmpty)
    #expect(try listeners() == before)
    try server.psql("DELETE FROM item WHERE id = 3", database: database.name)
    try await recorder.wait { $0.contents.count == 19 }
  }

  // MARK: Looks

  @Test func `a look costs as much as there are new records, also while a transaction is open`()
    async throws
  {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    // About one write in 512 would add a row that counts the others.
    try await database.connection.execute(
      "CREATE OR REPLACE FUNCTION swappable.prune() RETURNS void LANGUAGE sql AS ''")
    let old = try PostgresConnection(database.connectionString)
    try await old.execute("BEGIN")
    try await old.execute("UPDATE item SET title = 'old' WHERE id = 1")
    for _ in 0..<20 {
      try await database.connection.execute(
        "DO $$ BEGIN FOR i IN 1..100 LOOP UPDATE item SET title = 'x' WHERE id = 2; END LOOP; END $$"
      )
    }
    let state = try await database.connection.query("SELECT pg_current_snapshot()::text AS s") {
      try $0.value("s", as: String.self)
    }[0]
    for count in [0, 1, 7] {
      for _ in 0..<count {
        try await database.connection.execute("UPDATE item SET title = 'y' WHERE id = 2")
      }
      let read = try await rowsRead(database, since: state)
      // The rows of the earlier rounds are new, too.
      #expect(read.table == [0: 0, 1: 1, 7: 8][count], "\(read)")
      #expect(read.index <= 12, "\(read)")
    }
    // The transaction that was open in the snapshot ends. Its identifier is smaller than all others.
    try await old.execute("COMMIT")
    #expect(try await rowsRead(database, since: state).table == 9)
  }

  /// Returns the number of records that a look reads, from the table and from its index.
  private func rowsRead(
    _ database: TestDatabase, since state: String
  ) async throws -> (table: Int, index: Int) {
    let sql = "SELECT \(ServerState.lookColumns) FROM \(ServerState.lookRows)"
      .replacing("$1", with: "'\(state)'")
    let lines = try await database.connection.query(
      "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) \(sql)"
    ) {
      try $0.value(at: 0, as: String.self)
    }
    func rows(_ scan: String) -> Int {
      lines.filter { $0.contains("\(scan) ") && $0.contains("record") }.reduce(0) { sum, line in
        sum + (line.firstMatch(of: /rows=(\d+)/).flatMap { Int($0.1) } ?? 0)
      }
    }
    #expect(!lines.contains { $0.contains("Seq Scan on record") }, "\(lines)")
    let index =
      rows("Index Scan using record_xid") + rows("Bitmap Heap Scan on")
      + rows("Index Only Scan using record_xid")
    return (
      index,
      index
        + lines.reduce(0) { sum, line in
          sum + (line.firstMatch(of: /Rows Removed by .*: (\d+)/).flatMap { Int($0.1) } ?? 0)
        }
    )
  }

  @Test func `transactions that commit in another order than they began are all seen`()
    async throws
  {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    let source = try makeSource(try makePool(database))
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: try await rows(database))
    let writers = try (0..<5).map { _ in try PostgresConnection(database.connectionString) }
    for round in 0..<10 {
      for (number, writer) in writers.enumerated() {
        try await writer.execute("BEGIN")
        try await writer.execute(
          "UPDATE item SET title = $1 WHERE id = $2", ["\(round) \(number)", number + 1])
      }
      for (number, writer) in writers.enumerated().reversed() {
        try await writer.execute(number == round % 5 ? "ROLLBACK" : "COMMIT")
        try await recorder.wait(for: try await rows(database))
      }
    }
    #expect(source.readCounts.all == 1)
  }

  @Test func `a source does not read when other tables are written`() async throws {
    let database = try await TestDatabase(
      Self.table + "; CREATE TABLE other (id integer PRIMARY KEY)")
    try await database.connection.installChangeTriggers(on: ["item", "other"])
    let pool = try makePool(database)
    let source = try makeSource(pool)
    let recorder = SourceRecorder(source)
    let others = try PostgresDataSource(pool: pool, sql: "SELECT id FROM other ORDER BY id") {
      try $0.value("id", as: Int.self)
    }
    let observer = SourceRecorder(others)
    try await recorder.wait(for: try await rows(database))
    // After this change, both sources have the records of the installation behind them.
    try await database.connection.executeScript(
      "INSERT INTO other VALUES (0); DELETE FROM item WHERE id = 20")
    try await recorder.wait(for: try await rows(database))
    try await observer.wait(for: [0])
    let looks = source.readCounts.checks
    for id in 1...10 {
      try await database.connection.execute("INSERT INTO other VALUES ($1)", [id])
      try await observer.wait { $0.contents.count == id + 1 }
    }
    // The first looks of the monitor may lead to some more.
    #expect(source.readCounts.checks < looks + 5)
  }

  /// A table without a primary key has records without keys. They must not lead to the conclusion that keys can be recorded.
  @Test(arguments: ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
  func `a snapshot that is older than a change of the records makes no write fail`(
    isolation: String
  ) async throws {
    let database = try await TestDatabase(Self.table + "; CREATE TABLE bare (n integer)")
    try await database.connection.installChangeTriggers(on: ["item", "bare"])
    let writer = try PostgresConnection(database.connectionString)
    try await writer.execute("BEGIN ISOLATION LEVEL \(isolation)")
    _ = try await writer.query("SELECT 1")
    try await database.connection.execute("ALTER TABLE swappable.record RENAME keys TO others")
    for n in 0..<200 { try await writer.execute("INSERT INTO bare VALUES ($1)", [n]) }
    #expect(try await writer.execute("DELETE FROM item WHERE id < 4") == 3)
    try await writer.execute("COMMIT")
    #expect(try await rows(database).count == 17)
  }

  @Test(arguments: ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
  func `a transaction of many statements takes few identifiers`(level: String) async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    try await database.connection.executeScript(
      """
      BEGIN ISOLATION LEVEL \(level);
      DO $$ BEGIN FOR i IN 1..2000 LOOP UPDATE item SET title = 'x' WHERE id = 2; END LOOP; END $$;
      COMMIT
      """)
    let counts = try await database.connection.query(
      "SELECT count(*) AS n, count(DISTINCT xmin::text) AS xids FROM swappable.record WHERE relation > 1"
    ) { (try $0.value("n", as: Int.self), try $0.value("xids", as: Int.self)) }
    // One statement in eight ends the need for further ones, at random. With one snapshot, it records the whole table.
    #expect(counts[0].0 == 2000 || level != "READ COMMITTED" && counts[0].0 > 0, "\(counts)")
    #expect(counts[0].1 < 150, "\(counts)")
  }

  /// A dump creates the indexes in another order, and so does an index that is built again.
  @Test(
    arguments: [
      "REINDEX INDEX CONCURRENTLY swappable.record_xid",
      "DROP INDEX swappable.record_xid; CREATE INDEX record_xid ON swappable.record (xid)",
    ])
  func `a table of records with the right form takes few identifiers`(change: String) async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    if change.contains(";") {
      try await database.connection.executeScript(change)
    } else {
      try await database.connection.execute(change)
    }
    #expect(try await identifiers(database) < 150)
    #expect(
      try await database.connection.installChangeTriggers(on: ["item"]).map(\.action)
        == [.unchanged])
  }

  /// Each of these forms takes most rows, but not all.
  @Test(
    arguments: [
      "ALTER TABLE swappable.record ADD EXCLUDE USING btree (xid WITH =)",
      "CREATE INDEX ON swappable.record (xid) WHERE 1 / (array_length(keys, 1) - 2) > 0",
      """
      DROP INDEX swappable.record_pruned;
      CREATE INDEX ON swappable.record (xid) WHERE 1 / (array_length(keys, 1) - 2) > 0
      """,
      """
      ALTER TABLE swappable.record DROP keys;
      ALTER TABLE swappable.record ADD keys text[] GENERATED ALWAYS AS (NULL) STORED
      """,
      """
      DROP TABLE swappable.record;
      CREATE TABLE swappable.record (xid xid8 NOT NULL, relation oid NOT NULL, keys text[],
        at timestamptz NOT NULL) PARTITION BY LIST (relation);
      DO $$ BEGIN EXECUTE format('CREATE TABLE swappable.part PARTITION OF swappable.record
        FOR VALUES IN (0, 1, %s)', 'item'::regclass::oid); END $$;
      CREATE INDEX ON swappable.record (xid);
      CREATE INDEX ON swappable.record (xid) WHERE relation = 0;
      CREATE INDEX ON swappable.record (at) WHERE relation = 1
      """,
    ])
  func `a table of records that refuses some rows makes no write fail`(
    change: String
  ) async throws {
    let database = try await TestDatabase(Self.table + "; CREATE TABLE bare (n integer)")
    try await database.connection.installChangeTriggers(on: ["item", "bare"])
    try await database.connection.executeScript(change)
    _ = try await identifiers(database, andThen: "INSERT INTO bare VALUES (1)")
    try await database.connection.installChangeTriggers(on: ["item", "bare"])
    #expect(try await identifiers(database) < 150)
  }

  /// Returns the number of identifiers that a transaction of 2,000 statements takes.
  private func identifiers(
    _ database: TestDatabase, andThen statement: String = ""
  ) async throws -> Int {
    try await database.connection.executeScript(
      """
      CREATE TEMPORARY TABLE IF NOT EXISTS before (xid numeric); TRUNCATE before;
      INSERT INTO before SELECT pg_snapshot_xmax(pg_current_snapshot())::text::numeric;
      BEGIN;
      DO $$ BEGIN FOR i IN 1..1000 LOOP
        UPDATE item SET title = 'x' WHERE id = 2; UPDATE item SET title = 'y' WHERE id = 3;
      END LOOP; END $$;
      \(statement);
      COMMIT
      """)
    return try await database.connection.query(
      "SELECT (pg_snapshot_xmax(pg_current_snapshot())::text::numeric - xid)::integer AS n FROM before"
    ) { try $0.value("n", as: Int.self) }[0]
  }

  // MARK: Changes of the schema

  @Test func `another primary key without an installation leads to reads of everything`()
    async throws
  {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    let sql = "SELECT u AS id, title FROM item ORDER BY u"
    func rows() async throws -> [Item] {
      try await database.connection.query(sql) { try Item($0) }
    }
    try await database.connection.executeScript(
      "ALTER TABLE item DROP CONSTRAINT item_pkey; ALTER TABLE item ADD PRIMARY KEY (u)")
    let source = try PostgresDataSource(pool: try makePool(database), sql: sql) { try Item($0) }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: try await rows())
    for write in [
      "UPDATE item SET title = 'b' WHERE u = 1005",
      "INSERT INTO item VALUES (5000, 6000, 'n')", "DELETE FROM item WHERE u = 1010",
    ] {
      try await database.connection.execute(write)
      try await recorder.wait(for: try await rows())
    }
    let explanation = try await source.explainQuery()
    #expect(explanation.mode == .refetch && explanation.detection == .records)
    #expect(explanation.reason.contains("do not record its present primary key"), "\(explanation)")
    #expect(source.status.diagnostics.contains { $0.code == "not-keyed" })
    let results = try await database.connection.installChangeTriggers(on: ["item"])
    #expect(results.map(\.action) == [.repaired] && results[0].remark.contains("has changed"))
    #expect(try await source.explainQuery().mode == .keyed)
    // While it is observed, the key changes back.
    try await database.connection.executeScript(
      """
      ALTER TABLE item DROP CONSTRAINT item_pkey; ALTER TABLE item ADD PRIMARY KEY (id);
      UPDATE item SET title = 'c' WHERE id = 7
      """)
    try await recorder.wait(for: try await rows())
  }

  @Test(arguments: [
    "DROP TABLE swappable.record", "ALTER TABLE swappable.record RENAME keys TO k",
    "ALTER TABLE swappable.record ADD CHECK (false) NOT VALID", "DROP SCHEMA swappable CASCADE",
    "CREATE UNIQUE INDEX ON swappable.record (relation, (1))",
    "TRUNCATE swappable.record, swappable.epoch",
    "CREATE ROLE \"%_none\"; DO $$ BEGIN EXECUTE (SELECT string_agg(format("
      + "'ALTER FUNCTION %s OWNER TO \"%_none\"', oid::regprocedure), ';') FROM pg_proc "
      + "WHERE proname LIKE 'record\\_x%'); END $$",
  ])
  func `readers notice that nothing is recorded`(damage: String) async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    let source = try makeSource(try database.makePool())
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: try await rows(database))
    try await database.connection.execute("UPDATE item SET title = 'a' WHERE id = 7")
    try await recorder.wait(for: try await rows(database))
    // The reader locks the table and then the records, so a deadlock is possible.
    let script = damage.replacing("%_", with: "\(database.name)_")
    var isDone = false
    for _ in 0..<100 where !isDone {
      isDone = (try? await database.connection.executeScript(script)) != nil
    }
    try #require(isDone)
    for id in [8, 9] {
      try await database.connection.execute("UPDATE item SET title = 'b' WHERE id = $1", [id])
      try await recorder.wait(for: try await rows(database))
    }
    try await database.connection.installChangeTriggers(on: ["item"])
    try await database.connection.execute("UPDATE item SET title = 'c' WHERE id = 10")
    try await recorder.wait(for: try await rows(database))
    #expect(recorder.failures.isEmpty, "\(recorder.failures)")
    #expect(try await source.explainQuery().mode == .keyed)
  }

  @Test func `a key that the server does not know any more leads to a read of everything`()
    async throws
  {
    let database = try await TestDatabase(
      """
      CREATE TYPE mood AS ENUM ('a', 'b');
      CREATE TABLE item (m mood PRIMARY KEY, title text); INSERT INTO item VALUES ('a', ''), ('b', '')
      """)
    try await database.connection.installChangeTriggers(on: ["item"])
    let sql = "SELECT m, title FROM item"
    let source = try PostgresDataSource(pool: try makePool(database), sql: sql) {
      [$0.text(at: 0) ?? "", $0.text(at: 1) ?? ""].joined()
    }
    let recorder = SourceRecorder(source)
    try await recorder.wait { $0.contents.count == 2 }
    try await database.connection.executeScript(
      "UPDATE item SET title = 'x'; ALTER TYPE mood RENAME VALUE 'a' TO 'z'")
    try await recorder.wait { $0.contents.sorted() == ["bx", "zx"] }
    #expect(recorder.failures.isEmpty, "\(recorder.failures)")
  }

  @Test func `files that were replaced while the server was stopped lead to a read of everything`()
    async throws
  {
    let server = try PostgresServer()
    let database = try await TestDatabase(Self.table, on: server)
    try await database.connection.installChangeTriggers(on: ["item"])
    try server.stop()
    try server.copyData(to: "copy")
    try server.start()
    let recorder = SourceRecorder(try makeSource(try makePool(database)))
    try await recorder.wait { $0.contents.count == 20 }
    for id in 101...110 {
      try await database.connection.execute("INSERT INTO item VALUES ($1, $1, 'later')", [id])
    }
    try await recorder.wait { $0.contents.count == 30 }
    try server.stop()
    try server.copyData(from: "copy")
    try server.start()
    try await recorder.wait { $0.contents.count == 20 }
  }

  // MARK: Pruning

  /// Writes records in transactions of 1,000 statements.
  private func record(_ count: Int, _ connection: PostgresConnection, _ level: String) async throws
  {
    for _ in 0..<count / 1000 {
      try await connection.executeScript(
        """
        BEGIN ISOLATION LEVEL \(level);
        DO $$ BEGIN FOR i IN 1..1000 LOOP UPDATE small SET n = n + 1; END LOOP; END $$; COMMIT
        """)
    }
  }

  @Test func `without a reader, the number of records is bounded`() async throws {
    let server = try PostgresServer(configuration: ["max_prepared_transactions = 2"])
    let database = try await TestDatabase(
      Self.table + "; CREATE TABLE small (id integer PRIMARY KEY, n integer)", on: server)
    let connection = database.connection
    try await connection.installChangeTriggers(on: ["small"])
    try await connection.execute("INSERT INTO small VALUES (1, 0)")
    func count() async throws -> Int {
      try await connection.query("SELECT count(*) FROM swappable.record") {
        try $0.value(at: 0, as: Int.self)
      }[0]
    }
    // The number of records is estimated from every 512th, at random.
    let bounds = 70_000...130_000
    try await record(120_000, connection, "READ COMMITTED")
    #expect(try await bounds.contains(count()))
    // An old transaction, whose snapshot keeps the rows that were deleted.
    let idle = try PostgresConnection(database.connectionString)
    try await idle.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    try await idle.execute("SELECT count(*) FROM swappable.record")
    try await record(20_000, connection, "READ COMMITTED")
    #expect(try await bounds.contains(count()))
    // A prepared transaction that has pruned keeps its rows, and no other session waits for it.
    try await connection.executeScript(
      "BEGIN; SELECT swappable.prune(); PREPARE TRANSACTION 'pruned'")
    try await record(5_000, connection, "READ COMMITTED")
    try await connection.execute("ROLLBACK PREPARED 'pruned'")
    // With one snapshot for a transaction, deleting could fail. Others prune later.
    for level in ["REPEATABLE READ", "SERIALIZABLE"] { try await record(1_000, connection, level) }
    try await idle.execute("COMMIT")
    try await record(5_000, connection, "READ COMMITTED")
    #expect(try await bounds.contains(count()))
    let numbers = try await connection.query(
      "SELECT n FROM small", map: { try $0.value("n", as: Int.self) })
    #expect(numbers == [152_000])
  }

  @Test func `a reader that comes too late reads everything, and others do not`() async throws {
    let database = try await TestDatabase(Self.table)
    try await database.connection.installChangeTriggers(on: ["item"])
    let source = try makeSource(try makePool(database))
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: try await rows(database))
    // A transaction stays open in each snapshot from here on.
    let old = try PostgresConnection(database.connectionString)
    try await old.execute("BEGIN")
    try await old.execute("UPDATE item SET title = 'old' WHERE id = 1")
    for round in 1...3 {
      try await database.connection.execute("UPDATE item SET title = $1 WHERE id = 2", ["\(round)"])
      try await recorder.wait(for: try await rows(database))
      // All records that the source has read are pruned.
      try await database.connection.execute("SELECT swappable.maintain('0 seconds')")
    }
    #expect(source.readCounts.all == 1)
    // This one is pruned before it is read, and so is the record of the old transaction.
    try await database.connection.transaction {
      try await database.connection.execute("UPDATE item SET title = 'late' WHERE id = 2")
      try await database.connection.execute("SELECT swappable.maintain('0 seconds')")
    }
    try await recorder.wait(for: try await rows(database))
    #expect(source.readCounts.all == 2)
    try await old.executeScript("SELECT swappable.maintain('0 seconds'); COMMIT")
    try await recorder.wait(for: try await rows(database))
    #expect(source.readCounts.all == 3)
  }
}
