#if os(Linux)
  import DataSourceTesting
  import Foundation
  import ObservableCollections
  import ReactiveSignals
  import SQLiteSources
  import TestSupport
  import TestTags
  import Testing

  /// The handles of a database whose file is replaced while other processes use it.
  @Suite(.tags(.system), .serialized, .timeLimit(.minutes(10))) struct SQLiteFaultHandleTests {
    /// Creates a database in WAL mode, and moves it to the path of another one, whose log stays.
    private func replace(_ live: ObservedQuery, rows: String) throws {
      let other = try TemporaryDatabase()
      let writer = try other.writer(.wal)
      try writer.execute("INSERT INTO item VALUES \(rows)")
      writer.close()
      #expect(rename(other.path, live.database.path) == 0)
    }

    /// The descriptors of files that were deleted or replaced.
    private func oldDescriptors(_ live: ObservedQuery) throws -> [String] {
      try openDescriptors(below: live.database.directory).filter { $0.hasSuffix("(deleted)") }
    }

    /// Returns a Boolean value that indicates whether this process has locked the index of the log, as
    /// SQLite does while the index is mapped.
    private func isIndexLocked(_ live: ObservedQuery) throws -> Bool {
      var status = stat()
      guard stat(live.database.path + "-shm", &status) == 0 else { return false }
      return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
        .contains { line in
          let words = line.split(separator: " ")
          return words.contains("\(getpid())") && words.contains("128")
            && words.contains { $0.hasSuffix(":\(status.st_ino)") }
        }
    }

    /// The writer of another process keeps the index in use, so the new database takes it over.
    private func makeLive() async throws -> (ObservedQuery, HelperProcess) {
      let live = try await ObservedQuery(.init(journal: .wal, writer: .own))
      _ = try live.own.query("PRAGMA wal_checkpoint(TRUNCATE)")
      let other = try HelperProcess("sql", live.database.path)
      try other.run("SELECT count(*) FROM item")
      return (live, other)
    }

    @Test func `the new database is read only after every old handle is closed`() async throws {
      let (live, other) = try await makeLive()
      // Several readers are idle.
      let more = try (0..<8).map { _ in
        try SQLiteDataSource(path: live.database.path, sql: live.source.sql) { TestRow($0) }
      }
      for source in more { try await source.loaded() }
      let old = Shared<[String]>([])
      let observation = live.source.observe { _ in
        let found = (try? oldDescriptors(live)) ?? ["unknown"]
        old.modify { $0 += found }
      }
      let count = live.observer.eventCount
      try replace(live, rows: "(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')")
      try await live.observer.wait(forEvents: count + 1)
      #expect(old.value == [])
      for source in more { await source.refresh() }
      #expect(try oldDescriptors(live) == [])
      #expect(try isIndexLocked(live))
      // The index stays locked after the old connection is closed and the other process has crashed.
      live.own.close()
      other.kill()
      #expect(try isIndexLocked(live))
      let next = try HelperProcess("sql", live.database.path)
      try next.run("INSERT INTO item VALUES (6, 'f')")
      try await live.observer.wait(forEvents: count + 2)
      #expect(live.observer.changes.suffix(2).map(\.brief) == ["+4 5.e", "+5 6.f"])
      observation.dispose()
      try live.observer.check(against: live.source)
    }

    @Test func `a connection to the old database is closed and names the reason`() async throws {
      let (live, _) = try await makeLive()
      try live.own.execute("BEGIN")
      #expect(try live.own.query("SELECT count(*) FROM item").count == 1)
      let count = live.observer.eventCount
      try replace(live, rows: "(9, 'z')")
      try await live.observer.wait(forEvents: count + 1)
      let error = try #require(throws: SQLiteError.self) {
        try live.own.query("SELECT count(*) FROM item")
      }
      #expect(error.code == .moved && error.help.contains("open the path again"))
      let next = try SQLiteConnection(path: live.database.path)
      try next.execute("INSERT INTO item VALUES (10, 'zz')")
      try await live.observer.wait(forEvents: count + 2)
      #expect(live.contents == "9.z 10.zz")
    }

    @Test func `a transaction on the old database delays the new one`() async throws {
      let (live, _) = try await makeLive()
      let count = live.observer.eventCount
      let (begun, end) = (Signpost(), Signpost())
      let thread = Thread {
        try? live.own.transaction(.deferred) {
          _ = try live.own.query("SELECT count(*) FROM item")
          begun.open()
          end.pass()
        }
      }
      thread.start()
      begun.pass()
      try replace(live, rows: "(1, 'a'), (7, 'g')")
      let record = try await live.recorder.waitForFailure(.busy)
      #expect(record.failure?.message.contains("previous database") == true)
      #expect(live.observer.eventCount == count, "the last good contents stay")
      // The thread that has access to the old database cannot wait for itself.
      end.open()
      try await live.observer.wait(forEvents: count + 1)
      #expect(live.contents == "1.a 7.g")
      try await live.recorder.wait { $0.state == .loaded }
      #expect(try oldDescriptors(live) == [])
    }

    @Test func `a transaction that opens the new database itself fails`() async throws {
      let (live, _) = try await makeLive()
      try live.own.transaction(.deferred) {
        _ = try live.own.query("SELECT count(*) FROM item")
        try replace(live, rows: "(1, 'a')")
        let error = try #require(throws: SQLiteError.self) {
          _ = try SQLiteConnection(path: live.database.path, busyTimeout: .seconds(3600))
        }
        #expect(error.code == .busy && error.help.contains("transaction"))
      }
      try await live.recorder.wait { $0.contents.map(\.description) == ["1.a"] }
    }
  }
#endif
