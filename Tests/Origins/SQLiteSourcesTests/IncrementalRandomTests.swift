import DataSourceTesting
import Foundation
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import SQLiteSources

/// Random writes by several connections, compared with fresh queries after each step.
@Suite struct IncrementalRandomTests {
  private static let schema = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, a, b TEXT COLLATE NOCASE UNIQUE, c REAL, d BLOB);
    CREATE TABLE child (id INTEGER PRIMARY KEY, parent REFERENCES t(id) ON DELETE CASCADE,
      n INTEGER);
    CREATE TRIGGER spread AFTER UPDATE OF c ON t BEGIN
      UPDATE child SET n = n + 1 WHERE parent = new.id; END;
    CREATE TABLE other (id INTEGER PRIMARY KEY, x);
    CREATE INDEX byA ON t (a);
    """

  /// Each query, with the order of the comparison and the column of the identity.
  private static let queries: [(sql: String, order: String, key: Int)] = [
    ("SELECT id, a FROM t", "ORDER BY id", 0),
    ("SELECT * FROM t ORDER BY a", ", id", 0),
    ("SELECT id, b, c FROM t ORDER BY b DESC, a", ", id", 0),
    (
      "SELECT id, a, b FROM t AS x WHERE x.a > 2 OR a IS NULL ORDER BY x.c DESC, b COLLATE BINARY",
      ", id", 0
    ),
    ("SELECT b, id FROM t WHERE length(b) < 3 ORDER BY id DESC", "", 0),
    ("SELECT a, c FROM t ORDER BY a COLLATE NOCASE, c", ", id", 0),
    ("SELECT id, a FROM t ORDER BY a LIMIT 7", ", id LIMIT 7", 0),
    ("SELECT id, d FROM t WHERE a IN (1, 2, 3, 'x') ORDER BY d DESC, b LIMIT 4", ", id LIMIT 4", 0),
    ("SELECT id, c FROM t LIMIT 5", "ORDER BY id LIMIT 5", 0),
    ("SELECT id, c FROM t ORDER BY c LIMIT 0", "", 0),
    ("SELECT id, n FROM child ORDER BY n DESC", ", id", 0),
    ("SELECT id, a AS b FROM t ORDER BY b, c", ", id", 0),
  ]

  @Test(
    .reaches(.changes, "refused write"), arguments: ["wal", "delete", "memory"], [UInt64(1), 2, 3])
  func `every step shows the result of a fresh query`(journal: String, round: UInt64) throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let database = try TemporaryDatabase()
    var writers: [SQLiteConnection]
    let monitor: ChangeMonitor
    if journal == "memory" {
      writers = [try SQLiteConnection.makeInMemory()]
      monitor = ChangeMonitor.shared(connection: writers[0])
    } else {
      writers = try (0..<2).map { _ in try SQLiteConnection(path: database.path) }
      _ = try writers[0].query("PRAGMA journal_mode = \(journal)")
      monitor = ChangeMonitor.shared(path: ByteString(database.path))
    }
    for writer in writers {
      try writer.executeScript("PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON")
    }
    try writers[0].executeScript(Self.schema)
    if round == 2 { monitor.expect(writers[0]) }
    let harnesses = Self.queries.map { query in
      let limitless = query.sql.components(separatedBy: " LIMIT ")[0]
      let ordered = "\(limitless) \(query.order)".replacingOccurrences(of: " ,", with: ",")
      return LiveQueryHarness(
        monitor, query.sql, expected: query.order.isEmpty ? query.sql : ordered,
        keyColumn: query.key)
    }
    for harness in harnesses { #expect(harness.run(including: .all) == nil, "seed \(seed)") }
    var isOther = false
    for step in 0..<(TestRun.isLong ? 20_000 : 200) {
      // Let one writer write for a while, because only then are single rows read.
      if Int.random(in: 0..<12, using: &generator) == 0 { isOther.toggle() }
      let writer = writers[isOther ? writers.count - 1 : 0]
      let sql = Self.statement(&generator)
      // Some writes violate a constraint.
      do {
        try writer.executeScript(sql)
      } catch {
        Coverage.note("refused write")
        if (try? writer.execute("ROLLBACK")) == nil {}
      }
      if Int.random(in: 0..<4, using: &generator) == 0 { continue }
      for (harness, query) in zip(harnesses, Self.queries) {
        let extent: DatabaseChange.Extent = Bool.random(using: &generator) ? .all : .ownCommits
        #expect(harness.run(including: extent) == nil, "seed \(seed), step \(step)")
        let expected = try harness.expected(writers[0])
        if harness.shown != expected {
          Issue.record("seed \(seed), step \(step), after \(sql): \(query.sql)")
          return
        }
      }
    }
    for (harness, query) in zip(harnesses, Self.queries) {
      #expect(
        harness.isIncremental, "seed \(seed): \(query.sql): \(harness.query.diagnostics)")
      #expect(harness.query.counts.written > 0, "seed \(seed)")
    }
    let counts = harnesses.map { "\($0.query.counts.all)/\($0.query.counts.written)" }
    print(journal, counts.joined(separator: " "))
  }

  private static func value(_ generator: inout SeededGenerator) -> String {
    let number = Int.random(in: 0..<6, using: &generator)
    return switch Int.random(in: 0..<10, using: &generator) {
    case 0: "NULL"
    case 1: "\(number).5"
    case 2: "'\("aAbBxé"[("aAbBxé".index("aAbBxé".startIndex, offsetBy: number))])'"
    case 3: "'\(String(repeating: "Long", count: number))\(number)'"
    case 4: "x'0\(number)00'"
    case 5: "9007199254740993"
    case 6: "9007199254740992.0"
    case 7: "-\(number)"
    default: "\(number)"
    }
  }

  private static func statement(_ generator: inout SeededGenerator) -> String {
    let id = Int.random(in: 1...24, using: &generator)
    let (one, two, three) = (value(&generator), value(&generator), value(&generator))
    let row = "(\(id), \(one), \(two), \(three), \(one))"
    return switch Int.random(in: 0..<24, using: &generator) {
    case 0..<6: "INSERT OR REPLACE INTO t VALUES \(row)"
    case 6: "INSERT INTO t VALUES \(row) ON CONFLICT DO UPDATE SET a = \(two), b = \(one)"
    case 7: "UPDATE OR REPLACE t SET b = \(two) WHERE id % 5 = \(id % 5)"
    case 8: "UPDATE t SET a = \(one) WHERE id = \(id)"
    case 9: "UPDATE t SET c = \(three) WHERE id = \(id)"
    case 10: "UPDATE OR REPLACE t SET id = id + 1 WHERE id = \(id)"
    case 11: "UPDATE OR IGNORE t SET id = -id"
    case 12: "DELETE FROM t WHERE id = \(id)"
    case 13: "DELETE FROM t WHERE a = \(one)"
    case 14: "BEGIN; DELETE FROM t; INSERT INTO t VALUES \(row); ROLLBACK"
    case 15:
      "BEGIN; UPDATE t SET a = \(one); SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; COMMIT"
    case 16: "INSERT OR REPLACE INTO child VALUES (\(id), \(id % 7), \(id))"
    case 17: "INSERT INTO other (x) VALUES (1)"
    case 18: id < 4 ? "DELETE FROM t" : "UPDATE t SET a = a"
    case 19: id < 4 ? "DELETE FROM child" : "UPDATE child SET n = n - 1"
    case 20: id < 5 ? "VACUUM" : "UPDATE t SET d = \(one) WHERE id < \(id)"
    case 21:
      id < 5
        ? "CREATE TABLE made (x); DROP TABLE made"
        : "INSERT OR IGNORE INTO t (a, b) VALUES (\(one), \(two)), (\(two), \(three))"
    case 22: "UPDATE t SET a = \(one), c = \(two) WHERE id IN (\(id), \(id + 2), \(id + 4))"
    default:
      "REPLACE INTO t (id, a, b) VALUES (\(id), \(two), \(one)), (\(id + 1), \(one), \(three))"
    }
  }
}
