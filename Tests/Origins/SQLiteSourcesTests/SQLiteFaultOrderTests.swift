import DataSourceTesting
import ObservableCollections
import SQLiteSources
import TestSupport
import TestTags
import Testing

/// Keys of every class, and ties. The order is SQLite's order, and then the order of the rowids.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultOrderTests {
  /// Keys that differ in class, in precision, in case, or not at all.
  private static let keys = [
    "NULL", "0", "1", "-1", "0.0", "-0.0", "0.5", "1.0", "9007199254740992", "9007199254740993",
    "9007199254740992.0", "9223372036854775807", "9223372036854775807.0", "9223372036854774784.0",
    "-9223372036854775808", "-9223372036854775808.0", "9e999", "-9e999", "5e-324", "1e300",
    "''", "'a'", "'A'", "'b'", "'B'", "'ab'", "'aB'", "'a' || char(0)", "'a' || char(0) || 'b'",
    "'é'", "'É'", "'z'", "'['", "'_'", "'1'", "'10'", "'9'", "' a'", "char(65533)",
    "char(128512)", "CAST(x'ff' AS TEXT)", "x''", "x'00'", "x'61'", "x'6100'", "x'ff'",
    "zeroblob(9)",
  ]

  private static let orders = [
    "k", "k DESC", "k COLLATE NOCASE", "k COLLATE NOCASE DESC", "t", "t DESC", "t COLLATE BINARY",
    "n", "i DESC", "r", "t, k DESC", "n DESC, t", "k IS NULL", "k NULLS LAST",
    "k DESC NULLS FIRST", "typeof(k), k", "",
  ]

  @Test(
    .reaches(.changes),
    arguments: [
      ObservedQuery.Setting(journal: .wal, writer: .own), .init(journal: .delete, writer: .process),
    ])
  func `rows are ordered as SQLite orders them`(setting: ObservedQuery.Setting) async throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let live = try await ObservedQuery(
      setting, "SELECT id, k FROM item ORDER BY k, id",
      setup: """
        CREATE TABLE item (id INTEGER PRIMARY KEY, k, t TEXT COLLATE NOCASE, n NUMERIC, i INTEGER,
          r REAL, b BLOB)
        """)
    let sources = try Self.orders.flatMap { order in
      try ["", " LIMIT 7"].map { limit in
        let tail = order.isEmpty ? "" : " ORDER BY " + order
        let exact = " ORDER BY " + (order.isEmpty ? "id" : order + ", id") + limit
        let select = "SELECT id, k, t, n, i, r FROM item"
        let source = try SQLiteDataSource(
          path: live.database.path, sql: select + tail + limit
        ) { TestRow($0) }
        return (
          source: source, observer: RecordingObserver(source, seed: seed), exact: select + exact
        )
      }
    }
    var numbers = Array(1...(Self.keys.count * 2))
    numbers.shuffle(using: &random)
    for (place, key) in (Self.keys + Self.keys).shuffled(using: &random).enumerated() {
      try live.write(
        "INSERT INTO item VALUES (\(numbers[place]), \(key), \(key), \(key), \(key), \(key), \(key))"
      )
      if random.oneIn(3) {
        let other = Self.keys[random.below(Self.keys.count)]
        let column = ["k", "t", "n", "i", "r"][random.below(5)]
        try live.write(
          "UPDATE item SET \(column) = \(other) WHERE id = \(numbers[random.below(place + 1)])")
      }
      if random.oneIn(8) {
        try live.write("DELETE FROM item WHERE id = \(numbers[random.below(place + 1)])")
      }
      guard place % 6 == 0 || place == numbers.count - 1 else { continue }
      for (source, observer, exact) in sources {
        await source.refresh()
        #expect(
          Array(observer.snapshot) == (try live.freshRows(exact)), "seed \(seed): \(source.sql)")
      }
    }
    for (source, observer, _) in sources {
      try observer.check(against: source)
      Coverage.note(observer)
    }
  }

}
