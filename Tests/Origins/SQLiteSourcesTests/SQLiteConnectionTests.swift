import TestSupport
import Foundation
import TestTags
import Testing

@testable import SQLiteSources

@Suite(.tags(.concurrency)) struct SQLiteConnectionTests {
  private let memory: SQLiteConnection

  init() throws {
    memory = try SQLiteConnection.makeInMemory()
    try memory.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)")
  }

  @Test func `every type of value is stored and read back`() throws {
    let values: [SQLiteValue] = [
      .null, .integer(.min), .integer(.max), .integer(0), .real(0.1), .real(-0.0),
      .real(.infinity), .real(.leastNonzeroMagnitude), .text(""), .text("ä\u{0}b 🌱"), .blob([]),
      .blob([0, 255]),
    ]
    for value in values {
      let rows = try memory.query("SELECT ?, typeof(?1)", [value])
      #expect(rows[0][0] == value, "\(value)")
    }
    #expect(try memory.query("SELECT ?", [Double.nan])[0][0] == .null)
  }

  @Test func `invalid text reads as replacement characters`() throws {
    let rows = try memory.query("SELECT CAST(x'61ff62' AS TEXT) AS t")
    #expect(rows[0]["t"] == .text("a\u{FFFD}b"))
  }

  @Test func `statements that differ only in normalization are not confused`() throws {
    for accented in ["\u{E9}", "e\u{301}", "\u{E9}", "e\u{301}"] {
      let rows = try memory.query("SELECT '\(accented)'")
      #expect(rows[0][0] == .text(accented))
    }
  }

  @Test func `arguments are bound by position and by name`() throws {
    #expect(try memory.query("SELECT ?2, ?1", [1, "x"])[0].values == [.text("x"), .integer(1)])
    let row = try memory.query("SELECT :a, @b, $c", ["a": 1, "@b": 2, "c": nil])[0]
    #expect(row.values == [.integer(1), .integer(2), .null])
  }

  @Test(
    arguments: [
      ("SELECT ?", [1, 2], "takes 1 argument, but 2 are given"),
      ("SELECT ?, ?", [1], "takes 2 arguments, but 1 is given"),
      ("SELECT :a", ["b": 1], ":a has no value"),
      ("SELECT :a", ["a": 1, "b": 1], "no argument named \"b\""),
      ("SELECT ?", ["a": 1], "argument 1 of the statement has no name"),
    ] as [(String, SQLiteArguments, String)])
  func `arguments that do not match are an error`(
    sql: String, arguments: SQLiteArguments, message: String
  ) throws {
    let error = try #require(throws: SQLiteError.self) { try memory.query(sql, arguments) }
    #expect(error.code == .arguments)
    #expect(error.description.contains(message))
    #expect(error.description.contains(sql))
  }

  @Test func `an SQL error has a position`() throws {
    let sql = "SELECT id,\n  nowhere FROM t"
    let error = try #require(throws: SQLiteError.self) { try memory.query(sql) }
    #expect(error.code == .sql)
    #expect(error.offset == 13)
    #expect(error.description.contains("no such column: nowhere"))
    #expect(error.description.contains("at line 2, column 3 («nowhere FROM t»)"))
    #expect(!error.description.contains("\n"))
  }

  @Test(arguments: [
    ("", SQLiteError.Code.emptySQL), (" ; -- nothing\n/* at all */", .emptySQL),
    ("SELECT 1; SELECT 2", .severalStatements), ("SELECT 1; nonsense", .severalStatements),
    ("SELECT 1\u{0}", .sql),
  ])
  func `several statements are an error`(sql: String, code: SQLiteError.Code) throws {
    let error = try #require(throws: SQLiteError.self) { try memory.execute(sql) }
    #expect(error.code == code)
  }

  @Test func `a comment may follow a statement`() throws {
    #expect(try memory.query("SELECT 1; -- one\n /* and */ ; ").count == 1)
  }

  @Test func `a script runs all its statements`() throws {
    try memory.executeScript(
      """
      INSERT INTO t (a) VALUES (1); -- first
      INSERT INTO t (a) VALUES (2);
      CREATE TABLE u (x); INSERT INTO u VALUES ('a;b')
      """)
    #expect(try memory.query("SELECT a FROM t").count == 2)
    #expect(try memory.query("SELECT x FROM u")[0][0] == .text("a;b"))
    let error = try #require(throws: SQLiteError.self) {
      try memory.executeScript("SELECT 1; SELEC 2")
    }
    #expect(error.offset == 10)
  }

  @Test func `insertions report their rowid and count`() throws {
    #expect(try memory.execute("INSERT INTO t (a) VALUES (1), (2)") == 2)
    #expect(memory.lastInsertRowID == 2)
    #expect(memory.changes == 2)
    #expect(try memory.execute("UPDATE t SET a = 3 WHERE id = 1") == 1)
  }

  @Test func `a row is read by name and by position`() throws {
    let row = try memory.query("SELECT 1 AS id, 'x' AS name, NULL AS none")[0]
    #expect(try row.value("id", as: Int.self) == 1)
    #expect(try row.value("NAME", as: String.self) == "x")
    #expect(try row.value(at: 2, as: String?.self) == nil)
    #expect(row["other"] == nil)
    #expect(row.columnNames == ["id", "name", "none"])
  }

  @Test func `a type mismatch names its column`() throws {
    let row = try memory.query("SELECT 'x' AS name, NULL AS none, 300 AS big")[0]
    let mismatch = try #require(throws: SQLiteError.self) { try row.value("name", as: Int.self) }
    #expect(mismatch.code == .typeMismatch)
    #expect(
      mismatch.description.contains("\"name\" holds TEXT 'x', which is not a value of type Int"))
    let null = try #require(throws: SQLiteError.self) { try row.value("none", as: Int.self) }
    #expect(null.code == .unexpectedNull)
    let missing = try #require(throws: SQLiteError.self) { try row.value("nane", as: Int.self) }
    #expect(missing.code == .noColumn)
    #expect(missing.description.contains("\"name\", \"none\", \"big\""))
    #expect(throws: SQLiteError.self) { try row.value("big", as: UInt8.self) }
  }

  @Test func `a transaction is committed or rolled back as a whole`() throws {
    struct Stop: Error {}
    try memory.transaction { _ = try memory.execute("INSERT INTO t (a) VALUES (1)") }
    #expect(throws: Stop.self) {
      try memory.transaction {
        try memory.execute("INSERT INTO t (a) VALUES (2)")
        throw Stop()
      }
    }
    #expect(try memory.query("SELECT a FROM t").map { $0[0] } == [.integer(1)])
  }

  @Test func `an inner transaction rolls back its own part`() throws {
    struct Stop: Error {}
    try memory.transaction {
      try memory.execute("INSERT INTO t (a) VALUES (1)")
      #expect(throws: Stop.self) {
        try memory.transaction {
          try memory.execute("INSERT INTO t (a) VALUES (2)")
          try memory.transaction { _ = try memory.execute("INSERT INTO t (a) VALUES (3)") }
          throw Stop()
        }
      }
      try memory.transaction { _ = try memory.execute("INSERT INTO t (a) VALUES (4)") }
    }
    #expect(try memory.query("SELECT a FROM t").map { $0[0] } == [.integer(1), .integer(4)])
  }

  @Test func `a transaction that ends itself is an error`() throws {
    let error = try #require(throws: SQLiteError.self) {
      try memory.transaction { _ = try memory.execute("COMMIT") }
    }
    #expect(error.code == .transaction)
    try memory.transaction { _ = try memory.execute("INSERT INTO t (a) VALUES (1)") }
  }

  @Test func `threads take turns and transactions do not mix`() async throws {
    let memory = memory
    await withTaskGroup { group in
      for worker in 0..<8 {
        group.addTask {
          for step in 0..<100 {
            try? memory.transaction {
              try memory.execute("INSERT INTO t (a, b) VALUES (?, ?)", [worker, step])
              let id = memory.lastInsertRowID
              try memory.execute("UPDATE t SET b = b + 1 WHERE id = ?", [id])
              #expect(memory.changes == 1 && memory.lastInsertRowID == id)
            }
          }
        }
      }
    }
    #expect(
      try memory.query("SELECT count(*), sum(b) FROM t")[0].values == [
        .integer(800), .integer(8 * 5050),
      ])
  }

  @Test func `a statement may run again while its rows are mapped`() throws {
    try memory.execute("INSERT INTO t (a) VALUES (1), (2)")
    let counts = try memory.query("SELECT a FROM t") { _ in
      try memory.query("SELECT a FROM t").count
    }
    #expect(counts == [2, 2])
  }

  @Test func `a commit is reported after it is done`() throws {
    let commits = Shared(0)
    let monitor = ChangeMonitor.shared(connection: memory)
    let number = monitor.attach { [memory] _ in
      commits.modify { $0 += 1 }
      // A client may use the connection.
      #expect((try? memory.query("SELECT 1").count) == 1)
    }
    try memory.execute("INSERT INTO t (a) VALUES (1)")
    #expect(commits.value == 1)
    try memory.transaction {
      try memory.execute("INSERT INTO t (a) VALUES (2)")
      try memory.execute("INSERT INTO t (a) VALUES (3)")
      #expect(commits.value == 1)
    }
    #expect(commits.value == 2)
    struct Stop: Error {}
    _ = try? memory.transaction {
      try memory.execute("INSERT INTO t (a) VALUES (4)")
      throw Stop()
    }
    _ = try memory.query("SELECT * FROM t")
    #expect(commits.value == 2)
    monitor.detach(number)
    try memory.execute("INSERT INTO t (a) VALUES (5)")
    #expect(commits.value == 2)
  }

  @Test func `a closed connection throws`() throws {
    memory.close()
    memory.close()
    let error = try #require(throws: SQLiteError.self) { try memory.query("SELECT 1") }
    #expect(error.code == .closed)
    #expect(throws: SQLiteError.self) { try memory.transaction {} }
  }
}
