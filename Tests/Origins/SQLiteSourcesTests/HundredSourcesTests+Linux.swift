#if os(Linux)
  import DataSourceTesting
  import Foundation
  import ObservableCollections
  import SQLiteSources
  import TestSupport
  import TestTags
  import Testing

  /// The descriptors of a hundred data sources, and their release.
  @Suite(.serialized, .timeLimit(.minutes(10))) struct HundredSourcesTests {
    private static let count = 100

    private func makeSource(_ path: String) throws -> SQLiteDataSource<Item> {
      try SQLiteDataSource(path: path, sql: "SELECT id, name FROM item ORDER BY name")
    }

    private func check(_ paths: [String], in database: TemporaryDatabase, descriptors: Int)
      async throws
    {
      #expect(try openDescriptors(below: database.directory).isEmpty)
      do {
        let sources = try paths.map { try makeSource($0) }
        let recorders = sources.map { RecordingObserver<Item>($0) }
        for source in sources { try await source.loaded() }
        let writers = try Set(paths).map { try SQLiteConnection(path: $0) }
        for writer in writers { try writer.execute("INSERT INTO item VALUES (2, 'b')") }
        let contents = [Item(id: 1, name: "a"), Item(id: 2, name: "b")]
        for recorder in recorders { try await recorder.wait(forContents: contents) }
        for writer in writers { writer.close() }
        let open = try openDescriptors(below: database.directory).count
        #expect(open <= descriptors, "\(open) descriptors for \(sources.count) sources")
        for recorder in recorders { try recorder.check() }
      }
      // Running reads end first.
      try await wait(for: "all files of the database to be closed") {
        try openDescriptors(below: database.directory).isEmpty
      }
    }

    @Test func `a hundred sources on one database share its connections`() async throws {
      let database = try TemporaryDatabase()
      try database.writer().execute("INSERT INTO item VALUES (1, 'a')")
      let paths = Array(repeating: database.path, count: Self.count)
      // One connection checks, at most eight read at the same time, each with two files, and all
      // share one file. A slow machine may count a query as slow.
      try await check(paths, in: database, descriptors: 16 * 2 + 1)
    }

    @Test func `a hundred databases use two connections each`() async throws {
      let database = try TemporaryDatabase()
      try database.writer().execute("INSERT INTO item VALUES (1, 'a')")
      _ = try database.writer().query("PRAGMA wal_checkpoint(TRUNCATE)")
      let paths = (0..<Self.count).map { "\(database.path).\($0)" }
      for path in paths { try FileManager.default.copyItem(atPath: database.path, toPath: path) }
      // SQLite also keeps the writer's descriptor while other connections have the file open,
      // because of its locks.
      try await check(paths, in: database, descriptors: Self.count * (2 * 2 + 2))
    }

    @Test(.tags(.system)) func `two hundred missing databases share a few threads`() throws {
      let (count, database) = (200, try TemporaryDatabase())
      let process = try HelperProcess("missing", "\(count)", database.directory.path)
      // At most 16 checks and 64 reads run at the same time, on a machine of any speed. The other threads
      // serve timers and the file system.
      let limit = 16 + 64 + 16
      #expect(try #require(Int(try process.nextAnswer())) <= limit)
      let writer = try database.writer(.delete)
      try writer.executeScript(
        "CREATE TABLE todo (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO todo VALUES (1, 'a')")
      writer.close()
      for number in 0..<count {
        try FileManager.default.copyItem(
          atPath: database.path,
          toPath: database.directory.appendingPathComponent("\(number).db").path)
      }
      #expect(try #require(Int(try process.answer(to: "created"))) <= limit)
    }
  }
#endif
