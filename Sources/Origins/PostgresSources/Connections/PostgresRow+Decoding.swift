import SQLSources

extension PostgresRow {
  /// The unit of numbers that are decoded as dates.
  public enum DateUnit: String, Sendable, Hashable {
    /// Seconds since 1970-01-01 00:00 UTC.
    case secondsSince1970 = "seconds since 1970"
    /// Milliseconds since 1970-01-01 00:00 UTC.
    case millisecondsSince1970 = "milliseconds since 1970"
    /// Julian days, which begin at noon in UTC.
    ///
    /// The numbers of `extract(julian FROM …)` begin at midnight. Subtract 0.5 in the query.
    case julianDays = "Julian days"
  }

  /// Decodes the row. Each coding key takes the column with its name.
  ///
  /// An optional property decodes NULL, or a missing column, as `nil`. An array decodes as an array, and a `bytea` as
  /// `[UInt8]`. A type that needs more than one column cannot be nested.
  ///
  /// A `Date` is read from a number of seconds since 1970, from a timestamp or a date, or from text in the form
  /// `2026-11-28 12:00:00` or `2026-11-28T12:00:00.000Z`. Without an offset, these are UTC. A `Decimal` is read from a
  /// number or its text.
  ///
  /// A number outside of the years 1 to 9999 is an error, and so is a number that is not an integer and looks like
  /// Julian days (1721425.5 to 5373484.5, which are seconds in January to March 1970). If the dates have another unit,
  /// name it:
  ///
  ///     let tasks = try PostgresDataSource<Task>(pool: pool, sql: sql) {
  ///       try $0.decode(dates: .millisecondsSince1970)
  ///     }
  ///
  /// - Parameters:
  ///   - type: The type to decode.
  ///   - dates: The unit of all numbers that are dates. By default, they are seconds that do not look like Julian days.
  /// - Throws: A ``PostgresError`` that names the column, or an error of the type's own decoding.
  public func decode<Value: Decodable>(
    _ type: Value.Type = Value.self, dates: DateUnit? = nil
  ) throws -> Value {
    try decoded(as: type, dates: dates.flatMap { SQLSources.DateUnit(rawValue: $0.rawValue) })
  }
}

extension PostgresValue: SQLValue {
  package static var listName: String { "array" }

  package func read(_ type: Bool.Type) -> Bool? { Bool(postgresValue: self) }
  package func read(_ type: Double.Type) -> Double? { Double(postgresValue: self) }
  package func read(_ type: Float.Type) -> Float? { Float(postgresValue: self) }
  package func read(_ type: String.Type) -> String? { String(postgresValue: self) }

  package func read<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
    switch self {
    case .integer(let number): Number(exactly: number)
    case .other(let text, .numeric): Number(text)
    default: nil
    }
  }

  package func readStored<Value>(_ type: Value.Type) -> Value? {
    // A missing value would be cast to an optional type as `nil`.
    guard let value = (type as? any PostgresValueConvertible.Type)?.init(postgresValue: self) else {
      return nil
    }
    return value as? Value
  }

  package var numberText: String? {
    if case .other(let text, .numeric) = self { return text }
    return read(Double.self) == nil && read(Int64.self) == nil ? nil : description
  }

  package var elements: [PostgresValue]? {
    switch self {
    case .bytes(let bytes): bytes.map { .integer(Int64($0)) }
    case .array(let values): values
    default: nil
    }
  }
}
