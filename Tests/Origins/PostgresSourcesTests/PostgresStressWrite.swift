import DataSourceTesting
import TestSupport

/// Random writes that keep about `size` rows in `m`.
enum PostgresStressWrite {
  private static let beginnings = [
    "READ COMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE",
  ].map { "BEGIN ISOLATION LEVEL \($0)" }

  static func make(
    _ schema: PostgresStressSchema, size: Int, count: Int, _ random: inout SeededGenerator
  ) -> StressWrite {
    StressWrite(beginnings: beginnings, transactionsOneIn: 3, &random) { random in
      statement(schema, size: size, count: count, &random)
    }
  }

  private static func statement(
    _ schema: PostgresStressSchema, size: Int, count: Int, _ random: inout SeededGenerator
  ) -> String {
    if count < size / 2 { return insertMany(schema, rows: size / 2, size, &random) }
    let writable = schema.columns.filter(\.isWritable)
    let column = random.pick(writable)
    let number = random.below(size * 2)
    let value = PostgresStressSchema.value(of: column, &random)
    let key = schema.key.columns.joined(separator: ", ")
    let keyValues = schema.key.values("\(number)").joined(separator: ", ")
    let match = schema.key.matches("\(number)")
    switch random.below(52) {
    case 0..<6: return insert(schema, number, &random)
    case 6: return insertMany(schema, rows: 1 + random.below(8), size, &random)
    case 7..<16: return "UPDATE m SET \(column.name) = \(value) WHERE \(match)"
    case 16:
      let other = random.pick(writable)
      guard other.name != column.name else { return "UPDATE m SET \(column.name) = DEFAULT" }
      return "UPDATE m SET \(column.name) = \(value), \(other.name) = "
        + "\(PostgresStressSchema.value(of: other, &random)) WHERE \(match)"
    case 17: return "UPDATE m SET \(column.name) = \(value) WHERE p = \(1 + number % 8)"
    case 18: return "UPDATE m SET \(column.name) = \(column.name)"
    case 19..<23:
      let new = schema.key.values("\(random.below(size * 2))")
      let pairs = zip(schema.key.columns, new).map { "\($0) = \($1)" }
      return "UPDATE m SET \(pairs.joined(separator: ", ")) WHERE \(match)"
    case 23:
      return "WITH gone AS (DELETE FROM m WHERE \(match) RETURNING p) "
        + "UPDATE m SET p = gone.p FROM gone WHERE NOT (\(match))"
        + " AND m.p = \(1 + number % 8)"
    case 24..<28: return "DELETE FROM m WHERE \(match)"
    case 28: return "DELETE FROM m WHERE p = \(1 + number % 8)"
    case 29: return random.oneIn(5) ? "TRUNCATE m" : "DELETE FROM m WHERE \(column.name) IS NULL"
    case 30:
      return random.oneIn(6)
        ? "TRUNCATE p CASCADE" : "TRUNCATE " + random.pick(["part", "part_2", "w", "part, w"])
    case 31..<34:
      return "INSERT INTO m (\(key), \(column.name)) VALUES (\(keyValues), \(value)) "
        + "ON CONFLICT (\(key)) DO "
        + random.pick([
          "UPDATE SET \(column.name) = excluded.\(column.name)", "NOTHING",
          "UPDATE SET p = NULL WHERE m.p > 3",
        ])
    case 34:
      return
        "MERGE INTO m USING (SELECT \(schema.key.values("n").enumerated().map { "\($1) AS \(schema.key.columns[$0])" }.joined(separator: ", ")) "
        + "FROM generate_series(\(number), \(number + 3)) n) s ON "
        + schema.key.columns.map { "m.\($0) = s.\($0)" }.joined(separator: " AND ")
        + " WHEN MATCHED AND m.p IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET \(column.name) = \(value) "
        + "WHEN NOT MATCHED THEN INSERT (\(key)) VALUES ("
        + schema.key.columns.map { "s.\($0)" }.joined(separator: ", ") + ")"
    case 35:
      let rows = (0..<(1 + random.below(4))).map {
        "\(number + $0)\\t\(1 + ($0 + number) % 4)\\tcopied\\n"
      }
      return "COPY part FROM PROGRAM $$printf '\(rows.joined())'$$"
    case 36: return "COPY w FROM PROGRAM $$printf 'a\\t\(number)\\nb\\t\\\\N\\n'$$"
    case 37: return "INSERT INTO p (id, name) VALUES (\(1 + number % 8), 'n\(random.below(12))')"
    case 38:
      return "INSERT INTO p (id, name) VALUES (\(1 + number % 8), 'u\(number % 12)') "
        + "ON CONFLICT (id) DO UPDATE SET uses = p.uses + 1, name = excluded.name"
    case 39: return "UPDATE p SET name = 'N\(random.below(12))' WHERE id = \(1 + number % 8)"
    case 40: return "UPDATE p SET id = \(1 + random.below(8)) WHERE id = \(1 + number % 8)"
    case 41: return "DELETE FROM p WHERE id = \(1 + number % 8)"
    case 42..<44:
      return "INSERT INTO part VALUES (\(number % 40), \(1 + random.below(4)), 'x\(number % 5)') "
        + "ON CONFLICT DO NOTHING"
    case 44..<46:
      return "UPDATE part SET region = \(1 + random.below(4)) WHERE id % 5 = \(number % 5)"
    case 46:
      let region = 1 + random.below(2)
      return random.pick([
        "INSERT INTO part_\(region) VALUES (\(number % 40), \(region), 'direct')",
        "UPDATE part_\(region) SET note = 'd\(number)' WHERE id < 20",
        "UPDATE part_\(region) SET id = id + 1 WHERE id = \(number % 40)",
        "DELETE FROM part_\(region) WHERE id % 3 = \(number % 3)",
      ])
    case 47: return "UPDATE part SET note = repeat('n', \(number * 200)) WHERE id = \(number % 40)"
    case 48: return "DELETE FROM part WHERE id % 7 = \(number % 7)"
    case 49: return "INSERT INTO w VALUES ('a', \(number)), ('a', \(number)), (NULL, \(number % 3))"
    case 50:
      return random.pick([
        "DELETE FROM w WHERE y % 3 = \(number % 3) OR y IS NULL", "UPDATE w SET y = y + 1",
        "UPDATE w SET x = 'b' WHERE ctid = (SELECT min(ctid) FROM w)",
      ])
    default:
      return "DELETE FROM m WHERE " + "("
        + key + ") IN (SELECT \(key) FROM m ORDER BY \(key) LIMIT \(1 + max(0, count - size)))"
    }
  }

