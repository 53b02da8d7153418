import DataSourceTesting
import SQLSources
import TestSupport
import TestTags
import Testing

@testable import SQLiteSources

/// Names in a query that could be read as keywords, and keywords that could be read as names.
@Suite struct QueryNamesTests {
  @Test(arguments: [
    ("SELECT id, name NOTNULL FROM col ORDER BY \"notnull\"", [2, 1]),
    ("SELECT id, name NOTNULL FROM col ORDER BY \"notnull\" LIMIT 1", [2]),
    ("SELECT id, name ISNULL FROM col ORDER BY [isnull] LIMIT 1", [2]),
    ("SELECT id, name IS NULL FROM col ORDER BY `null` LIMIT 1", [2]),
    ("SELECT id, CASE WHEN id THEN 2 END FROM col ORDER BY \"end\" LIMIT 1", [2]),
    ("SELECT id, name COLLATE nocase FROM col ORDER BY nocase LIMIT 1", [2]),
    ("SELECT id, name NOTNULL AS \"notnull\" FROM col ORDER BY \"notnull\", id DESC", [2, 1]),
    ("SELECT id, name NOTNULL 'notnull' FROM col ORDER BY \"notnull\", id DESC", [2, 1]),
    ("SELECT id, name \"null\" FROM col ORDER BY \"null\" LIMIT 1", [1]),
    ("SELECT id, name FROM col ORDER BY NULL, id DESC", [2, 1]),
    ("SELECT id, name AS nocase FROM col ORDER BY nocase COLLATE nocase DESC", [2, 1]),
    ("SELECT id, \"null\" AS name FROM col WHERE name = 'a' OR id = 2 ORDER BY name", [2, 1]),
  ])
  func `a keyword is no alias, and a quoted keyword is a column`(sql: String, ids: [Int]) throws {
    let connection = try SQLiteConnection.makeInMemory()
    try connection.executeScript(
      """
      CREATE TABLE col (id INTEGER PRIMARY KEY, name, "notnull", "isnull", "null", "end", nocase);
      INSERT INTO col VALUES (1, 'a', 9, 9, 9, 9, 9), (2, 'b', 1, 1, 1, 1, 1);
      """)
    let harness = LiveQueryHarness(ChangeMonitor.shared(connection: connection), sql)
    #expect(harness.run(including: .all) == nil)
    #expect(harness.shown.map(\.key) == ids.map { .integer(Int64($0)) })
    #expect(try connection.query(sql) { $0[0] } == ids.map { .integer(Int64($0)) })
  }

  @Test func `a condition that makes two orders equal does not decide what a name means`() throws {
    let connection = try SQLiteConnection.makeInMemory()
    try connection.executeScript(
      """
      CREATE TABLE pair (id INTEGER PRIMARY KEY, a, b);
      CREATE INDEX both ON pair (a, b);
      INSERT INTO pair VALUES (1, 5, 9), (2, 5, 1), (3, 6, 0);
      """)
    for sql in [
      "SELECT id, b AS a FROM pair WHERE a = 5 ORDER BY a",
      "SELECT id, b + 0 AS a FROM pair WHERE a = 5 ORDER BY a",
    ] {
      let harness = LiveQueryHarness(ChangeMonitor.shared(connection: connection), sql)
      #expect(harness.run(including: .all) == nil)
      #expect(harness.shown.map(\.key) == [.integer(2), .integer(1)], "\(sql)")
    }
  }

  @Test func `the common forms of queries are incremental`() throws {
    let connection = try SQLiteConnection.makeInMemory()
    try connection.executeScript(
      """
      CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, stock INTEGER,
        "order" ANY, twice AS (stock * 2));
      CREATE INDEX byStock ON item (stock, name);
      """)
    let results = [
      "*", "id", "id, name", "item.id, item.name", "rowid, name", "name, id, stock",
      "id, name AS title", "id, name title", "id, name AS \"a title\"", "id, [name] AS [order]",
      "id, lower(name) AS lowered", "id, name || '!' AS loud, stock + 1", "id, `order`",
      "*, stock > 3 AS isMany", "id, /* the name */ name -- and no more\n", "id, name NOTNULL",
    ]
    let orders = [
      "", "ORDER BY id", "ORDER BY id DESC", "ORDER BY name", "ORDER BY item.name DESC, id",
      "ORDER BY stock, name COLLATE BINARY", "ORDER BY \"order\" ASC", "ORDER BY rowid DESC",
      "ORDER BY twice, [name] desc", "ORDER BY NAME",
    ]
    let conditions = ["", "WHERE stock > 3 AND (name LIKE 'a%' OR stock IS NULL)"]
    let limits = ["", "LIMIT 20"]
    var refused: [String] = []
    var count = 0
    for result in results {
      for order in orders + Self.orders(byAliasesIn: result) {
        for condition in conditions {
          for limit in limits {
            // Here, the name is an alias of another column or of an expression.
            if result.contains("[order]"), order.contains("\"order\"") { continue }
            let sql = "SELECT \(result) FROM item \(condition) \(order) \(limit)"
            let query = SQLiteQuery(sql: sql, arguments: [], needsUniqueColumnNames: false)
            let decision = try connection.withDatabase { database throws(SQLiteError) in
              try IncrementalPlan.make(for: query, on: database)
            }
            count += 1
            if case .failure(let reason) = decision { refused.append("\(sql): \(reason.sentence)") }
          }
        }
      }
    }
    #expect(refused == [], "\(refused.count) of \(count) queries are not incremental")
  }

