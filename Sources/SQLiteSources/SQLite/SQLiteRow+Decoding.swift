extension SQLiteRow {
  /// Decodes the row. Each coding key takes the column with its name.
  ///
  /// An optional property decodes NULL, or a missing column, as `nil`. A BLOB decodes as `[UInt8]`
  /// or as another sequence of bytes. A type that needs more than one column cannot be nested.
  ///
  /// - Throws: A ``SQLiteError`` that names the column, or an error of the type's own decoding.
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
    let column = context?.codingPath.first.map { " from column \"\($0.stringValue)\"" } ?? ""
    return SQLiteError(
      .decoding, "\(type) cannot be decoded\(column): \(context?.debugDescription ?? "\(error)")",
      help: "change the type or the query")
  }
}

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

/// Decodes the value of one column: a single value, or the bytes of a BLOB.
struct ColumnDecoder: Decoder, SingleValueDecodingContainer {
  let row: SQLiteRow
  let position: Int
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw row.mismatch(at: position, wanted: "type with several properties")
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .blob(let bytes) = row[position] else {
      throw row.mismatch(at: position, wanted: "sequence of bytes")
    }
    return BytesContainer(decoder: self, bytes: bytes)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { row[position].isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try row.value(at: position) }
  func decode(_ type: String.Type) throws -> String { try row.value(at: position) }
  func decode(_ type: Double.Type) throws -> Double { try row.value(at: position) }
  func decode(_ type: Float.Type) throws -> Float { try row.value(at: position) }
  func decode(_ type: Int.Type) throws -> Int { try row.value(at: position) }
  func decode(_ type: Int8.Type) throws -> Int8 { try row.value(at: position) }
  func decode(_ type: Int16.Type) throws -> Int16 { try row.value(at: position) }
  func decode(_ type: Int32.Type) throws -> Int32 { try row.value(at: position) }
  func decode(_ type: Int64.Type) throws -> Int64 { try row.value(at: position) }
  func decode(_ type: UInt.Type) throws -> UInt { try unsigned() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try row.value(at: position) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try row.value(at: position) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try row.value(at: position) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try unsigned() }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(type) }

  /// Decodes a value. If its type can be read from a column, no decoder is used.
  func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let direct = type as? any SQLiteValueConvertible.Type,
      let value = direct.init(sqliteValue: row[position]) as? Value
    {
      return value
    }
    return try Value(from: self)
  }

  func unsigned<Value: FixedWidthInteger>() throws(SQLiteError) -> Value {
    guard case .integer(let number) = row[position], let value = Value(exactly: number)
    else { throw row.mismatch(at: position, wanted: "\(Value.self)") }
    return value
  }
}

/// The bytes of a BLOB as the elements of an unkeyed container.
private struct BytesContainer: UnkeyedDecodingContainer {
  let decoder: ColumnDecoder
  let bytes: [UInt8]
  var currentIndex = 0

  init(decoder: ColumnDecoder, bytes: [UInt8]) {
    self.decoder = decoder
    self.bytes = bytes
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { bytes.count }
  var isAtEnd: Bool { currentIndex >= bytes.count }

  mutating func decodeNil() -> Bool { false }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type, .init(codingPath: codingPath, debugDescription: "the BLOB has no more bytes"))
    }
    guard let value = bytes[currentIndex] as? Value else {
      throw decoder.row.mismatch(at: decoder.position, wanted: "sequence of \(type)")
    }
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    try decoder.container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw decoder.row.mismatch(at: decoder.position, wanted: "sequence of sequences")
  }

  mutating func superDecoder() throws -> any Decoder { decoder }
}
