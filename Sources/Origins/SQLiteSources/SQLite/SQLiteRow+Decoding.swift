import SQLSources

extension SQLiteRow {
  /// The unit of numbers that are decoded as dates.
  public enum DateUnit: String, Sendable, Hashable {
    /// Seconds since 1970-01-01 00:00 UTC.
    case secondsSince1970 = "seconds since 1970"
    /// Milliseconds since 1970-01-01 00:00 UTC.
    case millisecondsSince1970 = "milliseconds since 1970"
    /// Julian days, as the function `julianday` returns them.
    case julianDays = "Julian days"
  }

  /// Decodes the row. Each coding key takes the column with its name.
  ///
  /// An optional property decodes NULL, or a missing column, as `nil`. A BLOB decodes as `[UInt8]`
  /// or as another sequence of bytes. A type that needs more than one column cannot be nested.
  ///
  /// A `Date` is read from a number of seconds since 1970, or from text in one of SQLite's forms, as `CURRENT_TIMESTAMP`
  /// or `2026-11-28T12:00:00.000Z`. Text without an offset is UTC. A `Decimal` is read from a number or its text.
  ///
  /// A number outside of the years 1 to 9999 is an error, and so is a REAL that looks like Julian days (1721425.5 to
  /// 5373484.5, which are seconds in January to March 1970). If the dates have another unit, name it:
  ///
  ///     let tasks = try SQLiteDataSource<Task>(path: path, sql: sql) {
  ///       try $0.decode(dates: .millisecondsSince1970)
  ///     }
  ///
  /// - Parameters:
  ///   - type: The type to decode.
  ///   - dates: The unit of all numbers that are dates. By default, they are seconds that do not look like Julian days.
  /// - Throws: A ``SQLiteError`` that names the column, or an error of the type's own decoding.
  public func decode<Value: Decodable>(
    _ type: Value.Type = Value.self, dates: DateUnit? = nil
  ) throws -> Value {
    try decoded(as: type, dates: dates.flatMap { SQLSources.DateUnit(rawValue: $0.rawValue) })
  }
}

extension SQLiteValue: SQLValue {
  package static var listName: String { "sequence of bytes" }

  package func read(_ type: Bool.Type) -> Bool? { Bool(sqliteValue: self) }
  package func read(_ type: Double.Type) -> Double? { Double(sqliteValue: self) }
  package func read(_ type: Float.Type) -> Float? { Float(sqliteValue: self) }
  package func read(_ type: String.Type) -> String? { String(sqliteValue: self) }

  package func read<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
    if case .integer(let number) = self { Number(exactly: number) } else { nil }
  }

  package func readStored<Value>(_ type: Value.Type) -> Value? {
    // A missing value would be cast to an optional type as `nil`.
    guard let value = (type as? any SQLiteValueConvertible.Type)?.init(sqliteValue: self) else {
      return nil
    }
    return value as? Value
  }

  package var numberText: String? {
    read(Double.self) == nil && read(Int64.self) == nil ? nil : description
  }

  package var elements: [SQLiteValue]? {
    if case .blob(let bytes) = self { bytes.map { .integer(Int64($0)) } } else { nil }
  }
}
