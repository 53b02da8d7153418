/// One value of a database: of a column, or of an argument.
///
/// `Hashable` by bits: two reals that are NaN are equal, and `0.0` differs from `-0.0`, so that
/// rows with the same stored values are equal.
public enum SQLiteValue: Sendable {
  /// SQL's NULL.
  case null
  /// A 64-bit integer.
  case integer(Int64)
  /// A floating-point number. SQLite stores NaN as NULL.
  case real(Double)
  /// Text. What is not valid UTF-8 in the database reads as U+FFFD.
  case text(String)
  /// Bytes.
  case blob([UInt8])

  /// Whether it is NULL.
  @inlinable
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The name that SQLite gives to the type of the value, for messages.
  var typeName: String {
    switch self {
    case .null: "NULL"
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob: "BLOB"
    }
  }
}

extension SQLiteValue: Hashable {
  /// Whether both are of one type and hold the same bits.
  public static func == (left: SQLiteValue, right: SQLiteValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    case (.blob(let left), .blob(let right)): left == right
    default: false
    }
  }

  /// Feeds type and bits into `hasher`.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let value):
      hasher.combine(1)
      hasher.combine(value)
    case .real(let value):
      hasher.combine(2)
      hasher.combine(value.bitPattern)
    case .text(let value):
      hasher.combine(3)
      for byte in value.utf8 { hasher.combine(byte) }
    case .blob(let value):
      hasher.combine(4)
      hasher.combine(value)
    }
  }
}

extension SQLiteValue: CustomStringConvertible {
  /// The value as it would be written in SQL.
  public var description: String {
    switch self {
    case .null: "NULL"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let value):
      "'" + value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        + "'"
    case .blob(let value):
      "x'" + value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    }
  }
}
