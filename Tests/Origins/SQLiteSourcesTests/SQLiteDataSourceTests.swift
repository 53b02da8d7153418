import TestSupport
import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import TestTags
import Testing

@testable import SQLiteSources

@Suite(.timeLimit(.minutes(10))) struct SQLiteDataSourceTests {
  typealias Journal = TemporaryDatabase.Journal

  private let database: TemporaryDatabase
  private let select = "SELECT id, name FROM item ORDER BY name, id"

  init() throws {
    database = try TemporaryDatabase()
  }

  @Test(arguments: Journal.allCases)
  func `each commit of this process is one exact change`(journal: Journal) async throws {
    let writer = try database.writer(journal)
    try writer.execute("INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    let source = try SQLiteDataSource<Item>(connection: writer, sql: select)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [
      Item(id: 1, name: "a"), Item(id: 2, name: "b"), Item(id: 3, name: "c"),
    ])
    let changes = recorder.record.changes.count
    try writer.transaction {
      try writer.execute("UPDATE item SET name = 'z' WHERE id = 1")
      try writer.execute("DELETE FROM item WHERE id = 2")
      try writer.execute("INSERT INTO item VALUES (4, 'd')")
    }
    let record = try await recorder.wait(for: [
      Item(id: 3, name: "c"), Item(id: 4, name: "d"), Item(id: 1, name: "z"),
    ])
    let change = try #require(record.changes.last?.changeset)
    #expect(record.changes.count == changes + 1)
    #expect(change.deletions == [1])
    #expect(change.insertions == [1])
    #expect(change.moves.count == 1)
    #expect(change.updates.map(\.to) == [2])
    #expect(record.statuses.last == .loaded)
    #expect(record.violations.isEmpty)
  }

  @Test(.tags(.system), arguments: Journal.allCases)
  func `commits of another process are changes and rollbacks are not`(journal: Journal) async throws
  {
    try database.writer(journal).close()
    let helper = try HelperProcess("sql", database.path)
    let source = try SQLiteDataSource<Item>(path: database.path, sql: select)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [])
    try helper.run("BEGIN; INSERT INTO item VALUES (1, 'a')")
    await source.refresh()
    try helper.run("ROLLBACK")
    try helper.run("BEGIN; INSERT INTO item VALUES (2, 'b'); SAVEPOINT s")
    try helper.run("INSERT INTO item VALUES (3, 'c'); ROLLBACK TO s")
    try helper.run("COMMIT")
    try await recorder.wait(for: [Item(id: 2, name: "b")])
    #expect(recorder.record.changes.count == 1)
    #expect(recorder.record.violations.isEmpty)
  }

  @Test(.tags(.system), arguments: Journal.allCases)
  func `a write that keeps the result is no event`(journal: Journal) async throws {
    let writer = try database.writer(journal)
    try writer.execute("INSERT INTO item VALUES (1, 'a'), (2, 'b')")
    let source = try SQLiteDataSource<Item>(
      connection: writer, sql: "SELECT * FROM item WHERE id < ?", arguments: [100])
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, name: "a"), Item(id: 2, name: "b")])
    let (changes, statuses) = (recorder.record.changes.count, recorder.record.statuses)
    let helper = try HelperProcess("sql", database.path)
    for sql in [
      "UPDATE item SET name = name", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)",
      "REPLACE INTO item VALUES (100, 'outside')", "CREATE TABLE IF NOT EXISTS other (x)",
      "REINDEX", "ANALYZE", "REPLACE INTO item VALUES (1, 'a')",
      "BEGIN; DELETE FROM item; ROLLBACK",
    ] {
      try helper.run(sql)
      await source.refresh()
      try writer.executeScript(sql)
      await source.refresh()
    }
    try helper.run("INSERT INTO item VALUES (3, 'c')")
    try await recorder.wait(for: [
      Item(id: 1, name: "a"), Item(id: 2, name: "b"), Item(id: 3, name: "c"),
    ])
    #expect(recorder.record.changes.count == changes + 1)
    #expect(recorder.record.statuses == statuses)
  }

  @Test(.tags(.system), arguments: Journal.allCases)
  func `the last commit of a burst is delivered`(journal: Journal) async throws {
    try database.writer(journal).close()
    let helper = try HelperProcess("sql", database.path)
    try helper.run("PRAGMA synchronous = OFF; INSERT INTO item VALUES (1, 'start')")
    let source = try SQLiteDataSource<Item>(path: database.path, sql: select)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, name: "start")])
    for _ in 0..<3 {
      try helper.run("burst 1000 UPDATE item SET name = ? WHERE id = 1")
      try await recorder.wait(for: [Item(id: 1, name: "1000")])
      try helper.run("UPDATE item SET name = 'again'")
      try await recorder.wait(for: [Item(id: 1, name: "again")])
    }
    #expect(recorder.record.violations.isEmpty)
  }

  @Test(.tags(.system), arguments: Journal.allCases)
  func `after any kind of write, the result equals a fresh query`(journal: Journal) async throws {
    let writer = try database.writer(journal)
    try writer.executeScript(
      """
      CREATE TABLE list (id INTEGER PRIMARY KEY);
      CREATE TABLE word (id INTEGER PRIMARY KEY, name TEXT UNIQUE,
        list INTEGER REFERENCES list ON DELETE CASCADE);
      CREATE TABLE bare (id INTEGER PRIMARY KEY, name TEXT) WITHOUT ROWID;
      CREATE TABLE log (id INTEGER PRIMARY KEY, name TEXT);
      CREATE TRIGGER t AFTER DELETE ON word BEGIN INSERT INTO log (name) VALUES (old.name); END;
      """)
    let all = """
      SELECT 'w' || id || name AS name FROM word UNION ALL SELECT 'b' || id || name FROM bare
      UNION ALL SELECT 'l' || id || name FROM log ORDER BY 1
      """
    let helper = try HelperProcess("sql", database.path)
    let source = try SQLiteDataSource(path: database.path, sql: all) {
      try $0.value("name", as: String.self)
    }
    let recorder = SourceRecorder(source)
    for sql in [
      "PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON",
      "INSERT INTO list VALUES (1), (2); INSERT INTO word VALUES (1, 'a', 1), (2, 'b', 2)",
      "INSERT INTO bare VALUES (1, 'x'), (2, 'y')", "REPLACE INTO word VALUES (3, 'a', 1)",
      "UPDATE word SET id = 9 WHERE id = 2", "UPDATE OR REPLACE word SET name = 'a' WHERE id = 9",
      "INSERT INTO word VALUES (9, 'c', 2) ON CONFLICT (id) DO UPDATE SET name = excluded.name",
      "DELETE FROM list WHERE id = 2", "REPLACE INTO bare VALUES (1, 'z')", "DELETE FROM bare",
      "DELETE FROM log", "INSERT INTO word VALUES (1, 'n', NULL)", "DELETE FROM word", "VACUUM",
    ] {
      try helper.run(sql)
      let expected = try writer.query(as: String.self, all)
      try await recorder.wait(for: expected)
    }
    #expect(recorder.record.violations.isEmpty)
  }

  @Test func `known rows are not mapped again`() async throws {
    let writer = try database.writer()
    try writer.executeScript(
      """
      WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO item SELECT i, printf('%04d', i) FROM n
      """)
    let maps = Shared(0)
    let source = try SQLiteDataSource(connection: writer, sql: select) { row in
      maps.modify { $0 += 1 }
      return Item(id: try row.value("id"), name: try row.value("name"))
    }
    #expect(maps.value == 0, "an idle source reads nothing")
    let recorder = SourceRecorder(source)
    try await recorder.wait { $0.contents.count == 1000 }
    #expect(maps.value == 1000)
    for sql in [
      "UPDATE item SET name = name || 'x' WHERE id = 500", "DELETE FROM item WHERE id = 1",
      "INSERT INTO item VALUES (1, '0500')", "UPDATE item SET name = 'last' WHERE id = 700",
    ] {
      try writer.execute(sql)
      let expected = try writer.query(as: Item.self, select)
      try await recorder.wait(for: expected)
    }
    #expect(maps.value == 1003)
    try writer.execute("UPDATE item SET name = '!' || name WHERE id % 2")
    let expected = try writer.query(as: Item.self, select)
    try await recorder.wait(for: expected)
    #expect(recorder.record.violations.isEmpty)
  }

  @Test func `a canceled refresh ends, and the read goes on`() async throws {
    let writer = try database.writer()
    let isReading = Shared(false)
    let end = DispatchSemaphore(value: 0)
    let source = try SQLiteDataSource(connection: writer, sql: select) { row in
      isReading.value = true
      end.wait()
      return Item(id: try row.value("id"), name: try row.value("name"))
    }
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    let refreshing = Task { await source.refresh() }
    try await wait(for: "the read") { isReading.value }
    refreshing.cancel()
    await refreshing.value
    #expect(source.snapshot.isEmpty)
    for _ in 0..<10 { end.signal() }
    try await source.loaded()
    #expect(source.snapshot.count == 1)
  }

  @Test func `a database in memory is read through its connection`() async throws {
    let memory = try SQLiteConnection.makeInMemory()
    try memory.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)")
    let source = try SQLiteDataSource<Item>(connection: memory, sql: select)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [])
    try memory.transaction {
      try memory.execute("INSERT INTO item VALUES (1, 'a')")
      // A source that is created while this thread has the connection and other sources wait for
      // it.
      let inner = try SQLiteDataSource<Item>(connection: memory, sql: select)
      _ = inner.snapshot
    }
    try await recorder.wait(for: [Item(id: 1, name: "a")])
    try memory.execute("BEGIN")
    try memory.execute("INSERT INTO item VALUES (2, 'b')")
    await source.refresh()
    #expect(recorder.record.contents.count == 1)
    try memory.execute("COMMIT")
    try await recorder.wait(for: [Item(id: 1, name: "a"), Item(id: 2, name: "b")])
    try memory.transaction {
      _ = try memory.execute("DELETE FROM item")
      // No other thread sees an uncommitted write.
      #expect(recorder.record.contents.count == 2)
    }
    try await recorder.wait(for: [])
  }

  @Test func `observers may write, observe and dispose`() async throws {
    let writer = try database.writer(.delete)
    let source = try SQLiteDataSource<Item>(connection: writer, sql: select)
    let recorder = SourceRecorder(source) { event in
      let count = event.snapshot.count
      guard count < 20 else { return }
      #expect(throws: Never.self) {
        try writer.execute("INSERT INTO item VALUES (?, 'x')", [count])
        let another = try SQLiteDataSource<Item>(connection: writer, sql: select)
        another.observe { _ in }.dispose()
      }
    }
    try await recorder.wait { $0.contents.count == 20 }
    #expect(recorder.record.violations.isEmpty)
  }

  @Test func `loaded waits for the first load`() async throws {
    let writer = try database.writer()
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    let source = try SQLiteDataSource<Item>(path: database.path, sql: select)
    #expect(source.status == .idle)
    #expect(try await Array(source.loaded()) == [Item(id: 1, name: "a")])
    #expect(source.status == .loaded)
    #expect(source.revision == 1)
  }

  @Test(arguments: Journal.allCases)
  func `the last reference releases everything`(journal: Journal) async throws {
    let writer = try database.writer(.delete)
    let before = try openDescriptors(below: database.directory).count
    weak var weakMonitor: ChangeMonitor?
    do {
      let source = try SQLiteDataSource<Item>(path: database.path, sql: select)
      weakMonitor = ChangeMonitor.existing(for: writer)
      #expect(weakMonitor != nil)
      let recorder = SourceRecorder(source)
      try await recorder.wait(for: [])
      #expect(try openDescriptors(below: database.directory).count > before)
    }
    // The source's own queue may release it last.
    try await wait(for: "the monitor to be released") { weakMonitor == nil }
    try await wait(for: "the files of the source to be closed") {
      try openDescriptors(below: database.directory).count <= before
    }
    withExtendedLifetime(writer) {}
  }

  @Test func `paths that differ only in normalization are two databases`() async throws {
    var recorders: [SourceRecorder<Item>] = []
    for (id, name) in ["\u{E9}", "e\u{301}"].enumerated() {
      let path = database.directory.appendingPathComponent("db").path + name
      let writer = try SQLiteConnection(path: path)
      try writer.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name)")
      try writer.execute("INSERT INTO item VALUES (?, 'a')", [id])
      recorders.append(SourceRecorder(try SQLiteDataSource<Item>(path: path, sql: select)))
    }
    for (id, recorder) in recorders.enumerated() {
      try await recorder.wait(for: [Item(id: id, name: "a")])
    }
  }

  @Test func `a temporary table in memory hides a table of the same name`() async throws {
    let memory = try SQLiteConnection.makeInMemory()
    try memory.executeScript(
      "CREATE TABLE item (id INTEGER PRIMARY KEY, name); INSERT INTO item VALUES (1, 'a')")
    let source = try SQLiteDataSource<Item>(connection: memory, sql: select)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, name: "a")])
    for _ in 1...2 {
      try memory.execute("CREATE TEMP TABLE item (id INTEGER PRIMARY KEY, name)")
      try await recorder.wait(for: [])
      try memory.execute("INSERT INTO item VALUES (2, 'b')")
      try await recorder.wait(for: [Item(id: 2, name: "b")])
      try memory.execute("DROP TABLE temp.item")
      try await recorder.wait(for: [Item(id: 1, name: "a")])
    }
  }

  @Test func `an observer may release the last reference`() async throws {
    let writer = try database.writer(.delete)
    let recorders = Shared<SourceRecorder<Item>?>(nil)
    let ended = AsyncStream<Void>.makeStream()
    var source: SQLiteDataSource<Item>? = try SQLiteDataSource(path: database.path, sql: select)
    weak let weakSource = source
    if let source {
      recorders.value = SourceRecorder(source) { event in
        guard event.revision == 1 else { return }
        recorders.value?.dispose()
        recorders.value = nil
        ended.continuation.finish()
      }
    }
    source = nil
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    for await _ in ended.stream {}
    try await wait(for: "the source to be released") { weakSource == nil }
  }
}