  private static func orders(byAliasesIn result: String) -> [String] {
    ["title", "\"a title\""].filter { result.hasSuffix($0) }.map { "ORDER BY \($0), id" }
  }

  @Test(.reaches("incremental", "refetched"), arguments: [UInt64(1), 2, 3, 4])
  func `random names are read as SQLite reads them`(round: UInt64) throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    var incremental = 0
    var refetched = 0
    for number in 0..<(TestRun.isLong ? 2_000 : 150) {
      let connection = try SQLiteConnection.makeInMemory()
      let names = RandomQuery.shuffled(&random)
      try connection.executeScript(RandomQuery.schema(names, &random))
      for _ in 0..<6 { try connection.executeScript(RandomQuery.insertion(names, &random)) }
      let query = RandomQuery(names, &random)
      // Some random texts are wrong, for example a name of nothing.
      if (try? connection.query(query.sql)) == nil { continue }
      let harness = LiveQueryHarness(
        ChangeMonitor.shared(connection: connection), query.sql, expected: query.exact)
      for step in 0..<4 {
        #expect(harness.run(including: .all) == nil, "seed \(seed), query \(number)")
        let expected =
          try harness.isIncremental
          ? harness.expected(connection)
          : connection.query(query.sql).map { Record(key: $0[0], values: $0.values) }
        guard harness.shown == expected else {
          Issue.record(
            """
            seed \(seed), query \(number), step \(step): \(query.sql) shows
            \(harness.shown.map(\.values)), but is
            \(expected.map(\.values))
            """)
          return
        }
        try connection.executeScript(RandomQuery.write(names, &random))
      }
      if harness.isIncremental { incremental += 1 } else { refetched += 1 }
      Coverage.note(harness.isIncremental ? "incremental" : "refetched")
    }
    // Both ways are tested.
    #expect(
      incremental > refetched / 8 && refetched > 0,
      "seed \(seed): \(incremental) queries are incremental, and \(refetched) are not")
  }
}

/// A random query of a table whose columns have the names of keywords.
private struct RandomQuery {
  var sql: String
  /// The query with the primary key as its last order.
  var exact: String

  private static let words = [
    "notnull", "isnull", "null", "end", "desc", "asc", "nocase", "binary", "collate", "not", "is",
    "order", "by", "limit", "from", "as", "true", "false", "rowid", "a b", "name", "like", "NAME2",
    "select", "where", "case", "it's", "a\"b", "1", "",
  ]

  static func shuffled(_ random: inout SeededGenerator) -> [String] {
    Array(words.shuffled(using: &random).prefix(5))
  }

  static func schema(_ names: [String], _ random: inout SeededGenerator) -> String {
    let columns = names.map { SQLText.quoted($0) + random.pick(["", "", " COLLATE NOCASE"]) }
    var schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")));"
    if random.oneIn(2) {
      let indexed = names.prefix(2).map(SQLText.quoted).joined(separator: ", ")
      schema += "CREATE INDEX i ON t (\(indexed));"
    }
    return schema
  }

  static func insertion(_ names: [String], _ random: inout SeededGenerator) -> String {
    let values = names.map { _ in value(&random) }.joined(separator: ", ")
    return "INSERT OR REPLACE INTO t VALUES (\(random.below(9)), \(values));"
  }

  static func write(_ names: [String], _ random: inout SeededGenerator) -> String {
    switch random.below(3) {
    case 0: return "DELETE FROM t WHERE id = \(random.below(9))"
    case 1:
      let name = SQLText.quoted(random.pick(names))
      return "UPDATE t SET \(name) = \(value(&random)) WHERE id < \(random.below(9))"
    default: return insertion(names, &random)
    }
  }

