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

  /// Decodes `type`: at once where it is read from a column as it is.
  func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let direct = type as? any SQLiteValueConvertible.Type,
      let value = direct.init(sqliteValue: row[position]) as? Value
    {
      return value
    }
    return try Value(from: self)
  }

  /// Reads an INTEGER that is not negative.
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
