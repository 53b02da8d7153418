import DataSourceTesting
import TestSupport

/// A random schema, with the properties that writes and queries need.
///
/// `m` is a table with a primary key and columns of all kinds. Its rows refer to `p`. The rows of `part` move between
/// partitions. `w` is a table without a key, `v` a view, and `stored` a materialized view.
struct PostgresStressSchema {
  /// A type of a column, with values as SQL. They are few, to get ties.
  struct Kind: Sendable {
    var type: String
    var values: [String]
    /// A Boolean value that indicates whether the type has an order.
    var isOrdered = true
  }

  struct Column {
    var name: String
    var kind: Kind
    var declaration: String
    /// A Boolean value that indicates whether values can be written.
    var isWritable = true
  }

  /// The primary key of `m`.
  enum Key: String, CaseIterable {
    case integer, bigint, uuid, collated, text, pair

    var columns: [String] { self == .pair ? ["a", "b"] : ["id"] }

    var declaration: String {
      switch self {
      case .integer: "id integer PRIMARY KEY"
      case .bigint: "id bigint PRIMARY KEY"
      case .uuid: "id uuid PRIMARY KEY"
      case .collated: "id text COLLATE \"C\" PRIMARY KEY"
      case .text: "id text PRIMARY KEY"
      case .pair: "a smallint NOT NULL, b text COLLATE \"C\" NOT NULL, PRIMARY KEY (b, a)"
      }
    }

    /// The values of the key columns for a number, as SQL.
    func values(_ number: String) -> [String] {
      switch self {
      case .integer: [number]
      case .bigint: ["(\(number))::bigint * 4294967296"]
      case .uuid: ["md5((\(number))::text)::uuid"]
      case .collated, .text: ["chr(65 + (\(number)) % 50) || (\(number))"]
      case .pair: ["(\(number)) % 7 - 3", "'k' || (\(number)) / 3"]
      }
    }

    /// The condition for the row of a number, as SQL.
    func matches(_ number: String) -> String {
      zip(columns, values(number)).map { "\($0) = \($1)" }.joined(separator: " AND ")
    }
  }

  let key: Key
  /// The columns of `m`, without its key.
  var columns: [Column] = []
  private(set) var statements: [String] = []
  var indexes: [String] = []
  /// A Boolean value that indicates whether a unique column is only checked at the end of a transaction.
  var hasDeferrableColumn: Bool {
    columns.contains { $0.declaration.hasPrefix("integer UNIQUE DEFERRABLE") }
  }
  private var lastName = 0

  /// The tables that are written.
  static let tables = ["m", "p", "part", "part_1", "part_2", "part_3", "w"]

  static let kinds = [
    Kind(
      type: "text",
      values: [
        "'a'", "'A'", "'b'", "'ab'", "''", "'é'", "'E'", "'a '", "'10'", "'9'", "E'x\\ny'",
        "repeat('z', 9000)", "repeat('y', 2500) || 'é'",
      ]),
    Kind(
      type: "text COLLATE \"C\"",
      values: [
        "'a'", "'A'", "'b'", "'é'", "'z'", "'ab'", "''", "'a '", "U&'\\+01F600'", "U&'\\FF5E'",
      ]),
    Kind(type: "varchar(10)", values: ["'a'", "'B'", "'b '", "''", "'é'"]),
    Kind(type: "char(4)", values: ["'a'", "'b'", "'ab'", "''"]),
    Kind(type: "integer", values: ["0", "1", "2", "3", "10", "-1", "2147483647", "-2147483648"]),
    Kind(
      type: "bigint",
      values: ["0", "1", "2", "9007199254740993", "9223372036854775807", "-9223372036854775808"]),
    Kind(
      type: "numeric",
      values: [
        "0", "1", "1.0", "1.00", "0.5", "-2", "10", "9", "'NaN'", "'Infinity'", "'-Infinity'",
        "12345678901234567890.5", "1e20", "0.0000000001",
      ]),
    Kind(
      type: "double precision",
      values: ["0", "'-0'", "1", "0.1", "1e-300", "1e300", "'NaN'", "'Infinity'", "'-Infinity'"]),
    Kind(type: "real", values: ["0", "0.1", "1", "16777217", "'NaN'"]),
    Kind(type: "boolean", values: ["true", "false"]),
    Kind(
      type: "uuid",
      values: [
        "'00000000-0000-0000-0000-000000000001'", "'ffffffff-0000-0000-0000-000000000001'",
        "md5('a')::uuid", "md5('b')::uuid",
      ]),
    Kind(type: "date", values: ["'2026-01-01'", "'2026-01-02'", "'infinity'", "'0001-01-01 BC'"]),
    Kind(
      type: "timestamptz",
      values: [
        "'2026-01-01 00:00Z'", "'2026-01-01 01:00+02'", "'infinity'", "'2026-01-01 0:0:0.5Z'",
      ]),
    Kind(type: "interval", values: ["'1 day'", "'24 hours'", "'-1 s'"]),
    Kind(
      type: "jsonb",
      values: ["'{}'", "'null'", "'{\"a\": [1, \"é\"]}'", "to_jsonb(repeat('j', 3000))"]),
    Kind(
      type: "json", values: ["'{}'", "'{ }'", "'[1, 2]'"], isOrdered: false),
    Kind(type: "integer[]", values: ["'{}'", "'{1,NULL}'", "'{1,2}'", "'{{1},{2}}'"]),
    Kind(
      type: "bytea", values: ["'\\x'", "'\\x00ff'", "'\\x61'", "decode(repeat('0a', 4000), 'hex')"]),
    Kind(type: "mood", values: ["'sad'", "'ok'", "'happy'"]),
  ]

