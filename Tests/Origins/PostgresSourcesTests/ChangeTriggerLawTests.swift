import DataSourceTesting
@testable import PostgresSources
import TestSupport
import TestTags
import Testing

/// Random writes and changes of the schema in two databases, of which one has change triggers. `SWAPPABLE_SEED` repeats
/// one run.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(TestRun.isLong ? 240 : 20)))
struct ChangeTriggerLawTests {
  /// Each run begins with new databases, because the catalogs grow with each change of the schema.
  private static let runs = TestRun.isLong && TestRun.seed == nil ? 100 : 1
  private static let steps = 5_000

  @Test(
    .reaches(
      "refused", "recorded", "not recorded", "transaction", "prepared transaction", "table",
      "object")) func `a trigger never makes a write fail, whatever happens to the schema`()
    async throws
  {
    for number in 1...Self.runs {
      let seed = TestRun.seed ?? .random(in: 0 ... .max)
      print("run \(number), seed \(seed)")
      var run = try await ChangeTriggerLaw(seed: seed)
      while run.step < Self.steps { try await run.takeStep() }
      print("\(run.step) steps, \(run.summary)")
      #expect(run.writes > Self.steps / 4)
      Coverage.note("refused", run.refused)
      Coverage.note("recorded", run.recorded)
      Coverage.note("not recorded", run.unrecorded)
      try await run.remove()
    }
  }
}

/// Two databases that receive the same statements.
struct ChangeTriggerLaw {
  struct Difference: Error, CustomStringConvertible {
    let description: String
  }

  /// The answer to a statement: the number of rows, or the code of the error.
  private struct Answer: Equatable, CustomStringConvertible {
    var count: Int?
    var state: String?
    var message = ""

    static func == (left: Answer, right: Answer) -> Bool {
      left.count == right.count && left.state == right.state
    }

    var description: String { count.map { "\($0) rows" } ?? "\(state ?? "?") \(message)" }
  }

  /// A writer with a session in each database, and the state of its transaction.
  private struct Writer {
    var sessions: [PostgresConnection]
    var isOpen = false
    var hasWritten = false
    var isSerializable = false
  }

  private(set) var step = 0
  private(set) var writes = 0
  private(set) var refused = 0
  private(set) var recorded = 0
  private(set) var unrecorded = 0
  private let seed: UInt64
  private var random: SeededGenerator
  private let server: PostgresServer
  /// The database with triggers, and the one without.
  private let databases: [TestDatabase]
  private var writers: [Writer]
  private var names = 0
  private var log: [String] = []
  private let role: String

  /// The name of the key column and of the table, which statements change.
  private var table = "item"
  private var key = "id"
  private var isInstalled = true

  var summary: String {
    "\(writes) writes, \(refused) refused, \(recorded) recorded, \(unrecorded) not recorded"
  }

