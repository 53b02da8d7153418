import DataSourceTesting
import Diffing
import ObservableCollections
import SQLSources
import TestSupport
import TestTags
import Testing

@testable import PostgresSources

/// Texts that are equal as `String`s, and that the server compares as bytes.
@Suite(.tags(.system)) struct PostgresBytesTests {
  private struct Person: Differentiable, Equatable, Sendable {
    var name: [UInt8]
    var number: Int
    var differenceIdentifier: [UInt8] { name }
  }

  @Test(.requiresPostgres, .timeLimit(.minutes(10)))
  func `two keys of one commit that are two spellings of one text are two rows`() async throws {
    let database = try await TestDatabase(
      """
      CREATE TABLE person (name text COLLATE "C" PRIMARY KEY, number integer);
      INSERT INTO person VALUES ('A', 0)
      """)
    try await database.connection.installChangeTriggers(on: ["person"])
    let source = try PostgresDataSource(
      pool: try database.makePool(), sql: "SELECT name, number FROM person ORDER BY name"
    ) { row in
      Person(
        name: Array(try row.value("name", as: String.self).utf8),
        number: try row.value("number"))
    }
    let observer = RecordingObserver(source, keeps: .max)
    try await observer.wait { $0.snapshot.count == 1 }
    for (sql, numbers) in [
      (#"INSERT INTO person VALUES (U&'Zo\00EB', 1), (U&'Zoe\0308', 2)"#, [0, 2, 1]),
      ("UPDATE person SET number = number + 10 WHERE number > 0", [0, 12, 11]),
      (#"UPDATE person SET number = 20 WHERE name = U&'Zoe\0308'"#, [0, 20, 11]),
      ("DELETE FROM person WHERE number > 0", [0]),
    ] {
      try await database.connection.execute(sql)
      try await observer.wait { $0.snapshot.map(\.number) == numbers }
    }
    #expect(source.readCounts.keyed == 4)
  }

  @Test(.requiresPostgres, .timeLimit(.minutes(10)))
  func `columns whose names are two spellings of one text are two columns`() async throws {
    let database = try await TestDatabase()
    let names = ["\u{E9}", "e\u{301}"]
    for others in ["", (1...9).map { ", \($0) AS c\($0)" }.joined()] {
      let sql = "SELECT 1 AS \"\u{E9}\", 2 AS \"e\u{301}\"" + others
      let values = try await database.connection.query(sql) { row in
        try names.map { try row.value($0, as: Int.self) }
      }
      #expect(values == [[1, 2]])
    }
    let source = try PostgresDataSource(
      pool: try database.makePool(), sql: "SELECT 1 AS \"\u{E9}\", 2 AS \"e\u{301}\"",
      uniqueColumnNames: true
    ) { row in Item(id: try row.value("\u{E9}"), title: "") }
    #expect(try await source.loaded().map(\.id) == [1])
  }

  @Test func `a quotation mark is doubled also before a combining character`() {
    #expect(Array(SQLText.quoted("a\"\u{301}").utf8) == Array("\"a\"\"\u{301}\"".utf8))
    #expect(Array(PostgresText.literal("a'\u{301}").utf8) == Array("'a''\u{301}'".utf8))
    #expect(Array(PostgresText.literal("\\\u{301}").utf8) == Array("E'\\\\\u{301}'".utf8))
  }
}
