import SwappablePrimitives
import TestSupport
import Foundation
import ObservableCollections
import SQLSources
import Synchronization
import TestTags
import Testing

@testable import SQLiteSources

/// The choice between reading written rows and reading the whole result.
@Suite(.timeLimit(.minutes(10))) struct IncrementalBaseTests {
  private let database: TemporaryDatabase
  private let writer: SQLiteConnection
  private let monitor: ChangeMonitor

  init() throws {
    database = try TemporaryDatabase()
    writer = try database.writer()
    try writer.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE)")
    try writer.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    monitor = ChangeMonitor.shared(path: ByteString(database.path))
    monitor.expect(writer)
  }

  private func harness(_ tracking: ChangeTracking = .init()) -> LiveQueryHarness {
    let harness = LiveQueryHarness(
      monitor, "SELECT id, a FROM t ORDER BY a", expected: "SELECT id, a FROM t ORDER BY a, id",
      tracking: tracking)
    harness.run(including: .all)
    return harness
  }

  @Test func `the update hook alone misses rows that REPLACE deletes`() throws {
    var weak = ChangeTracking()
    weak.collector = .updateHook
    let harness = harness(weak)
    try writer.execute("INSERT OR REPLACE INTO t VALUES (4, 'x')")
    harness.run(including: .ownCommits)
    #expect(harness.shown != (try harness.expected(writer)))
    #expect(harness.query.counts.written == 1)
  }

  @Test(.tags(.system)) func `without the data version, a foreign commit is missed`() throws {
    var weak = ChangeTracking()
    weak.checksDataVersion = false
    let (weakened, right) = (harness(weak), harness())
    let helper = try HelperProcess("sql", database.path)
    try helper.run("UPDATE t SET a = 'new' WHERE id = 1")
    try writer.execute("UPDATE t SET a = 'own' WHERE id = 2")
    for harness in [weakened, right] { harness.run(including: .ownCommits) }
    #expect(weakened.shown != (try weakened.expected(writer)))
    #expect(right.shown == (try right.expected(writer)))
    #expect(right.query.counts.all == 2)
  }

  @Test(.tags(.system)) func `a read does not wait for a writer in a transaction`() throws {
    let harness = harness()
    let helper = try HelperProcess("sql", database.path)
    let (isInside, isRead) = (Signpost(), Signpost())
    let thread = Worker { [writer] in
      try? writer.transaction(.deferred) {
        isInside.open()
        isRead.pass()
      }
    }
    isInside.pass()
    try helper.run("UPDATE t SET a = 'new' WHERE id = 1")
    harness.run(including: .all)
    #expect(harness.shown.contains { $0.values.contains(.text("new")) })
    isRead.open()
    try thread.join()
    // The helper has written, so the old checkpoint is invalid. The next read begins a new one.
    for turn in 0..<3 {
      try writer.execute("UPDATE t SET a = ? WHERE id = 2", [turn])
      harness.run(including: .ownCommits)
      #expect(harness.shown == (try harness.expected(writer)))
    }
    #expect(harness.query.counts.written >= 2)
  }

  @Test func `the whole result is read after more writes than the log can contain`() throws {
    let harness = harness()
    try writer.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO t SELECT i, i FROM n
      """)
    harness.run(including: .ownCommits)
    #expect(harness.query.counts.all == 2)
    #expect(harness.shown.count == 99_994)
    try writer.execute("UPDATE t SET a = -1 WHERE id = 50000")
    harness.run(including: .ownCommits)
    #expect(harness.query.counts.all == 2 && harness.query.counts.written == 1)
    #expect(harness.shown.first?.key == .integer(50_000))
    try writer.execute("DELETE FROM t")
    harness.run(including: .ownCommits)
    #expect(harness.shown.isEmpty)
  }

  @Test func `statements that were prepared before the hook are tracked`() throws {
    // A statement from before the hook would empty the table without reporting its rows.
    try writer.execute("DELETE FROM t")
    try writer.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    let harness = harness()
    try writer.execute("DELETE FROM t")
    harness.run(including: .ownCommits)
    #expect(harness.shown.isEmpty && harness.query.counts.written == 1)
  }

  @Test func `a temporary table of the writer does not replace the table`() throws {
    let harness = harness()
    try writer.execute("CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, a)")
    try writer.execute("INSERT INTO temp.t VALUES (1, 'wrong')")
    try writer.execute("UPDATE main.t SET a = 'right' WHERE id = 1")
    harness.run(including: .ownCommits)
    #expect(harness.shown.map(\.values).contains([.integer(1), .text("right")]))
    #expect(harness.shown.count == 3)
  }

  @Test func `rows are not read through a writer that has changed the meaning of LIKE`() throws {
    let harness = LiveQueryHarness(monitor, "SELECT id, a FROM t WHERE a LIKE 'X%'")
    harness.run(including: .all)
    #expect(harness.shown.count == 1)
    try writer.executeScript("PRAGMA case_sensitive_like = 1; UPDATE t SET a = 'xx' WHERE id = 1")
    harness.run(including: .ownCommits)
    #expect(harness.shown.map(\.values) == [[.integer(1), .text("xx")]])
    #expect(harness.query.counts.written == 0)
  }

  @Test func `a row that cannot be mapped keeps the old result`() throws {
    let fails = Shared(false)
    let contents = ArrayDataSource<Item>(status: .loading)
    let query = SQLiteLiveQuery<Item>(
      monitor: monitor,
      query: SQLiteQuery(
        sql: "SELECT id, a AS name FROM t ORDER BY a", arguments: [],
        needsUniqueColumnNames: true), tracking: .init()
    ) { row in
      if fails.value { throw CancellationError() }
      return try row.decode()
    }
    func run() -> SQLiteError? {
      let result = query.update(including: .ownCommits, client: nil) {
        contents.collection.snapshot
      }
      switch result.outcome {
      case .contents(.whole(let elements), _): contents.publish(elements, status: .loaded)
      case .contents(.changed(let changeset, let inserted, let updated), _):
        contents.edit { $0.apply(changeset, inserted: inserted, updated: updated) }
      case .contents, .nothing, .failure: break
      }
      return result.error
    }
    #expect(run() == nil)
    fails.value = true
    try writer.execute("UPDATE t SET a = 'yy' WHERE id = 1")
    #expect(run()?.row == 1)
    try writer.execute("DELETE FROM t WHERE id = 2")
    #expect(run()?.row == 0)
    #expect(contents.count == 3)
    fails.value = false
    try writer.execute("UPDATE t SET a = a WHERE id = 3")
    #expect(run() == nil)
    #expect(
      Array(contents.collection.snapshot) == [Item(id: 1, name: "yy"), Item(id: 3, name: "z")])
  }

  @Test func `a change of the schema makes a new plan`() throws {
    let harness = harness()
    #expect(harness.isIncremental)
    try writer.executeScript(
      """
      BEGIN; ALTER TABLE t RENAME TO old; CREATE VIEW t AS SELECT id, a || '!' AS a FROM old; COMMIT
      """)
    harness.run(including: .ownCommits)
    #expect(!harness.isIncremental)
    #expect(harness.shown == (try harness.expected(writer)))
    try writer.executeScript("BEGIN; DROP VIEW t; ALTER TABLE old RENAME TO t; COMMIT")
    harness.run(including: .ownCommits)
    #expect(harness.isIncremental)
    #expect(harness.shown == (try harness.expected(writer)))
    try writer.execute("DROP TABLE t")
    #expect(harness.run(including: .ownCommits)?.code == .sql)
    #expect(harness.shown.count == 3)
  }

  @Test func `only two idle readers are kept`() throws {
    let readers = ReaderPool(like: DatabaseReader(path: ByteString(database.path)))
    func nested(_ depth: Int) throws(SQLiteError) -> Int64? {
      try readers.read { database throws(SQLiteError) in
        depth == 0 ? try database.number("SELECT count(*) FROM t") : try nested(depth - 1)
      }
    }
    #expect(try nested(5) == 3)
    #expect(readers.idleCount == 2)
    // More reads than the limit. None of them ends before the last one has read.
    #expect(try nested(10) == 3)
    #expect(readers.idleCount == 2)
  }
}
