import DataSourceTesting
import Diffing
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10)))
struct ChangeTriggerInstallationTests {
  private static let table = """
    CREATE TABLE item (id integer PRIMARY KEY, title text COLLATE "C");
    INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 20) n;
    CREATE TABLE other (id integer PRIMARY KEY)
    """

  private func keys(_ database: TestDatabase) async throws -> [[[String]]?] {
    try await database.connection.query(
      "SELECT keys FROM swappable.record WHERE relation > 1 ORDER BY at"
    ) { try $0.value("keys") }
  }

  // MARK: Objects of others

  @Test func `the temporary child of another session is left alone`() async throws {
    let database = try await TestDatabase(Self.table)
    let other = try PostgresConnection(database.connectionString)
    try await other.execute("CREATE TEMPORARY TABLE child () INHERITS (item)")
    let connection = database.connection
    try await connection.installChangeTriggers(on: ["item"])
    #expect(try await connection.changeTriggerStatus().map(\.table) == ["item"])
    try await other.execute("INSERT INTO child VALUES (100, 'x')")
    try await connection.execute("UPDATE item SET title = 'y' WHERE id = 1")
    #expect(try await keys(database) == [[["1"], ["1"]]])
    #expect(try await connection.uninstallChangeTriggers().map(\.table) == ["item"])
  }

