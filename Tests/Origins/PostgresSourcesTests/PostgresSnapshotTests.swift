import DataSourceTesting
import Diffing
import ObservableCollections
import TestSupport
import TestTags
import Testing

@testable import PostgresSources

/// Moments at which a read or a loss of the connection must not be torn.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresSnapshotTests {
  /// The reader looks for a deadlock before there is one, and the writer after it.
  @Test func `a read that waits for one of two tables does not end a writer in a deadlock`()
    async throws
  {
    let server = try PostgresServer(configuration: ["deadlock_timeout = 1ms"])
    let database = try await TestDatabase(
      """
      CREATE TABLE item (id integer PRIMARY KEY, title text NOT NULL);
      CREATE TABLE other (id integer PRIMARY KEY);
      INSERT INTO item VALUES (1, 'a'); INSERT INTO other VALUES (1)
      """, on: server)
    let source = try PostgresDataSource(
      pool: try database.makePool(), sql: "SELECT id, title FROM item JOIN other USING (id)"
    ) { try Item($0) }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, title: "a")])
    let writer = try PostgresConnection(database.connectionString)
    try await writer.execute("BEGIN")
    try await writer.execute("SET LOCAL deadlock_timeout = '2s'")
    try await writer.execute("TRUNCATE other")
    try await database.connection.execute("UPDATE item SET title = 'b'")
    try await wait(for: "a read that has locked one table and waits for the other") {
      try await !database.connection.query(
        """
        SELECT FROM pg_locks w JOIN pg_locks h USING (pid)
        WHERE NOT w.granted AND h.granted AND h.relation = 'item'::regclass
        """
      ).isEmpty
    }
    try await writer.execute("TRUNCATE item")
    try await writer.execute("INSERT INTO item VALUES (2, 'c')")
    try await writer.execute("INSERT INTO other VALUES (2)")
    try await writer.execute("COMMIT")
    try await recorder.wait(for: [Item(id: 2, title: "c")])
  }

  @Test(arguments: ["TRUNCATE item", "ALTER TABLE item ALTER title TYPE varchar(50)"])
  func `a read that waits for a table sees all of the transaction that held it`(
    statement: String
  ) async throws {
    let database = try await TestDatabase(
      """
      CREATE TABLE item (id integer PRIMARY KEY, title text NOT NULL);
      CREATE TABLE other (id integer);
      INSERT INTO item VALUES (1, 'a'), (2, 'b')
      """)
    let source = try PostgresDataSource(
      pool: try database.makePool(), sql: "SELECT id, title::text FROM item ORDER BY id"
    ) { try Item($0) }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, title: "a"), Item(id: 2, title: "b")])
    let holder = try PostgresConnection(database.connectionString)
    try await holder.execute("BEGIN")
    try await holder.execute(statement)
    try await holder.execute("INSERT INTO item VALUES (3, 'c'), (4, 'd')")
    // Another commit wakes the source, whose read waits for the table.
    try await database.connection.execute("INSERT INTO other VALUES (1)")
    try await wait(for: "a read that waits for the table") {
      try await !database.connection.query("SELECT FROM pg_locks WHERE NOT granted").isEmpty
    }
    try await holder.execute("COMMIT")
    let record = try await recorder.wait { $0.contents.count { $0.id > 2 } == 2 }
    #expect(record.violations.isEmpty)
    #expect(record.events.allSatisfy { [0, 2, 4].contains($0.snapshot.count) })
    #expect(record.events.dropFirst(2).allSatisfy { $0.snapshot.count == record.contents.count })
  }

  @Test
  func `an operation fails if the connection ended before its answer was read`() async throws {
    let database = try await TestDatabase()
    let session = try await PostgresSession.connect(
      ConnectionString(database.connectionString), options: PostgresOptions())
    let (isHeld, mayContinue) = (Signpost(), Signpost())
    session.onNotification { _ in
      isHeld.open()
      mayContinue.pass()
    }
    try await session.run("LISTEN held")
    let pid = try await session.texts("SELECT pg_backend_pid()", columns: 1)[0][0] ?? ""
    // The session's queue is held, so the reason and the end of the connection arrive together.
    try await database.connection.execute("NOTIFY held")
    await withCheckedContinuation { continuation in
      _ = Worker {
        isHeld.pass()
        continuation.resume()
      }
    }
    let answer = Task { try await session.texts("SELECT 1", columns: 1) }
    try await database.connection.execute("SELECT pg_terminate_backend(\(pid), 60000)")
    mayContinue.open()
    let error = await #expect(throws: PostgresError.self) { try await answer.value }
    #expect(error?.code == .connectionLost)
  }

  @Test func `a transaction whose connection is lost before COMMIT says so`() async throws {
    let database = try await TestDatabase()
    let connection = try PostgresConnection(database.connectionString)
    let error = await #expect(throws: PostgresError.self) {
      try await connection.transaction {
        let pid = try await connection.query("SELECT pg_backend_pid()") { $0.text(at: 0) ?? "" }[0]
        try await database.connection.execute("SELECT pg_terminate_backend(\(pid), 60000)")
        // The session notices the end on its own.
        let session = try await connection.withSession { session throws(PostgresError) in session }
        try await wait(for: "the session to notice its end") { await !session.isOpen() }
      }
    }
    #expect(error?.code == .connectionLost)
    #expect(try await connection.query("SELECT 1") { $0.text(at: 0) } == ["1"])
  }
}
