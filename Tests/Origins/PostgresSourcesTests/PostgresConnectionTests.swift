import DataSourceTesting
import Foundation
import PostgresSources
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresConnectionTests {
  @Test func `values are sent and read back exactly`() async throws {
    let connection = try await TestDatabase().connection
    func roundTrip<Value: PostgresValueConvertible & Equatable & Sendable>(
      _ value: Value, _ type: String
    ) async throws {
      let read = try await connection.query("SELECT $1::\(type) AS v", [value]) {
        try $0.value("v", as: Value.self)
      }
      #expect(read == [value], "\(type)")
    }
    for value in [Int64.min, -1, 0, .max] { try await roundTrip(value, "bigint") }
    try await roundTrip(UInt64.max, "numeric")
    for value in [0.1, -.infinity, Double.leastNonzeroMagnitude, 1.7976931348623157e308, -0.0] {
      try await roundTrip(value, "float8")
    }
    try await roundTrip(Float(0.1), "float4")
    for value in ["", "it's \\ \"quoted\"", "🙂\n", "NULL", "{}"] {
      try await roundTrip(value, "text")
    }
    try await roundTrip(true, "boolean")
    try await roundTrip([UInt8](0...255), "bytea")
    try await roundTrip([UInt8](), "bytea")
    try await roundTrip(UUID(), "uuid")
    for seconds in [0, 1_700_000_000.123456, -1e10] {
      try await roundTrip(Date(timeIntervalSince1970: seconds), "timestamptz")
    }
    try await roundTrip([1, 2, nil] as [Int?], "integer[]")
    try await roundTrip(["a", "", "NULL", "x\"y\\z", "{,}"], "text[]")
    try await roundTrip([["a"], ["b"]], "text[]")
    try await roundTrip("123456789012345678901234567890.123", "numeric")
    try await roundTrip("{\"a\": [1, 2]}", "jsonb")
    try await roundTrip(nil as String?, "text")
    let nan = try await connection.query("SELECT 'NaN'::float8 AS v") {
      try $0.value("v", as: Double.self)
    }
    #expect(nan.first?.isNaN == true)
  }

  @Test func `a real is the number that the server writes`() async throws {
    let connection = try await TestDatabase().connection
    var random = SeededGenerator(seed: 1)
    let numbers =
      [0.1, 1e38, .greatestFiniteMagnitude, .leastNonzeroMagnitude, -0.0, 16_777_216, .infinity]
      + (0..<2_000).map { _ in Float(bitPattern: random.next()) }.filter { !$0.isNaN }
    let rows = try await connection.query(
      "SELECT r, r::text AS t FROM unnest($1::real[]) WITH ORDINALITY AS u(r, i) ORDER BY i",
      [numbers]
    ) { row in
      (
        try row.value("r", as: Double.self), try row.value("r", as: Float.self),
        try row.value("t", as: String.self)
      )
    }
    #expect(rows.map(\.1.bitPattern) == numbers.map(\.bitPattern))
    #expect(rows.map(\.0.bitPattern) == rows.map { Double($0.2)?.bitPattern })
    #expect(rows[0].0 == 0.1 && rows[1].0 == 1e38)
    // The value that was read finds its row.
    let found = try await connection.query(
      "SELECT r FROM unnest($1::real[]) AS r WHERE r = $2", [numbers, rows[0].0]
    ) { try $0.value("r", as: Float.self) }
    #expect(found == [0.1])
  }

  @Test func `a role with other settings reads the same values`() async throws {
    let database = try await TestDatabase()
    try await database.connection.executeScript(
      """
      ALTER DATABASE \(database.name) SET datestyle = 'SQL, DMY';
      ALTER DATABASE \(database.name) SET bytea_output = 'escape';
      ALTER DATABASE \(database.name) SET extra_float_digits = -5;
      ALTER DATABASE \(database.name) SET timezone = 'Asia/Kathmandu'
      """)
    let connection = try PostgresConnection(database.connectionString)
    let row = try await connection.query(
      "SELECT '2024-02-01 00:00Z'::timestamptz AS t, '\\x00ff'::bytea AS b, 0.1::float8 + 0.2 AS f")
    #expect(try row[0].value("t", as: Date.self).timeIntervalSince1970 == 1_706_745_600)
    #expect(try row[0].value("b", as: [UInt8].self) == [0, 255])
    #expect(try row[0].value("f", as: Double.self) == 0.1 + 0.2)
  }

  @Test func `an error has the code, the place in the SQL, and a hint`() async throws {
    let connection = try await TestDatabase("CREATE TABLE item (id integer PRIMARY KEY)").connection
    for (sql, code, state, place) in [
      ("SELEKT 1", PostgresError.Code.sql, "42601", "column 1 («SELEKT 1»)"),
      ("SELECT * FROM itme", .undefined, "42P01", "column 15 («itme»)"),
      ("SELECT 1\nFROM item\nWHERE idd = 1", .undefined, "42703", "line 3, column 7 («idd = 1»)"),
      ("INSERT INTO item VALUES (1), (1)", .constraint, "23505", ""),
      ("SELECT 'x'::integer", .arguments, "22P02", "column 8"),
      ("SELECT nofunction(1)", .undefined, "42883", "column 8"),
    ] {
      await #expect { try await connection.execute(sql) } throws: { error in
        guard let error = error as? PostgresError else { return false }
        return error.code == code && error.sqlState == state
          && (place.isEmpty || error.description.contains(place))
          && !error.help.isEmpty && !error.description.contains("\n")
      }
    }
    await #expect { try await connection.execute("SELECT $1", []) } throws: {
      ($0 as? PostgresError)?.code == .arguments
    }
    await #expect { try await connection.execute("SELECT 1; SELECT 2") } throws: {
      ($0 as? PostgresError)?.code == .severalStatements
    }
    await #expect { try await connection.execute("COPY item FROM STDIN") } throws: {
      ($0 as? PostgresError)?.message.contains("COPY") == true
    }
    // The connection is still of use.
    #expect(try await connection.query("SELECT 1 AS n").count == 1)
  }

  @Test func `a wrong password is reported without the password`() async throws {
    let database = try await TestDatabase()
    let role = "guarded_\(database.name)"
    try await database.connection.executeScript(
      """
      DO $$ BEGIN CREATE ROLE guarded; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
      CREATE ROLE \(role) LOGIN PASSWORD 'right-password' IN ROLE guarded
      """)
    let string = database.server.connectionString(database: database.name, user: role)
    let right = try PostgresConnection(string + " password=right-password")
    #expect(try await right.query("SELECT 1 AS n").count == 1)
    for wrong in [
      string + " password=wrong-password",
      "postgresql://\(role):wrong-password@/\(database.name)?host=\(database.server.directory)",
      string,
    ] {
      await #expect { try await PostgresConnection(wrong).query("SELECT 1") } throws: { error in
        (error as? PostgresError)?.code == .authentication && !"\(error)".contains("wrong-password")
      }
    }
  }

  @Test func `a transaction commits, rolls back, and nests`() async throws {
    struct Failure: Error {}
    let connection = try await TestDatabase("CREATE TABLE item (id integer PRIMARY KEY)").connection
    func ids() async throws -> [Int] {
      try await connection.query("SELECT id FROM item ORDER BY id") { try $0.value("id") }
    }
    try await connection.transaction {
      try await connection.execute("INSERT INTO item VALUES (1)")
      await #expect(throws: Failure.self) {
        try await connection.transaction {
          try await connection.execute("INSERT INTO item VALUES (2)")
          throw Failure()
        }
      }
      try await connection.transaction {
        try await connection.execute("INSERT INTO item VALUES (3)")
      }
    }
    #expect(try await ids() == [1, 3])
    await #expect(throws: Failure.self) {
      try await connection.transaction {
        try await connection.execute("DELETE FROM item")
        throw Failure()
      }
    }
    #expect(try await ids() == [1, 3])
    // A statement that failed makes the transaction fail, also if the body ignores it.
    await #expect {
      try await connection.transaction {
        _ = try? await connection.execute("INSERT INTO item VALUES (1)")
      }
    } throws: { ($0 as? PostgresError)?.code == .transaction }
    #expect(try await ids() == [1, 3])
  }

  @Test func `a transaction with a conflict runs again`() async throws {
    let database = try await TestDatabase(
      "CREATE TABLE counter (n integer); INSERT INTO counter VALUES (0)")
    let connections = try (0..<4).map { _ in try PostgresConnection(database.connectionString) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for connection in connections {
        group.addTask {
          for _ in 0..<10 {
            try await connection.transaction(isolation: .serializable, maximumAttempts: 100) {
              let n = try await connection.query("SELECT n FROM counter") {
                try $0.value("n", as: Int.self)
              }
              try await connection.execute("UPDATE counter SET n = $1", [n[0] + 1])
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let n = try await database.connection.query("SELECT n FROM counter") {
      try $0.value("n", as: Int.self)
    }
    #expect(n == [40])
  }

  @Test func `canceling a task cancels its statement, and the connection stays of use`()
    async throws
  {
    let connection = try await TestDatabase().connection
    #expect(try await connection.query("SELECT 1").count == 1)
    let task = Task { try await connection.query("SELECT pg_sleep(600)") }
    let other = Task { try await connection.query("SELECT 5 AS n") }
    task.cancel()
    await #expect { try await task.value } throws: { ($0 as? PostgresError)?.code == .canceled }
    #expect(try await other.value.count == 1)
  }

  @Test func `a statement that takes too long ends`() async throws {
    let database = try await TestDatabase()
    let connection = try PostgresConnection(
      database.connectionString, options: PostgresOptions(statementTimeout: .milliseconds(20)))
    await #expect { try await connection.query("SELECT pg_sleep(600)") } throws: {
      ($0 as? PostgresError)?.code == .timeout
    }
  }

  @Test func `a connection that the server has ended opens again`() async throws {
    let database = try await TestDatabase()
    let connection = try PostgresConnection(database.connectionString)
    let process = try await connection.query("SELECT pg_backend_pid() AS pid") {
      try $0.value("pid", as: Int.self)
    }
    let task = Task { try await connection.query("SELECT pg_sleep(600)") }
    try await wait(for: "the end of the session that runs the statement") {
      try await database.connection.query(
        """
        SELECT pg_terminate_backend(pid) AS v FROM pg_stat_activity
        WHERE pid = $1 AND query LIKE '%sleep%' AND state = 'active'
        """, [process[0]]
      ) { try $0.value("v", as: Bool.self) }.first ?? false
    }
    await #expect { try await task.value } throws: {
      ($0 as? PostgresError)?.code == .connectionLost
    }
    #expect(try await connection.query("SELECT 1").count == 1)
  }

  @Test func `notifications arrive, and their stream ends with the connection`() async throws {
    let database = try await TestDatabase()
    let listener = try PostgresConnection(database.connectionString)
    let notifications = try await listener.listen(to: "A channel")
    try await database.connection.execute("NOTIFY \"A channel\", 'hello'")
    try await database.connection.execute("NOTIFY other, 'no'")
    try await database.connection.execute("SELECT pg_notify('A channel', $1)", ["again"])
    var iterator = notifications.makeAsyncIterator()
    #expect(try await iterator.next()?.payload == "hello")
    #expect(try await iterator.next()?.payload == "again")
    listener.close()
    await #expect(throws: PostgresError.self) { try await iterator.next() }
    await #expect { try await listener.query("SELECT 1") } throws: {
      ($0 as? PostgresError)?.code == .closed
    }
  }

  @Test func `a pool gives each task a connection of its own`() async throws {
    let database = try await TestDatabase()
    let pool = try PostgresPool(database.connectionString, maximumConnections: 2)
    let processes = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<20 {
        group.addTask {
          try await pool.withConnection { connection in
            try await connection.query("SELECT pg_backend_pid() AS p") {
              try $0.value("p", as: Int.self)
            }[0]
          }
        }
      }
      return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect((1...2).contains(processes.count))
  }

  @Test func `a server that is not there is named`() async throws {
    let connection = try PostgresConnection("host=/nonexistent dbname=shop password=secret-word")
    await #expect { try await connection.query("SELECT 1") } throws: { error in
      (error as? PostgresError)?.code == .cannotConnect && "\(error)".contains("/nonexistent")
        && !"\(error)".contains("secret-word")
    }
    await #expect { try await PostgresConnection("hots=x").query("SELECT 1") } throws: {
      ($0 as? PostgresError)?.code == .connectionString
    }
    let server = try PostgresServer.shared()
    let missing = try PostgresConnection(server.connectionString(database: "nowhere"))
    await #expect { try await missing.query("SELECT 1") } throws: {
      ($0 as? PostgresError)?.code == .missing
    }
  }
}
