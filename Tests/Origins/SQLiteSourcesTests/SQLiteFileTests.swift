import Foundation
import SQLiteSources
import TestSupport
import TestTags
import Testing

@Suite(.timeLimit(.minutes(10))) struct SQLiteFileTests {
  private let database: TemporaryDatabase

  init() throws {
    database = try TemporaryDatabase()
  }

  @Test(arguments: [SQLiteConnection.Access.readOnly, .readWrite])
  func `a missing database is reported and not created`(access: SQLiteConnection.Access) throws {
    let error = try #require(throws: SQLiteError.self) {
      try SQLiteConnection(path: database.path, access: access)
    }
    #expect(error.code == .missing)
    #expect(error.description.contains(database.path))
    #expect(!FileManager.default.fileExists(atPath: database.path))
  }

  @Test func `a directory is reported`() throws {
    let error = try #require(throws: SQLiteError.self) {
      try SQLiteConnection(path: database.directory.path, access: .readOnly)
    }
    #expect(error.code == .directory)
  }

  @Test func `a file that is not a database is reported`() throws {
    try Data(repeating: 65, count: 4096).write(to: URL(fileURLWithPath: database.path))
    let error = try #require(throws: SQLiteError.self) {
      try SQLiteConnection(path: database.path, access: .readOnly)
    }
    #expect(error.code == .notADatabase)
    #expect(error.primaryResultCode == 26)
    #expect(error.description.contains(database.path))
  }

  @Test func `a path is never read as a URI or a special name`() throws {
    let odd = database.directory.appendingPathComponent("file:a?mode=memory").path
    try SQLiteConnection(path: odd).execute("CREATE TABLE t (x)")
    #expect(FileManager.default.fileExists(atPath: odd))
    #expect(throws: SQLiteError.self) { try SQLiteConnection(path: "") }
    #expect(throws: SQLiteError.self) { try SQLiteConnection(path: "a\u{0}b") }
  }

  @Test func `a read-only connection refuses to write`() throws {
    _ = try database.writer()
    let reader = try SQLiteConnection(path: database.path, access: .readOnly)
    let error = try #require(throws: SQLiteError.self) {
      try reader.execute("INSERT INTO item VALUES (1, 'a')")
    }
    #expect(error.code == .readOnly)
    try reader.transaction { _ = try reader.query("SELECT * FROM item") }
  }

  @Test func `a lock of another connection is reported as busy`() throws {
    let holder = try database.writer(.delete)
    try holder.transaction(.exclusive) {
      let other = try SQLiteConnection(path: database.path, busyTimeout: .milliseconds(1))
      let error = try #require(throws: SQLiteError.self) {
        try other.query("SELECT * FROM item")
      }
      #expect(error.code == .busy)
    }
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min)])
  func `any busy timeout is accepted`(timeout: Duration) throws {
    let reader = try SQLiteConnection(path: database.path, busyTimeout: timeout)
    #expect(try reader.query("SELECT 1").count == 1)
  }

  @Test func `a commit that fails is rolled back`() throws {
    let writer = try database.writer(.delete)
    let short = try SQLiteConnection(path: database.path, busyTimeout: .zero)
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    try writer.transaction(.deferred) {
      _ = try writer.query("SELECT * FROM item")
      // The reader's lock allows the writer to write, but not to commit.
      let error = try #require(throws: SQLiteError.self) {
        try short.transaction { _ = try short.execute("INSERT INTO item VALUES (2, 'b')") }
      }
      #expect(error.code == .busy)
    }
    #expect(try short.query("SELECT * FROM item").count == 1)
    try short.transaction { _ = try short.execute("INSERT INTO item VALUES (2, 'b')") }
    #expect(try writer.query("SELECT * FROM item").count == 2)
  }

  @Test(arguments: TemporaryDatabase.Journal.allCases)
  func `a connection does not write to a file that was replaced`(
    journal: TemporaryDatabase.Journal
  ) throws {
    let writer = try database.writer(journal)
    try FileManager.default.moveItem(atPath: database.path, toPath: database.path + ".old")
    let other = try database.writer(.delete)
    for attempt in 0..<2 {
      let error = try #require(throws: SQLiteError.self) {
        if attempt == 0 {
          try writer.execute("INSERT INTO item VALUES (1, 'a')")
        } else {
          try writer.transaction { _ = try writer.execute("INSERT INTO item VALUES (1, 'a')") }
        }
      }
      #expect(error.code == .moved)
    }
    #expect(try other.query("SELECT * FROM item").isEmpty)
  }

  @Test func `closing releases all descriptors`() throws {
    let writer = try database.writer()
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    #expect(try !openDescriptors(below: database.directory).isEmpty)
    writer.close()
    #expect(try openDescriptors(below: database.directory).isEmpty)
    do {
      let again = try database.writer()
      try again.transaction { _ = try again.query("SELECT * FROM item") }
    }
    #expect(try openDescriptors(below: database.directory).isEmpty)
  }

  @Test(.tags(.system)) func `a second process writes rows that are read here`() throws {
    let writer = try database.writer()
    let helper = try HelperProcess("sql", database.path)
    try helper.run("INSERT INTO item VALUES (1, 'a'); INSERT INTO item VALUES (2, 'b')")
    #expect(
      try writer.query("SELECT name FROM item ORDER BY id").map { $0[0] } == [
        .text("a"), .text("b"),
      ])
    #expect(try helper.answer(to: "INSERT INTO nothing VALUES (1)").hasPrefix("error: "))
    try helper.run("burst 100 UPDATE item SET name = ? WHERE id = 1")
    #expect(try writer.query("SELECT name FROM item ORDER BY id")[0][0] == .text("100"))
  }
}
