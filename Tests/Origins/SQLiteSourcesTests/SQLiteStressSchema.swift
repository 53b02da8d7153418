import DataSourceTesting
import TestSupport

/// A random schema, with the properties that writes and queries need.
///
/// `m` is a table with an INTEGER PRIMARY KEY and columns of all kinds. Its rows refer to `p`. `w`
/// is a table without rowids, `l` a table whose rows have no key, and `v` a view.
struct SQLiteStressSchema {
  struct Column {
    var name: String
    var declaration: String
    /// A Boolean value that indicates whether values can be written.
    var isWritable = true
    /// A Boolean value that indicates whether values are unique.
    var isUnique = false
    /// A Boolean value that indicates whether the collation is BINARY or NOCASE.
    var hasCommonOrder = true
  }

  /// The columns of `m`, without `id`.
  private(set) var columns: [Column] = []
  private(set) var statements: [String] = []
  /// The names of indexes that were created later.
  private var indexes: [String] = []
  private var lastName = 0

  private static let declarations = [
    "", "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", "TEXT COLLATE NOCASE", "COLLATE NOCASE",
    "INT DEFAULT 3", "TEXT NOT NULL DEFAULT 'n'", "CHECK (%c IS NOT 4)",
  ]

  private static let uniqueDeclarations = [
    "UNIQUE", "TEXT UNIQUE", "INTEGER UNIQUE", "TEXT COLLATE NOCASE UNIQUE",
    "UNIQUE ON CONFLICT REPLACE", "UNIQUE ON CONFLICT IGNORE",
  ]

  init(_ random: inout SeededGenerator) {
    for _ in 0..<(2 + random.below(4)) { columns.append(makeColumn(&random)) }
    if random.oneIn(2) {
      let declaration = random.pick(Self.uniqueDeclarations)
      columns.append(Column(name: makeName(), declaration: declaration, isUnique: true))
    }
    if random.oneIn(6) {
      columns.append(
        Column(name: makeName(), declaration: "TEXT COLLATE RTRIM", hasCommonOrder: false))
    }
    columns.append(
      Column(
        name: "p",
        declaration: "INTEGER REFERENCES p ON DELETE "
          + random.pick(["CASCADE", "CASCADE", "SET NULL"]) + " ON UPDATE CASCADE"))
    if random.oneIn(2) {
      let base = random.pick(columns).name
      let expression = random.pick([
        "length(\(base))", "\(base) || ''", "id % 3", "\(base) IS NULL",
      ])
      columns.append(
        Column(
          name: makeName(),
          declaration: "AS (\(expression)) " + random.pick(["VIRTUAL", "STORED"]), isWritable: false
        ))
    }
    var table = columns.map { "\($0.name) " + $0.declaration.replacing("%c", with: $0.name) }
    table.insert(
      "id INTEGER PRIMARY KEY" + random.pick(["", "", " AUTOINCREMENT"]),
      at: random.oneIn(3) ? random.below(table.count) : 0)
    statements = [
      "CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, uses DEFAULT 0)",
      "INSERT INTO p (id, name) VALUES (1, 'n1'), (2, 'n2'), (3, 'n3'), (4, 'n4'), (5, 'n5'), (6, 'n6')",
      "CREATE TABLE m (\(table.joined(separator: ", ")))",
      "CREATE TABLE w (a \(random.pick(["", "TEXT", "INTEGER"])) PRIMARY KEY, b) WITHOUT ROWID",
      "CREATE TABLE l (x, y \(random.pick(["", "UNIQUE"])))",
      "CREATE TABLE log (id INTEGER PRIMARY KEY, what)",
      random.oneIn(2)
        ? "CREATE VIEW v AS SELECT id, \(columns[0].name) AS c FROM m WHERE id > 2"
        : "CREATE VIEW v AS SELECT m.id AS id, p.name AS c FROM m LEFT JOIN p ON p.id = m.p",
    ]
    let free = columns.filter { $0.isWritable && !$0.isUnique && $0.name != "p" }.map(\.name)
    let written = free.first ?? "p"
    for trigger in [
      "AFTER INSERT ON m BEGIN UPDATE p SET uses = uses + 1 WHERE id = new.p; END",
      "AFTER DELETE ON m BEGIN INSERT INTO log (what) VALUES (old.id); END",
      "AFTER DELETE ON m WHEN old.id % 7 = 0 BEGIN DELETE FROM m WHERE id = old.id + 1; END",
      "AFTER UPDATE OF name ON p BEGIN UPDATE m SET \(written) = new.uses WHERE p = new.id; END",
      "AFTER UPDATE OF \(written) ON m WHEN new.id % 5 = 0 BEGIN "
        + "UPDATE m SET \(written) = new.\(written) WHERE id = new.id - 1; END",
      "BEFORE INSERT ON m WHEN new.id % 11 = 0 BEGIN DELETE FROM m WHERE id = new.id + 11; END",
      "BEFORE UPDATE OF id ON m WHEN new.id = 13 BEGIN SELECT RAISE(ABORT, 'refused'); END",
      "AFTER INSERT ON w BEGIN UPDATE m SET \(written) = new.b WHERE id = new.a; END",
      "INSTEAD OF INSERT ON v BEGIN REPLACE INTO m (id, \(written)) VALUES (new.id, new.c); END",
    ] where random.oneIn(3) {
      statements.append("CREATE TRIGGER \(makeName()) \(trigger)")
    }
    for _ in 0..<random.below(3) { statements.append(makeIndex(&random)) }
  }

