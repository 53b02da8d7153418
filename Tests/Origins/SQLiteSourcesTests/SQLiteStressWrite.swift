import DataSourceTesting
import TestSupport

/// Random writes that keep about `size` rows in `m`.
enum SQLiteStressWrite {
  static func make(
    _ schema: SQLiteStressSchema, size: Int, count: Int, _ random: inout SeededGenerator
  ) -> StressWrite {
    StressWrite(beginnings: ["BEGIN IMMEDIATE"], transactionsOneIn: 4, &random) { random in
      statement(schema, size: size, count: count, &random)
    }
  }

  private static func statement(
    _ schema: SQLiteStressSchema, size: Int, count: Int, _ random: inout SeededGenerator
  ) -> String {
    if count < size / 2 {
      return insert(schema, rows: 1 + random.below(size / 2 + 1), size, &random)
    }
    let writable = schema.columns.filter(\.isWritable)
    let column = random.pick(writable)
    let (id, value) = (random.below(size * 2), SQLiteStressSchema.value(of: column, &random))
    let conflict = random.pick([
      "", "", " OR REPLACE", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ROLLBACK",
    ])
    switch random.below(40) {
    case 0..<6: return insert(schema, rows: 1, size, &random)
    case 6: return insert(schema, rows: 1 + random.below(6), size, &random)
    case 7..<15: return "UPDATE\(conflict) m SET \(column.name) = \(value) WHERE id = \(id)"
    case 15:
      let other = random.pick(writable)
      return "UPDATE\(conflict) m SET \(column.name) = \(value), \(other.name) = "
        + "\(SQLiteStressSchema.value(of: other, &random)) WHERE id IN (\(id), \(id + 3))"
    case 16:
      return "UPDATE\(conflict) m SET \(column.name) = \(value) WHERE id % 17 = \(id % 17)"
    case 17: return "UPDATE m SET \(column.name) = \(column.name) WHERE id < \(id)"
    case 18..<20: return "UPDATE\(conflict) m SET id = \(random.below(size * 2)) WHERE id = \(id)"
    case 20: return "UPDATE\(conflict) m SET rowid = rowid + 1 WHERE id BETWEEN \(id) AND \(id + 2)"
    case 21: return "UPDATE m SET id = -id WHERE id = \(id) OR id = -\(id)"
    case 22..<25: return "DELETE FROM m WHERE id = \(id)"
    case 25: return "DELETE FROM m WHERE id BETWEEN \(id) AND \(id + 3)"
    case 26:
      return random.oneIn(8) ? "DELETE FROM m" : "DELETE FROM m WHERE \(column.name) = \(value)"
    case 27:
      return "INSERT INTO m (id, \(column.name)) VALUES (\(id), \(value)) ON CONFLICT (id) "
        + "DO UPDATE SET \(column.name) = excluded.\(column.name)"
    case 28:
      return "INSERT INTO m (id, \(column.name)) VALUES (\(id), \(value)), (\(id + 1), \(value)) "
        + random.pick(["ON CONFLICT DO NOTHING", "ON CONFLICT (id) DO UPDATE SET id = id + 500"])
    case 29:
      return "INSERT\(conflict) INTO m (id, \(column.name)) SELECT id + 1, \(column.name) FROM m "
        + "WHERE id = \(id)"
    case 30:
      return "INSERT\(conflict) INTO p (id, name) VALUES (\(1 + id % 8), 'n\(random.below(12))')"
    case 31: return "UPDATE\(conflict) p SET name = 'N\(random.below(12))' WHERE id = \(1 + id % 8)"
    case 32:
      return random.oneIn(3)
        ? "DELETE FROM p WHERE id = \(1 + id % 8)"
        : "UPDATE\(conflict) p SET id = \(1 + random.below(8)) WHERE id = \(1 + id % 8)"
    case 33: return "UPDATE m SET p = p.id FROM p WHERE p.uses = m.id"
    case 34:
      return
        "INSERT\(conflict) INTO w VALUES (\(random.pick(["\(id)", value])), \(SQLiteStressSchema.value(&random)))"
    case 35:
      return random.pick([
        "DELETE FROM w WHERE a = \(value)", "UPDATE OR IGNORE w SET a = \(id) WHERE b > \(value)",
        "UPDATE w SET b = \(value)", "DELETE FROM w", "DELETE FROM log WHERE id % 2 = 0",
      ])
    case 36: return "INSERT\(conflict) INTO l VALUES (\(value), \(id))"
    case 37:
      return random.pick([
        "DELETE FROM l WHERE y % 3 = \(id % 3)",
        "UPDATE OR REPLACE l SET rowid = \(id) WHERE y > \(id)",
        "UPDATE OR IGNORE l SET y = y + 1", "DELETE FROM log",
      ])
    case 38: return "INSERT INTO v (id, c) VALUES (\(id), \(value))"
    default: return "DELETE FROM m WHERE id > \(size * 2) OR id < 0"
    }
  }

  /// Returns the insertion of rows, most of them new.
  static func insert(
    _ schema: SQLiteStressSchema, rows: Int, _ size: Int, _ random: inout SeededGenerator
  ) -> String {
    let columns = schema.columns.filter(\.isWritable)
    let conflict =
      rows > 6
      ? " OR IGNORE" : random.pick(["", " OR REPLACE", " OR REPLACE", " OR IGNORE", " OR FAIL"])
    let values = (0..<rows).map { _ in
      let id = random.oneIn(4) ? "NULL" : "\(random.below(size * 2))"
      return "("
        + ([id] + columns.map { SQLiteStressSchema.value(of: $0, &random) })
        .joined(separator: ", ") + ")"
    }
    return "INSERT\(conflict) INTO m (id, \(columns.map(\.name).joined(separator: ", "))) VALUES "
      + values.joined(separator: ", ")
  }
}
