import SwappablePrimitives

/// A value of a column or of an argument.
///
/// Equality compares bits: two NaN values are equal, and `0.0` differs from `-0.0`. Rows with the
/// same stored values are therefore equal.
public enum SQLiteValue: Sendable {
  /// The value NULL.
  case null
  /// A 64-bit integer.
  case integer(Int64)
  /// A floating-point number. SQLite stores NaN as NULL.
  case real(Double)
  /// Text. Invalid UTF-8 in the database is read as U+FFFD. To read its bytes, select `CAST(column AS BLOB)`.
  case text(String)
  /// Bytes.
  case blob([UInt8])

  /// A Boolean value that indicates whether the value is NULL.
  @inlinable
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// SQLite's name for the type of the value, for messages.
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
  /// Returns a Boolean value that indicates whether two values have the same type and bits.
  public static func == (left: SQLiteValue, right: SQLiteValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
    case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
    case (.blob(let left), .blob(let right)): left == right
    default: false
    }
  }

  /// Hashes the type and the bits.
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
  /// The value as a literal of SQL.
  public var description: String {
    switch self {
    case .null: "NULL"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let value):
      "'" + value.doubling("'") + "'"
    case .blob(let value):
      "x'" + value.map(\.hexadecimal).joined() + "'"
    }
  }
}

/// A type whose values can be stored in a column and read back.
///
/// The signed integers of the standard library conform, and `UInt8`, `UInt16`, `UInt32`, `Bool` (0
/// and 1), `Double`, `Float`, `String`, `[UInt8]`, and optionals of these types. Reading never
/// converts text to numbers, and refuses a number that does not fit.
public protocol SQLiteValueConvertible {
  /// The value to store.
  var sqliteValue: SQLiteValue { get }

  /// Reads a stored value. Returns `nil` if it has another type or does not fit.
  init?(sqliteValue: SQLiteValue)
}

extension SQLiteValue: SQLiteValueConvertible {
  /// The value itself.
  @inlinable
  public var sqliteValue: SQLiteValue { self }

  /// Takes any value.
  @inlinable
  public init?(sqliteValue: SQLiteValue) { self = sqliteValue }
}

extension SQLiteValueConvertible where Self: FixedWidthInteger {
  /// The number as an INTEGER.
  @inlinable
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }

  /// Reads an INTEGER that fits into the type.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let value) = sqliteValue else { return nil }
    self.init(exactly: value)
  }
}

// `UInt` and `UInt64` do not conform: half of their values cannot be stored.
extension Int: SQLiteValueConvertible {}
extension Int8: SQLiteValueConvertible {}
extension Int16: SQLiteValueConvertible {}
extension Int32: SQLiteValueConvertible {}
extension Int64: SQLiteValueConvertible {}
extension UInt8: SQLiteValueConvertible {}
extension UInt16: SQLiteValueConvertible {}
extension UInt32: SQLiteValueConvertible {}

extension Bool: SQLiteValueConvertible {
  /// The INTEGER 1 for `true`, and 0 for `false`.
  @inlinable
  public var sqliteValue: SQLiteValue { .integer(self ? 1 : 0) }

  /// Reads the INTEGER 0 or 1.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .integer(0): self = false
    case .integer(1): self = true
    default: return nil
    }
  }
}

extension SQLiteValueConvertible where Self: BinaryFloatingPoint {
  /// The number as a REAL. NaN is stored as NULL.
  @inlinable
  public var sqliteValue: SQLiteValue { .real(Double(self)) }

  /// Reads a REAL, rounded to the nearest number of the type.
  ///
  /// An INTEGER is read if the type represents it exactly.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .real(let value): self = Self(value)
    case .integer(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension Double: SQLiteValueConvertible {}
extension Float: SQLiteValueConvertible {}

extension String: SQLiteValueConvertible {
  /// The string as TEXT.
  @inlinable
  public var sqliteValue: SQLiteValue { .text(self) }

  /// Reads TEXT.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    guard case .text(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension [UInt8]: SQLiteValueConvertible {
  /// The bytes as a BLOB.
  @inlinable
  public var sqliteValue: SQLiteValue { .blob(self) }

  /// Reads a BLOB.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    guard case .blob(let value) = sqliteValue else { return nil }
    self = value
  }
}

extension Optional: SQLiteValueConvertible where Wrapped: SQLiteValueConvertible {
  /// The wrapped value, or NULL.
  @inlinable
  public var sqliteValue: SQLiteValue { self?.sqliteValue ?? .null }

  /// Reads NULL as `nil`, and any other value as the wrapped type does.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    if sqliteValue.isNull {
      self = .none
    } else if let value = Wrapped(sqliteValue: sqliteValue) {
      self = .some(value)
    } else {
      return nil
    }
  }
}
