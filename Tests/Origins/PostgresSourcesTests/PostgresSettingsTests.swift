import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

/// Sessions whose settings others have made, as behind a pooler.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresSettingsTests {
  private struct Value: Differentiable, Equatable, Sendable {
    var id: Int
    var span: String
    var bytes: [UInt8]
    var time: Date
    var number: Double
    var differenceIdentifier: Int { id }

    init(_ row: PostgresRow) throws {
      id = try row.value("id")
      span = row.text(at: 1) ?? ""
      bytes = try row.value("bytes")
      time = try row.value("time")
      number = try row.value("number")
    }
  }

  private static let table = """
    CREATE TABLE t (id integer PRIMARY KEY, span interval, bytes bytea, time timestamptz, number float8);
    INSERT INTO t VALUES (1, '1 day 2 hours', '\\x00025c41ff', '2024-02-03 04:05:06Z', 0.1::float8 + 0.2)
    """
  private static let sql = "SELECT * FROM t ORDER BY id"

  /// A database whose sessions begin with other settings.
  private func makeDatabase() async throws -> TestDatabase {
    let database = try await TestDatabase(Self.table)
    for setting in [
      "intervalstyle = 'iso_8601'", "bytea_output = 'escape'", "datestyle = 'SQL, DMY'",
      "extra_float_digits = -3", "statement_timeout = '77s'", "row_security = off",
    ] {
      try await database.connection.execute("ALTER DATABASE \(database.name) SET \(setting)")
    }
    return database
  }

  private func expect(_ value: Value, _ number: Int = 0) {
    #expect(value.span == "1 day 02:00:00" && value.bytes == [0, 2, 0x5C, 0x41, 0xFF])
    #expect(value.time.timeIntervalSince1970 == 1_706_933_106 && value.number == 0.1 + 0.2)
  }

  @Test func `a source and a connection read the same values with any settings`() async throws {
    let database = try await makeDatabase()
    let pool = try PostgresPool(
      database.connectionString, maximumConnections: 1,
      intervals: PostgresIntervals(polling: .milliseconds(2)))
    let source = try PostgresDataSource(pool: pool, sql: Self.sql) { try Value($0) }
    let recorder = SourceRecorder(source)
    try await recorder.wait { $0.contents.count == 1 }
    expect(recorder.record.contents[0])
    try await pool.withConnection { (connection: PostgresConnection) -> Void in
      expect(try await connection.query(Self.sql) { try Value($0) }[0])
      try await connection.transaction {
        expect(try await connection.query(Self.sql) { try Value($0) }[0])
      }
      let returned = try await connection.query("UPDATE t SET id = 2 RETURNING *") { try Value($0) }
      expect(returned[0])
    }
    try await recorder.wait { $0.contents.map(\.id) == [2] }
    expect(recorder.record.contents[0])
  }

  @Test func `no setting stays in the session`() async throws {
    let database = try await makeDatabase()
    let pool = try PostgresPool(
      database.connectionString, maximumConnections: 1,
      options: PostgresOptions(statementTimeout: .seconds(5)),
      intervals: PostgresIntervals(polling: .milliseconds(2)))
    let source = try PostgresDataSource(pool: pool, sql: Self.sql) { try Value($0) }
    let recorder = SourceRecorder(source)
    try await recorder.wait { $0.contents.count == 1 }
    try await pool.withConnection { (connection: PostgresConnection) -> Void in
      _ = try await connection.query(Self.sql)
      try await connection.execute("UPDATE t SET number = 1")
      await #expect(throws: PostgresError.self) { _ = try await connection.query("SELECT 1/0") }
      try await connection.executeScript("SELECT 1; SELECT 2")
      var settings: [String] = []
      // `SHOW` does not run in a transaction of its own.
      for name in ["intervalstyle", "bytea_output", "extra_float_digits", "statement_timeout"] {
        settings += try await connection.query("SHOW \(name)") { try $0.value(at: 0) }
      }
      #expect(settings == ["iso_8601", "escape", "-3", "77s"])
    }
  }

  @Test func `the timeout of a connection ends its statements`() async throws {
    let database = try await makeDatabase()
    let connection = try PostgresConnection(
      database.connectionString, options: PostgresOptions(statementTimeout: .milliseconds(50)))
    for run in [
      { _ = try await connection.query("SELECT pg_sleep(3600)") },
      { _ = try await connection.execute("INSERT INTO t SELECT 3 FROM pg_sleep(3600)") },
      { try await connection.executeScript("SELECT 1; SELECT pg_sleep(3600)") },
      {
        try await connection.transaction {
          _ = try await connection.execute("SELECT pg_sleep(3600)")
        }
      },
    ] as [() async throws -> Void] {
      await #expect { try await run() } throws: { ($0 as? PostgresError)?.code == .timeout }
    }
  }

  @Test func `a script of one statement runs outside a transaction`() async throws {
    let database = try await makeDatabase()
    let connection = try PostgresConnection(
      database.connectionString, options: PostgresOptions(statementTimeout: .seconds(5)))
    try await connection.executeScript("VACUUM t;")
    // The server refuses it in a transaction.
    await #expect(throws: PostgresError.self) {
      try await connection.executeScript("VACUUM t; SELECT 1")
    }
  }

  // MARK: Encodings

  private static let encodings = [
    "UTF8", "SQL_ASCII", "LATIN1", "LATIN2", "LATIN5", "LATIN9", "LATIN10", "ISO_8859_5",
    "ISO_8859_7", "WIN1250", "WIN1251", "WIN1252", "WIN1254", "WIN866", "KOI8R", "KOI8U", "EUC_JP",
    "EUC_CN", "EUC_KR", "EUC_TW", "EUC_JIS_2004",
  ]

  @Test(arguments: encodings)
  func `text is ordered as the server orders it, in each encoding`(encoding: String) async throws {
    let server = try PostgresServer.shared()
    let name = try server.makeDatabase()
    try server.psql("DROP DATABASE \(name)")
    try server.psql(
      "CREATE DATABASE \(name) TEMPLATE template0 ENCODING '\(encoding)' LOCALE 'C'")
    let connection = try PostgresConnection(server.connectionString(database: name))
    try await connection.execute("CREATE TABLE t (k text COLLATE \"C\" PRIMARY KEY)")
    // Which of these characters an encoding has differs.
    for character in "azÀßáéñøÿĀąčłőšžŸŒ€ΑΩαωАЯаяЁё日本語中文한글あアｱ、一丁" {
      _ = try? await connection.execute("INSERT INTO t VALUES ($1)", [String(character)])
    }
    try await connection.installChangeTriggers(on: ["t"])
    let sql = "SELECT k FROM t ORDER BY k"
    let source = try PostgresDataSource(
      pool: try PostgresPool(
        server.connectionString(database: name),
        intervals: PostgresIntervals(polling: .seconds(3600), looking: .milliseconds(2))), sql: sql
    ) { try $0.value("k", as: String.self) }
    let recorder = SourceRecorder(source)
    func rows() async throws -> [String] {
      try await connection.query(sql) { try $0.value("k") }
    }
    try await recorder.wait(for: try await rows())
    try await connection.execute("UPDATE t SET k = k || 'x' WHERE k >= 'z'")
    let record = try await recorder.wait(for: try await rows())
    #expect(record.violations.isEmpty)
    let explanation = try await source.explainQuery()
    let isOrdered = ["UTF8", "SQL_ASCII", "LATIN1"].contains(encoding)
    #expect(explanation.mode == (isOrdered ? .keyed : .refetch), "\(explanation)")
  }
}