  /// Returns a statement that creates an index, and adds its name.
  mutating func makeIndex(_ random: inout SeededGenerator) -> String {
    let name = makeName()
    indexes.append(name)
    let terms = (0...random.below(2)).map { _ in
      random.pick(columns.filter { $0.hasCommonOrder }).name
        + random.pick(["", " DESC", " COLLATE NOCASE", " COLLATE BINARY DESC"])
    }
    return "CREATE INDEX \(name) ON m (\(terms.joined(separator: ", ")))"
      + (random.oneIn(5) ? " WHERE id % 2" : "")
  }

  /// Returns statements that change the schema, or run housekeeping.
  mutating func makeChange(_ random: inout SeededGenerator) -> [String] {
    switch random.below(12) {
    case 0, 1:
      let column = makeAddedColumn(&random)
      columns.append(column)
      return ["ALTER TABLE m ADD COLUMN \(column.name) \(column.declaration)"]
    case 2, 3: return [makeIndex(&random)]
    case 4 where !indexes.isEmpty:
      return ["DROP INDEX \(indexes.remove(at: random.below(indexes.count)))"]
    case 5: return ["ALTER TABLE m RENAME TO away", "ALTER TABLE away RENAME TO m"]
    case 6: return ["CREATE TABLE aside (x)", "DROP TABLE aside"]
    case 7: return ["BEGIN; ALTER TABLE m ADD COLUMN gone; DELETE FROM m; ROLLBACK"]
    case 8: return ["REINDEX"]
    case 9: return ["VACUUM"]
    default:
      let mode = random.pick(["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
      return ["PRAGMA wal_checkpoint(\(mode))"]
    }
  }

  /// Returns a column that can be added to a table with rows.
  private mutating func makeAddedColumn(_ random: inout SeededGenerator) -> Column {
    var column = makeColumn(&random)
    if column.declaration.contains("CHECK") { column.declaration = "" }
    return column
  }

  private mutating func makeColumn(_ random: inout SeededGenerator) -> Column {
    Column(name: makeName(), declaration: random.pick(Self.declarations))
  }

  private mutating func makeName() -> String {
    lastName += 1
    return "c\(lastName)"
  }

  // MARK: Values

  private static let common = [
    "NULL", "1", "2", "0.5", "'a'", "'A'", "'b'", "'B'", "'ab'", "x'61'",
  ]

  private static let rare = [
    "0", "3", "-1", "1.0", "2.5", "-0.0", "9e999", "-9e999",
    "9007199254740993", "9007199254740992.0", "9223372036854775807", "9223372036854775807.0",
    "-9223372036854775808", "''", "'aB'", "'a '", "'é'", "'É'",
    "'1'", "'10'", "'2.50'", "'a' || char(0) || 'b'", "'['", "x''", "x'ff'", "zeroblob(5)",
    "CAST(x'61ff' AS TEXT)", "printf('%.*c', 300, 'y')",
  ]

  /// Returns a value as SQL, from a small set to get ties.
  static func value(_ random: inout SeededGenerator) -> String {
    random.oneIn(3) ? random.pick(rare) : random.pick(common)
  }

  /// Returns a value for a column as SQL.
  static func value(of column: Column, _ random: inout SeededGenerator) -> String {
    if column.name == "p" {
      let id = 1 + random.below(8)
      return random.oneIn(8) ? "\(id)" : "(SELECT id FROM p WHERE id = \(id))"
    }
    guard column.isUnique, !random.oneIn(12) else { return value(&random) }
    let number = random.below(2_000)
    return random.pick(["\(number)", "'u\(number)'", "'U\(number)'", "\(number).5"])
  }
}
