import TestSupport
import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestTags
import Testing

@testable import SQLiteSources

/// The ways to find a change. Each is tested with the other ways out of reach.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct SQLiteDataSourceWatchTests {
  typealias Journal = TemporaryDatabase.Journal

  private let database: TemporaryDatabase

  init() throws {
    database = try TemporaryDatabase()
  }

  private func source(
    watch: DatabaseWatch, interval: Duration = .seconds(100_000),
    clock: AnyClock = .continuous
  ) throws -> SQLiteDataSource<Item> {
    let monitor = ChangeMonitor(
      reader: DatabaseReader(path: ByteString(database.path)), watch: watch,
      interval: interval, clock: clock)
    let query = SQLiteQuery(
      sql: "SELECT id, name FROM item ORDER BY id", arguments: [], needsUniqueColumnNames: true)
    return try SQLiteDataSource(monitor: monitor, query: query) { try $0.decode() }
  }

  @Test(arguments: Journal.allCases)
  func `the steady look follows an injected clock`(journal: Journal) async throws {
    let clock = ManualClock()
    let writer = try database.writer(journal)
    try writer.execute("INSERT INTO item VALUES (1, 'start')")
    let recorder = SourceRecorder(
      try source(watch: .none, interval: .seconds(5), clock: AnyClock(clock)))
    try await recorder.wait(for: [Item(id: 1, name: "start")])
    // After two changes that only checks have found, the file system counts as silent.
    for turn in 1...2 {
      let look = ManualClock.Instant(.seconds(5 * turn))
      try await clock.waitForSleepers(1)
      try writer.execute("UPDATE item SET name = '\(turn)'")
      // A read that meets the writer's lock tries again after some milliseconds of the same clock.
      // Just before the check, all these intervals are over. A new interval ends after the check.
      clock.advance(by: clock.now.duration(to: look) - .nanoseconds(1))
      #expect(clock.nextDeadline == look)
      clock.advance(by: .nanoseconds(1))
      try await recorder.wait(for: [Item(id: 1, name: "\(turn)")])
    }
    #expect(recorder.record.violations.isEmpty)
  }

  @Test func `a locked database is read again when an injected clock says so`() async throws {
    let clock = ManualClock()
    let writer = try database.writer(.delete)
    try writer.execute("INSERT INTO item VALUES (1, 'start')")
    let source = try source(watch: .none, clock: AnyClock(clock))
    try writer.execute("BEGIN EXCLUSIVE")
    let recorder = SourceRecorder(source)
    // The check and the retry.
    try await clock.waitForSleepers(2)
    try writer.execute("UPDATE item SET name = 'changed'")
    try writer.execute("COMMIT")
    clock.advance(by: .seconds(1))
    try await recorder.wait(for: [Item(id: 1, name: "changed")])
    #expect(recorder.record.violations.isEmpty)
  }

  @Test(arguments: Journal.allCases)
  func `hints alone find every commit`(journal: Journal) async throws {
    try database.writer(journal).execute("INSERT INTO item VALUES (1, 'start')")
    let helper = try HelperProcess("sql", database.path)
    try helper.run("PRAGMA synchronous = OFF")
    let recorder = SourceRecorder(try source(watch: .files))
    try await recorder.wait(for: [Item(id: 1, name: "start")])
    for turn in 1...200 {
      try helper.run("UPDATE item SET name = '\(turn)'")
      try await recorder.wait(for: [Item(id: 1, name: "\(turn)")])
    }
    try helper.run("burst 1000 UPDATE item SET name = 'burst ' || ?")
    try await recorder.wait(for: [Item(id: 1, name: "burst 1000")])
    #expect(recorder.record.violations.isEmpty)
  }

  @Test func `hints alone find a file that appears, is removed and replaced`() async throws {
    let recorder = SourceRecorder(try source(watch: .files))
    try await recorder.waitForFailure(.missing)
    for turn in 1...5 {
      let other = try TemporaryDatabase()
      let writer = try other.writer(.delete)
      try writer.execute("INSERT INTO item VALUES (1, ?)", ["\(turn)"])
      writer.close()
      #expect(rename(other.path, database.path) == 0)
      try await recorder.wait(for: [Item(id: 1, name: "\(turn)")])
      guard turn.isMultiple(of: 2) else { continue }
      try FileManager.default.removeItem(atPath: database.path)
      try await recorder.waitForFailure(.missing)
    }
    #expect(recorder.record.violations.isEmpty)
  }

  @Test(arguments: Journal.allCases)
  func `the steady check alone finds every commit`(journal: Journal) async throws {
    try database.writer(journal).execute("INSERT INTO item VALUES (1, 'start')")
    let helper = try HelperProcess("sql", database.path)
    let recorder = SourceRecorder(try source(watch: .none, interval: .milliseconds(1)))
    try await recorder.wait(for: [Item(id: 1, name: "start")])
    for turn in 1...50 {
      try helper.run("UPDATE item SET name = '\(turn)'")
      try await recorder.wait(for: [Item(id: 1, name: "\(turn)")])
    }
  }

  @Test(arguments: Journal.allCases)
  func `a source that knows only the path sees commits of this process`(journal: Journal)
    async throws
  {
    let writer = try database.writer(journal)
    let source = try SQLiteDataSource<Item>(path: database.path, sql: "SELECT * FROM item")
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [])
    for turn in 1...50 {
      try writer.execute("REPLACE INTO item VALUES (1, ?)", ["\(turn)"])
      try await recorder.wait(for: [Item(id: 1, name: "\(turn)")])
    }
  }

  @Test func `checks follow a hint that precedes the commit`() async throws {
    let hints = Shared<(@Sendable () -> Void)?>(nil)
    let watch = DatabaseWatch { _, onHint in
      hints.value = onHint
      return .init(end: { hints.value = nil }, diagnostic: { "told by the test" })
    }
    try database.writer().close()
    let helper = try HelperProcess("sql", database.path)
    let source = try source(watch: watch)
    let recorder = SourceRecorder(source)
    try await recorder.wait { $0.statuses.last?.diagnostics.first?.code == "polling" }
    try helper.run("BEGIN IMMEDIATE; INSERT INTO item VALUES (1, 'a')")
    hints.value?()
    try helper.run("COMMIT")
    // If all checks after the hint precede the commit, only another hint can help.
    try await wait(for: "the row that was committed") {
      hints.value?()
      return !recorder.record.contents.isEmpty
    }
    #expect(recorder.record.contents == [Item(id: 1, name: "a")])
    recorder.dispose()
  }

  @Test func `polling is a diagnostic while it lasts`() async throws {
    let hints = Shared<(@Sendable () -> Void)?>(nil)
    let reason = Shared<String?>(nil)
    let watch = DatabaseWatch { _, onHint in
      hints.value = onHint
      return .init(end: { hints.value = nil }, diagnostic: { reason.value })
    }
    try database.writer().close()
    let recorder = SourceRecorder(try source(watch: watch))
    try await recorder.wait { $0.statuses.last == .loaded }
    // The watch begins on the monitor's own queue, possibly after the first load.
    try await wait(for: "the watch to begin") { hints.value != nil }
    for wanted in ["no watch is left", nil, "another", nil] {
      reason.value = wanted
      hints.value?()
      try await recorder.wait { $0.statuses.last?.diagnostics.first?.message == wanted }
    }
    #expect(recorder.record.statuses.last == .loaded)
    recorder.dispose()
  }

  @Test(arguments: [
    ("(id, name)", ["not-incremental"]), ("(row INTEGER PRIMARY KEY, id, name)", []),
  ])
  func `duplicate identities are a diagnostic while there are any`(
    table: String, others: [String]
  ) async throws {
    let writer = try database.writer()
    try writer.executeScript(
      "CREATE TABLE pair \(table); INSERT INTO pair (id, name) VALUES (1, 'a'), (2, 'b')")
    let source = try SQLiteDataSource<Item>(
      connection: writer, sql: "SELECT id, name FROM pair ORDER BY rowid")
    let recorder = SourceRecorder(source)
    try await recorder.wait { $0.contents.count == 2 && $0.state == .loaded }
    for sql in [
      "INSERT INTO pair (id, name) VALUES (1, 'c')",
      "INSERT INTO pair (id, name) VALUES (1, 'c')",
      "DELETE FROM pair WHERE rowid = 1", "UPDATE pair SET id = 2 WHERE rowid = 3",
    ] {
      try writer.execute(sql)
      let expected = try writer.query(as: Item.self, source.sql)
      let record = try await recorder.wait {
        $0.contents == expected && $0.statuses.last?.diagnostics.count == others.count + 1
      }
      #expect(
        record.statuses.last?.diagnostics.map(\.code) == ["duplicate-identity"] + others)
    }
    try writer.execute("DELETE FROM pair WHERE rowid > 2")
    try await recorder.wait {
      $0.statuses.last?.diagnostics.map(\.code) == others && $0.contents.count == 1
    }
    #expect(recorder.record.violations.isEmpty)
  }
}