  init(seed: UInt64) async throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    server = try PostgresServer(configuration: ["max_prepared_transactions = 20"])
    let role = "law_\(seed % 1_000_000)"
    self.role = role
    try server.psql("CREATE ROLE \(role)")
    let schema = """
      CREATE SCHEMA shop;
      CREATE TYPE shop.mood AS ENUM ('a', 'b', 'c');
      CREATE TABLE item (id integer PRIMARY KEY, n integer, name text, m shop.mood);
      CREATE TABLE "old" ("new" text COLLATE "C" PRIMARY KEY, found integer, tg_op text);
      CREATE TABLE pair (a integer, b text, n integer, PRIMARY KEY (a, b));
      CREATE TABLE part (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
      CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (MINVALUE) TO (50);
      CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (50) TO (MAXVALUE);
      CREATE TABLE child (id integer PRIMARY KEY, item integer);
      CREATE TABLE bare (n integer); CREATE SEQUENCE numbers START 2000000;
      GRANT ALL ON ALL TABLES IN SCHEMA public TO \(role);
      INSERT INTO item SELECT g, g, 'x' || g, 'a' FROM generate_series(1, 30) g;
      INSERT INTO part SELECT g, g FROM generate_series(30, 70) g
      """
    var databases: [TestDatabase] = []
    for _ in 0..<2 { databases.append(try await TestDatabase(schema, on: server)) }
    self.databases = databases
    writers = try (0..<3).map { _ in
      Writer(sessions: try databases.map { try PostgresConnection($0.connectionString) })
    }
    // Its settings become known to a session when it is loaded, which the first trigger would do.
    for session in writers.flatMap(\.sessions) + databases.map(\.connection) {
      try await session.execute("LOAD 'plpgsql'")
    }
    try await install()
  }

  func remove() async throws {
    for writer in writers { for session in writer.sessions { session.close() } }
    for database in databases { database.connection.close() }
  }

  private func install() async throws {
    try await databases[0].connection.installChangeTriggers(
      on: [table, "\"old\"", "pair", "part", "child", "bare"])
  }

  // MARK: Steps

  mutating func takeStep() async throws {
    step += 1
    switch random.below(24) {
    case 0: try await changeTables()
    case 1: try await changeObjects()
    case 2: try await begin()
    case 3, 4: try await end()
    case 5: try await changeSession()
    case 6:
      if step % 2 == 0 { try await repair() } else { try await compareTables() }
    default:
      // Another writer would wait for the rows of a transaction.
      let writer = random.below(writers.count)
      try await write(writers.firstIndex(where: \.hasWritten) ?? writer)
    }
  }

  private mutating func write(_ writer: Int) async throws {
    let id = 1 + random.below(60)
    let text = random.pick(["'a'", "'ä'", "'é'", "U&'e\\0301'", "repeat('long', 900)", "''"])
    let key = "\"\(self.key)\""
    let statement =
      switch random.below(18) {
      case 0: "INSERT INTO \(table) (\(key), n) VALUES (\(id), \(step))"
      case 1: "UPDATE \(table) SET n = \(step) WHERE \(key) = '\(id)'"
      case 2: "UPDATE \(table) SET \(key) = \(key) + 100 WHERE n % 9 = \(random.below(9))"
      case 3: "DELETE FROM \(table) WHERE \(key) = '\(id)'"
      case 4:
        "INSERT INTO \(table) (\(key), n) SELECT g, g FROM generate_series(\(id), \(id + 250)) g "
          + "ON CONFLICT DO NOTHING"
      case 5: "INSERT INTO \"old\" VALUES (\(text), \(id), 'x') ON CONFLICT DO NOTHING"
      case 6: "UPDATE \"old\" SET found = found + 1"
      case 7: "DELETE FROM \"old\" WHERE found % 5 = \(random.below(5))"
      case 8:
        "INSERT INTO pair VALUES (\(id % 7), \(text), \(step)) "
          + "ON CONFLICT (a, b) DO UPDATE SET n = excluded.n"
      case 9: "UPDATE pair SET b = b || 'z' WHERE a = \(id % 7)"
      case 10: "UPDATE part SET id = id + 40 WHERE id = \(id)"
      case 11: "INSERT INTO part VALUES (\(id), \(step))"
      case 12: "TRUNCATE \(random.pick(["\"old\"", "pair", "child"]))"
      case 13 where step % 3 == 0: "INSERT INTO child VALUES (lastval(), \(id))"
      case 13: "INSERT INTO child VALUES (\(step), \(id))"
      case 14:
        "WITH x AS (DELETE FROM pair WHERE a = 1 RETURNING a) INSERT INTO bare SELECT a FROM x"
      case 15: "UPDATE \(table) SET n = n / (n - \(step % 50)) WHERE \(key) = '\(id)'"
      case 16:
        """
        DO $$ BEGIN FOR i IN 1..\(1 + random.below(90)) LOOP
          INSERT INTO bare VALUES (i); DELETE FROM child WHERE id = i + \(step % 2000);
        END LOOP; TRUNCATE bare; END $$
        """
      default: "DELETE FROM \(table) WHERE false"
      }
    let hasTransaction = writers[writer].isOpen
    if hasTransaction, random.oneIn(5) {
      _ = try await run("SAVEPOINT s", writer)
      let answer = try await run(statement, writer)
      _ = try await run(
        random.oneIn(2) || answer.state != nil ? "ROLLBACK TO s" : "RELEASE s", writer)
    } else {
      let answer = try await run(statement, writer)
      if answer.state != nil, hasTransaction { try await end(writer, "ROLLBACK") }
    }
    writes += 1
    writers[writer].hasWritten = writers[writer].isOpen
  }

  private mutating func begin() async throws {
    let writer = random.below(writers.count)
    // Transactions that wrote hold locks, for which another one would wait.
    guard !writers.contains(where: \.isOpen) else { return }
    let level = random.pick(["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
    _ = try await run("BEGIN ISOLATION LEVEL \(level)", writer)
    // The snapshot is older than the next changes of the schema.
    if !random.oneIn(4) { _ = try await run("SELECT 1", writer) }
    writers[writer].isOpen = true
    writers[writer].isSerializable = level == "SERIALIZABLE"
    Coverage.note("transaction")
  }

  private mutating func end() async throws {
    guard let writer = writers.firstIndex(where: \.isOpen) else { return }
    if random.oneIn(3) {
      Coverage.note("prepared transaction")
      names += 1
      let name = "law_\(names)"
      let answer = try await run("PREPARE TRANSACTION", writer, prepared: name)
      (writers[writer].isOpen, writers[writer].hasWritten) = (false, false)
      if answer.state == nil { try await finish(name) }
      return
    }
    try await end(writer, random.oneIn(4) ? "ROLLBACK" : "COMMIT")
  }

  private mutating func end(_ writer: Int, _ statement: String) async throws {
    _ = try await run(statement, writer)
    (writers[writer].isOpen, writers[writer].hasWritten) = (false, false)
  }

  private mutating func finish(_ name: String) async throws {
    let isKept = random.oneIn(2)
    _ = try await run(isKept ? "COMMIT PREPARED" : "ROLLBACK PREPARED", nil, prepared: name)
  }

  private mutating func changeSession() async throws {
    guard let writer = writers.indices.filter({ !writers[$0].isOpen }).randomElement(using: &random)
    else { return }
    let statement = random.pick([
      "SET search_path = shop, public, pg_catalog", "SET search_path = pg_temp, public, pg_catalog",
      "RESET search_path", "SET ROLE \(role)", "RESET ROLE", "SET row_security = off",
      "RESET row_security", "SET standard_conforming_strings = off",
      "RESET standard_conforming_strings", "SET plpgsql.extra_errors = 'all'",
      "RESET plpgsql.extra_errors", "SET plpgsql.variable_conflict = 'error'",
      "SET default_transaction_isolation = 'serializable'", "RESET default_transaction_isolation",
      "SET transform_null_equals = on", "SET session_replication_role = replica",
      "RESET session_replication_role", "CREATE TEMPORARY TABLE IF NOT EXISTS record (x integer)",
      "CREATE TEMPORARY TABLE IF NOT EXISTS new_rows (x integer)", "DISCARD PLANS",
      "SELECT nextval('public.numbers')", "CREATE DOMAIN pg_temp.text AS pg_catalog.text NOT NULL",
    ])
    _ = try await run(statement, writer)
  }

  // MARK: Changes of the schema

  /// Changes a table in both databases, while no transaction has written.
  private mutating func changeTables() async throws {
    guard !writers.contains(where: \.hasWritten) else { return }
    Coverage.note("table")
    names += 1
    switch random.below(16) {
    case 0:
      let new = random.pick(["id", "item_id", "found", "tg_relid", "number", "k0", "Ä ö", "new"])
      if try await alter("ALTER TABLE \(table) RENAME \"\(key)\" TO \"\(new)\"") { key = new }
    case 1:
      let new = table == "item" ? "thing" : "item"
      if try await alter("ALTER TABLE \(table) RENAME TO \(new)") { table = new }
    case 2:
      // The key column goes, and another column takes its place.
      if try await alter("ALTER TABLE \(table) DROP COLUMN \"\(key)\"") {
        try await alter("ALTER TABLE \(table) ADD \"\(key)\" bigint")
      }
    case 3: try await alter("ALTER TABLE \(table) ALTER \"\(key)\" TYPE \(randomType())")
    case 4:
      try await alter("ALTER TABLE \(table) DROP CONSTRAINT IF EXISTS item_pkey")
    case 5:
      try await alter("UPDATE \(table) SET n = floor(random()) + ctid::text::point <-> '(0,0)'")
    case 6:
      try await alter("ALTER TABLE \(table) DROP CONSTRAINT IF EXISTS item_pkey")
      try await alter("DELETE FROM \(table)")
      try await alter("ALTER TABLE \(table) ADD CONSTRAINT item_pkey PRIMARY KEY (\"\(key)\")")
    case 7: try await alter("ALTER TABLE pair RENAME b TO \"b\(names)\"")
    case 8: try await alter("ALTER TABLE pair RENAME \"b\(names - 1)\" TO b")
    case 9: try await alter("ALTER TABLE \"old\" ADD COLUMN c\(names) integer")
    case 10: try await alter("ALTER TABLE \"old\" DROP COLUMN IF EXISTS tg_op")
    case 11:
      try await alter("DROP TABLE child; CREATE TABLE child (id integer PRIMARY KEY, item text)")
    case 12:
      try await alter("ALTER TABLE part DETACH PARTITION part_2")
      try await alter("ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES FROM (50) TO (MAXVALUE)")
    case 13:
      try await alter("ALTER TYPE shop.mood ADD VALUE IF NOT EXISTS 'v\(names)'")
    case 14:
      try await alter("ALTER TABLE \(table) OWNER TO \(random.pick([role, "postgres"]))")
    default: try await alter("VACUUM")
    }
  }

  private mutating func randomType() -> String {
    random.pick([
      "integer", "bigint", "numeric", "text", "float8", "varchar(40)", "json USING NULL",
      "timestamptz USING '2024-01-01'", "bytea USING '\\x00'", "integer[] USING '{1}'",
      "shop.mood USING 'a'", "point USING '(1,2)'",
    ])
  }

  /// Changes the objects of the change triggers.
  private mutating func changeObjects() async throws {
    guard !writers.contains(where: \.hasWritten) else { return }
    Coverage.note("object")
    names += 1
    let statement = random.pick(
      [
        "DROP TABLE swappable.record", "DROP TABLE swappable.epoch", "TRUNCATE swappable.record",
        "ALTER TABLE swappable.record RENAME keys TO k\(names)",
        "ALTER TABLE swappable.record ADD x\(names) integer NOT NULL DEFAULT NULL",
        "ALTER TABLE swappable.record ADD x\(names) integer",
        "ALTER TABLE swappable.record DROP COLUMN at",
        "ALTER TABLE swappable.record ALTER relation TYPE text",
        "ALTER TABLE swappable.record ALTER keys SET NOT NULL",
        "ALTER TABLE swappable.record ALTER keys TYPE varchar(1)[]",
        "CREATE TYPE public.text", "CREATE DOMAIN shop.text AS pg_catalog.text NOT NULL",
        """
        DROP INDEX swappable.record_pruned;
        CREATE INDEX record_pruned ON swappable.record (keys)
        """,
        """
        CREATE TABLE swappable.parent (xid xid8 NOT NULL, relation oid NOT NULL, keys text[],
          at timestamptz NOT NULL) PARTITION BY RANGE (at);
        ALTER TABLE swappable.parent ATTACH PARTITION swappable.record
          FOR VALUES FROM (MINVALUE) TO ('2000-01-01')
        """,
        "ALTER TABLE swappable.record ADD CHECK (keys IS NULL)",
        "CREATE UNIQUE INDEX ON swappable.record (relation)",
        "CREATE INDEX ON swappable.record ((1 / (octet_length(keys::text) - 5)))",
        "ALTER TABLE swappable.record ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE swappable.record FORCE ROW LEVEL SECURITY",
        "CREATE RULE r\(names) AS ON INSERT TO swappable.record DO INSTEAD NOTHING",
        "REVOKE ALL ON swappable.record FROM postgres",
        "REVOKE ALL ON SCHEMA swappable FROM postgres",
        "ALTER SCHEMA swappable RENAME TO gone\(names)", "DROP FUNCTION swappable.prune()",
        "DROP SCHEMA swappable CASCADE",
        """
        CREATE OR REPLACE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE division_by_zero; END';
        CREATE TRIGGER t\(names) BEFORE INSERT ON swappable.record
        FOR EACH ROW EXECUTE FUNCTION public.fail()
        """,
        """
        CREATE OR REPLACE FUNCTION swappable.prune() RETURNS void LANGUAGE plpgsql AS
        'BEGIN RAISE division_by_zero; END'
        """,
      ]
        + (0..<2).map { _ in
          // The owner of the functions loses or changes its rights.
          """
          DO $$ DECLARE f regprocedure; BEGIN
            FOR f IN SELECT oid FROM pg_proc WHERE proname LIKE 'record\\_x%' LOOP
              EXECUTE format('ALTER FUNCTION %s OWNER TO \(role)', f);
            END LOOP;
          END $$
          """
        })
    note("objects", statement)
    try? await databases[0].connection.executeScript(statement)
  }

  /// Installs the triggers again, and checks that writes are recorded.
  private mutating func repair() async throws {
    guard !writers.contains(where: \.isOpen) else { return }
    let connection = databases[0].connection
    note("repair", "installChangeTriggers")
    // A schema that was renamed is another one. A role that lost everything gets it back.
    try? await connection.executeScript(
      "GRANT ALL ON SCHEMA swappable TO postgres; GRANT ALL ON swappable.record TO postgres")
    do {
      try await install()
    } catch {
      throw Difference(description: "the installation failed: \(error)\n\(history)")
    }
    try await connection.execute("SET session_replication_role = origin")
    let before = try await count()
    _ = try await run("INSERT INTO child (id) VALUES (\(1_000_000 + step))", nil)
    guard let before, let after = try await count(), after > before else {
      throw Difference(description: "nothing is recorded after an installation\n\(history)")
    }
    recorded += 1
  }

  private func count() async throws -> Int? {
    try? await databases[0].connection.query(
      "SELECT count(*) FROM swappable.record WHERE relation > 1"
    ) { try $0.value(at: 0, as: Int.self) }.first
  }

  private mutating func compareTables() async throws {
    guard !writers.contains(where: \.isOpen) else { return }
    for name in [table, "\"old\"", "pair", "part", "child", "bare"] {
      var contents: [[String]] = []
      for database in databases {
        contents.append(
          try await database.connection.query("SELECT t::text AS t FROM \(name) t ORDER BY 1") {
            try $0.value("t", as: String.self)
          })
      }
      guard contents[0] == contents[1] else {
        throw Difference(
          description: "\(name) has other rows:\n\(contents[0])\n\(contents[1])\n\(history)")
      }
    }
    if try await count() == nil { unrecorded += 1 }
  }

  // MARK: Statements

  @discardableResult
  private mutating func alter(_ sql: String) async throws -> Bool {
    try await run(sql, nil).state == nil
  }

  /// Runs a statement in both databases, and compares the answers.
  ///
  /// - Parameters:
  ///   - writer: The writer that runs it, or `nil` for the owner.
  ///   - name: The name of a prepared transaction.
  private mutating func run(
    _ sql: String, _ writer: Int?, prepared name: String? = nil
  ) async throws -> Answer {
    note(writer.map { "\($0)" } ?? "owner", sql)
    var answers: [Answer] = []
    for index in databases.indices {
      let connection =
        writer.map { writers[$0].sessions[index] } ?? databases[index].connection
      do {
        // A name of a prepared transaction belongs to the server.
        let sql = name.map { "\(sql) '\($0)_\(index)'" } ?? sql
        if sql.contains(";"), !sql.contains("$$") {
          try await connection.executeScript(sql)
          answers.append(Answer(count: 0))
        } else {
          answers.append(Answer(count: try await connection.execute(sql)))
        }
      } catch {
        if error.endsConnection { throw error }
        answers.append(Answer(state: error.sqlState ?? error.code.rawValue, message: error.message))
      }
    }
    if answers[1].state != nil { refused += 1 }
    // The order of the rows in a table decides whether the server first meets a conflict of serializable transactions or
    // another error. The order differs between the databases.
    let mayConflict = writer.map { writers[$0].isOpen && writers[$0].isSerializable } ?? false
    if mayConflict, answers.allSatisfy({ $0.state != nil }),
      answers.contains(where: { $0.state == "40001" })
    {
      return answers[0]
    }
    guard answers[0] == answers[1] else {
      throw Difference(
        description: """
          with triggers: \(answers[0]), without: \(answers[1])
          \(sql)
          \(history)
          """)
    }
    return answers[0]
  }

  private mutating func note(_ actor: String, _ sql: String) {
    if log.count > 120 { log.removeFirst(60) }
    log.append("\(actor): \(sql)")
  }

  private var history: String {
    "seed \(seed), step \(step)\n" + log.suffix(40).joined(separator: "\n")
  }
}
