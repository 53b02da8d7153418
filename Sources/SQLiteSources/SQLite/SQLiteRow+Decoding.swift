import SQLSources

extension SQLiteRow {
  /// Decodes the row. Each coding key takes the column with its name.
  ///
  /// An optional property decodes NULL, or a missing column, as `nil`. A BLOB decodes as `[UInt8]`
  /// or as another sequence of bytes. A type that needs more than one column cannot be nested.
  ///
  /// - Throws: A ``SQLiteError`` that names the column, or an error of the type's own decoding.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try decoded(as: type)
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
    (type as? any SQLiteValueConvertible.Type)?.init(sqliteValue: self) as? Value
  }

  package var elements: [SQLiteValue]? {
    if case .blob(let bytes) = self { bytes.map { .integer(Int64($0)) } } else { nil }
  }
}