  @Test func `a table of another program is neither replaced nor removed`() async throws {
    let database = try await TestDatabase(
      Self.table + """
        ;
        CREATE SCHEMA swappable; CREATE TABLE swappable.record (important text);
        INSERT INTO swappable.record VALUES ('mine')
        """)
    let connection = database.connection
    let error = await #expect(throws: PostgresError.self) {
      try await connection.installChangeTriggers(on: ["item"])
    }
    #expect(error?.description.contains("a table of another program") == true)
    try await connection.uninstallChangeTriggers()
    try await connection.execute("ALTER TABLE swappable.record RENAME TO mine")
    try await connection.installChangeTriggers(on: ["item"])
    try await connection.uninstallChangeTriggers()
    let rows = try await connection.query("SELECT important FROM swappable.mine") {
      try $0.value("important", as: String.self)
    }
    #expect(rows == ["mine"])
    // What depends on the records stays, and is named.
    try await connection.installChangeTriggers(on: ["item"])
    try await connection.execute("CREATE VIEW report AS SELECT count(*) FROM swappable.record")
    let refusal = await #expect(throws: PostgresError.self) {
      try await connection.uninstallChangeTriggers()
    }
    #expect(refusal?.sqlState == "2BP01")
    try await connection.executeScript("DROP VIEW report; DROP TABLE swappable.mine")
    try await connection.uninstallChangeTriggers()
    let schemas = try await connection.query(
      "SELECT nspname::text AS n FROM pg_namespace WHERE nspname = 'swappable'"
    ) { try $0.value("n", as: String.self) }
    #expect(schemas == [])
  }

  @Test(arguments: ["", "\"", "item item", "a.b.c.d", "elsewhere.public.item"])
  func `a text that is no name of a table is explained`(name: String) async throws {
    let database = try await TestDatabase(Self.table)
    let error = await #expect(throws: PostgresError.self) {
      try await database.connection.installChangeTriggers(on: [name])
    }
    let text = error?.description ?? ""
    #expect(error?.code == .undefined && !text.contains("SELECT"), "\(text)")
  }

  @Test func `a table that gets a foreign child is described`() async throws {
    let database = try await TestDatabase(
      Self.table + """
        ;
        CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
        """)
    let connection = database.connection
    try await connection.installChangeTriggers(on: ["item"])
    try await connection.execute(
      "CREATE FOREIGN TABLE far_item (id integer NOT NULL, title text COLLATE \"C\") SERVER far")
    try await connection.execute("ALTER FOREIGN TABLE far_item INHERIT item")
    let status = try await connection.changeTriggerStatus(on: ["item"])
    #expect(status.map(\.action) == [.repaired])
    #expect(status.first?.remark.contains("A foreign table is among its") == true)
    try await connection.installChangeTriggers(on: ["item"])
    #expect(try await connection.changeTriggerStatus(on: ["item"]).map(\.action) == [.unchanged])
  }

  @Test func `installations and removals at the same time all succeed`() async throws {
    let database = try await TestDatabase(Self.table)
    let connections = try (0..<3).map { _ in
      try PostgresConnection(database.connectionString)
    }
    let writer = try PostgresConnection(database.connectionString)
    for isInstallation in [true, false, true, false] {
      try await writer.execute("BEGIN")
      try await writer.execute("UPDATE item SET title = title WHERE id = 1")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for connection in connections {
          group.addTask {
            if isInstallation {
              try await connection.installChangeTriggers(
                on: ["item"], lockTimeout: .seconds(20))
            } else {
              try await connection.uninstallChangeTriggers(
                on: ["item"], lockTimeout: .seconds(20))
            }
          }
        }
        // All have read the catalog, or wait for each other.
        try await wait(for: "three sessions that wait for a lock") {
          try await database.connection.query(
            "SELECT 1 AS n FROM pg_locks WHERE NOT granted AND database IS NOT NULL",
            map: { _ in 1 }
          ).count >= 3
        }
        try await writer.execute("COMMIT")
        try await group.waitForAll()
      }
      let status = try await database.connection.changeTriggerStatus(on: ["item"])
      #expect(status.map(\.action) == [isInstallation ? .unchanged : .installed])
    }
  }

  // MARK: Locks

  @Test func `a table that is in use is named with its session, and finished tables stay`()
    async throws
  {
    let database = try await TestDatabase(Self.table)
    let idle = try PostgresConnection(database.connectionString + " application_name=desk")
    try await idle.execute("BEGIN")
    try await idle.execute("UPDATE item SET title = 'x' WHERE id = 1")
    let error = await #expect(throws: PostgresError.self) {
      try await database.connection.installChangeTriggers(
        on: ["other", "item"], lockTimeout: .milliseconds(5), lockAttempts: 2)
    }
    #expect(error?.code == .lockTimeout)
    let text = error?.description ?? ""
    #expect(text.contains("item could not be locked in 2 attempts"), "\(text)")
    #expect(text.contains("(desk), idle in transaction") && text.contains("done: other"), "\(text)")
    #expect(
      try await database.connection.changeTriggerStatus(on: ["other", "item"]).map(\.action)
        == [.unchanged, .installed])
    try await idle.execute("COMMIT")
    let results = try await database.connection.installChangeTriggers(on: ["other", "item"])
    #expect(results.map(\.action) == [.unchanged, .installed])
    let held = try await uninstallError(database, idle)
    // A reader holds the lock.
    #expect(held.contains("item could not be locked") && held.contains("(desk)"), "\(held)")
  }

  private func uninstallError(
    _ database: TestDatabase, _ idle: PostgresConnection
  ) async throws -> String {
    try await idle.execute("BEGIN")
    try await idle.execute("SELECT FROM item")
    let error = await #expect(throws: PostgresError.self) {
      try await database.connection.uninstallChangeTriggers(
        on: ["item"], lockTimeout: .milliseconds(5), lockAttempts: 2)
    }
    try await idle.execute("COMMIT")
    return error?.description ?? ""
  }

  @Test func `a prepared transaction that holds a lock is named`() async throws {
    let server = try PostgresServer(configuration: ["max_prepared_transactions = 2"])
    let database = try await TestDatabase(Self.table, on: server)
    try await database.connection.executeScript(
      "BEGIN; UPDATE item SET title = 'x'; PREPARE TRANSACTION 'to ship'")
    let error = await #expect(throws: PostgresError.self) {
      try await database.connection.installChangeTriggers(
        on: ["item"], lockTimeout: .milliseconds(5), lockAttempts: 2)
    }
    #expect(error?.message.contains("the prepared transaction 'to ship'") == true, "\(error!)")
    try await database.connection.execute("ROLLBACK PREPARED 'to ship'")
    // A transaction that was recorded can be prepared.
    try await database.connection.installChangeTriggers(on: ["item"])
    try await database.connection.executeScript(
      "BEGIN; DELETE FROM item WHERE id = 3; PREPARE TRANSACTION 'recorded'")
    #expect(try await keys(database).isEmpty)
    try await database.connection.execute("COMMIT PREPARED 'recorded'")
    #expect(try await keys(database) == [[["3"]]])
  }

  @Test func `writers continue while an installation waits`() async throws {
    let database = try await TestDatabase(Self.table)
    let (idle, writer) = (
      try PostgresConnection(database.connectionString),
      try PostgresConnection(database.connectionString)
    )
    try await idle.execute("BEGIN")
    try await idle.execute("UPDATE item SET title = 'x' WHERE id = 1")
    async let installation = database.connection.installChangeTriggers(
      on: ["item"], lockTimeout: .milliseconds(20), lockAttempts: 1_000_000)
    // Without a limit, each of these writes would wait for the idle transaction.
    for id in 2...20 { try await writer.execute("UPDATE item SET title = 'y' WHERE id = $1", [id]) }
    try await idle.execute("COMMIT")
    #expect(try await installation.map(\.action) == [.installed])
  }

  @Test func `tables that are named twice, and partitions beside their parent, are done once`()
    async throws
  {
    let database = try await TestDatabase(
      Self.table
        + """
        ; CREATE TABLE part (id integer PRIMARY KEY) PARTITION BY RANGE (id);
        CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10)
        """)
    let names = ["item", "public.item", "part_1", "part"]
    let results = try await database.connection.installChangeTriggers(on: names)
    #expect(results.map(\.table) == ["item", "part_1", "part"])
    #expect(results.allSatisfy { $0.action == .installed })
    let again = try await database.connection.installChangeTriggers(on: names)
    #expect(again.allSatisfy { $0.action == .unchanged })
    #expect(try await database.connection.changeTriggersSQL(on: names).isEmpty)
  }

  // MARK: Owners

  @Test func `a second owner learns which rights it needs`() async throws {
    let database = try await TestDatabase(Self.table)
    let names = ["first", "second", "reader"].map { "\(database.name)_\($0)" }
    for name in names { try await database.connection.execute("CREATE ROLE \(name) LOGIN") }
    try await database.connection.executeScript(
      """
      GRANT CREATE ON DATABASE \(database.name) TO \(names[0]);
      ALTER TABLE item OWNER TO \(names[0]); ALTER TABLE other OWNER TO \(names[1])
      """)
    let first = try PostgresConnection(
      database.server.connectionString(database: database.name, user: names[0]))
    let second = try PostgresConnection(
      database.server.connectionString(database: database.name, user: names[1]))
    try await first.installChangeTriggers(on: ["item"])
    let error = await #expect(throws: PostgresError.self) {
      try await second.installChangeTriggers(on: ["other"])
    }
    let grants = try #require(error?.help.split(separator: " run: ").last)
    try await first.executeScript(String(grants))
    #expect(try await second.installChangeTriggers(on: ["other"]).map(\.action) == [.installed])
    // Transactions that write tables of both owners are recorded.
    try await database.connection.executeScript(
      "DELETE FROM item WHERE id = 3; INSERT INTO other VALUES (7); DELETE FROM item WHERE id = 4")
    #expect(try await keys(database) == [[["3"]], [["7"]], [["4"]]])
    let refusal = await #expect(throws: PostgresError.self) {
      try await second.installChangeTriggers(on: ["other"], readers: [names[2]])
    }
    #expect(refusal?.help.contains("GRANT SELECT ON swappable.record") == true, "\(refusal!)")
    // The second owner loses its rights: its writes are not recorded, and succeed.
    try await database.connection.executeScript("REVOKE ALL ON swappable.record FROM \(names[1])")
    try await database.connection.executeScript(
      "DELETE FROM item WHERE id = 5; INSERT INTO other VALUES (8); DELETE FROM item WHERE id = 6")
    #expect(try await keys(database).suffix(2) == [[["5"]], [["6"]]])
  }

  // MARK: Repairs

  @Test func `triggers of an older version are replaced, and their objects removed`() async throws {
    let database = try await TestDatabase(
      Self.table
        + """
        ; CREATE SCHEMA swappable;
        CREATE UNLOGGED TABLE swappable.change (xid xid8, relation oid, keys text[]);
        CREATE UNLOGGED TABLE swappable.state (epoch uuid, pruned xid8);
        CREATE FUNCTION swappable.record_1() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE division_by_zero; END';
        CREATE FUNCTION swappable.notify() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_notify(''swappable'', ''''); RETURN NULL; END';
        CREATE TRIGGER swappable_insert AFTER INSERT ON item
        FOR EACH STATEMENT EXECUTE FUNCTION swappable.record_1();
        CREATE TRIGGER swappable_notify AFTER INSERT ON other
        FOR EACH STATEMENT EXECUTE FUNCTION swappable.notify()
        """)
    let connection = database.connection
    let first = try await connection.installChangeTriggers(on: ["item"])
    #expect(first.map(\.action) == [.repaired] && first[0].remark.contains("another version"))
    try await connection.execute("INSERT INTO item VALUES (100)")
    #expect(try await keys(database) == [[["100"]]])
    func old() async throws -> [String] {
      try await connection.query(
        """
        SELECT relname::text AS n FROM pg_class WHERE relname IN ('change', 'state')
        UNION SELECT proname FROM pg_proc WHERE proname IN ('notify', 'record_1') ORDER BY 1
        """
      ) { try $0.value("n") }
    }
    // Another table still uses some of them.
    #expect(try await old() == ["change", "notify", "state"])
    try await connection.installChangeTriggers(on: ["other"])
    #expect(try await old().isEmpty)
  }

  @Test func `restored triggers of all tables are repaired, and record their own keys`()
    async throws
  {
    let names = ["customer", "invoice", "item", "stock", "person", "note", "event", "label"]
    let tables = names.map {
      "CREATE TABLE \($0) (\($0)_id integer PRIMARY KEY, name text, at timestamptz DEFAULT now())"
    }
    let database = try await TestDatabase(
      "CREATE TABLE a (x integer); CREATE TABLE b (x integer); DROP TABLE a, b; "
        + tables.joined(separator: ";"))
    try await database.connection.installChangeTriggers(on: names)
    for name in names { try await database.connection.execute("INSERT INTO \(name) VALUES (1)") }
    let other = try PostgresServer()
    let restored = try await TestDatabase(on: other)
    try database.server.dump(database.name, to: other, database: restored.name)
    // Before the repair, writes succeed, and the records name another server.
    for name in names { try await restored.connection.execute("INSERT INTO \(name) VALUES (2)") }
    let reader = "\(restored.name)_reader"
    try await restored.connection.executeScript(
      """
      CREATE ROLE \(reader) LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public, swappable TO \(reader);
      GRANT USAGE ON SCHEMA swappable TO \(reader);
      GRANT EXECUTE ON FUNCTION swappable.look(pg_snapshot) TO \(reader)
      """)
    let source = try PostgresDataSource(
      pool: try PostgresPool(other.connectionString(database: restored.name, user: reader)),
      sql: "SELECT item_id AS id, name FROM item ORDER BY item_id"
    ) { try $0.value("id", as: Int.self) }
    let explanation = try await source.explainQuery()
    #expect(explanation.detection == .polling, "\(explanation)")
    #expect(explanation.reason.contains("another server"), "\(explanation)")
    try await restored.connection.installChangeTriggers(on: names)
    #expect(try await source.explainQuery().mode == .keyed)
    for name in names { try await restored.connection.execute("INSERT INTO \(name) VALUES (3)") }
    #expect(try await keys(restored) == names.map { _ in [["3"]] })
    #expect(
      try await restored.connection.changeTriggerStatus().allSatisfy { $0.action == .unchanged })
  }

  @Test func `columns that are named like variables of the trigger are recorded`() async throws {
    let columns = ["old", "new", "found", "tg_op", "tg_relid", "number", "mark", "id", "k0", "r"]
    let database = try await TestDatabase(
      columns.map {
        "CREATE TABLE \"t_\($0)\" (\"\($0)\" text PRIMARY KEY, x integer)"
      }.joined(separator: ";"))
    try await database.connection.installChangeTriggers(on: columns.map { "t_\($0)" })
    for column in columns {
      try await database.connection.execute("INSERT INTO \"t_\(column)\" VALUES ('a'), ('b')")
      try await database.connection.execute(
        "UPDATE \"t_\(column)\" SET \"\(column)\" = 'c' WHERE x IS NULL AND \"\(column)\" = 'a'")
    }
    #expect(
      try await keys(database) == columns.flatMap { _ in [[["a"], ["b"]], [["a"], ["c"]]] })
  }

  @Test func `a statement that writes many or long keys is recorded without them`() async throws {
    let database = try await TestDatabase(
      "CREATE TABLE t (k text PRIMARY KEY); INSERT INTO t SELECT n FROM generate_series(1, 100) n")
    try await database.connection.installChangeTriggers(on: ["t"])
    for statement in [
      "UPDATE t SET k = k || '!'", "INSERT INTO t SELECT 'x' || n FROM generate_series(1, 101) n",
      "INSERT INTO t VALUES (repeat('long', 1000))", "DELETE FROM t WHERE k = 'x1'",
    ] {
      try await database.connection.execute(statement)
    }
    let recorded = try await keys(database)
    #expect(recorded.map { $0?.count } == [200, nil, nil, 1])
  }
}
