import DataSourceTesting
import Diffing
import PostgresSources
import TestSupport

/// A row as the server sends it. The first values are the identity.
struct PostgresStressRow: Hashable, Sendable, Differentiable, CustomStringConvertible {
  let values: [String?]
  let identityCount: Int

  init(_ row: PostgresRow, identityCount: Int) {
    values = (0..<row.count).map { row.text(at: $0) }
    self.identityCount = identityCount
  }

  var differenceIdentifier: [String?] { Array(values.prefix(identityCount)) }

  func isContentEqual(to source: PostgresStressRow) -> Bool { self == source }

  var description: String {
    values.map { value in
      guard let value else { return "NULL" }
      return value.utf8.count > 24 ? "\(value.prefix(20))…\(value.utf8.count)" : value
    }.joined(separator: ".")
  }
}

/// A random query.
struct PostgresStressQuery: StressQuery {
  var sql: String
  var arguments: PostgresArguments = []
  /// The number of columns that identify a row.
  var identityCount = 1
  /// A Boolean value that indicates whether the query reads one table with its primary key.
  var isPlain = false
  /// The columns of the result whose values are in order, or `nil` if the order leaves no choice.
  var sortedColumns: [Int]?

  init(_ schema: PostgresStressSchema, _ random: inout SeededGenerator) {
    if random.below(10) < 6 {
      self = .single(schema, &random)
    } else {
      self = .other(schema, &random)
    }
  }

  private init(sql: String, identityCount: Int = 1) {
    (self.sql, self.identityCount) = (sql, identityCount)
  }

  var description: String { "\(sql), arguments \(arguments.values)" }

  func areEqual(_ left: [PostgresStressRow], _ right: [PostgresStressRow]) -> Bool {
    guard let sortedColumns else { return left == right }
    guard left.count == right.count else { return false }
    for (one, other) in zip(left, right) {
      for column in sortedColumns where one.values[column] != other.values[column] { return false }
    }
    return Dictionary(left.map { ($0, 1) }, uniquingKeysWith: +)
      == Dictionary(right.map { ($0, 1) }, uniquingKeysWith: +)
  }

  // MARK: One table with its primary key

  private static func single(
    _ schema: PostgresStressSchema, _ random: inout SeededGenerator
  ) -> PostgresStressQuery {
    if random.oneIn(6) { return partitioned(&random) }
    let key = schema.key.columns
    var arguments: [PostgresValue] = []
    let some = (0..<(1 + random.below(3))).map { _ in random.pick(schema.columns).name }
    let computed = random.pick([
      "", "", ", \(some[0]) IS NULL AS n", ", coalesce(\(some[0])::text, '-') || '!' AS t",
      ", md5(\(some[0])::text) AS h", ", CASE WHEN p > 3 THEN 'more' END AS c",
    ])
    var terms: [(name: String, text: String)] = []
    for _ in 0..<random.pick([0, 1, 1, 2, 3]) {
      let column = random.pick(schema.columns.filter(\.kind.isOrdered))
      var text = column.name
      if column.kind.type.hasPrefix("text"), random.oneIn(2) { text += " COLLATE \"C\"" }
      text +=
        random.pick(["", "", " ASC", " DESC"])
        + random.pick(["", "", " NULLS FIRST", " NULLS LAST"])
      terms.append((column.name, text))
    }
    let hasTies = random.oneIn(4)
    // The key may come before other terms, or in another direction.
    let keyTerms = key.map { $0 + random.pick(["", "", " DESC"]) }
    // The sort columns are in the result, so the order of a result can be checked.
    let columns = (key + some + terms.map(\.name)).reduce(into: [String]()) { names, name in
      if !names.contains(name) { names.append(name) }
    }
    var sql =
      "SELECT \(columns.joined(separator: ", "))\(computed) FROM "
      + random.pick(["m", "m", "public.m", "\"m\"", "m AS t", "M"])
    if !random.oneIn(3) { sql += " WHERE " + condition(schema, &arguments, &random) }
    let all = terms.map(\.text) + (hasTies ? [] : keyTerms)
    if !all.isEmpty { sql += " ORDER BY " + all.joined(separator: ", ") }
    if !hasTies, random.oneIn(3) {
      if random.oneIn(3) {
        arguments.append(.integer(Int64(random.below(12))))
        sql += " LIMIT $\(arguments.count)"
      } else {
        sql += random.pick([
          " LIMIT 1", " LIMIT 5", " LIMIT 10 OFFSET 2", " LIMIT 0", " FETCH FIRST 3 ROWS ONLY",
        ])
      }
    }
    var query = PostgresStressQuery(sql: sql, identityCount: key.count)
    query.arguments = PostgresArguments(arguments)
    query.isPlain = true
    // Values that are equal in the order can differ as text, for example 1.0 and 1.00.
    let unequal = [
      "numeric", "double precision", "real", "jsonb", "interval", "char(4)", "timestamptz",
    ]
    let strict = terms.prefix { term in
      !schema.columns.contains { $0.name == term.name && unequal.contains($0.kind.type) }
    }
    if hasTies { query.sortedColumns = strict.compactMap { columns.firstIndex(of: $0.name) } }
    return query
  }

  private static func partitioned(_ random: inout SeededGenerator) -> PostgresStressQuery {
    let condition = random.pick([
      "", " WHERE region < 3", " WHERE id < 20", " WHERE note LIKE 'x%'",
    ])
    let order = random.pick(["id, region", "region DESC, id", "id DESC, region DESC"])
    var query = PostgresStressQuery(
      sql:
        "SELECT id, region, note FROM \(random.pick(["part", "part", "part_1", "part_3"]))\(condition) "
        + "ORDER BY \(order)",
      identityCount: 2)
    query.isPlain = true
    return query
  }

