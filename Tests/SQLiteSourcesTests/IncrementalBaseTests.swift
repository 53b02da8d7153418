import Foundation
import ObservableCollections
import Synchronization
import Testing

@testable import SQLiteSources

/// When written rows alone are read, and when everything is.
@Suite struct IncrementalBaseTests {
  private let database: TemporaryDatabase
  private let writer: SQLiteConnection
  private let monitor: ChangeMonitor

  init() throws {
    database = try TemporaryDatabase()
    writer = try database.writer()
    try writer.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE)")
    try writer.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    monitor = ChangeMonitor.shared(path: database.path)
    monitor.expect(writer)
  }

  private func harness(_ tracking: ChangeTracking = .init()) -> KeeperHarness {
    let harness = KeeperHarness(
      monitor, "SELECT id, a FROM t ORDER BY a", expected: "SELECT id, a FROM t ORDER BY a, id",
      tracking: tracking)
    harness.run(looks: true)
    return harness
  }

  @Test func theUpdateHookAloneWouldMissWhatReplaceDeletes() throws {
    var weak = ChangeTracking()
    weak.collector = .updateHook
    let harness = harness(weak)
    try writer.execute("INSERT OR REPLACE INTO t VALUES (4, 'x')")
    harness.run(looks: false)
    #expect(harness.shown != (try harness.expected(writer)))
    #expect(harness.keeper.counts.written == 1)
  }

  @Test func withoutItsDataVersionAForeignCommitWouldBeMissed() throws {
    var weak = ChangeTracking()
    weak.checksDataVersion = false
    let (weakened, right) = (harness(weak), harness())
    let helper = try HelperProcess("sql", database.path)
    try helper.run("UPDATE t SET a = 'new' WHERE id = 1")
    try writer.execute("UPDATE t SET a = 'own' WHERE id = 2")
    for harness in [weakened, right] { harness.run(looks: false) }
    #expect(weakened.shown != (try weakened.expected(writer)))
    #expect(right.shown == (try right.expected(writer)))
    #expect(right.keeper.counts.all == 2)
  }

  @Test func aWriterThatIsInATransactionIsNotWaitedFor() throws {
    let harness = harness()
    let helper = try HelperProcess("sql", database.path)
    let isInside = DispatchSemaphore(value: 0)
    let isRead = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    let thread = Thread { [writer] in
      try? writer.transaction(.deferred) {
        isInside.signal()
        isRead.wait()
      }
      ended.signal()
    }
    thread.start()
    isInside.wait()
    try helper.run("UPDATE t SET a = 'new' WHERE id = 1")
    harness.run(looks: true)
    #expect(harness.shown.contains { $0.values.contains(.text("new")) })
    isRead.signal()
    ended.wait()
    // The base of before is over, for the helper has written; the next reading begins another.
    for turn in 0..<3 {
      try writer.execute("UPDATE t SET a = ? WHERE id = 2", [turn])
      harness.run(looks: false)
      #expect(harness.shown == (try harness.expected(writer)))
    }
    #expect(harness.keeper.counts.written >= 2)
  }

  @Test func moreRowsThanTheLogHoldsAreAllRead() throws {
    let harness = harness()
    try writer.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO t SELECT i, i FROM n
      """)
    harness.run(looks: false)
    #expect(harness.keeper.counts.all == 2)
    #expect(harness.shown.count == 99_994)
    try writer.execute("UPDATE t SET a = -1 WHERE id = 50000")
    harness.run(looks: false)
    #expect(harness.keeper.counts.all == 2 && harness.keeper.counts.written == 1)
    #expect(harness.shown.first?.key == .integer(50_000))
    try writer.execute("DELETE FROM t")
    harness.run(looks: false)
    #expect(harness.shown.isEmpty)
  }

  @Test func statementsFromBeforeTheHookAreSeenAllTheSame() throws {
    // Prepared before anybody asks, it would empty the table without telling of its rows.
    try writer.execute("DELETE FROM t")
    try writer.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    let harness = harness()
    try writer.execute("DELETE FROM t")
    harness.run(looks: false)
    #expect(harness.shown.isEmpty && harness.keeper.counts.written == 1)
  }

  @Test func aTemporaryTableOfTheWriterIsNotTakenForTheTable() throws {
    let harness = harness()
    try writer.execute("CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, a)")
    try writer.execute("INSERT INTO temp.t VALUES (1, 'wrong')")
    try writer.execute("UPDATE main.t SET a = 'right' WHERE id = 1")
    harness.run(looks: false)
    #expect(harness.shown.map(\.values).contains([.integer(1), .text("right")]))
    #expect(harness.shown.count == 3)
  }

  @Test func aWriterWithAnotherMeaningOfLikeIsNotReadThrough() throws {
    let harness = KeeperHarness(monitor, "SELECT id, a FROM t WHERE a LIKE 'X%'")
    harness.run(looks: true)
    #expect(harness.shown.count == 1)
    try writer.executeScript("PRAGMA case_sensitive_like = 1; UPDATE t SET a = 'xx' WHERE id = 1")
    harness.run(looks: false)
    #expect(harness.shown.map(\.values) == [[.integer(1), .text("xx")]])
    #expect(harness.keeper.counts.written == 0)
  }

  @Test func aRowThatCannotBeMappedKeepsAllUntilItCan() throws {
    let fails = Box(false)
    let contents = CollectionProperty<Item>(status: .loading)
    let keeper = QueryKeeper<Item>(
      monitor: monitor,
      query: SQLiteQuery(
        sql: "SELECT id, a AS name FROM t ORDER BY a", arguments: [],
        needsUniqueColumnNames: true), tracking: .init()
    ) { row in
      if fails.value { throw CancellationError() }
      return try row.decode()
    }
    func run() -> SQLiteError? {
      switch keeper.run(looks: false, client: nil, shown: { contents.collection.snapshot }) {
      case .unchanged: break
      case .replaced(let elements): contents.publish(elements, status: .loaded)
      case .changed(let changeset, let inserted, let updated):
        contents.edit { $0.apply(changeset, inserted: inserted, updated: updated) }
      case .failed(let error, _, _): return error
      }
      return nil
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

  @Test func aSchemaThatChangesIsDecidedAnew() throws {
    let harness = harness()
    #expect(harness.isIncremental)
    try writer.executeScript(
      """
      BEGIN; ALTER TABLE t RENAME TO old; CREATE VIEW t AS SELECT id, a || '!' AS a FROM old; COMMIT
      """)
    harness.run(looks: false)
    #expect(!harness.isIncremental)
    #expect(harness.shown == (try harness.expected(writer)))
    try writer.executeScript("BEGIN; DROP VIEW t; ALTER TABLE old RENAME TO t; COMMIT")
    harness.run(looks: false)
    #expect(harness.isIncremental)
    #expect(harness.shown == (try harness.expected(writer)))
    try writer.execute("DROP TABLE t")
    #expect(harness.run(looks: false)?.code == .sql)
    #expect(harness.shown.count == 3)
  }

  @Test func readersAreKeptForThoseWhoReadAndNoMore() throws {
    let readers = ReaderPool(like: DatabaseReader(path: database.path))
    func nested(_ depth: Int) throws(SQLiteError) -> Int64? {
      try readers.read { database throws(SQLiteError) in
        depth == 0 ? try database.number("SELECT count(*) FROM t") : try nested(depth - 1)
      }
    }
    #expect(try nested(5) == 3)
    #expect(readers.idleCount == 2)
    // More than read at one time otherwise, and none of them ends before the last has read.
    #expect(try nested(10) == 3)
    #expect(readers.idleCount == 2)
  }
}
