import DataSourceTesting
import SQLiteSources
import TestSupport

/// A random query, and a query for its expected result.
struct SQLiteStressQuery: StressQuery {
  /// The observed query.
  var sql: String
  var arguments: [SQLiteValue] = []
  /// The query with the order of equal rows, for the comparison.
  var exact: String
  /// A Boolean value that indicates whether the query must be incremental.
  var isPlain = false

  init(_ schema: SQLiteStressSchema, _ random: inout SeededGenerator) {
    if random.below(10) < 7 {
      self = .single(schema, &random)
    } else {
      self = .other(schema, &random)
    }
  }

  var description: String { "\(sql), arguments \(arguments)" }

  func areEqual(_ left: [TestRow], _ right: [TestRow]) -> Bool { left == right }

  private init(_ sql: String, arguments: [SQLiteValue] = [], exact: String? = nil) {
    self.sql = sql
    self.arguments = arguments
    self.exact = exact ?? sql
  }

  // MARK: One table with row numbers

  private static func single(
    _ schema: SQLiteStressSchema, _ random: inout SeededGenerator
  ) -> SQLiteStressQuery {
    var arguments: [SQLiteValue] = []
    let columns = schema.columns.map(\.name)
    let some = (0..<(1 + random.below(3))).map { _ in random.pick(columns) }
    let listed = some.joined(separator: ", ")
    let result = random.pick([
      "id, \(listed)", "id, \(listed)", "id, \(listed)", "*", "rowid, \(listed)", "\(listed), id",
      "id, typeof(\(some[0])), \(listed)", "id, \(some[0]) || '!' AS x, coalesce(\(listed), 0)",
      "id, CASE WHEN \(some[0]) > 1 THEN 'more' ELSE upper(\(some[0])) END",
    ])
    var sql = "SELECT \(result) FROM " + random.pick(["m", "m", "main.m", "\"m\"", "m AS t", "M"])
    if !random.oneIn(3) { sql += " WHERE " + condition(schema, &arguments, &random) }
    var terms: [String] = []
    for _ in 0..<random.pick([0, 1, 1, 2, 3]) {
      let column = random.pick(schema.columns.filter(\.hasCommonOrder))
      let name = random.oneIn(8) ? "id" : column.name
      terms.append(
        name + random.pick(["", "", " COLLATE NOCASE", " COLLATE BINARY"])
          + random.pick(["", "", " ASC", " DESC"]))
    }
    var limit = ""
    if random.oneIn(3) {
      limit = " LIMIT "
      if random.oneIn(3) {
        limit += "?"
        arguments.append(.integer(Int64(random.below(12))))
      } else {
        limit += random.pick(["1", "3", "5", "10", "25", "0", "-1", "2 + 2"])
      }
    }
    let order = terms.isEmpty ? "" : " ORDER BY " + terms.joined(separator: ", ")
    let exact = sql + " ORDER BY " + (terms + ["id"]).joined(separator: ", ") + limit
    var query = SQLiteStressQuery(sql + order + limit, arguments: arguments, exact: exact)
    query.isPlain = !limit.contains("+")
    return query
  }

  private static func condition(
    _ schema: SQLiteStressSchema, _ arguments: inout [SQLiteValue],
    _ random: inout SeededGenerator, depth: Int = 0
  ) -> String {
    let column = random.pick(schema.columns).name
    func argument(_ value: SQLiteValue) -> String {
      arguments.append(value)
      return "?"
    }
    let literal = SQLiteStressSchema.value(&random)
    let bound: SQLiteValue = random.pick([
      .integer(1), .integer(2), .real(0.5), .text("a"), .text("B"), .null, .blob([0x61]),
    ])
    switch random.below(depth < 2 ? 16 : 13) {
    case 0: return "\(column) = " + argument(bound)
    case 1: return "\(column) > " + argument(bound)
    case 2: return "\(column) IS NOT " + argument(bound)
    case 3: return "\(column) IS NULL"
    case 4: return "\(column) < \(literal)"
    case 5: return "\(column) IN (1, 'a', \(literal), " + argument(bound) + ")"
    case 6: return "\(column) BETWEEN 0 AND " + argument(bound)
    case 7: return "id % \(2 + random.below(3)) = " + argument(.integer(Int64(random.below(2))))
    case 8: return "id > " + argument(.integer(Int64(random.below(40))))
    case 9: return "\(column) LIKE 'a%'"
    case 10: return "length(\(column)) < 3"
    case 11: return "p = " + argument(.integer(Int64(1 + random.below(8))))
    case 12: return "\(column) COLLATE NOCASE >= 'A'"
    case 13:
      return "NOT (" + condition(schema, &arguments, &random, depth: depth + 1) + ")"
    default:
      let left = condition(schema, &arguments, &random, depth: depth + 1)
      let right = condition(schema, &arguments, &random, depth: depth + 1)
      return "(\(left) \(random.pick(["AND", "OR"])) \(right))"
    }
  }