  /// Returns the insertion of one row.
  static func insert(
    _ schema: PostgresStressSchema, _ number: Int, _ random: inout SeededGenerator
  ) -> String {
    let columns = schema.columns.filter(\.isWritable)
    let values = columns.map { PostgresStressSchema.value(of: $0, &random) }
    return "INSERT INTO m (\((schema.key.columns + columns.map(\.name)).joined(separator: ", "))) "
      + "VALUES (\((schema.key.values("\(number)") + values).joined(separator: ", ")))"
  }

  /// Returns the insertion of rows, most of them new.
  private static func insertMany(
    _ schema: PostgresStressSchema, rows: Int, _ size: Int, _ random: inout SeededGenerator
  ) -> String {
    let columns = schema.columns.filter(\.isWritable)
    let first = random.below(2000)
    let rows = (0..<max(1, rows)).map { row in
      let values = columns.map { column in
        // One wrong value would refuse all rows.
        let value =
          if column.name == "p" {
            "SELECT id FROM p WHERE id = \(1 + random.below(8))"
          } else if column.declaration.hasPrefix("integer UNIQUE") {
            "\((first + row) % 2000)"
          } else {
            PostgresStressSchema.value(of: column, &random)
          }
        return "(\(value))::\(column.kind.type)"
      }
      return
        "(\((schema.key.values("\(random.below(size * 2))") + values).joined(separator: ", ")))"
    }
    return "INSERT INTO m (\((schema.key.columns + columns.map(\.name)).joined(separator: ", "))) "
      + "VALUES \(rows.joined(separator: ", ")) "
      + (schema.hasDeferrableColumn
        ? "ON CONFLICT (\(schema.key.columns.joined(separator: ", "))) DO NOTHING"
        : "ON CONFLICT DO NOTHING")
  }
}
