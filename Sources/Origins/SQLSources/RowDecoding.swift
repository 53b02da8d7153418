extension SQLRow {
  /// Decodes the row. Each coding key takes the column with its name.
  ///
  /// - Parameter dates: The unit of numbers that are dates, or `nil` for seconds that do not look like another unit.
  /// - Throws: A `Failure` that names the column, or an error of the type's own decoding.
  package func decoded<Decoded: Decodable>(
    as type: Decoded.Type, dates: DateUnit?
  ) throws -> Decoded {
    do {
      let decoder = RowDecoder(row: self, dates: dates)
      if FoundationType(type) != nil { return try decoder.onlyColumn().decode(type) }
      return try Decoded(from: decoder)
    } catch let error as DecodingError {
      let context: DecodingError.Context? =
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
          .keyNotFound(_, let context), .dataCorrupted(let context):
          context
        @unknown default: nil
        }
      let column = context?.codingPath.first.map { " from column \"\($0.stringValue)\"" } ?? ""
      throw Failure(
        kind: .decoding,
        "\(type) cannot be decoded\(column): \(context?.debugDescription ?? "\(error)")",
        help: "change the type or the query")
    }
  }
}

private struct RowDecoder<Row: SQLRow>: Decoder {
  let row: Row
  let dates: DateUnit?
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer(row: row, dates: dates))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw Row.Failure(
      kind: .decoding, "a row cannot be decoded as an array",
      help: "decode a type with one property for each column")
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { try onlyColumn() }

  func onlyColumn() throws(Row.Failure) -> ColumnDecoder<Row> {
    let count = row.columns.names.count
    guard count == 1 else {
      throw Row.Failure(
        kind: .decoding, "a row of \(count) columns cannot be decoded as one value",
        help: "select one column, or decode a type with one property for each column")
    }
    return ColumnDecoder(row: row, position: 0, codingPath: [], dates: dates)
  }
}

private struct RowContainer<Row: SQLRow, Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: Row
  let dates: DateUnit?
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { row.columns.names.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { row.columns.position(of: key.stringValue) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try column(key).decodeNil() }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try column(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try column(key).decode(type)
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try column(key).decode(type)
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try column(key).decode(type) }
  func decode<Number: FixedWidthInteger & Decodable>(
    _ type: Number.Type, forKey key: Key
  ) throws -> Number {
    try column(key).decode(type)
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try column(key).decode(type)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try column(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try column(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { RowDecoder(row: row, dates: dates) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try column(key) }

  private func column(_ key: Key) throws(Row.Failure) -> ColumnDecoder<Row> {
    ColumnDecoder(
      row: row, position: try row.requiredPosition(of: key.stringValue), codingPath: [key],
      dates: dates)
  }
}

/// Decodes the value of one column, or one of its elements: a single value, or the elements of an array or a blob.
private struct ColumnDecoder<Row: SQLRow>: Decoder, SingleValueDecodingContainer {
  let row: Row
  let position: Int
  let codingPath: [any CodingKey]
  let dates: DateUnit?
  /// The element of the column that is decoded, or `nil` for the whole value.
  var element: Row.Value?
  /// The seconds since 2001, while a `Date` decodes itself.
  var dateSeconds: Double?
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  private var value: Row.Value { element ?? row[position] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw mismatch("type with several properties")
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = value.elements else { throw mismatch(Row.Value.listName) }
    return ElementsContainer(decoder: self, elements: elements)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try require(value.read(type)) }
  func decode(_ type: String.Type) throws -> String { try require(value.read(type)) }
  func decode(_ type: Double.Type) throws -> Double { try require(dateSeconds ?? value.read(type)) }
  func decode(_ type: Float.Type) throws -> Float { try require(value.read(type)) }
  func decode<Number: FixedWidthInteger & Decodable>(_ type: Number.Type) throws -> Number {
    try require(value.read(type))
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let stored = value.readStored(type) { return stored }
    switch FoundationType(type) {
    case .date:
      var decoder = self
      let seconds = try row.secondsSince1970(value, at: position, dates)
      decoder.dateSeconds = seconds - 978_307_200
      return try Value(from: decoder)
    case .decimal:
      let text = value.numberText ?? value.read(String.self) ?? ""
      return try require(
        (type as? any (SignedNumeric & ExpressibleByFloatLiteral).Type)
          .flatMap { decimal(text, as: $0) as? Value })
    case nil: return try Value(from: self)
    }
  }

  func mismatch(_ wanted: String) -> Row.Failure {
    row.mismatchError(at: position, wanted: element == nil ? wanted : "array of \(wanted)")
  }

  private func require<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw mismatch("\(Value.self)") }
    return value
  }
}

/// The elements of an array or a blob, as an unkeyed container.
private struct ElementsContainer<Row: SQLRow>: UnkeyedDecodingContainer {
  let decoder: ColumnDecoder<Row>
  let elements: [Row.Value]
  var currentIndex = 0

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  mutating func decodeNil() -> Bool {
    guard !isAtEnd, elements[currentIndex].isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next(type) { try $0.decode(type) }
  }

  mutating func nestedContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    try decoder.container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next([Row.Value].self) { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next(Row.Value.self) { $0 } }

  private mutating func next<Value>(
    _ type: Any.Type, decode: (ColumnDecoder<Row>) throws -> Value
  ) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type, .init(codingPath: codingPath, debugDescription: "the array has no more elements"))
    }
    var element = decoder
    element.element = elements[currentIndex]
    let value = try decode(element)
    currentIndex += 1
    return value
  }
}