  init(_ random: inout SeededGenerator) {
    key = random.pick(Key.allCases)
    for _ in 0..<(2 + random.below(4)) { columns.append(makeColumn(&random)) }
    if random.oneIn(2) {
      columns.append(
        Column(
          name: makeName(), kind: Kind(type: "integer", values: (0..<2000).map { "\($0)" }),
          declaration: "integer UNIQUE\(random.pick(["", " DEFERRABLE INITIALLY DEFERRED"]))"))
    }
    columns.append(
      Column(
        name: "p", kind: Kind(type: "integer", values: (1...8).map { "\($0)" }),
        declaration:
          "integer REFERENCES p ON DELETE \(random.pick(["CASCADE", "CASCADE", "SET NULL"])) "
          + "ON UPDATE CASCADE\(random.pick(["", " DEFERRABLE INITIALLY DEFERRED"]))"))
    if random.oneIn(2) {
      let base = random.pick(columns).name
      columns.append(
        Column(
          name: makeName(), kind: Kind(type: "boolean", values: ["true"]),
          declaration: "boolean GENERATED ALWAYS AS (\(base) IS NULL) STORED", isWritable: false))
    }
    let external = columns.filter { $0.kind.type == "text" }.map(\.name)
    statements = [
      "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
      "CREATE TABLE p (id integer PRIMARY KEY, name text UNIQUE, uses integer NOT NULL DEFAULT 0)",
      "INSERT INTO p (id, name) SELECT n, 'n' || n FROM generate_series(1, 6) n",
      "CREATE TABLE m (\(key.declaration), "
        + columns.map { "\($0.name) \($0.declaration)" }.joined(separator: ", ") + ")",
      "CREATE TABLE part (id integer, region integer NOT NULL, note text, PRIMARY KEY (id, region)) "
        + "PARTITION BY LIST (region)",
      "CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1)",
      "CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2)",
      "CREATE TABLE part_3 PARTITION OF part DEFAULT",
      "CREATE TABLE w (x text, y integer)",
      "CREATE MATERIALIZED VIEW stored AS SELECT id, name, uses FROM p",
      Self.view(key, columns, &random),
      "CREATE FUNCTION used(integer) RETURNS bigint LANGUAGE sql STABLE "
        + "AS 'SELECT count(*) FROM m WHERE m.p = $1'",
    ]
    statements += external.map { "ALTER TABLE m ALTER \($0) SET STORAGE EXTERNAL" }
    let free = columns.first { $0.kind.type == "integer" && $0.isWritable && $0.name != "p" }
    for (table, event, body) in [
      ("m", "AFTER INSERT", "UPDATE p SET uses = uses + 1 WHERE id = NEW.p; RETURN NULL;"),
      ("m", "AFTER DELETE", "INSERT INTO w (x) VALUES ('gone'); RETURN NULL;"),
      (
        "p", "AFTER UPDATE OF name",
        "UPDATE m SET \(free?.name ?? "p") = NULL WHERE p = NEW.id; RETURN NULL;"
      ),
      ("part", "BEFORE INSERT", "NEW.note := coalesce(NEW.note, 'none'); RETURN NEW;"),
    ] where random.oneIn(3) {
      let name = makeName()
      statements += [
        "CREATE FUNCTION \(name)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(body) END $$",
        "CREATE TRIGGER \(name) \(event) ON \(table) FOR EACH ROW EXECUTE FUNCTION \(name)()",
      ]
    }
    for _ in 0..<random.below(3) { statements.append(makeIndex(&random)) }
  }

  /// Returns a statement that creates or replaces the view.
  static func view(
    _ key: Key, _ columns: [Column], _ random: inout SeededGenerator
  ) -> String {
    let id = key.columns.map { "m.\($0)" }.joined(separator: ", ")
    let selected = "SELECT \(id), m.\(columns[0].name) AS c FROM m"
    return "CREATE OR REPLACE VIEW v AS "
      + random.pick([
        "\(selected) WHERE m.p > 2", "\(selected) LEFT JOIN p ON p.id = m.p WHERE p.uses < 5",
        "\(selected) WHERE EXISTS (SELECT FROM part WHERE region = m.p)",
      ])
  }

  /// Returns a statement that creates an index, and adds its name.
  mutating func makeIndex(_ random: inout SeededGenerator) -> String {
    let name = makeName()
    indexes.append(name)
    let column = random.pick(columns).name
    // A large value does not fit into an index.
    let expression = column == "p" ? "p" : "(\(column) IS NULL)"
    return "CREATE INDEX \(name) ON m (\(expression)\(random.pick(["", " DESC"])))"
  }

  mutating func makeColumn(_ random: inout SeededGenerator) -> Column {
    let kind = random.pick(Self.kinds)
    return Column(name: makeName(), kind: kind, declaration: kind.type)
  }

  private mutating func makeName() -> String {
    lastName += 1
    return "c\(lastName)"
  }

  /// Returns a value for a column as SQL.
  static func value(of column: Column, _ random: inout SeededGenerator) -> String {
    if column.name == "p", !random.oneIn(8) {
      return "(SELECT id FROM p WHERE id = \(1 + random.below(8)))"
    }
    return random.oneIn(6) ? "NULL" : random.pick(column.kind.values)
  }
}
