import DataSourceTesting
import SQLSources
import TestSupport
import Foundation
import ObservableCollections
import TestSupport
import TestTags
import Testing

@testable import SQLiteSources

@Suite(.timeLimit(.minutes(10))) struct SQLiteDataSourceRandomTests {
  @Test(.reaches(.changes), .tags(.system), arguments: TemporaryDatabase.Journal.allCases)
  func `random writes of two processes end in the result of a fresh query`(
    journal: TemporaryDatabase.Journal
  ) async throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let steps = TestRun.isLong ? 5000 : 150
    let database = try TemporaryDatabase()
    let writer = try database.writer(journal)
    try writer.executeScript("PRAGMA synchronous = OFF")
    let helper = try HelperProcess("sql", database.path)
    try helper.run("PRAGMA synchronous = OFF")
    let queries = [
      "SELECT id, name FROM item ORDER BY name, id",
      "SELECT id, name FROM item WHERE id % 3 = 0 ORDER BY id DESC",
      "SELECT length(name) AS id, max(name) AS name FROM item GROUP BY 1 ORDER BY 1",
    ]
    let recorders = try queries.map {
      SourceRecorder(try SQLiteDataSource<Item>(path: database.path, sql: $0))
    }
    for step in 0..<steps {
      let sql = randomStatement(&generator)
      if Bool.random(using: &generator) {
        try writer.executeScript(sql)
      } else {
        try helper.run(sql)
      }
      guard step % 10 == 9 else { continue }
      for (query, recorder) in zip(queries, recorders) {
        let expected = try writer.query(as: Item.self, query)
        try await recorder.wait(for: expected)
      }
    }
    for recorder in recorders {
      #expect(recorder.record.violations.isEmpty, "seed \(seed)")
      Coverage.note(recorder.operations)
    }
  }

  private func randomStatement(_ generator: inout SeededGenerator) -> String {
    let id = Int.random(in: 1...30, using: &generator)
    let name = String(repeating: "abc".randomElement(using: &generator) ?? "a", count: id % 4)
    return switch Int.random(in: 0..<10, using: &generator) {
    case 0..<4: "INSERT OR REPLACE INTO item VALUES (\(id), '\(name)')"
    case 4: "DELETE FROM item WHERE id = \(id)"
    case 5: "UPDATE item SET name = '\(name)' WHERE id % 5 = \(id % 5)"
    case 6: "UPDATE OR REPLACE item SET id = id + 1 WHERE id = \(id)"
    case 7: "BEGIN; DELETE FROM item WHERE id < \(id); ROLLBACK"
    case 8: "BEGIN; DELETE FROM item WHERE id < 5; INSERT INTO item VALUES (1, '\(name)'); COMMIT"
    default: "DELETE FROM item WHERE id > \(id + 10)"
    }
  }

  @Test func `matched rows have the same values`() throws {
    let memory = try SQLiteConnection.makeInMemory()
    func fingerprints(_ numbers: [Int]) throws -> [RowFingerprint] {
      try numbers.map { number in
        try memory.withDatabase { database throws(SQLiteError) in
          try database.withStatement("SELECT ?", [number]) { statement throws(SQLiteError) in
            _ = try statement.step()
            var hasher = RowHasher()
            hasher.combine(statement, 0..<1)
            return hasher.fingerprint
          }
        }
      }
    }
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let old = try fingerprints((0..<300).map { _ in Int.random(in: 0..<400, using: &generator) })
      var new = old
      for _ in 0..<Int.random(in: 0..<80, using: &generator) {
        new.swapAt(
          Int.random(in: 0..<300, using: &generator), Int.random(in: 0..<300, using: &generator))
      }
      if Bool.random(using: &generator) { new.reverse() }
      var matcher = RowMatcher(old)
      var unmatched = 0
      for row in new {
        if let place = matcher.match(row) {
          #expect(old[place] == row, "seed \(seed)")
        } else {
          unmatched += 1
        }
      }
      #expect(unmatched <= 32, "seed \(seed)")
    }
  }
}
