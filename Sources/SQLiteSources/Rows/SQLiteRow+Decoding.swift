extension SQLiteRow {
  /// Decodes the row: each coding key takes the column of its name.
  ///
  /// Optional properties take NULL, and a column that is not there, as `nil`. A BLOB decodes as
  /// `[UInt8]` or another sequence of bytes. Types that need more than one column cannot be nested.
  ///
  /// - Throws: a `SQLiteError` that names the column, or what the type's own decoding throws.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    do {
      return try Value(from: RowDecoder(row: self))
    } catch let error as DecodingError {
      throw decodingError(error, type: "\(type)")
    }
  }

  private func decodingError(_ error: DecodingError, type: String) -> SQLiteError {
    let context: DecodingError.Context? =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .keyNotFound(_, let context), .dataCorrupted(let context):
        context
      @unknown default: nil
      }
    let column = context?.codingPath.first.map { " of column \"\($0.stringValue)\"" } ?? ""
    return SQLiteError(
      .decoding, "no \(type) can be made\(column): \(context?.debugDescription ?? "\(error)")",
      help: "change the type or the query so that they fit")
  }
}

/// Decodes a whole row, its columns as keys.
struct RowDecoder: Decoder {
  let row: SQLiteRow
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer(row: row))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw SQLiteError(
      .decoding, "a row cannot be decoded as an array",
      help: "decode a type with one property for each column")
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    guard row.count == 1 else {
      throw SQLiteError(
        .decoding, "a row of \(row.count) columns cannot be decoded as one value",
        help: "select one column, or decode a type with one property for each column")
    }
    return ColumnDecoder(row: row, position: 0, codingPath: [])
  }
}

private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: SQLiteRow
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { row.columnNames.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool {
    row.columns.position(of: key.stringValue) != nil
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    row[try position(of: key)].isNull
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read(key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try read(key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read(key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read(key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read(key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read(key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read(key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read(key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read(key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try unsigned(key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try unsigned(key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try columnDecoder(key).value(type)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try columnDecoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try columnDecoder(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { RowDecoder(row: row) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try columnDecoder(key) }

  private func position(of key: Key) throws(SQLiteError) -> Int {
    try row.position(of: key.stringValue)
  }

  private func read<Value: SQLiteValueConvertible>(_ key: Key) throws(SQLiteError) -> Value {
    try row.value(at: try position(of: key))
  }

  private func unsigned<Value: FixedWidthInteger>(_ key: Key) throws -> Value {
    try columnDecoder(key).unsigned()
  }

  private func columnDecoder(_ key: Key) throws(SQLiteError) -> ColumnDecoder {
    ColumnDecoder(row: row, position: try position(of: key), codingPath: [key])
  }
}
