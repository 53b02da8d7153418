import TestSupport
import DataSourceTesting
import ObservableCollections
import SQLiteSources
import Testing

/// Changes of the schema of a live query.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultSchemaTests {
  typealias Setting = ObservedQuery.Setting

  private static let plain = """
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO item VALUES (1, 'a'), (2, 'b')
    """

  @Test(arguments: Setting.all)
  func `a missing table or column is a status until it is back`(setting: Setting) async throws {
    let live = try await ObservedQuery(
      setting, "SELECT id, name FROM item WHERE name > '' ORDER BY name", setup: Self.plain)
    for (breaking, repairing) in [
      ("ALTER TABLE item RENAME TO away", "ALTER TABLE away RENAME TO item"),
      ("ALTER TABLE item RENAME COLUMN name TO n", "ALTER TABLE item RENAME COLUMN n TO name"),
      (
        "CREATE TABLE kept AS SELECT * FROM item; ALTER TABLE item DROP COLUMN name",
        "ALTER TABLE item ADD COLUMN name TEXT; "
          + "UPDATE item SET name = (SELECT name FROM kept WHERE id = item.id); DROP TABLE kept"
      ),
      (
        "CREATE TABLE kept AS SELECT * FROM item; DROP TABLE item",
        "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT); "
          + "INSERT INTO item SELECT * FROM kept; DROP TABLE kept"
      ),
    ] {
      let count = live.observer.eventCount
      try live.write("BEGIN; \(breaking); COMMIT")
      let record = try await live.recorder.waitForFailure(.sql)
      #expect(record.failure?.sql == live.source.sql)
      try live.write("CREATE TABLE IF NOT EXISTS other (x); INSERT INTO other VALUES (1)")
      await live.source.refresh()
      #expect(live.observer.eventCount == count, "the last good contents stay")
      try live.write("BEGIN; \(repairing); COMMIT")
      try await live.recorder.wait { $0.state == .loaded }
      #expect(live.observer.eventCount == count, "\(breaking)")
      try await live.expectSilence("UPDATE item SET name = name")

      // The table is restored with another row.
      try live.write("BEGIN; \(breaking); COMMIT")
      try await live.recorder.waitForFailure(.sql)
      try await live.expect(
        "BEGIN; \(repairing); INSERT INTO item (id, name) VALUES (3, 'c'); COMMIT",
        changes: "+2 3.c")
      try await live.expect("DELETE FROM item WHERE id = 3", changes: "-2 3.c")
    }
  }

  @Test(arguments: Setting.all)
  func `another table of the same name is the exact difference`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting, setup: Self.plain)
    let ways: [(sql: String, difference: String, changes: String)] = [
      (
        "CREATE TABLE item (id TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID", "(1, 'b')",
        "-0 1.a, -1 2.b, +0 1.b"
      ),
      (
        "CREATE TABLE item (name, id INTEGER PRIMARY KEY)", "('b', 1), ('c', 3)",
        "-0 1.b, +0 1.b, +1 3.c"
      ),
      ("CREATE TABLE item (id, name COLLATE NOCASE UNIQUE)", "(1, 'b'), (3, 'C')", "~1>1 3.c→3.C"),
      ("CREATE TABLE item (id INT PRIMARY KEY, name TEXT)", "(3, 'C'), (2, 'D')", "-0 1.b, +1 2.D"),
    ]
    for way in ways {
      try await live.expect(
        "BEGIN; DROP TABLE item; \(way.sql); INSERT INTO item VALUES \(way.difference); COMMIT",
        changes: way.changes)
      // The changes of the present table stay exact.
      let count = live.observer.snapshot.count
      try await live.expect(
        "INSERT INTO item (id, name) VALUES (8, 'zz')", changes: "+\(count) 8.zz")
      try await live.expect(
        "UPDATE item SET name = 'zy' WHERE id = 8", changes: "~\(count)>\(count) 8.zz→8.zy")
      try await live.expect("DELETE FROM item WHERE id = 8", changes: "-\(count) 8.zy")
    }
    try await live.expect(
      """
      BEGIN; ALTER TABLE item RENAME TO base; DELETE FROM base WHERE id = 2;
      CREATE VIEW item AS SELECT id, name || '?' AS name FROM base; COMMIT
      """, changes: "-1 2.D, ~0>0 3.C→3.C?")
    try await live.expect("INSERT INTO base VALUES (4, 'E')", changes: "+1 4.E?")
    try await live.expect(
      "BEGIN; DROP VIEW item; CREATE VIEW item AS SELECT id, name FROM base WHERE id > 3; COMMIT",
      changes: "-0 3.C?, ~1>0 4.E?→4.E")
    try await live.expect("UPDATE base SET id = 1 WHERE id = 4", changes: "-0 4.E")
  }

  @Test func `an index that the query names is required`() async throws {
    let live = try await ObservedQuery(
      .init(journal: .wal, writer: .process),
      "SELECT id, name FROM item INDEXED BY by_name WHERE name > '' ORDER BY name",
      setup: Self.plain + "; CREATE INDEX by_name ON item (name)")
    try live.write("DROP INDEX by_name")
    try await live.recorder.waitForFailure(.sql)
    try await live.expect(
      "BEGIN; CREATE INDEX by_name ON item (name); DELETE FROM item WHERE id = 1; COMMIT",
      changes: "-0 1.a")
  }

  @Test func `the SQL is checked when the database appears`() async throws {
    let database = try TemporaryDatabase()
    let source = try SQLiteDataSource(
      path: database.path, sql: "SELECT id, name, more FROM item"
    ) { TestRow($0) }
    let recorder = SourceRecorder(source)
    try await recorder.waitForFailure(.missing)
    let writer = try database.writer()
    try await recorder.waitForFailure(.sql)
    try writer.execute("ALTER TABLE item ADD COLUMN more")
    try await recorder.wait { $0.state == .loaded }
    try writer.execute("INSERT INTO item VALUES (1, 'a', 'b')")
    try await recorder.wait { $0.contents.map(\.description) == ["1.a.b"] }
  }
}