  // MARK: Everything else, with an order that leaves no choice

  private static func other(
    _ schema: SQLiteStressSchema, _ random: inout SeededGenerator
  ) -> SQLiteStressQuery {
    let column = random.pick(schema.columns.filter(\.hasCommonOrder)).name
    let any = random.pick(schema.columns).name
    let sql = random.pick([
      "SELECT p.id, p.name, p.uses, count(m.id) FROM p LEFT JOIN m ON m.p = p.id GROUP BY p.id",
      "SELECT m.id, m.\(any), p.name FROM m JOIN p ON p.id = m.p ORDER BY p.name, m.id",
      "SELECT id, c FROM v ORDER BY id", "SELECT id, c FROM v ORDER BY c DESC, id LIMIT 4",
      "SELECT DISTINCT typeof(\(any)), length(\(any)) FROM m ORDER BY 1, 2",
      "SELECT id, \(any) FROM m ORDER BY \(column), id LIMIT 5 OFFSET 2",
      "SELECT a, b FROM w ORDER BY a", "SELECT b, a FROM w WHERE a > 'a' ORDER BY a DESC LIMIT 3",
      "SELECT count(*), max(id), sum(length(\(any))) FROM m",
      "SELECT id, row_number() OVER (ORDER BY \(column), id) FROM m ORDER BY id",
      "SELECT id, \(any) FROM m UNION ALL SELECT id + 100000, name FROM p ORDER BY 1",
      "WITH x AS (SELECT * FROM m WHERE id % 2) SELECT id, \(any) FROM x ORDER BY id",
      "SELECT id, \(any) FROM m WHERE EXISTS (SELECT 1 FROM p WHERE p.id = m.p AND uses > 2) ORDER BY id",
      "SELECT id, (SELECT name FROM p WHERE p.id = m.p) FROM m ORDER BY id DESC",
      "SELECT id, \(any) FROM m WHERE \(column) = (SELECT max(\(column)) FROM m) ORDER BY id",
      "SELECT id, \(any) FROM m WHERE p IN (SELECT id FROM p WHERE name < 'c') ORDER BY id LIMIT 6",
      "SELECT id, \(any) FROM m ORDER BY length(\(any)), id LIMIT 9",
      "SELECT id, \(any) FROM m ORDER BY \(any) COLLATE RTRIM DESC, id",
      "SELECT id, \(any) FROM m ORDER BY \(column) NULLS LAST, id",
      "SELECT id, \(column) AS p FROM m ORDER BY p, id",
      "SELECT id, \(column) FROM m ORDER BY 2, 1",
      "SELECT id, \(any) FROM m NOT INDEXED ORDER BY \(column) DESC, id DESC",
      "SELECT id, \(any) FROM m WHERE id = 3 OR id = 7 ORDER BY -id",
      "SELECT id, \(any) FROM (SELECT * FROM m WHERE id > 5) ORDER BY id",
      "SELECT rowid, x, y FROM l ORDER BY rowid", "SELECT x, rowid FROM l ORDER BY x DESC, rowid",
      "SELECT name, type FROM pragma_table_info('m') ORDER BY cid",
      "SELECT name, sql FROM sqlite_schema ORDER BY name", "SELECT id, what FROM log ORDER BY id",
      "SELECT id, name, uses FROM p ORDER BY uses DESC, name, id", "VALUES (1, 'a'), (2, 'b')",
    ])
    return SQLiteStressQuery(sql)
  }
}
