/// A type whose values can be stored in a column and read back.
///
/// The standard library's signed and small unsigned integers, `Bool` (0 and 1), `Double`, `Float`,
/// `String`, `[UInt8]` and optionals of them conform. Reading never guesses: text is not turned
/// into numbers, and a number that does not fit is refused.
public protocol SQLiteValueConvertible {
  /// The value to store.
  var sqliteValue: SQLiteValue { get }

  /// Reads a stored value; `nil` where it is of another type or does not fit.
  init?(sqliteValue: SQLiteValue)
}

extension SQLiteValue: SQLiteValueConvertible {
  /// Itself.
  @inlinable
  public var sqliteValue: SQLiteValue { self }

  /// Takes any value as it is.
  @inlinable
  public init?(sqliteValue: SQLiteValue) { self = sqliteValue }
}

extension SQLiteValueConvertible where Self: FixedWidthInteger {
  /// The number as an INTEGER.
  @inlinable
  public var sqliteValue: SQLiteValue { .integer(Int64(self)) }

  /// Reads an INTEGER that fits.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let value) = sqliteValue else { return nil }
    self.init(exactly: value)
  }
}

// `UInt` and `UInt64` are left out: half of their values cannot be stored.
extension Int: SQLiteValueConvertible {}
extension Int8: SQLiteValueConvertible {}
extension Int16: SQLiteValueConvertible {}
extension Int32: SQLiteValueConvertible {}
extension Int64: SQLiteValueConvertible {}
extension UInt8: SQLiteValueConvertible {}
extension UInt16: SQLiteValueConvertible {}
extension UInt32: SQLiteValueConvertible {}

extension Bool: SQLiteValueConvertible {
  /// 1 for `true`, 0 for `false`.
  @inlinable
  public var sqliteValue: SQLiteValue { .integer(self ? 1 : 0) }

  /// Reads the INTEGERs 0 and 1.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .integer(0): self = false
    case .integer(1): self = true
    default: return nil
    }
  }
}

extension Double: SQLiteValueConvertible {
  /// The number as a REAL; NaN is stored as NULL.
  @inlinable
  public var sqliteValue: SQLiteValue { .real(self) }

  /// Reads a REAL, or an INTEGER that a `Double` holds exactly.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .real(let value): self = value
    case .integer(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension Float: SQLiteValueConvertible {
  /// The number as a REAL; NaN is stored as NULL.
  @inlinable
  public var sqliteValue: SQLiteValue { .real(Double(self)) }

  /// Reads a REAL, rounded to the nearest `Float`, or an INTEGER that it holds exactly.
  @inlinable
  public init?(sqliteValue: SQLiteValue) {
    switch sqliteValue {
    case .real(let value): self = Float(value)
    case .integer(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

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

  /// Reads NULL as `nil`, and anything else as the wrapped type does.
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