  private static func value(_ random: inout SeededGenerator) -> String {
    random.pick(["NULL", "0", "1", "2", "3", "'a'", "'B'", "'c'", "'A'", "1.5"])
  }

  init(_ names: [String], _ random: inout SeededGenerator) {
    var aliases: [String] = []
    var results = ["t.id"]
    for _ in 0..<(1 + random.below(4)) {
      results.append(Self.result(names, &aliases, &random))
    }
    var orders: [String] = []
    for _ in 0..<random.pick([1, 1, 1, 2, 2, 3]) {
      orders.append(Self.order(names + aliases + aliases, &random))
    }
    let start =
      "SELECT " + results.joined(separator: ",\(Self.space(&random))")
      + "\(Self.space(&random))FROM t"
    let condition =
      random.oneIn(3)
      ? " WHERE \(Self.column(names, &random)) \(random.pick(["NOTNULL", "= 1", "IS NOT 2"]))" : ""
    let limit = random.pick(["", "", " LIMIT 2", " LIMIT 4"])
    sql = start + condition + " ORDER BY " + orders.joined(separator: ", ") + limit
    exact = start + condition + " ORDER BY " + (orders + ["t.id"]).joined(separator: ", ") + limit
  }

  private static func result(
    _ names: [String], _ aliases: inout [String], _ random: inout SeededGenerator
  ) -> String {
    let column = column(names, &random)
    var result =
      switch random.below(16) {
      case 0: "*"
      case 1: "t.*"
      case 2: "\(column) NOTNULL"
      case 3: "\(column) ISNULL"
      case 4: "\(column) NOT\(space(&random))NULL"
      case 5:
        "\(column) IS "
          + random.pick(["NULL", "NOT NULL", "TRUE", self.column(names, &random)])
      case 6: "\(column) COLLATE \(random.pick(["nocase", "\"binary\"", "[NOCASE]"]))"
      case 7: "-\(column)"
      case 8: "\(column) || \(self.column(names, &random))"
      case 9: "CASE \(column) WHEN 1 THEN 2 END"
      case 10: "(\(column))"
      case 11: random.pick(["NULL", "TRUE", "'name'", "1", "\"nothing\""])
      default: column
      }
    if !result.hasSuffix("*"), random.oneIn(2) {
      let alias = random.pick(names + words)
      result += random.pick([" AS", ""]) + space(&random) + quoted(alias, isAlias: true, &random)
      aliases.append(alias)
    }
    return result
  }

  private static func order(_ names: [String], _ random: inout SeededGenerator) -> String {
    let term: String =
      switch random.below(14) {
      case 0: random.pick(["rowid", "NULL", "TRUE", "\"rowid\"", "_rowid_", "id", "t.id"])
      case 1: random.pick(["1", "2", "'name'", "\"nothing\""])
      case 2: "\(quoted(random.pick(names), isAlias: false, &random)) NOTNULL"
      case 3: "(\(quoted(random.pick(names), isAlias: false, &random)))"
      case 4: "t." + quoted(random.pick(names), isAlias: false, &random)
      default: quoted(random.pick(names), isAlias: false, &random)
      }
    return term + random.pick(["", "", space(&random) + "COLLATE NOCASE", " COLLATE [binary]"])
      + random.pick(["", "", " ASC", "\(space(&random))DESC"])
  }

  private static func column(_ names: [String], _ random: inout SeededGenerator) -> String {
    random.pick(["", "", "t."]) + quoted(random.pick(names), isAlias: false, &random)
  }

  /// Returns a name in one of the four kinds of quotes, or without quotes if it can do without.
  private static func quoted(
    _ name: String, isAlias: Bool, _ random: inout SeededGenerator
  ) -> String {
    let bare = ["nocase", "binary", "name", "NAME2", "rowid", "true", "desc", "asc", "end", "by"]
    switch random.below(isAlias ? 5 : 4) {
    case 0 where bare.contains(name): return random.oneIn(2) ? name : name.uppercased()
    case 1: return "`\(name)`"
    case 2 where !name.isEmpty: return "[\(name)]"
    case 4:
      let parts = name.split(separator: "'", omittingEmptySubsequences: false)
      return "'" + parts.joined(separator: "''") + "'"
    default: return SQLText.quoted(name)
    }
  }

  private static func space(_ random: inout SeededGenerator) -> String {
    random.pick([" ", " ", "\n", " /* AS \"name\" */ ", " -- ORDER BY id\n", "\t"])
  }
}
