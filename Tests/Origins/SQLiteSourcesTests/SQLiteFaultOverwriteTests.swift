import DataSourceTesting
import Foundation
import ObservableCollections
import SQLiteSources
import TestSupport
import TestTags
import Testing

/// Files of a database that are deleted or overwritten while they are open.
@Suite(.tags(.system), .serialized, .timeLimit(.minutes(10))) struct SQLiteFaultOverwriteTests {
  typealias Journal = ObservedQuery.Journal

  // MARK: A deleted log

  /// Observes a database whose last commit is only in its log, and which no connection of this process has
  /// open, except those of the source.
  private func makeLive(_ other: (TemporaryDatabase) throws -> HelperProcess) async throws -> (
    ObservedQuery, HelperProcess
  ) {
    let live = try await ObservedQuery(.init(journal: .wal, writer: .own))
    _ = try live.own.query("PRAGMA wal_checkpoint(TRUNCATE)")
    live.own.close()
    let process = try other(live.database)
    let count = live.observer.eventCount
    try process.run("INSERT INTO item VALUES (5, 'e', 1)")
    try await live.observer.wait(forEvents: count + 1)
    return (live, process)
  }

  @Test(arguments: ["-wal", "-shm"])
  func `a deleted log is a status, and the database is opened again`(suffix: String) async throws {
    let (live, process) = try await makeLive { try HelperProcess("sql", $0.path) }
    // Only the source has the log open.
    process.kill()
    let count = live.observer.eventCount
    unlink(live.database.path + suffix)
    let record = try await live.recorder.wait { record in
      record.statuses.contains { $0.error?.code == "moved" } && record.state == .loaded
    }
    let error = try #require(record.statuses.compactMap { $0.error }.last)
    #expect(error.message.contains("test.db-wal or test.db-shm"))
    #expect(error.message.contains("end every program"))
    // Without the log, the last commit is lost. Without its index, nothing is.
    let lost = suffix == "-wal"
    #expect(live.observer.changes.dropFirst(count - 1).map(\.brief) == (lost ? ["-4 5.e"] : []))
    let next = try HelperProcess("sql", live.database.path)
    try next.run("INSERT INTO item VALUES (6, 'f', 1)")
    try await live.observer.wait(forEvents: count + (lost ? 2 : 1))
    #expect(live.contents == (lost ? "1.a 2.b 3.c 4.d 6.f" : "1.a 2.b 3.c 4.d 5.e 6.f"))
    try live.observer.check(against: live.source)
  }

  @Test func `a program that has the deleted log open saves its commits when it ends`() async throws
  {
    let (live, process) = try await makeLive { try HelperProcess("sql", $0.path) }
    let count = live.observer.eventCount
    unlink(live.database.path + "-wal")
    let record = try await live.recorder.waitForFailure(.moved)
    #expect(record.failure?.help.contains("end every program") == true)
    #expect(live.observer.eventCount == count, "the last good contents stay")
    process.end()
    try await live.recorder.wait { $0.state == .loaded }
    let next = try HelperProcess("sql", live.database.path)
    try next.run("INSERT INTO item VALUES (6, 'f', 1)")
    try await live.observer.wait(forEvents: count + 1)
    #expect(live.contents.hasSuffix("6.f"))
    try live.observer.check(against: live.source)
  }

  @Test func `a connection of this process saves its commits before it is closed`() async throws {
    let live = try await ObservedQuery(.init(journal: .wal, writer: .own))
    _ = try live.own.query("PRAGMA wal_checkpoint(TRUNCATE)")
    try await live.expect("INSERT INTO item VALUES (5, 'e', 1)", changes: "+4 5.e")
    let count = live.observer.eventCount
    unlink(live.database.path + "-wal")
    try await live.recorder.wait { record in
      record.statuses.contains { $0.error?.code == "moved" } && record.state == .loaded
    }
    #expect(live.observer.eventCount == count, "nothing is lost")
    let error = try #require(throws: SQLiteError.self) { try live.own.execute("DELETE FROM item") }
    #expect(error.code == .moved && error.message.contains("test.db-wal"))
    let next = try SQLiteConnection(path: live.database.path)
    try next.execute("DELETE FROM item WHERE id < 5")
    try await live.observer.wait(forEvents: count + 1)
    #expect(live.contents == "5.e")
  }

  // MARK: A file that is overwritten in place

  /// Returns the bytes of a database as a line for the helper `patch`, which overwrites a file.
  private func patch(_ path: String, from start: Int = 0, to end: Int = .max) throws -> String {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    return bytes[start..<min(end, bytes.count)].reduce(into: "\(start)") { $0 += " \($1)" }
  }

  @Test(arguments: [false, true])
  func `a file that is emptied and restored in place is loaded without a commit`(
    slowly: Bool
  ) async throws {
    let live = try await ObservedQuery(.init(journal: .delete, writer: .process))
    let copy = live.database.path + ".copy"
    try FileManager.default.copyItem(atPath: live.database.path, toPath: copy)
    // It is a separate process, because closing a file releases the locks of its process.
    let process = try HelperProcess("patch", live.database.path)
    let count = live.observer.eventCount
    #expect(truncate(live.database.path, 0) == 0)
    try await live.recorder.waitForFailure(.sql)
    if slowly {
      // The first page has the same version of the database as the whole file.
      _ = try process.answer(to: try patch(copy, to: 4096))
      try await live.recorder.waitForFailure(.corrupt)
      _ = try process.answer(to: try patch(copy, from: 4096))
    } else {
      _ = try process.answer(to: try patch(copy))
    }
    try await live.recorder.wait { $0.state == .loaded }
    #expect(live.observer.eventCount == count, "it is what it was")
    try await live.expect("UPDATE item SET name = 'bb' WHERE id = 2", changes: "~1>1 2.b→2.bb")
  }

  @Test func `a file that is overwritten by an equally old database is its exact difference`()
    async throws
  {
    let live = try await ObservedQuery(.init(journal: .delete, writer: .own))
    live.own.close()
    let count = live.observer.eventCount
    let copy = live.database.path + ".copy"
    try FileManager.default.copyItem(atPath: live.database.path, toPath: copy)
    // Each of the two databases has one commit more than the copy.
    let (one, two) = (
      try SQLiteConnection(path: live.database.path), try SQLiteConnection(path: copy)
    )
    try one.execute("UPDATE item SET name = 'one' WHERE id = 1")
    try two.execute("UPDATE item SET name = 'two' WHERE id = 2")
    one.close()
    two.close()
    try await live.observer.wait(forEvents: count + 1)
    let process = try HelperProcess("patch", live.database.path)
    _ = try process.answer(to: try patch(copy))
    try await live.observer.wait(forEvents: count + 2)
    let expected = "3>0 1.a, 0>3 2.two, ~3>0 1.one→1.a, ~0>3 2.b→2.two"
    #expect(live.observer.changes.last?.brief == expected)
    try live.observer.check(against: live.source)
  }

  // MARK: The journal mode

  @Test func `leaving WAL mode while a source reads names what would help`() async throws {
    let live = try await ObservedQuery(.init(journal: .wal, writer: .own))
    let error = try #require(throws: SQLiteError.self) {
      _ = try live.own.query("PRAGMA Journal_Mode = DELETE")
    }
    #expect(error.code == .busy && error.help.contains("release its data sources"))
  }
}
