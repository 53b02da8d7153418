import DataSourceTesting
import SQLSources
import Testing

@testable import SQLiteSources

@Suite struct IncrementalSortKeyTests {
  /// Values of all classes, including values that differ only slightly.
  private static let values: [SQLiteValue] =
    [
      .null, .real(-.infinity), .real(.infinity), .real(0), .real(-0.0),
      .real(.leastNonzeroMagnitude),
    ]
    + [
      0, 1, -1, 2, 255, 256, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, .max, .min, .max - 1,
      .max - 511, .max - 512, .max - 513, .max - 1023, .min + 1, .min + 1024, .min + 1025,
    ].map(SQLiteValue.integer)
    + [
      1.5, -1.5, 0x1p53, 0x1p53 + 2, -0x1p53 - 2, 0x1p63, -0x1p63, 0x1p62, 1e300, -1e300,
      9223372036854774784,
    ].map(SQLiteValue.real)
    + [
      "", "a", "A", "b", "aB", "ab", "AB\u{0}", "ab\u{0}", "ab\u{0}x", "aB\u{0}yz", "a\u{0}",
      "\u{0}", "\u{0}\u{0}", "a\u{1}", "é", "É", "z", "abcdefgh", "abcdefghi", "ABCDEFGHI", "_",
      "[",
      "abcdefg\u{0}", "日本",
    ].map(SQLiteValue.text)
    + [
      [], [0], [0, 0], [1], [255], [0, 255], [0, 1], [97], [97, 0], [97, 0, 255],
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    ].map(SQLiteValue.blob)

  @Test(arguments: [
    ["a"], ["a DESC"], ["a COLLATE NOCASE"], ["a COLLATE NOCASE DESC"], ["a", "b DESC"],
    ["a COLLATE NOCASE DESC", "b"], ["b DESC", "a COLLATE NOCASE"],
  ])
  func `keys compare as SQLite does`(order: [String]) throws {
    let memory = try SQLiteConnection.makeInMemory()
    try memory.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)")
    var generator = SeededGenerator(seed: 7)
    for value in Self.values {
      // Insert each value several times, so later columns and rowids decide.
      for _ in 0..<3 {
        try memory.execute(
          "INSERT INTO t (a, b) VALUES (?, ?)",
          [value, Self.values.randomElement(using: &generator) ?? .null])
      }
    }
    let keys = order.enumerated().map { position, term in
      IncrementalPlan.Key(
        column: String(term.prefix(1)), position: position, ignoresCase: term.contains("NOCASE"),
        isDescending: term.contains("DESC"))
    }
    let selected = keys.map(\.column).joined(separator: ", ")
    let expected = try memory.query(
      "SELECT id FROM t ORDER BY \(order.joined(separator: ", ")), id"
    ) { try $0.value(at: 0, as: Int64.self) }
    var index = ResultIndex(isByIdentity: false)
    try memory.withDatabase { database throws(SQLiteError) in
      try database.withStatement("SELECT \(selected), id FROM t ORDER BY id * 7919 % 101", []) {
        statement throws(SQLiteError) in
        var writer = SortKeyWriter()
        while try statement.step() {
          writer.write(keys, of: statement)
          guard let key = index.makeKey(writer), let rowid = statement.integer(at: keys.count)
          else { continue }
          index.insert(
            .init(identity: SortKey(rowid), order: key, fingerprint: RowFingerprint()))
        }
      }
    }
    // The same rows, sorted together.
    let rows = Array(index.rows)
    let order = index.sorted(rows)
    #expect(order.map { rows[$0].identity.integer } == expected)
    let merged = index.merging(removed: rows, added: rows, order: order)
    for (offset, rowid) in expected.enumerated() {
      #expect(index.row(SortKey(rowid)).map { index.offset(of: $0) } == offset)
      #expect(merged.row(SortKey(rowid)).map { merged.offset(of: $0) } == offset)
    }
  }

  @Test func `keys with a common prefix differ`() throws {
    let memory = try SQLiteConnection.makeInMemory()
    try memory.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    for number in 0..<500 {
      try memory.execute(
        "INSERT INTO t (a) VALUES (?)",
        ["a name of some length \(number * 7919 % 500 / 2)" + (number % 3 == 0 ? "\u{0}" : "")])
    }
    for order in ["a", "a DESC", "a COLLATE NOCASE"] {
      let harness = LiveQueryHarness(
        .shared(connection: memory), "SELECT id, a FROM t ORDER BY \(order)",
        expected: "SELECT id, a FROM t ORDER BY \(order), id")
      harness.run(including: .all)
      #expect(harness.shown == (try harness.expected(memory)))
      try memory.execute("UPDATE t SET a = 'a' || id WHERE id % 100 = 7")
      harness.run(including: .ownCommits)
      #expect(harness.shown == (try harness.expected(memory)))
    }
  }
}
