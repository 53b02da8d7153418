import DataSourceTesting
import Diffing
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresDataSourceTests {
  private static let table = "CREATE TABLE item (id integer PRIMARY KEY, title text NOT NULL)"

  @Test func `a source loads the result and follows commits of another connection`() async throws {
    let database = try await TestDatabase(
      Self.table + "; INSERT INTO item VALUES (1, 'a'), (2, 'b')")
    let source = try PostgresDataSource(
      pool: try database.makePool(), sql: "SELECT id, title FROM item ORDER BY title"
    ) { try Item($0) }
    #expect(source.status.state == .idle)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, title: "a"), Item(id: 2, title: "b")])
    try await database.connection.execute("INSERT INTO item VALUES ($1, $2)", [3, "aa"])
    let record = try await recorder.wait(for: [
      Item(id: 1, title: "a"), Item(id: 3, title: "aa"), Item(id: 2, title: "b"),
    ])
    #expect(record.violations.isEmpty)
    #expect(record.changes.last?.changeset.insertions == [1])
    #expect(
      record.statuses.map(\.state) == [.idle, .loading, .loaded]
        || record.statuses.map(\.state) == [.loading, .loaded])
  }

  @Test func `a source of Decodable elements binds its arguments`() async throws {
    let database = try await TestDatabase(
      Self.table + "; INSERT INTO item VALUES (1, 'a'), (2, 'b')")
    let source = try PostgresDataSource<Item>(
      pool: try database.makePool(), sql: "SELECT id, title FROM item WHERE id > $1 ORDER BY id",
      arguments: [1])
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 2, title: "b")])
  }

  @Test func `a source follows the event contract`() async throws {
    let database = try await TestDatabase(
      Self.table + "; INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 5) n")
    let connection = database.connection
    let pool = try database.makePool()
    let sql = "SELECT id, title FROM item ORDER BY title, id"
    try await checkDataSource(
      makeSource: { try PostgresDataSource(pool: pool, sql: sql) { try Item($0) } },
      mutate: { _, random in
        let (id, title) = (random.below(12), "row \(random.below(20))")
        switch random.below(4) {
        case 0: try await connection.execute("DELETE FROM item WHERE id = $1", [id])
        case 1:
          try await connection.execute(
            "UPDATE item SET id = id + 100 WHERE id = $1 AND NOT EXISTS "
              + "(SELECT FROM item WHERE id = $1 + 100)", [id])
        default:
          try await connection.execute(
            "INSERT INTO item VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET title = $2",
            [id, title])
        }
      },
      expected: { _ in try await connection.query(sql) { try Item($0) } },
      damage: { _ in try await connection.execute("ALTER TABLE item RENAME TO hidden") },
      repair: { _ in try await connection.execute("ALTER TABLE hidden RENAME TO item") })
  }
}
