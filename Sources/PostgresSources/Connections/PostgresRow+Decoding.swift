import SQLSources

extension PostgresRow {
  /// Decodes the row. Each coding key takes the column with its name.
  ///
  /// An optional property decodes NULL, or a missing column, as `nil`. An array decodes as an array, and a `bytea` as
  /// `[UInt8]`. A type that needs more than one column cannot be nested.
  ///
  /// - Throws: A ``PostgresError`` that names the column, or an error of the type's own decoding.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try decoded(as: type)
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
    (type as? any PostgresValueConvertible.Type)?.init(postgresValue: self) as? Value
  }

  package var elements: [PostgresValue]? {
    switch self {
    case .bytes(let bytes): bytes.map { .integer(Int64($0)) }
    case .array(let values): values
    default: nil
    }
  }
}
