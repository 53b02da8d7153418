import DataSourceTesting
import ObservableCollections
import SQLiteSources
import Testing

/// Locks of others: tried again, told where they last, and over when they are.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SQLiteFaultLockTests {
  typealias Setting = LiveQuery.Setting

  @Test(arguments: [LiveQuery.Writer.second, .handle, .process])
  func anExclusiveLockIsAStatusAndRecoveryOneExactEvent(writer: LiveQuery.Writer) async throws {
    let live = try await LiveQuery(.init(journal: .delete, writer: writer))
    for turn in 1...2 {
      let count = live.observer.eventCount
      try live.write("BEGIN EXCLUSIVE; INSERT INTO item VALUES (\(4 + turn), 'e\(turn)', 1)")
      let record = try await live.recorder.waitForFailure(.busy)
      #expect(record.failure?.help.isEmpty == false)
      #expect(live.observer.eventCount == count, "the last good contents stay")
      try await live.expect("COMMIT", tells: "+\(3 + turn) \(4 + turn).e\(turn)")
      // Where nothing was committed, nothing but the status is told.
      try live.write("BEGIN EXCLUSIVE; DELETE FROM item")
      try await live.recorder.waitForFailure(.busy)
      try live.write("ROLLBACK")
      try await live.recorder.wait { $0.state == .loaded }
      try await live.expectSilence("UPDATE item SET name = name")
    }
  }

  @Test(arguments: LiveQuery.Journal.allCases)
  func aDatabaseThatIsLockedFromTheStartLoadsWhenItIsFree(
    journal: LiveQuery.Journal
  ) async throws {
    let database = try TemporaryDatabase()
    try database.writer(journal).close()
    let process = try HelperProcess("sql", database.path)
    try process.run(
      "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO item VALUES (1, 'a'); COMMIT")
    let source = try SQLiteDataSource(path: database.path, sql: "SELECT * FROM item") {
      TestRow($0)
    }
    let recorder = Recorder(source)
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

  @Test(arguments: LiveQuery.Journal.allCases)
  func readersAndWaitingWritersKeepNothingFromBeingTold(
    journal: LiveQuery.Journal
  ) async throws {
    let live = try await LiveQuery(.init(journal: journal, writer: .own))
    let statuses = live.recorder.record.statuses
    let process = try HelperProcess("sql", live.database.path)
    // A writer that has not begun to write keeps nobody from reading.
    try process.run("BEGIN IMMEDIATE")
    let late = try SQLiteDataSource(
      path: live.database.path, sql: "SELECT count(*) FROM item"
    ) { TestRow($0) }
    #expect(try await late.loaded().map(\.description) == ["4"])
    try process.run("ROLLBACK")
    if journal == .wal {
      // A reader that stays at an old state keeps nobody from writing.
      try process.run("BEGIN; SELECT * FROM item")
      try await live.expect("DELETE FROM item WHERE id = 2", tells: "-1 2.b")
      try live.write("PRAGMA wal_checkpoint(PASSIVE)")
      try await live.expectSilence("UPDATE item SET list = NULL")
      try process.run("COMMIT")
      try await live.expectSilence("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    #expect(live.recorder.record.statuses == statuses)
    try live.check()
  }

  @Test(arguments: Setting.all)
  func aCommitThatCannotGetItsLockIsNoEvent(setting: Setting) async throws {
    let live = try await LiveQuery(setting)
    let process = try HelperProcess("sql", live.database.path)
    try live.write("PRAGMA busy_timeout = 0")
    try process.run("BEGIN IMMEDIATE; UPDATE item SET name = 'z' WHERE id = 4")
    #expect(throws: (any Error).self) { try live.write("DELETE FROM item") }
    await live.source.refresh()
    try process.run("ROLLBACK")
    if setting.journal == .delete {
      // Here a reader keeps a writer from committing, whose transaction stays open.
      try process.run("BEGIN; SELECT * FROM item")
      #expect(throws: (any Error).self) { try live.write("BEGIN; DELETE FROM item; COMMIT") }
      await live.source.refresh()
      try process.run("COMMIT")
      try live.write("ROLLBACK")
    }
    try live.write("PRAGMA busy_timeout = 60000")
    try await live.expectSilence("UPDATE item SET name = name")
  }
}