  private static func condition(
    _ schema: PostgresStressSchema, _ arguments: inout [PostgresValue],
    _ random: inout SeededGenerator, depth: Int = 0
  ) -> String {
    let column = random.pick(schema.columns.filter(\.kind.isOrdered))
    let name = column.name
    func argument(_ value: PostgresValue) -> String {
      arguments.append(value)
      return "$\(arguments.count)"
    }
    let literal = "(\(random.pick(column.kind.values)))::\(column.kind.type)"
    switch random.below(depth < 2 ? 12 : 9) {
    case 0: return "p = \(argument(.integer(Int64(1 + random.below(8)))))"
    case 1: return "p > \(argument(.integer(Int64(1 + random.below(6)))))"
    case 2: return "\(name) IS NULL"
    case 3: return "\(name) IS NOT NULL"
    case 4: return "\(name) = \(literal)"
    case 5: return "\(name) <= \(literal)"
    case 6: return "\(name) IS DISTINCT FROM \(literal)"
    case 7: return "length(\(name)::text) < \(argument(.integer(3)))"
    case 8: return "p BETWEEN 2 AND \(argument(.integer(Int64(2 + random.below(5)))))"
    case 9: return "NOT (" + condition(schema, &arguments, &random, depth: depth + 1) + ")"
    default:
      let left = condition(schema, &arguments, &random, depth: depth + 1)
      let right = condition(schema, &arguments, &random, depth: depth + 1)
      return "(\(left) \(random.pick(["AND", "OR"])) \(right))"
    }
  }

  // MARK: Everything else, with an order that leaves no choice

  private static func other(
    _ schema: PostgresStressSchema, _ random: inout SeededGenerator
  ) -> PostgresStressQuery {
    let key = schema.key.columns
    let id = key.map { "m.\($0)" }.joined(separator: ", ")
    let any = random.pick(schema.columns).name
    let column = random.pick(schema.columns.filter(\.kind.isOrdered)).name
    let keyed = [
      "SELECT \(id), m.\(any), p.name FROM m JOIN p ON p.id = m.p ORDER BY p.name, \(id)",
      "SELECT \(id), m.\(any), p.name FROM m LEFT JOIN p ON p.id = m.p ORDER BY \(id)",
      "SELECT \(id), row_number() OVER (ORDER BY m.\(column), \(id)) FROM m ORDER BY \(id)",
      "SELECT \(id), (SELECT name FROM p WHERE p.id = m.p) FROM m ORDER BY \(id)",
      "SELECT \(id), m.\(any) FROM m WHERE EXISTS (SELECT FROM p WHERE p.id = m.p AND uses > 2) ORDER BY \(id)",
      "SELECT \(id), m.\(any) FROM m WHERE m.p IN (SELECT region FROM part) ORDER BY \(id) LIMIT 6",
      "SELECT \(id), used(m.p) FROM m ORDER BY \(id)",
      "SELECT \(id), m.\(any) FROM ONLY m ORDER BY \(id)",
      "WITH x AS (SELECT * FROM m WHERE m.p < 5) SELECT \(id.replacing("m.", with: "x.")), x.\(any) FROM x "
        + "ORDER BY \(id.replacing("m.", with: "x."))",
      "SELECT \(id), s.n FROM m, LATERAL (SELECT count(*) AS n FROM part WHERE region = m.p) s ORDER BY \(id)",
    ]
    let free = [
      "SELECT p.id, p.name, p.uses, count(m.p) FROM p LEFT JOIN m ON m.p = p.id GROUP BY p.id ORDER BY p.id",
      "SELECT count(*), count(\(any)), sum(length(\(any)::text)) FROM m",
      "SELECT DISTINCT p FROM m ORDER BY p",
      "SELECT p, count(*) FROM m GROUP BY p ORDER BY p NULLS FIRST",
      "SELECT id, name, uses FROM p ORDER BY uses DESC, name, id",
      "SELECT x, y FROM w ORDER BY x, y", "SELECT x, count(*) FROM w GROUP BY x ORDER BY x",
      "SELECT id, name, uses FROM stored ORDER BY id",
      "SELECT tableoid::regclass::text, count(*) FROM part GROUP BY 1 ORDER BY 1",
      "SELECT id, region FROM part EXCEPT SELECT id, uses FROM p ORDER BY 1, 2",
      "WITH RECURSIVE r AS (SELECT id, 0 AS d FROM p WHERE id = 1 UNION ALL SELECT p.id, d + 1 FROM p JOIN r "
        + "ON p.id = r.id + 1 WHERE d < 9) SELECT id, d FROM r ORDER BY id",
      "SELECT id, name FROM p UNION ALL SELECT id + 1000 * region, note FROM part ORDER BY 1, 2",
      "VALUES (1, 'a'), (2, 'b')", "TABLE p ORDER BY id",
    ]
    let views = [
      "SELECT \(key.joined(separator: ", ")), c FROM v ORDER BY \(key.joined(separator: ", "))",
      "SELECT v.\(key[0]), count(*) FROM v JOIN p ON true GROUP BY 1 ORDER BY 1",
    ]
    switch random.below(8) {
    case 0..<4: return PostgresStressQuery(sql: random.pick(keyed), identityCount: key.count)
    case 4..<7: return PostgresStressQuery(sql: random.pick(free))
    default:
      let sql = random.pick(views)
      return PostgresStressQuery(sql: sql, identityCount: sql.contains(", c ") ? key.count : 1)
    }
  }
}
