import Foundation
import SQLiteSources
import Testing

/// Dates and decimal numbers, which SQLite stores as numbers or text.
@Suite struct SQLiteDateTests {
  private struct Row: Decodable, Equatable {
    var at: Date
  }

  private struct Sparse: Decodable, Equatable {
    var at: Date?
  }

  private struct Wrapped: Decodable, Equatable {
    var date: Date

    init(from decoder: any Decoder) throws {
      date = try decoder.singleValueContainer().decode(Date.self)
    }
  }

  private let memory: SQLiteConnection

  init() throws {
    memory = try SQLiteConnection.makeInMemory()
  }

  private func date(
    _ expression: String, _ unit: SQLiteRow.DateUnit? = nil
  ) throws -> TimeInterval? {
    try memory.query("SELECT \(expression) AS at") { row in
      try row.decode(Row.self, dates: unit).at.timeIntervalSince1970
    }.first
  }

  @Test(
    arguments: [
      ("1760000000", 1_760_000_000), ("1760000000.123", 1_760_000_000.123), ("0", 0),
      ("-0.5", -0.5),
      ("253402300799.999", 253_402_300_799.999), ("-62135596800", -62_135_596_800),
      ("2460960", 2_460_960), ("1721425.4", 1_721_425.4), ("5373484.5", 5_373_484.5),
      ("unixepoch('2026-11-28 12:00:00')", 1_795_867_200),
      ("datetime('2026-11-28 12:00:00')", 1_795_867_200), ("'2026-11-28'", 1_795_824_000),
      ("'2026-11-28 12:00'", 1_795_867_200),
      ("strftime('%Y-%m-%d %H:%M:%f', '2026-11-28 12:00:00.25')", 1_795_867_200.25),
      ("'2026-11-28T12:00:00'", 1_795_867_200), ("'2026-11-28T12:00:00Z'", 1_795_867_200),
      ("'2026-11-28T12:00:00.123456Z'", 1_795_867_200.123456),
      ("'2026-11-28T12:00:00+01:30'", 1_795_861_800),
      ("'2026-11-28 12:00:00 -0130'", 1_795_872_600),
      ("'2026-11-28  12:00:00.5  z '", 1_795_867_200.5), ("'2026-11-28 '", 1_795_824_000),
      ("'2026-11-28T'", 1_795_824_000), ("'2026-11-28 12:00 +00:00  '", 1_795_867_200),
      ("'0001-01-01'", -62_135_596_800), ("'9999-12-31 23:59:59'", 253_402_300_799),
      ("'2024-02-29'", 1_709_164_800), ("'2026-11-27 24:00:00'", 1_795_824_000),
    ] as [(String, Double)])
  func `a number or a text of SQLite is a date`(expression: String, seconds: Double) throws {
    let expected = Date(timeIntervalSince1970: seconds)
    #expect(try memory.query(as: Row.self, "SELECT \(expression) AS at") == [Row(at: expected)])
    #expect(try memory.query(as: Date.self, "SELECT \(expression)") == [expected])
    #expect(try memory.query(as: Date?.self, "SELECT \(expression)") == [expected])
    #expect(try memory.query(as: Sparse.self, "SELECT \(expression) AS at").first?.at == expected)
    #expect(try memory.query(as: Wrapped.self, "SELECT \(expression)").first?.date == expected)
  }

  @Test func `the clock of SQLite is the clock of the process`() throws {
    for expression in [
      "CURRENT_TIMESTAMP", "unixepoch()", "datetime('now')", "strftime('%Y-%m-%dT%H:%M:%fZ')",
    ] {
      let now = Date().timeIntervalSince1970
      let seconds = try date(expression) ?? 0
      #expect(abs(seconds - now) < 3600, "\(expression)")
    }
  }

  @Test func `the unit of numbers is an option`() throws {
    let noon = 1_795_867_200.123
    let julian = "julianday('2026-11-28 12:00:00.123')"
    #expect(try date(julian, .julianDays) == noon)
    #expect(try date("2461373", .julianDays) == 1_795_867_200)
    #expect(try date("1795867200123", .millisecondsSince1970) == noon)
    #expect(try date("2460960.5", .secondsSince1970) == 2_460_960.5)
    #expect(try date("'2026-11-28 12:00:00.123'", .julianDays) == noon)
    #expect(throws: SQLiteError.self) { try date("1795867200", .julianDays) }
  }

