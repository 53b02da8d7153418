import Diffing
import FileSources
import Foundation
import ObservableCollections
import PostgresSources
import RemoteSources
import SQLiteSources
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Dates, decimal numbers and other values that each source stores in its own way.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresDateTests {
  private struct Row: Decodable {
    var at: Date
  }

  private struct Rows: Decodable {
    var at: [Date]
  }

  @Test func `numbers and texts of the server are dates`() async throws {
    let connection = try await TestDatabase().connection
    func dates(
      _ expression: String, _ unit: PostgresRow.DateUnit? = nil
    ) async throws -> [TimeInterval] {
      let dates = try await connection.query("SELECT \(expression) AS at") { row in
        expression.contains("ARRAY")
          ? try row.decode(Rows.self, dates: unit).at : [try row.decode(Row.self, dates: unit).at]
      }
      return dates[0].map(\.timeIntervalSince1970)
    }
    for type in ["bigint", "integer", "double precision", "numeric", "text", "timestamptz"] {
      let value =
        switch type {
        case "text": "'2026-11-28 12:00:00'"
        case "timestamptz": "'2026-11-28 13:00:00+01'"
        default: "1795867200"
        }
      let expected = 1_795_867_200.0
      #expect(try await dates("\(value)::\(type)") == [expected], "\(type)")
      #expect(try await dates("ARRAY[\(value)::\(type), \(value)]") == [expected, expected])
    }
    #expect(try await dates("1795867200.123::float8") == [1_795_867_200.123])
    #expect(try await dates("1795867200.123::numeric") == [1_795_867_200.123])
    #expect(try await dates("'2026-11-28'::date") == [1_795_824_000])
    #expect(try await dates("1795867200123", .millisecondsSince1970) == [1_795_867_200.123])
    #expect(
      try await dates("ARRAY[1795867200123]", .millisecondsSince1970) == [1_795_867_200.123])
    #expect(
      try await dates("extract(julian FROM timestamp '2026-11-28 12:00:00') - 0.5", .julianDays)
        == [1_795_867_200])
    for (expression, problem) in [
      ("extract(julian FROM timestamp '2026-11-28 12:00:00')", "looks like Julian days"),
      ("ARRAY[2460960.5]", "holds the value '2460960.5', which looks like Julian days"),
      ("1795867200123", "the integer 1795867200123, which looks like milliseconds"),
      ("'NaN'::float8", "is not in the years 1 to 9999"),
      ("'infinity'::timestamptz", "is not a date"), ("'soon'", "is not a date"),
      ("true", "is not a date"), ("NULL::bigint", "a value of type Date is required"),
    ] {
      let error = await #expect(throws: PostgresError.self) { try await dates(expression) }
      #expect(error?.description.contains(problem) == true, "\(error!)")
      #expect(error?.description.contains("\"at\"") == true)
    }
  }

  @Test func `elements of arrays may be NULL, and are decoded as values of columns are`()
    async throws
  {
    struct Row: Decodable, Equatable {
      var dates: [Date?]
      var prices: [Decimal?]
      var numbers: [[Int?]]
    }
    let connection = try await TestDatabase().connection
    let sql = "SELECT ARRAY[60, NULL] AS dates, ARRAY[9.99, NULL] AS prices, "
    let rows = try await connection.query(sql + "ARRAY[[1, NULL], [2, 3]] AS numbers") {
      try $0.decode(Row.self)
    }
    let price = try #require(Decimal(string: "9.99"))
    let dates = [Date(timeIntervalSince1970: 60), nil]
    #expect(rows == [Row(dates: dates, prices: [price, nil], numbers: [[1, nil], [2, 3]])])
    let error = await #expect(throws: PostgresError.self) {
      try await connection.query(sql + "ARRAY[['one']] AS numbers") { try $0.decode(Row.self) }
    }
    #expect(error?.description.contains("array of") == true, "\(error!)")
  }

  // MARK: One row in each kind of source

  private struct Entry: Differentiable, Equatable, Sendable, Codable {
    var id: UUID
    var created: Date
    var seen: Date
    var due: Date?
    var price: Decimal
    var content: Data
    var note: String?
    var differenceIdentifier: UUID { id }
  }

  private static let columns = "id, created, seen, due, price, content, note"

  private func expectUnchanged(
    _ container: SwappableContainer<Entry>, _ source: some DataSource<Entry>
  ) async throws {
    let outcome = await container.swap(to: source).outcome
    #expect(outcome == .unchanged, "\(type(of: source)): \(Array(container.snapshot))")
  }

  @Test func `swaps between SQLite, PostgreSQL, a file and a served list change nothing`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let local = try SQLiteConnection(path: directory("a.db"))
    try local.executeScript(
      """
      CREATE TABLE entry (id TEXT PRIMARY KEY, created INTEGER DEFAULT (unixepoch()), seen, due TEXT,
        price TEXT, content BLOB, note TEXT);
      INSERT INTO entry VALUES
        ('7D444840-9DC0-11D1-B245-5FFDCE74FAD2', 1760000000, 1760000000.123, '2026-11-28 12:00:00',
          '12345678901234567890.12', x'00ff5c', NULL),
        ('7d444840-9dc0-11d1-b245-5ffdce74fad3', -1, '2026-11-28T12:00:00.123456Z', NULL, 9.99, x'', '');
      """)
    let database = try await TestDatabase(
      """
      CREATE TABLE entry (id uuid PRIMARY KEY, created bigint, seen timestamptz, due timestamp,
        price numeric, content bytea, note text);
      INSERT INTO entry VALUES
        ('7D444840-9DC0-11D1-B245-5FFDCE74FAD2', 1760000000, to_timestamp(1760000000) + interval '123 ms',
          '2026-11-28 12:00:00', 12345678901234567890.12, '\\x00ff5c', NULL),
        ('7d444840-9dc0-11d1-b245-5ffdce74fad3', -1, '2026-11-28T12:00:00.123456Z', NULL, 9.99, '', '')
      """)
    let sql = "SELECT \(Self.columns) FROM entry ORDER BY id"
    let container = SwappableContainer<Entry>()
    let sqlite = try SQLiteDataSource<Entry>(path: directory("a.db"), sql: sql)
    #expect(await container.swap(to: sqlite).outcome == .swapped)
    let entries = Array(container.snapshot)
    #expect(entries.map(\.created.timeIntervalSince1970) == [1_760_000_000, -1])
    #expect(entries.map(\.seen.timeIntervalSince1970) == [1_760_000_000.123, 1_795_867_200.123456])
    try JSONEncoder().encode(entries).write(to: URL(fileURLWithPath: directory("a.json")))
    let postgres = try PostgresDataSource<Entry>(pool: try database.makePool(), sql: sql)
    let file = JSONFileDataSource<Entry>(path: directory("a.json"))
    let server = try FeedServer(
      path: directory("s"), feeds: ["entries": Feed(file.collection, key: "id")])
    let served = RemoteDataSource<Entry>(.unixSocket(path: server.path, list: "entries"))
    try await expectUnchanged(container, postgres)
    try await expectUnchanged(container, file)
    try await expectUnchanged(container, served)
    try await expectUnchanged(container, file)
    try await expectUnchanged(container, postgres)
    try await expectUnchanged(container, sqlite)
    #expect(Array(container.snapshot) == entries)
  }
}
