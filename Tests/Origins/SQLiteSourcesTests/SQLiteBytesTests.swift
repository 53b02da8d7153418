import DataSourceTesting
import Diffing
import ObservableCollections
import SQLSources
import SwappablePrimitives
import SwappableSQLite3
import Testing

@testable import SQLiteSources

/// Names that are equal as `String`s. SQLite compares bytes, and ignores the case of ASCII letters.
@Suite struct SQLiteBytesTests {
  private let memory: SQLiteConnection

  init() throws { memory = try SQLiteConnection.makeInMemory() }

  private static let names = ["\u{E9}", "e\u{301}"]
  private static let columns = "1 AS \"\u{E9}\", 2 AS \"e\u{301}\""

  private func decide(_ sql: String) throws -> Result<IncrementalPlan, RefetchReason> {
    let query = SQLiteQuery(sql: sql, arguments: [], needsUniqueColumnNames: true)
    return try memory.withDatabase { database throws(SQLiteError) in
      try query.check(on: database)
      return try IncrementalPlan.make(for: query, on: database)
    }
  }

  @Test(arguments: ["", (1...9).map { ", \($0) AS c\($0)" }.joined()])
  func `columns whose names are two spellings of one text are two columns`(
    others: String
  ) throws {
    let row = try #require(try memory.query("SELECT \(Self.columns)\(others)").first)
    #expect(try Self.names.map { try row.value($0, as: Int.self) } == [1, 2])
    #expect(row["E\u{301}"] == .integer(2) && row["\u{C9}"] == nil)
    #expect(row != (try memory.query("SELECT 1 AS \"e\u{301}\", 2 AS \"\u{E9}\"\(others)").first))
  }

  @Test func `only names that SQLite does not tell apart are equal`() throws {
    #expect(
      ResultColumns(Self.names + ["\u{C9}", "k", "\u{212A}"], ignoresCase: true).duplicate == nil)
    #expect(ResultColumns(["a\u{E9}", "A\u{E9}"], ignoresCase: true).duplicate == "A\u{E9}")
  }

  @Test func `a row that is larger than a batch can be read`() throws {
    let memory = try SQLiteConnection.makeInMemory()
    let values = try memory.query("SELECT zeroblob(2000000)").map { $0[0] }
    #expect(values == [.blob([UInt8](repeating: 0, count: 2_000_000))])
  }

  @Test func `an incremental query reads the column and the table with its bytes`() throws {
    for (number, name) in Self.names.enumerated() {
      try memory.executeScript(
        """
        CREATE TABLE "\(name)" (id INTEGER PRIMARY KEY, "\u{E9}", "e\u{301}");
        INSERT INTO "\(name)" VALUES (1, \(number), \(number + 10)), (2, \(number), \(number + 5));
        """)
    }
    for (number, name) in Self.names.enumerated() {
      let plan = try decide("SELECT id FROM \"\(name)\" ORDER BY \"e\u{301}\"").get()
      #expect(plan.table.hasSameBytes(as: name))
      #expect(plan.columnsRead.count == 2 && plan.columnsRead[0].hasSameBytes(as: "e\u{301}"))
      let source = try SQLiteDataSource<Int>(
        connection: memory, sql: "SELECT \"e\u{301}\", id FROM \"\(name)\" ORDER BY \"e\u{301}\""
      ) { try $0.value("e\u{301}") }
      let recorder = RecordingObserver(source)
      try recorder.waitBlocking { $0.snapshot.count == 2 }
      #expect(Array(recorder.snapshot) == [number + 5, number + 10])
    }
  }

  @Test func `a word that only looks like a keyword in capital letters is a name`() throws {
    try memory.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, l\u{131}m\u{131}t)")
    let plan = try decide("SELECT id, l\u{131}m\u{131}t FROM item ORDER BY l\u{131}m\u{131}t").get()
    #expect(plan.columnsRead.map { $0.description } == ["id", "l\u{131}m\u{131}t"])
  }

  @Test func `a function whose name only looks like a function of SQLite is not trusted`() throws {
    try memory.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name)")
    // The sign of the unit kelvin becomes a letter k in lower case.
    try memory.withDatabase { database in
      let code = sqlite3_create_function_v2(
        database.handle, "li\u{212A}ely", 1, SQLITE_UTF8, nil,
        { context, _, _ in sqlite3_result_int(context, 1) }, nil, nil, nil)
      #expect(code == SQLITE_OK)
    }
    let result = try decide("SELECT id, li\u{212A}ely(name) AS n FROM item")
    #expect { try result.get() } throws: {
      ($0 as? RefetchReason)?.sentence.contains("it calls li\u{212A}ely()") == true
    }
  }

  @Test func `a quotation mark in a name is doubled also before a combining character`() throws {
    let name = "a\"\u{301}"
    try memory.execute("CREATE TABLE \(SQLText.quoted(name)) (id INTEGER PRIMARY KEY)")
    let query = SQLiteTableQuery(table: name)
    #expect(try memory.query(query.sql).isEmpty)
    #expect(SQLiteValue.text("'\u{301}").description.utf8.elementsEqual("'''\u{301}'".utf8))
  }

  @Test func `a column that is renamed to another spelling is another column`() throws {
    let database = try TemporaryDatabase()
    let writer = try database.writer()
    try writer.executeScript("ALTER TABLE item ADD \"\u{E9}\"; INSERT INTO item VALUES (1, '', 2)")
    let source = try SQLiteDataSource<[UInt8]>(path: database.path, sql: "SELECT * FROM item") {
      row in Array(row.columnNames[2].utf8)
    }
    let recorder = RecordingObserver(source)
    try recorder.waitBlocking { $0.snapshot.first == Array("\u{E9}".utf8) }
    try writer.execute("ALTER TABLE item RENAME \"\u{E9}\" TO \"e\u{301}\"")
    try recorder.waitBlocking { $0.snapshot.first == Array("e\u{301}".utf8) }
  }

  @Test func `text that is not UTF-8 can be read as bytes`() throws {
    let row = try #require(
      try memory.query(
        "SELECT CAST(x'61ff' AS TEXT) AS t, CAST(CAST(x'61ff' AS TEXT) AS BLOB) AS b"
      )
      .first)
    #expect(row["t"] == .text("a\u{FFFD}"))
    #expect(row["b"] == .blob([0x61, 0xFF]))
    #expect(row.invalidText(at: 0) == [0x61, 0xFF] && row.invalidText(at: 1) == nil)
  }
}
