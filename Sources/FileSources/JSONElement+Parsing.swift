extension JSONElement {
  /// Creates an element from a text with one JSON value of any kind.
  ///
  /// - Parameters:
  ///   - text: The value. White space around it is ignored.
  ///   - key: The name of the member that identifies the element, or `nil` to identify it by the
  ///     whole value.
  /// - Throws: An error with the position and the reason, if the text is not valid or the key is
  ///   missing.
  public init(parsing text: String, key: String? = nil) throws(JSONError) {
    try self.init(parsing: Array(text.utf8), key: key)
  }

  /// Creates an element from UTF-8 with one JSON value of any kind.
  ///
  /// - Parameters:
  ///   - bytes: The value. A byte order mark and white space around it are ignored.
  ///   - key: The name of the member that identifies the element, or `nil` to identify it by the
  ///     whole value.
  /// - Throws: An error with the position and the reason, if the text is not valid or the key is
  ///   missing.
  public init(parsing bytes: [UInt8], key: String? = nil) throws(JSONError) {
    self = try Self.parse(bytes, capacity: bytes.count) {
      (scanner) throws(JSONScanner.Fault) in
      let element = try Self.scanElement(&scanner, depth: 0, key: key.map(Self.quoted))
      try Self.scanEnd(&scanner, after: "value")
      return element
    }
  }

  /// Returns the elements of a JSON array in UTF-8.
  ///
  /// - Parameters:
  ///   - bytes: The text of the array. A byte order mark and white space around it are ignored.
  ///   - key: The name of the member that identifies an element, or `nil` to identify it by the
  ///     whole value.
  /// - Returns: The elements in order.
  /// - Throws: An error with the position and the reason, if the text is not an array of such
  ///   elements.
  /// - Complexity: One pass over the text, with two allocations for each element.
  public static func elements(
    ofArray bytes: [UInt8], key: String? = nil
  ) throws(JSONError) -> [JSONElement] {
    try JSONDocument(bytes, key: key).elements(ElementDecoding())
  }

  /// Reads one element and finds its key.
  static func scanElement(
    _ scanner: inout JSONScanner, depth: Int, key: [UInt8]?
  ) throws(JSONScanner.Fault) -> JSONElement {
    let start = scanner.position
    var match = key.map { JSONScanner.KeyMatch(name: $0) }
    scanner.beginOutput()
    try scanner.scanValue(depth: depth, key: &match)
    let bytes = scanner.takeOutput()
    guard let match else { return JSONElement(canonical: bytes) }
    guard let value = match.value else {
      let element = JSONElement(canonical: bytes)
      let key = JSONText.decoded(match.name[...])
      let error: JSONError =
        element.members.map { .missingKey(key, among: $0.map(\.name)) }
        ?? .missingKey(key, in: element.kind)
      throw JSONScanner.Fault(code: error.code, offset: start, reason: error.reason)
    }
    if bytes[value.lowerBound] == UInt8(ascii: "{") || bytes[value.lowerBound] == UInt8(ascii: "[")
    {
      let kind = JSONElement(canonical: Array(bytes[value])).kind
      throw JSONScanner.Fault(
        code: .invalidKey, offset: start,
        reason: "the key \(String(decoding: match.name, as: UTF8.self)) is \(kind.described); "
          + "a key is a string, a number, true, false or null")
    }
    return JSONElement(canonical: bytes, key: value)
  }

  static func quoted(_ name: String) -> [UInt8] {
    var bytes: [UInt8] = []
    JSONText.append(name, to: &bytes)
    return bytes
  }
}

extension JSONElement.Kind {
  /// Creates the kind of a valid value from its first byte.
  init(startingWith byte: UInt8?) {
    self =
      switch byte {
      case UInt8(ascii: "{"): .object
      case UInt8(ascii: "["): .array
      case UInt8(ascii: "\""): .string
      case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
      case UInt8(ascii: "n"): .null
      default: .number
      }
  }

  var described: String {
    switch self {
    case .null: "null"
    case .bool: "a truth value"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONError {
  static func missingKey(_ key: String, among names: [String]) -> JSONError {
    let shown = names.prefix(8).joined(separator: ", ") + (names.count > 8 ? ", …" : "")
    return JSONError(
      code: .missingKey,
      reason: "the element has no member \"\(key)\", which is the key; "
        + (names.isEmpty ? "it has no members" : "its members are \(shown)"))
  }

  static func missingKey(_ key: String, in kind: JSONElement.Kind) -> JSONError {
    JSONError(
      code: .missingKey,
      reason: "the element is \(kind.described), so it has no member \"\(key)\", which is the key; "
        + "only objects have keys")
  }
}

extension JSONError.Position {
  /// Counts the lines up to an offset, and the Unicode scalars in the last line. A line ends in a
  /// line feed, a carriage return, or both.
  init(of offset: Int, in bytes: ArraySlice<UInt8>) {
    line = 1
    column = 1
    let end = min(offset, bytes.endIndex)
    for index in bytes.startIndex..<max(end, bytes.startIndex) {
      let byte = bytes[index]
      let isReturnBeforeFeed =
        byte == 0x0D && index + 1 < bytes.endIndex && bytes[index + 1] == 0x0A
      if byte == 0x0A || byte == 0x0D && !isReturnBeforeFeed {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
  }
}
