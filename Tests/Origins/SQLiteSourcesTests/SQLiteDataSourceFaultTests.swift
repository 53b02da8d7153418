import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SQLiteSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite(.timeLimit(.minutes(10))) struct SQLiteDataSourceFaultTests {
  typealias Journal = TemporaryDatabase.Journal

  private let database: TemporaryDatabase
  private let select = "SELECT id, name FROM item ORDER BY id"
  private let a = Item(id: 1, name: "a")
  private let b = Item(id: 2, name: "b")

  init() throws {
    database = try TemporaryDatabase()
  }

  @Test(arguments: [
    ("SELEC 1", SQLiteError.Code.sql), ("SELECT nowhere FROM item", .sql),
    ("SELECT * FROM nowhere", .sql), ("", .emptySQL), ("-- nothing", .emptySQL),
    ("SELECT 1; SELECT 2", .severalStatements), ("INSERT INTO item VALUES (1, 'a')", .writes),
    ("WITH x AS (SELECT 1) DELETE FROM item", .writes), ("DROP TABLE item", .writes),
    ("DELETE FROM item RETURNING id", .writes), ("PRAGMA user_version", .notAQuery),
    ("PRAGMA query_only = 1", .notAQuery), ("ATTACH 'x.db' AS x", .notAQuery),
    ("BEGIN", .notAQuery), ("EXPLAIN SELECT 1", .notAQuery), ("SELECT ?", .arguments),
    ("SELECT id, name AS ID FROM item", .duplicateColumn),
  ])
  func `SQL that is not a query is an error at creation`(sql: String, code: SQLiteError.Code) throws
  {
    let writer = try database.writer()
    for isByPath in [false, true] {
      let error = try #require(throws: SQLiteError.self) {
        _ =
          isByPath
          ? try SQLiteDataSource<Item>(path: database.path, sql: sql)
          : try SQLiteDataSource<Item>(connection: writer, sql: sql)
      }
      #expect(error.code == code, "\(error)")
      #expect(error.sql == sql && error.description.contains("SQL:"))
      #expect(error.description.contains(database.path))
    }
    #expect(!FileManager.default.fileExists(atPath: database.directory.path + "/x.db"))
  }

  @Test func `a file that is not a database is an error at creation`() throws {
    let directory = try #require(throws: SQLiteError.self) {
      try SQLiteDataSource<Item>(path: database.directory.path, sql: select)
    }
    #expect(directory.code == .directory)
    let pipe = database.path + ".pipe"
    try #require(mkfifo(pipe, 0o600) == 0)
    for path in [pipe, "/dev/null"] {
      let special = try #require(throws: SQLiteError.self) {
        try SQLiteDataSource<Item>(path: path, sql: select)
      }
      #expect(special.code == .cannotOpen)
    }
    try Data(repeating: 65, count: 4096).write(to: URL(fileURLWithPath: database.path))
    let text = try #require(throws: SQLiteError.self) {
      try SQLiteDataSource<Item>(path: database.path, sql: select)
    }
    #expect(text.code == .notADatabase)
  }

  @Test(arguments: Journal.allCases)
  func `a missing database is a status until it appears`(journal: Journal) async throws {
    let source = try SQLiteDataSource<Item>(path: database.path, sql: select)
    guard case .missing(let error) = source.status.state else {
      Issue.record("\(source.status)")
      return
    }
    #expect(error.message.contains(database.path))
    let recorder = SourceRecorder(source)
    try await recorder.waitForFailure(.missing)
    #expect(!FileManager.default.fileExists(atPath: database.path))
    await #expect(throws: SourceError.self) { try await source.loaded() }
    let writer = try database.writer(journal)
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    try await recorder.wait(for: [a])
    writer.close()
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: database.path + suffix)
    }
    let record = try await recorder.waitForFailure(.missing)
    #expect(record.contents == [a])
    // Another file with the same row and one more row is one change.
    let other = try TemporaryDatabase()
    let otherWriter = try other.writer(.delete)
    try otherWriter.execute("INSERT INTO item VALUES (1, 'a'), (2, 'b')")
    otherWriter.close()
    try FileManager.default.moveItem(atPath: other.path, toPath: database.path)
    try await recorder.wait(for: [a, b])
    #expect(recorder.record.changes.last?.changeset.insertions == [1])
    #expect(recorder.record.changes.last?.changeset.deletions == [])
    #expect(recorder.record.violations.isEmpty)
  }

  @Test(.tags(.system)) func `a star selects the columns of the present schema`() async throws {
    let helper = try HelperProcess("sql", database.path)
    try helper.run("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    let source = try SQLiteDataSource(path: database.path, sql: "SELECT * FROM t") {
      $0.description
    }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: ["[x: 1]"])
    try helper.run("ALTER TABLE t RENAME COLUMN x TO y")
    try await recorder.wait(for: ["[y: 1]"])
    try helper.run("ALTER TABLE t ADD COLUMN z DEFAULT 'n'")
    try await recorder.wait(for: ["[y: 1, z: 'n']"])
    try helper.run("DROP TABLE t; CREATE TABLE t (q); INSERT INTO t VALUES (NULL)")
    try await recorder.wait(for: ["[q: NULL]"])
  }

  @Test func `a row that does not decode is a status with row and column`() async throws {
    let writer = try database.writer()
    try writer.executeScript("CREATE TABLE loose (id, name); INSERT INTO loose VALUES (1, 'a')")
    let source = try SQLiteDataSource<Item>(
      connection: writer, sql: "SELECT * FROM loose ORDER BY rowid")
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [a])
    try writer.execute("INSERT INTO loose VALUES (2, NULL)")
    let record = try await recorder.waitForFailure(.unexpectedNull)
    #expect(record.contents == [a])
    let changes = record.changes.count
    let error = try #require(record.failure)
    #expect(error.row == 1)
    #expect(error.description.contains("column \"name\" is NULL"))
    #expect(error.description.contains("in row 2"))
    try writer.execute("INSERT INTO loose VALUES (3, 'c')")
    await source.refresh()
    #expect(recorder.record.contents == [a])
    try writer.execute("UPDATE loose SET name = 'b' WHERE id = 2")
    try await recorder.wait(for: [a, b, Item(id: 3, name: "c")])
    #expect(recorder.record.changes.count == changes + 1)
  }

  @Test(arguments: ["SELECT id, name FROM item ORDER BY id", "SELECT DISTINCT id, name FROM item"])
  func `a refresh maps again after an error`(sql: String) async throws {
    struct Outage: Error {}
    let writer = try database.writer()
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    let isOut = Locked(false)
    let source = try SQLiteDataSource<Item>(connection: writer, sql: sql) { row in
      if isOut.withLock(\.self) { throw Outage() }
      return try row.decode(Item.self)
    }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [a])
    isOut.withLock { $0 = true }
    try writer.execute("INSERT INTO item VALUES (2, 'b')")
    try await recorder.waitForFailure(.decoding)
    await source.refresh()
    #expect(source.status.state != .loaded)
    isOut.withLock { $0 = false }
    await source.refresh()
    #expect(recorder.record.contents == [a, b])
    #expect(source.status.state == .loaded)
    #expect(recorder.record.violations.isEmpty)
  }

  @Test func `names that differ in non-ASCII case are two columns`() async throws {
    struct Word: Identifiable, Differentiable, Decodable, Equatable {
      var Ä: Int
      var ä: Int
      var id: Int { Ä }
    }
    let writer = try database.writer()
    try writer.executeScript("CREATE TABLE word (Ä, ä); INSERT INTO word VALUES (1, 2)")
    let source = try SQLiteDataSource<Word>(connection: writer, sql: "SELECT * FROM word")
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Word(Ä: 1, ä: 2)])
  }

  @Test(.tags(.system))
  func `a database that is locked at creation loads when it is free`() async throws {
    try database.writer(.delete).execute("INSERT INTO item VALUES (1, 'a')")
    let helper = try HelperProcess("sql", database.path)
    try helper.run("BEGIN EXCLUSIVE")
    let source = try SQLiteDataSource<Item>(path: database.path, sql: select)
    let recorder = SourceRecorder(source)
    try await recorder.waitForFailure(.busy)
    try helper.run("INSERT INTO item VALUES (2, 'b'); COMMIT")
    try await recorder.wait(for: [a, b])
    #expect(recorder.record.changes.last?.changeset.insertions == [0, 1])
  }

  @Test(.tags(.system))
  func `a writer that died leaves the contents until the database is repaired`() async throws {
    try database.writer(.delete).execute("INSERT INTO item VALUES (1, 'a')")
    let helper = try HelperProcess("sql", database.path)
    let source = try SQLiteDataSource<Item>(path: database.path, sql: select)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [a])
    // The transaction is larger than its cache, so it writes to the file before it commits.
    try helper.run("PRAGMA cache_size = 1; BEGIN")
    try helper.run("burst 500 INSERT INTO item SELECT ? + 10, hex(zeroblob(500))")
    helper.kill()
    let record = try await recorder.waitForFailure(.readOnly)
    #expect(record.contents == [a])
    let changes = record.changes.count
    let repairer = try database.writer(.delete)
    try repairer.execute("INSERT INTO item VALUES (2, 'b')")
    try await recorder.wait(for: [a, b])
    #expect(recorder.record.changes.count == changes + 1)
  }
}
