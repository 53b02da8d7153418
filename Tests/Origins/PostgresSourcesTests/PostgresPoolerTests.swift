import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

/// Connections through PgBouncer in transaction mode, all of which share one connection to the server.
///
/// Suites that use LISTEN (`ChangeTriggerTests` with wake-up, `PostgresRecordTests`), `SET` in a session
/// (`PostgresStressTests`, `ChangeTriggerLawTests`) or prepared transactions cannot run through it: the next statement
/// may run on another connection.
@Suite(
  .tags(.system), .requiresPostgres, .timeLimit(.minutes(30)),
  .enabled(if: TestRun.isLong && PgBouncer.isAvailable, "a long run that needs PgBouncer"))
struct PostgresPoolerTests {
  private struct Value: Differentiable, Equatable, Sendable {
    var id: Int
    var texts: [String?]
    var bytes: [UInt8]?
    var differenceIdentifier: Int { id }

    init(_ row: PostgresRow) throws {
      id = try row.value("id")
      texts = (0..<row.count).map { row.text(at: $0) }
      bytes = try row.value("b")
    }
  }

  private static let table = """
    CREATE TABLE t (id integer PRIMARY KEY, i interval, b bytea, f float8, r real, n numeric,
      s text COLLATE "C", t timestamptz, d date, u uuid, a integer[], j jsonb, o boolean)
    """
  private static let sql = "SELECT * FROM t ORDER BY s, id"

  private static func row(_ id: Int, _ random: inout SeededGenerator) -> String {
    """
    (\(id), '\(random.below(40)) days \(random.below(100)) hours'::interval,
    decode('\(String(random.below(1 << 28) | 1 << 28, radix: 16))', 'hex'), \(random.below(1000)) / 7.0,
    \(random.below(1000)) / 7.0, \(random.below(1000)) / 8.0, 's\(random.below(30))',
    '2024-01-01Z'::timestamptz + interval '\(random.below(10_000_000)) seconds',
    '2024-01-01'::date + \(random.below(1000)), md5('\(random.below(1000))')::uuid,
    ARRAY[\(random.below(9)), NULL], '{"a": \(random.below(9))}', \(random.oneIn(2)))
    """
  }

  @Test(.reaches("deletion", "insertion", "update"), arguments: [false, true])
  func `random writes arrive with their values, and no setting reaches another client`(
    isRecorded: Bool
  ) async throws {
    let database = try await TestDatabase(Self.table)
    for setting in [
      "intervalstyle = 'iso_8601'", "bytea_output = 'escape'", "extra_float_digits = -3",
    ] {
      try await database.connection.execute("ALTER DATABASE \(database.name) SET \(setting)")
    }
    let pooler = try PgBouncer(to: database.server)
    let string = pooler.connectionString(database: database.name)
    let connection = try PostgresConnection(string)
    if isRecorded { try await connection.installChangeTriggers(on: ["t"]) }
    let pool = try PostgresPool(
      string, options: PostgresOptions(statementTimeout: .seconds(20)),
      intervals: PostgresIntervals(polling: .milliseconds(20), looking: .milliseconds(5)))
    let source = try PostgresDataSource(pool: pool, sql: Self.sql) { try Value($0) }
    let recorder = SourceRecorder(source)
    let other = try PostgresConnection(string)
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    /// Writes, and again if the pooler has used a connection of the server that was ended.
    func write(_ sql: String) async throws {
      do {
        try await connection.execute(sql)
      } catch let error where error.code == .connectionLost {
        try await connection.execute(sql)
      }
    }
    for step in 0..<2000 {
      let id = random.below(60)
      switch random.below(6) {
      case 0: try await write("DELETE FROM t WHERE id = \(id)")
      case 1: try await write("UPDATE t SET s = s || 'x', i = i * 2 WHERE id = \(id)")
      default:
        try await write("INSERT INTO t VALUES \(Self.row(id, &random)) ON CONFLICT (id) DO NOTHING")
      }
      if step % 200 == 100 {
        // The pooler opens a new connection to the server.
        _ = try? await database.connection.execute(
          """
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()
          """)
      }
      guard random.oneIn(4) else { continue }
      var rows: [Value]?
      try await wait(for: "an answer to the query") {
        rows = try? await database.connection.query(Self.sql) { try Value($0) }
        return rows != nil
      }
      try await recorder.wait(for: rows ?? [])
      // The statement is not in a transaction of its own, so it shows what the session has.
      let shown = try? await other.query("SHOW intervalstyle") {
        try $0.value(at: 0, as: String.self)
      }
      #expect(shown.map { $0 == ["iso_8601"] } ?? true)
      let timeout = try? await other.query("SHOW statement_timeout") {
        try $0.value(at: 0, as: String.self)
      }
      #expect(timeout.map { $0 == ["0"] } ?? true)
    }
    Coverage.note(recorder.operations)
    if isRecorded { #expect(source.readCounts.keyed > source.readCounts.all) }
  }

  @Test func `a timeout ends a statement, and not those of other clients`() async throws {
    let database = try await TestDatabase(Self.table)
    let pooler = try PgBouncer(to: database.server)
    let string = pooler.connectionString(database: database.name)
    let connection = try PostgresConnection(
      string, options: PostgresOptions(statementTimeout: .milliseconds(100)))
    await #expect { try await connection.execute("SELECT pg_sleep(3600)") } throws: {
      ($0 as? PostgresError)?.code == .timeout
    }
    let other = try PostgresConnection(string)
    #expect(try await other.query("SELECT pg_sleep(0.3)").count == 1)
  }
}

/// A pooler that ends with the test.
final class PgBouncer {
  static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/sbin/pgbouncer")

  private let directory: String
  private let process = Process()
  private let input = Pipe()

  init(to server: PostgresServer) throws {
    directory = "/tmp/swappable-pooler-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c",
      #"""
      mkdir -m 777 "$1" && cd "$1" || exit 1
      printf '"postgres" ""\n' >users
      printf '[databases]\n* = host=%s\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = 6432\n' \
        "$2" "$1" >ini
      printf 'auth_type = trust\nauth_file = %s/users\npool_mode = transaction\n' "$1" >>ini
      printf 'default_pool_size = 1\nserver_login_retry = 0\n' >>ini
      as=
      [ "$(id -u)" -ne 0 ] || as="setpriv --reuid=postgres --regid=$(id -g postgres) --clear-groups --"
      $as /usr/sbin/pgbouncer -q ini >log 2>&1 </dev/null &
      while [ ! -S .s.PGSQL.6432 ] && kill -0 $!; do sleep 0.05; done
      echo ready
      cat >/dev/null
      kill $!; wait; cd /; rm -rf "$1"
      """#, "sh", directory, server.directory,
    ]
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    _ = try output.fileHandleForReading.read(upToCount: 6)
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  func connectionString(database: String) -> String {
    "host=\(directory) port=6432 user=postgres dbname=\(database)"
  }
}
