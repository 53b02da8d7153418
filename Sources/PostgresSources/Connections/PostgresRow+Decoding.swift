extension PostgresRow {
  /// Decodes the row. Each coding key takes the column with its name.
  ///
  /// An optional property decodes NULL, or a missing column, as `nil`. An array decodes as an array, and a `bytea` as
  /// `[UInt8]`. A type that needs more than one column cannot be nested.
  ///
  /// - Throws: A ``PostgresError`` that names the column, or an error of the type's own decoding.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    do {
      return try Value(from: RowDecoder(row: self))
    } catch let error as DecodingError {
      throw decodingError(error, type: "\(type)")
    }
  }

  private func decodingError(_ error: DecodingError, type: String) -> PostgresError {
    let context: DecodingError.Context? =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .keyNotFound(_, let context), .dataCorrupted(let context):
        context
      @unknown default: nil
      }
    let column = context?.codingPath.first.map { " from column \"\($0.stringValue)\"" } ?? ""
    return PostgresError(
      .decoding, "\(type) cannot be decoded\(column): \(context?.debugDescription ?? "\(error)")",
      help: "change the type or the query")
  }
}

struct RowDecoder: Decoder {
  let row: PostgresRow
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer(row: row))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw PostgresError(
      .decoding, "a row cannot be decoded as an array",
      help: "decode a type with one property for each column")
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    guard row.count == 1 else {
      throw PostgresError(
        .decoding, "a row of \(row.count) columns cannot be decoded as one value",
        help: "select one column, or decode a type with one property for each column")
    }
    return ColumnDecoder(row: row, position: 0, codingPath: [])
  }
}

private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: PostgresRow
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
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try read(key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try read(key) }

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

  private func position(of key: Key) throws(PostgresError) -> Int {
    try row.position(of: key.stringValue)
  }

  private func read<Value: PostgresValueConvertible>(_ key: Key) throws(PostgresError) -> Value {
    try row.value(at: try position(of: key))
  }

  private func columnDecoder(_ key: Key) throws(PostgresError) -> ColumnDecoder {
    ColumnDecoder(row: row, position: try position(of: key), codingPath: [key])
  }
}

/// Decodes the value of one column: a single value, or the bytes of a bytea.
struct ColumnDecoder: Decoder, SingleValueDecodingContainer {
  let row: PostgresRow
  let position: Int
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw row.mismatch(at: position, wanted: "type with several properties")
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    switch row[position] {
    case .bytes(let bytes):
      ElementsContainer(decoder: self, elements: bytes.map { .integer(Int64($0)) })
    case .array(let values): ElementsContainer(decoder: self, elements: values)
    default: throw row.mismatch(at: position, wanted: "array")
    }
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
  func decode(_ type: UInt.Type) throws -> UInt { try row.value(at: position) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try row.value(at: position) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try row.value(at: position) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try row.value(at: position) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try row.value(at: position) }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(type) }

  /// Decodes a value. If its type can be read from a column, no decoder is used.
  func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let direct = type as? any PostgresValueConvertible.Type,
      let value = direct.init(postgresValue: row[position]) as? Value
    {
      return value
    }
    return try Value(from: self)
  }
}

/// The elements of an array, or the bytes of a `bytea`, as an unkeyed container.
private struct ElementsContainer: UnkeyedDecodingContainer {
  let decoder: ColumnDecoder
  let elements: [PostgresValue]
  var currentIndex = 0

  init(decoder: ColumnDecoder, elements: [PostgresValue]) {
    self.decoder = decoder
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  mutating func decodeNil() -> Bool {
    guard !isAtEnd, elements[currentIndex].isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type, .init(codingPath: codingPath, debugDescription: "the array has no more elements"))
    }
    guard let direct = type as? any PostgresValueConvertible.Type,
      let value = direct.init(postgresValue: elements[currentIndex]) as? Value
    else { throw decoder.row.mismatch(at: decoder.position, wanted: "array of \(type)") }
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    try decoder.container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard !isAtEnd, case .array(let values) = elements[currentIndex] else {
      throw decoder.row.mismatch(at: decoder.position, wanted: "array of arrays")
    }
    currentIndex += 1
    return ElementsContainer(decoder: decoder, elements: values)
  }

  mutating func superDecoder() throws -> any Decoder { decoder }
}
