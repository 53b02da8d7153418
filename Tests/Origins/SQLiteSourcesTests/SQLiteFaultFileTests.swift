import DataSourceTesting
import Foundation
import ObservableCollections
import SQLiteSources
import TestSupport
import TestTags
import Testing

/// Changes of a database file without SQLite.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultFileTests {
  typealias Journal = ObservedQuery.Journal

  /// Creates another database with some items, and closes it.
  private func makeOther(_ rows: String, _ journal: Journal) throws -> TemporaryDatabase {
    let other = try TemporaryDatabase()
    let writer = try other.writer(journal)
    try writer.execute("INSERT INTO item VALUES \(rows)")
    writer.close()
    return other
  }

  /// Moves another database to the live path, and removes the live one's other files.
  private func replace(_ live: ObservedQuery, by other: TemporaryDatabase) {
    for suffix in ["-wal", "-shm"] { unlink(live.database.path + suffix) }
    #expect(rename(other.path, live.database.path) == 0)
  }

  @Test(arguments: Journal.allCases, Journal.allCases)
  func `another file in its place is its exact difference`(
    journal: Journal, otherJournal: Journal
  ) async throws {
    let live = try await ObservedQuery(.init(journal: journal, writer: .own))
    for (turn, told) in ["-1 2.b, -2 3.c, +2 9.x, ~0>0 1.a→1.A", "-2 9.x, +1 5.aa, +3 7.y"]
      .enumerated()
    {
      let count = live.observer.eventCount
      let rows = ["(1, 'A'), (4, 'd'), (9, 'x')", "(1, 'A'), (4, 'd'), (5, 'aa'), (7, 'y')"][turn]
      replace(live, by: try makeOther(rows, otherJournal))
      try await live.observer.wait(forEvents: count + 1)
      await live.source.refresh()
      #expect(live.observer.changes.dropFirst(count - 1).map(\.brief) == [told])
      // The old connection would damage the new file. A new connection works.
      #expect(throws: SQLiteError.self) { try live.own.execute("DELETE FROM item") }
      let next = try SQLiteConnection(path: live.database.path)
      try next.execute("UPDATE item SET name = name || '!' WHERE id = 4")
      try next.execute("UPDATE item SET name = 'd' WHERE id = 4")
      await live.source.refresh()
      #expect(live.contents == next.lines(live.source.sql))
      #expect(live.source.status.state == .loaded)
    }
    try live.observer.check(against: live.source)
  }

  @Test(arguments: Journal.allCases)
  func `a database that is moved away and back is missing meanwhile`(journal: Journal) async throws
  {
    let live = try await ObservedQuery(.init(journal: journal, writer: .process))
    let count = live.observer.eventCount
    let suffixes = ["", "-wal", "-shm"]
    for _ in 1...2 {
      for suffix in suffixes {
        rename(live.database.path + suffix, live.database.path + ".away" + suffix)
      }
      let record = try await live.recorder.waitForFailure(.missing)
      if case .missing = record.state {
      } else {
        Issue.record("\(String(describing: record.state))")
      }
      #expect(live.observer.eventCount == count, "the last good contents stay")
      for suffix in suffixes.reversed() {
        rename(live.database.path + ".away" + suffix, live.database.path + suffix)
      }
      try await live.recorder.wait { $0.state == .loaded }
      #expect(live.observer.eventCount == count, "it is what it was")
    }
    try await live.expect("UPDATE item SET name = 'bb' WHERE id = 2", changes: "~1>1 2.b→2.bb")
    // The file is deleted, and another connection creates a new one.
    for suffix in suffixes { unlink(live.database.path + suffix) }
    try await live.recorder.waitForFailure(.missing)
    replace(live, by: try makeOther("(2, 'bb'), (3, 'cc')", journal))
    try await live.observer.wait(forEvents: count + 2)
    #expect(live.observer.changes.last?.brief == "-0 1.a, -3 4.d, ~2>1 3.c→3.cc")
    try await live.recorder.wait { $0.state == .loaded }
    try live.observer.check(against: live.source)
  }

  @Test(arguments: [
    ("truncated", SQLiteError.Code.corrupt), ("damaged", .corrupt), ("text", .notADatabase),
    ("empty", .sql), ("another", .sql), ("directory", .directory), ("dangling", .missing),
  ])
  func `an unreadable file is a status and the recovery its exact difference`(
    kind: String, code: SQLiteError.Code
  ) async throws {
    let fill = """
      WITH RECURSIVE n (i) AS (VALUES (10) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
      INSERT INTO item SELECT i, hex(randomblob(200)), NULL FROM n;
      """
    let live = try await ObservedQuery(
      .init(journal: .delete, writer: .process),
      "SELECT id, name FROM item WHERE id < 10 OR length(name) < 9 ORDER BY id",
      setup: ObservedQuery.items + fill)
    let (count, path) = (live.observer.eventCount, live.database.path)
    let good = path + ".good"
    try FileManager.default.copyItem(atPath: path, toPath: good)
    let bad = path + ".bad"
    switch kind {
    case "directory":
      try FileManager.default.createDirectory(atPath: bad, withIntermediateDirectories: false)
    case "dangling": #expect(symlink(path + ".nowhere", bad) == 0)
    case "text": try Data(repeating: 65, count: 20_000).write(to: URL(fileURLWithPath: bad))
    case "empty": try Data().write(to: URL(fileURLWithPath: bad))
    case "another":
      let other = try SQLiteConnection(path: bad)
      try other.execute("CREATE TABLE unlike (x)")
      other.close()
    default:
      var bytes = try Data(contentsOf: URL(fileURLWithPath: good))
      if kind == "truncated" {
        bytes.removeLast(bytes.count / 2)
      } else {
        // All pages except the first, which contains the schema.
        bytes.replaceSubrange(4096..., with: repeatElement(0x77, count: bytes.count - 4096))
      }
      try bytes.write(to: URL(fileURLWithPath: bad))
    }
    if kind == "directory" { unlink(path) }
    #expect(rename(bad, path) == 0)
    let record = try await live.recorder.waitForFailure(code)
    #expect(record.statuses.last?.error?.message.contains(path) == true)
    #expect(live.observer.eventCount == count, "the last good contents stay")
    if kind == "directory" { rmdir(path) }
    let writer = try SQLiteConnection(path: good)
    try writer.execute("UPDATE item SET name = 'new' || id WHERE id = 2 OR id = 20")
    writer.close()
    #expect(rename(good, path) == 0)
    try await live.observer.wait(forEvents: count + 1)
    #expect(live.observer.changes.last?.brief == "+4 20.new20, ~1>1 2.b→2.new2")
    try await live.recorder.wait { $0.state == .loaded }
    #expect(live.observer.eventCount == count + 1)
    try live.observer.check(against: live.source)
  }

  @Test(.tags(.system), arguments: Journal.allCases)
  func `a damaged page is a status until it is repaired`(journal: Journal) async throws {
    let live = try await ObservedQuery(
      .init(journal: journal, writer: .process),
      setup: """
        CREATE TABLE item (id INTEGER PRIMARY KEY, name);
        INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'c');
        CREATE TABLE aside (x);
        """)
    let page = try live.own.query(
      "SELECT (rootpage - 1) * (SELECT page_size FROM pragma_page_size) FROM sqlite_schema "
        + "WHERE name = 'item'"
    ) { try $0.value(at: 0, as: Int.self) }
    let offset = try #require(page.first)
    let patch = try HelperProcess("patch", live.database.path)
    let count = live.observer.eventCount
    for turn in 1...2 {
      // The type of the page and its header. The page is read again after the next commit.
      try live.write("PRAGMA wal_checkpoint(TRUNCATE)")
      let old = try patch.answer(to: "\(offset) 119 119 119 119")
      try live.write("INSERT INTO aside VALUES (1)")
      try await live.recorder.waitForFailure(.corrupt)
      #expect(live.observer.eventCount == count + turn - 1, "the last good contents stay")
      #expect(try patch.answer(to: "\(offset) \(old)") == "119 119 119 119")
      try live.write("INSERT INTO aside VALUES (2)")
      try await live.recorder.wait { $0.state == .loaded }
      try await live.expect(
        "DELETE FROM item WHERE id = \(turn)", changes: "-0 \(turn).\(["", "a", "b"][turn])")
    }
  }

  @Test func `a redirected link is its exact difference`() async throws {
    let directory = try TemporaryDatabase()
    let one = try makeOther("(1, 'a'), (2, 'b')", .wal)
    let two = try makeOther("(2, 'B'), (3, 'c')", .wal)
    #expect(symlink(one.path, directory.path) == 0)
    let source = try SQLiteDataSource(
      path: directory.path, sql: "SELECT id, name FROM item ORDER BY id"
    ) { TestRow($0) }
    let observer = RecordingObserver(source)
    try await source.loaded()
    for (database, told) in [
      (two, "-0 1.a, +1 3.c, ~1>0 2.b→2.B"), (one, "-1 3.c, +0 1.a, ~0>1 2.B→2.b"),
    ] {
      let count = observer.eventCount
      #expect(symlink(database.path, directory.path + ".new") == 0)
      #expect(rename(directory.path + ".new", directory.path) == 0)
      try await observer.wait(forEvents: count + 1)
      #expect(observer.changes.last?.brief == told)
      let writer = try database.writer()
      try writer.execute("UPDATE item SET name = name WHERE id = 2")
      try writer.execute("INSERT INTO item VALUES (9, 'z')")
      try await observer.wait(forEvents: count + 2)
      #expect(observer.changes.last?.brief == "+2 9.z")
      try writer.execute("DELETE FROM item WHERE id = 9")
      try await observer.wait(forEvents: count + 3)
    }
    try observer.check(against: source)
  }
}

extension SQLiteConnection {
  /// Returns the rows of a query as text.
  fileprivate func lines(_ sql: String) -> String {
    let rows = (try? query(sql)) ?? []
    return rows.map { TestRow($0).description }.joined(separator: " ")
  }
}
