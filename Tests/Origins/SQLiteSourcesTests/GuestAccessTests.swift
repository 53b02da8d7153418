import Foundation
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

@testable import SQLiteSources

/// Databases that somebody else owns.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct GuestAccessTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: database.directory.path).sorted()
    }
  }

  /// Gives the database to a user, and returns the answers of another one.
  private func answers(owner: uid_t, guest: uid_t, folderMode: mode_t) throws -> [String] {
    let folder = database.directory.path
    for path in [folder, database.path] { try #require(chown(path, owner, owner) == 0) }
    try #require(chmod(folder, folderMode) == 0)
    defer { chmod(folder, 0o755) }
    let helper = try HelperProcess("guest", "\(guest)", database.path)
    return [try helper.nextAnswer(), try helper.answer(to: "")]
  }

  /// (the mode of the folder, whether the guest is the owner, the answer)
  @Test(
    .enabled(if: geteuid() == 0),
    arguments: [(0o777, false, "logFiles"), (0o555, false, "logFiles"), (0o755, true, "1")])
  func `a guest creates no files that the owner could not use`(
    mode: mode_t, isOwner: Bool, expected: String
  ) throws {
    let writer = try database.writer()
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    writer.close()
    #expect(try names == ["test.db"])
    let answers = try answers(owner: 4_001, guest: isOwner ? 4_001 : 4_002, folderMode: mode)
    #expect(answers == [expected, "1"])
    if !isOwner { #expect(try names == ["test.db"]) }
    try database.writer().execute("INSERT INTO item VALUES (2, 'b')")
  }

  @Test(.enabled(if: geteuid() == 0))
  func `a guest reads a database that its owner has open, or that has a rollback journal`() throws {
    let writer = try database.writer()
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    for suffix in ["-wal", "-shm"] {
      try #require(chown(database.path + suffix, 4_001, 4_001) == 0)
    }
    #expect(try answers(owner: 4_001, guest: 4_002, folderMode: 0o777)[0] == "1")
    _ = try writer.query("PRAGMA journal_mode = DELETE")
    writer.close()
    #expect(try answers(owner: 4_001, guest: 4_002, folderMode: 0o777)[0] == "1")
    #expect(try names == ["test.db"])
  }

  @Test func `an immutable file is read without its log, and not followed`() async throws {
    let writer = try database.writer()
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    _ = try writer.query("PRAGMA wal_checkpoint(TRUNCATE)")
    let source = try SQLiteDataSource<Item>(
      connection: SQLiteConnection(path: database.path, access: .immutable),
      sql: "SELECT id, name FROM item ORDER BY id")
    let observation = source.observe { _ in }
    #expect(try await source.loaded().map(\.id) == [1])
    try writer.execute("INSERT INTO item VALUES (2, 'b')")
    let late = try SQLiteDataSource<Item>(
      connection: SQLiteConnection(path: database.path, access: .immutable),
      sql: "SELECT id, name FROM item ORDER BY id")
    #expect(try await late.loaded().map(\.id) == [1])
    let remarks = late.status.diagnostics.filter { $0.code == "immutable" }
    #expect(remarks.count == 1)
    #expect(source.snapshot.count == 1)
    let connection = try SQLiteConnection(path: database.path, access: .immutable)
    #expect(throws: SQLiteError.self) { try connection.execute("DELETE FROM item") }
    observation.dispose()
  }

  @Test func `the path of an immutable file may have any characters`() throws {
    let writer = try database.writer(.delete)
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    writer.close()
    for name in ["a b.db", "é%20.db", "a?b#c.db", "[x]:@&=+$,;'.db"] {
      let path = database.directory.path + "/" + name
      try FileManager.default.copyItem(atPath: database.path, toPath: path)
      let connection = try SQLiteConnection(path: path, access: .immutable)
      #expect(try connection.query("SELECT * FROM item").count == 1)
      #expect(connection.path == path)
    }
  }

  @Test func `a look releases no lock of another connection of this process`() throws {
    let writer = try database.writer()
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    try writer.execute("BEGIN IMMEDIATE")
    for access in [SQLiteConnection.Access.readOnly, .immutable] {
      try SQLiteConnection(path: database.path, access: access).close()
    }
    let helper = try HelperProcess("sql", database.path)
    try helper.run("PRAGMA busy_timeout = 0")
    #expect(throws: HelperProcess.Failure.self) {
      try helper.run("INSERT INTO item VALUES (2, 'b')")
    }
    try writer.execute("COMMIT")
    try helper.run("INSERT INTO item VALUES (2, 'b')")
  }

  @Test func `reading and writing need not block the caller`() async throws {
    let writer = try database.writer()
    let other = try SQLiteConnection(path: database.path)
    try other.execute("BEGIN IMMEDIATE")
    async let written: Int = writer.write { try $0.execute("INSERT INTO item VALUES (1, 'a')") }
    try other.execute("COMMIT")
    #expect(try await written == 1)
    #expect(try await writer.read { try $0.query("SELECT * FROM item").count } == 1)
    struct Failure: Error {}
    await #expect(throws: Failure.self) {
      try await writer.write { connection in
        try connection.execute("DELETE FROM item")
        throw Failure()
      }
    }
    #expect(try writer.query("SELECT * FROM item").count == 1)
    let canceled = Task {
      await Task.yield()
      withUnsafeCurrentTask { $0?.cancel() }
      return try await writer.write { try $0.execute("DELETE FROM item") }
    }
    await #expect(throws: CancellationError.self) { try await canceled.value }
  }
}
