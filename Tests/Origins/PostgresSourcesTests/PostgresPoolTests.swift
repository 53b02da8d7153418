import DataSourceTesting
import Foundation
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

/// Waiting for a connection of a pool, and the state in which it comes.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresPoolTests {
  private func makePool(_ database: TestDatabase, _ count: Int = 1) throws -> PostgresPool {
    try PostgresPool(database.connectionString, maximumConnections: count)
  }

  private func text(_ connection: PostgresConnection, _ sql: String) async throws -> String? {
    try await connection.query(sql) { $0.text(at: 0) }[0]
  }

  private func process(_ pool: PostgresPool) async throws -> String? {
    try await pool.withConnection { try await text($0, "SELECT pg_backend_pid()") }
  }

  // MARK: Waiting

  @Test func `a canceled task does not wait for a connection, and takes no place`() async throws {
    let pool = try makePool(try await TestDatabase())
    try await pool.withConnection { _ in
      let waiters = (0..<20).map { _ in Task { try await pool.withConnection { _ in } } }
      await Task.yield()
      for waiter in waiters {
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
      }
    }
    #expect(try await process(pool) != nil)
  }

  @Test func `tasks that are canceled at any moment leave all connections to others`() async throws
  {
    let pool = try makePool(try await TestDatabase(), 2)
    var random = SeededGenerator(seed: 1)
    let tasks = (0..<100).map { _ in
      Task { try await pool.withConnection { try await $0.execute("SELECT pg_sleep(0.001)") } }
    }
    for task in tasks where Bool.random(using: &random) { task.cancel() }
    for task in tasks { _ = await task.result }
    let first = Task {
      try await pool.withConnection { first in
        try await pool.withConnection { second in
          (
            try await text(first, "SELECT pg_backend_pid()"),
            try await text(second, "SELECT pg_backend_pid()")
          )
        }
      }
    }
    let (one, other) = try await first.value
    #expect(one != other)
  }

  @Test(arguments: [1, 3]) func `a task that would wait for itself gets an error`(
    count: Int
  ) async throws {
    let pool = try makePool(try await TestDatabase(), count)
    func nest(_ depth: Int) async throws -> Int {
      try await pool.withConnection { connection in
        do {
          try await connection.execute("SELECT 1")
          return try await nest(depth + 1)
        } catch let error as PostgresError where error.code == .tooManyConnections {
          #expect(error.message.contains("uses all \(count) connections of the pool"))
          return depth
        }
      }
    }
    for _ in 0..<3 { #expect(try await nest(1) == count) }
    // Another task waits until this one is done.
    let other = try await pool.withConnection { _ in Task { try await process(pool) } }
    #expect(try await other.value != nil)
  }

  @Test func `a source that would wait for its caller has a status, and reads later`() async throws
  {
    let database = try await TestDatabase("CREATE TABLE item (id integer, title text)")
    let pool = try makePool(database)
    let source = try PostgresDataSource<Item>(pool: pool, sql: "SELECT id, title FROM item")
    try await pool.withConnection { _ in
      await source.refresh()
      #expect("\(source.status)".contains("it would wait for itself"), "\(source.status)")
    }
    try await SourceRecorder(source).wait(for: [])
  }

  // MARK: The state of a connection

  private static let changes = [
    "SET search_path = pg_catalog", "SET client_encoding = 'LATIN1'",
    "CREATE TEMPORARY TABLE mine (id integer)", "PREPARE mine AS SELECT 1",
    "SELECT pg_advisory_lock(7), nextval('public.number')", "SET ROLE pg_monitor",
  ]
  private static let state = """
    SELECT concat_ws(' ', current_setting('search_path'), current_setting('client_encoding'),
      current_user, to_regclass('pg_temp.mine'), (SELECT count(*) FROM pg_prepared_statements),
      (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
      pg_backend_pid())
    """

  private struct Failure: Error {}

  @Test(arguments: [[], ["BEGIN"], ["BEGIN", "SELECT 1 / 0"]])
  func `a connection comes back in its first state`(beginning: [String]) async throws {
    let database = try await TestDatabase("CREATE TABLE item (id integer); CREATE SEQUENCE number")
    let pool = try makePool(database)
    let state = try await pool.withConnection { try await text($0, Self.state) }
    #expect(state?.hasPrefix(#""$user", public UTF8 postgres 0 0 "#) == true)
    for throwsError in [false, true] {
      do {
        try await pool.withConnection { connection in
          for sql in beginning + ["INSERT INTO item VALUES (1)"] + Self.changes {
            _ = try? await connection.execute(sql)
          }
          if throwsError { throw Failure() }
        }
      } catch is Failure {}
      #expect(try await pool.withConnection { try await text($0, Self.state) } == state)
      try await pool.withConnection { connection in
        let error = await #expect(throws: PostgresError.self) {
          try await connection.query("SELECT lastval()")
        }
        #expect(error?.sqlState == "55000")
      }
    }
    // Without BEGIN, each statement commits.
    let count = try await text(database.connection, "SELECT count(*) FROM item")
    #expect(count == (beginning.isEmpty ? "2" : "0"))
  }

  @Test func `a canceled statement leaves a connection in its first state`() async throws {
    let database = try await TestDatabase("CREATE SEQUENCE number")
    let pool = try makePool(database)
    let state = try await pool.withConnection { try await text($0, Self.state) }
    let (begun, signal) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await pool.withConnection { connection in
        defer { signal.finish() }
        for sql in Self.changes { try await connection.execute(sql) }
        signal.yield()
        try await connection.transaction { try await connection.execute("SELECT pg_sleep(600)") }
      }
    }
    for await _ in begun { break }
    task.cancel()
    await #expect(throws: PostgresError.self) { try await task.value }
    #expect(try await pool.withConnection { try await text($0, Self.state) } == state)
  }

  @Test func `a connection that was closed, cut or listens is replaced`() async throws {
    let database = try await TestDatabase()
    let pool = try makePool(database)
    let first = try await process(pool)
    try await pool.withConnection { $0.close() }
    let second = try await process(pool)
    let stream = try await pool.withConnection { try await $0.listen(to: "news") }
    var notifications = stream.makeAsyncIterator()
    await #expect(throws: PostgresError.self) { try await notifications.next() }
    let third = try await process(pool)
    try await pool.withConnection { connection in
      try await database.connection.execute("SELECT pg_terminate_backend(\(third ?? ""))")
      _ = try? await connection.execute("SELECT 1")
    }
    let fourth = try await process(pool)
    #expect(Set([first, second, third, fourth]).count == 4)
  }

  @Test func `a connection to a standby server stays open`() async throws {
    let primary = try PostgresServer(configuration: ["wal_level = replica"])
    let standby = try PostgresServer(standbyOf: primary)
    let pool = try PostgresPool(
      standby.connectionString(database: "postgres"), maximumConnections: 1)
    let first = try await process(pool)
    #expect(try await process(pool) == first)
  }
}
