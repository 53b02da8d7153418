import Foundation
import SQLiteSources
import Testing

@Suite struct SQLiteRowDecodingTests {
  private enum Color: String, Decodable {
    case red, green
  }

  private struct Record: Decodable, Equatable {
    var id: Int
    var name: String
    var done: Bool
    var weight: Double
    var note: String?
    var color: Color
    var bytes: [UInt8]
    var data: Data
    var big: UInt64
  }

  private let memory: SQLiteConnection

  init() throws {
    memory = try SQLiteConnection.makeInMemory()
  }

  @Test func `a row decodes by column names`() throws {
    let records = try memory.query(
      as: Record.self,
      """
      SELECT x'0102' AS data, 1 AS ID, 'n' AS name, 1 AS done, 2 AS weight, 'green' AS color,
        x'' AS bytes, 9223372036854775807 AS big, 'more' AS more
      """)
    #expect(
      records == [
        Record(
          id: 1, name: "n", done: true, weight: 2, note: nil, color: .green, bytes: [],
          data: Data([1, 2]), big: 9_223_372_036_854_775_807)
      ])
  }

  @Test func `one column decodes as one value`() throws {
    #expect(try memory.query(as: Int.self, "VALUES (1), (2)") == [1, 2])
    #expect(try memory.query(as: String?.self, "VALUES ('a'), (NULL)") == ["a", nil])
    #expect(try memory.query(as: Color.self, "SELECT 'red'") == [.red])
    #expect(throws: SQLiteError.self) { try memory.query(as: Int.self, "SELECT 1, 2") }
    #expect(throws: SQLiteError.self) { try memory.query(as: [Int].self, "SELECT 1") }
  }

  private struct Small: Decodable {
    var id: Int
    var color: Color
    var count: UInt8
  }

  @Test(arguments: [
    ("SELECT 1 AS id, 'red' AS color", "there is no column \"count\""),
    ("SELECT NULL AS id, 'red' AS color, 1 AS count", "column \"id\" is NULL"),
    (
      "SELECT 1.5 AS id, 'red' AS color, 1 AS count",
      "\"id\" holds REAL 1.5, which is not a value of type Int"
    ),
    (
      "SELECT 1 AS id, 'blue' AS color, 1 AS count", "Small cannot be decoded from column \"color\""
    ),
    ("SELECT 1 AS id, 'red' AS color, 256 AS count", "\"count\" holds INTEGER 256"),
    ("SELECT 1 AS id, 'red' AS color, -1 AS count", "\"count\" holds INTEGER -1"),
  ])
  func `a decoding error names column, type and row`(sql: String, message: String) throws {
    let error = try #require(throws: SQLiteError.self) {
      try memory.query(as: Small.self, sql)
    }
    #expect(error.description.contains(message), "\(error)")
    #expect(error.row == 0)
    #expect(error.description.contains(sql))
  }
}