  @Test(arguments: [
    (
      "julianday('2026-11-28')",
      "column \"at\" holds REAL 2461372.5, which looks like Julian days", "dates: .julianDays"
    ),
    ("1721425.5", "looks like Julian days", "dates: .secondsSince1970"),
    ("5373484.4", "looks like Julian days", "dates: .julianDays"),
    (
      "1795867200123",
      "column \"at\" holds INTEGER 1795867200123, which looks like milliseconds since 1970",
      "dates: .millisecondsSince1970"
    ),
    ("253402300800", "looks like milliseconds", "dates: .millisecondsSince1970"),
    ("-62135596801", "looks like milliseconds", "dates: .millisecondsSince1970"),
    ("1795867200123456789", "is not in the years 1 to 9999 as seconds since 1970", "the unit"),
    ("9e999", "is not in the years 1 to 9999", "correct the value"),
    ("'tomorrow'", "holds TEXT 'tomorrow', which is not a date", "2026-11-28T12:00:00.000Z"),
    ("'0000-12-31'", "is not a date in the years 1 to 9999", "UTC"),
    ("'2026-02-29'", "is not a date", "UTC"), ("'2026-11-28 25:00:00'", "is not a date", "UTC"),
    ("'2026-11-28 12:00:00 CET'", "is not a date", "UTC"), ("'2026-11-2812:00'", "is not", "UTC"),
    ("'infinity'", "is not a date", "UTC"),
    ("'12:00:00'", "is not a date", "UTC"), ("''", "is not a date", "UTC"),
    ("'2026-11-28 12:00:00+24:00'", "is not a date", "UTC"),
    ("'2026-11-28 12:00:00+01:60'", "is not a date", "UTC"),
    ("x'00'", "holds BLOB x'00', which is not a date", "UTC"),
    ("NULL", "column \"at\" is NULL, but a value of type Date is required", "optional"),
  ])
  func `a value that is no date names the column and the option`(
    expression: String, problem: String, help: String
  ) throws {
    let error = try #require(throws: SQLiteError.self) { try date(expression) }
    #expect(error.row == 0)
    #expect(error.description.contains(problem) && error.description.contains(help), "\(error)")
  }

  @Test func `a column of NULL is no date`() throws {
    #expect(try memory.query(as: Sparse.self, "SELECT NULL AS at") == [Sparse(at: nil)])
    #expect(try memory.query(as: Date?.self, "SELECT NULL") == [nil])
  }

  @Test(arguments: [
    ("9.99", "9.99"), ("0", "0"), ("-0.0", "0"), ("9223372036854775807", "9223372036854775807"),
    ("1e-7", "0.0000001"), ("-2.5e20", "-250000000000000000000"),
    ("'12345678901234567890.123456789'", "12345678901234567890.123456789"),
    ("'1.50000000000000000000000000000000000000000'", "1.5"),
    ("'10000000000000000000000000000000000000000'", "10000000000000000000000000000000000000000"),
    ("'-00.50'", "-0.5"), ("'1.5E3'", "1500"), ("'2e+2'", "200"),
  ])
  func `a number or its text is an exact decimal`(expression: String, text: String) throws {
    struct Price: Decodable { var price: Decimal }
    let price = try memory.query(as: Price.self, "SELECT \(expression) AS price").first?.price
    #expect(price == Decimal(string: text))
    #expect(price?.description == text)
  }

  @Test(arguments: [
    "'x'", "''", "'0x10'", "'nan'", "9e999", "'777777777777777777777777777777777777777'",
    "'0X10'", "'0e-9223372036854775808'", "'1e-99999999999999999999'",
  ])
  func `a value that is no exact decimal is an error`(expression: String) throws {
    struct Price: Decodable { var price: Decimal }
    #expect(throws: SQLiteError.self) {
      try memory.query(as: Price.self, "SELECT \(expression) AS price")
    }
  }
}
