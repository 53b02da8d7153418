import TestSupport
import DataSourceTesting
import ObservableCollections
import SQLiteSources
import TestTags
import Testing

/// Locks of other connections. Reads are retried, a lasting lock is reported, and its end is one
/// change.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultLockTests {
  typealias Setting = ObservedQuery.Setting

  @Test(arguments: [ObservedQuery.Writer.second, .handle, .process])
  func `an exclusive lock is a status and the recovery one exact event`(
    writer: ObservedQuery.Writer
  ) async throws {
    let live = try await ObservedQuery(.init(journal: .delete, writer: writer))
    for turn in 1...2 {
      let count = live.observer.eventCount
      try live.write("BEGIN EXCLUSIVE; INSERT INTO item VALUES (\(4 + turn), 'e\(turn)', 1)")
      let record = try await live.recorder.waitForFailure(.busy)
      #expect(record.failure?.help.isEmpty == false)
      #expect(live.observer.eventCount == count, "the last good contents stay")
      try await live.expect("COMMIT", changes: "+\(3 + turn) \(4 + turn).e\(turn)")
      // Without a commit, only the status changes.
      try live.write("BEGIN EXCLUSIVE; DELETE FROM item")
      try await live.recorder.waitForFailure(.busy)
      try live.write("ROLLBACK")
      try await live.recorder.wait { $0.state == .loaded }
      try await live.expectSilence("UPDATE item SET name = name")
    }
  }

  @Test(.tags(.system), arguments: ObservedQuery.Journal.allCases)
  func `a database that is locked at first loads when it is free`(
    journal: ObservedQuery.Journal
  ) async throws {
    let database = try TemporaryDatabase()
    try database.writer(journal).close()
    let process = try HelperProcess("sql", database.path)
    try process.run(
      "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO item VALUES (1, 'a'); COMMIT")
    let source = try SQLiteDataSource(path: database.path, sql: "SELECT * FROM item") {
      TestRow($0)
    }
    let recorder = SourceRecorder(source)
    let observer = RecordingObserver(source)
    try await recorder.waitForFailure(.busy)
    #expect(observer.eventCount == 1 && observer.snapshot.isEmpty)
    try process.run("INSERT INTO item VALUES (2, 'b')")
    process.end()
    try await observer.wait(forEvents: 2)
    #expect(observer.changes.map(\.brief) == ["+0 1.a, +1 2.b"])
    try await recorder.wait { $0.state == .loaded }
    try observer.check(against: source)
  }

  @Test(.tags(.system), arguments: ObservedQuery.Journal.allCases)
  func `readers and waiting writers do not prevent delivery`(
    journal: ObservedQuery.Journal
  ) async throws {
    let live = try await ObservedQuery(.init(journal: journal, writer: .own))
    let statuses = live.recorder.record.statuses
    let process = try HelperProcess("sql", live.database.path)
    // A writer that has not begun to write does not prevent reads.
    try process.run("BEGIN IMMEDIATE")
    let late = try SQLiteDataSource(
      path: live.database.path, sql: "SELECT count(*) FROM item"
    ) { TestRow($0) }
    #expect(try await late.loaded().map(\.description) == ["4"])
    try process.run("ROLLBACK")
    if journal == .wal {
      // A reader of an old state does not prevent writes.
      try process.run("BEGIN; SELECT * FROM item")
      try await live.expect("DELETE FROM item WHERE id = 2", changes: "-1 2.b")
      try live.write("PRAGMA wal_checkpoint(PASSIVE)")
      try await live.expectSilence("UPDATE item SET list = NULL")
      try process.run("COMMIT")
      try await live.expectSilence("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    #expect(live.recorder.record.statuses == statuses)
    try live.check()
  }

  @Test(.tags(.system), arguments: Setting.all)
  func `a commit that cannot get its lock is no event`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting)
    let process = try HelperProcess("sql", live.database.path)
    try live.write("PRAGMA busy_timeout = 0")
    try process.run("BEGIN IMMEDIATE; UPDATE item SET name = 'z' WHERE id = 4")
    #expect(throws: (any Error).self) { try live.write("DELETE FROM item") }
    await live.source.refresh()
    try process.run("ROLLBACK")
    if setting.journal == .delete {
      // A reader prevents this commit, and the transaction stays open.
      try process.run("BEGIN; SELECT * FROM item")
      #expect(throws: (any Error).self) { try live.write("BEGIN; DELETE FROM item; COMMIT") }
      await live.source.refresh()
      try process.run("COMMIT")
      try live.write("ROLLBACK")
    }
    try live.write("PRAGMA busy_timeout = 60000")
    try await live.expectSilence("UPDATE item SET name = name")
  }

  @Test(.tags(.system), arguments: ObservedQuery.Journal.allCases)
  func `a process that dies in its transaction leaves no trace`(journal: ObservedQuery.Journal)
    async throws
  {
    let live = try await ObservedQuery(Setting(journal: journal, writer: .own))
    for _ in 0..<3 {
      let helper = try HelperProcess("sql", live.database.path)
      try helper.run("BEGIN; DELETE FROM item WHERE id > 1; INSERT INTO item VALUES (9, 'i', 1)")
      helper.kill()
      // The process has released its lock, and its writes were never committed.
      try await live.expectSilence("UPDATE list SET title = title")
    }
  }
}
