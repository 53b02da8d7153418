#if os(Linux)
  import DataSourceTesting
  import Foundation
  import ObservableCollections
  import SQLiteSources
  import Testing

  /// What a hundred data sources take of the system, and that they give it back.
  @Suite(.serialized, .timeLimit(.minutes(5))) struct HundredSourcesTests {
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
      // Those that run at this moment end first.
      while try !openDescriptors(below: database.directory).isEmpty { await Task.yield() }
    }

    @Test func aHundredOnOneDatabaseShareItsConnections() async throws {
      let database = try TemporaryDatabase()
      try database.writer().execute("INSERT INTO item VALUES (1, 'a')")
      let paths = Array(repeating: database.path, count: Self.count)
      // One connection looks, eight read at once at most, with two files each and one that they share.
      // A machine that stands still for a moment may take a query for a slow one.
      try await check(paths, in: database, descriptors: 16 * 2 + 1)
    }

    @Test func aHundredDatabasesTakeTwoConnectionsEach() async throws {
      let database = try TemporaryDatabase()
      try database.writer().execute("INSERT INTO item VALUES (1, 'a')")
      _ = try database.writer().query("PRAGMA wal_checkpoint(TRUNCATE)")
      let paths = (0..<Self.count).map { "\(database.path).\($0)" }
      for path in paths { try FileManager.default.copyItem(atPath: database.path, toPath: path) }
      // SQLite keeps the writer's as well while others have the file open, for its locks' sake.
      try await check(paths, in: database, descriptors: Self.count * (2 * 2 + 2))
    }
  }
#endif
