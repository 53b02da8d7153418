import DataSourceTesting
import Foundation
import SQLiteSources
import TestSupport
import TestTags
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
  @Test(.tags(.system), arguments: TemporaryDatabase.Journal.allCases)
  func `a query keeps the event contract`(journal: TemporaryDatabase.Journal) async throws {
    let database = try TemporaryDatabase()
    let writer = try database.writer(journal)
    try writer.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, position REAL)")
    let helper = try HelperProcess("sql", database.path)
    let sql = "SELECT id, name FROM place ORDER BY position, id"
    try await checkDataSource(
      makeSource: { try SQLiteDataSource<Item>(path: database.path, sql: sql) },
      mutate: { _, random in
        let (id, name) = (random.below(8), random.below(3))
        let edit =
          switch random.below(4) {
          case 0: "DELETE FROM place WHERE id % 4 = \(id % 4)"
          case 1: "UPDATE place SET position = \(name) WHERE id = \(id)"
          default: "INSERT OR REPLACE INTO place VALUES (\(id), 'n\(name)', \(random.below(9)))"
          }
        // This process or another process writes.
        if random.oneIn(2) { try writer.execute(edit) } else { try helper.run(edit) }
      },
      expected: { _ in
        try writer.query(sql).map { Item(id: try $0.value("id"), name: try $0.value("name")) }
      },
      damage: { _ in try helper.run("ALTER TABLE place RENAME TO away") },
      repair: { _ in try helper.run("ALTER TABLE away RENAME TO place") })
  }
}
