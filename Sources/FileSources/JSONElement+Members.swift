extension JSONElement {
  /// The kinds of JSON values.
  public enum Kind: String, Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool
    /// A number.
    case number
    /// A string.
    case string
    /// An array.
    case array
    /// An object.
    case object
  }

  /// What kind of value it is.
  public var kind: Kind { Kind(startingWith: storage.bytes.first) }

  /// The value, if it is neither an array nor an object.
  public var scalar: JSONScalar? {
    switch kind {
    case .null: .null
    case .bool: .bool(storage.bytes.first == UInt8(ascii: "t"))
    case .number: .number(description)
    case .string: .string(JSONText.decoded(storage.bytes[...]))
    case .array, .object: nil
    }
  }

  /// The string, if it is one.
  public var string: String? { if case .string(let value) = scalar { value } else { nil } }

  /// The integer, if it is a number that is written as one and fits.
  public var integer: Int? { kind == .number ? Int(description) : nil }

  /// The value of a member; of several of one name, the last.
  ///
  /// Nil where there is no such member, and where it is no object.
  /// - Complexity: O(n) in the bytes of the element.
  public subscript(name: String) -> JSONElement? {
    guard kind == .object else { return nil }
    var quoted: [UInt8] = []
    JSONText.append(name, to: &quoted)
    let match = JSONText.children(of: storage.bytes).last { child in
      child.name.map { storage.bytes[$0] == quoted[...] } ?? false
    }
    return match.map { part($0.value) }
  }

  /// The members of an object, in order; nil where it is none.
  public var members: [(name: String, value: JSONElement)]? {
    guard kind == .object else { return nil }
    return JSONText.children(of: storage.bytes).map { child in
      (child.name.map { JSONText.decoded(storage.bytes[$0]) } ?? "", part(child.value))
    }
  }

  /// Reads the values of an array.
  ///
  /// - Parameter key: the name of the member by which the values are known, if they have one.
  /// - Returns: the values in order; nil where it is no array.
  /// - Throws: an error that names the value without the key, or whose key is no scalar.
  public func items(key: String? = nil) throws(JSONError) -> [JSONElement]? {
    guard kind == .array else { return nil }
    return try Self.elements(ofArray: storage.bytes, key: key)
  }

  private func part(_ range: Range<Int>) -> JSONElement {
    JSONElement(canonical: Array(storage.bytes[range]))
  }

  /// Creates an object.
  ///
  /// - Parameters:
  ///   - members: names and values, in the order in which they are to be written.
  ///   - key: the name of the member by which the element is known; nil for the whole element.
  /// - Throws: an error if there is no such member, or a number is not written as JSON does it.
  public init(
    members: [(name: String, value: JSONScalar)], key: String? = nil
  ) throws(JSONError) {
    var bytes: [UInt8] = [UInt8(ascii: "{")]
    var keyRange: Range<Int>?
    for (name, value) in members {
      if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
      JSONText.append(name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      let start = bytes.count
      try Self.append(value, to: &bytes)
      if let key, key.utf8.elementsEqual(name.utf8) { keyRange = start..<bytes.count }
    }
    bytes.append(UInt8(ascii: "}"))
    if let key, keyRange == nil { throw .missingKey(key, among: members.map(\.name)) }
    self.init(canonical: bytes, key: keyRange)
  }

  /// Creates an element from a value that is neither an array nor an object.
  ///
  /// - Throws: an error if a number is not written as JSON does it.
  public init(_ scalar: JSONScalar) throws(JSONError) {
    var bytes: [UInt8] = []
    try Self.append(scalar, to: &bytes)
    self.init(canonical: bytes)
  }

  private static func append(_ value: JSONScalar, to bytes: inout [UInt8]) throws(JSONError) {
    switch value {
    case .null: bytes += Array("null".utf8)
    case .bool(let value): bytes += Array((value ? "true" : "false").utf8)
    case .string(let value): JSONText.append(value, to: &bytes)
    case .number(let text):
      guard let first = text.utf8.first, first == UInt8(ascii: "-") || first &- 0x30 < 10,
        (try? JSONElement(parsing: text))?.storage.bytes.count == text.utf8.count
      else {
        throw JSONError(
          code: .syntax, reason: "\(text) is not how JSON writes a number; use a string for it")
      }
      bytes += Array(text.utf8)
    }
  }
}
