public import Diffing
import ObservableCollections

/// A JSON value, stored as text. Reading and writing an element loses nothing.
///
/// The text is compact and canonical:
///
/// - There is no white space outside strings, and escapes are as short as possible.
/// - Members keep their order. If several members have the same name, all are kept, and a lookup
///   returns the last one.
/// - Numbers are kept as they were written. Integers may have any size.
/// - A surrogate escape without its partner stays an escape, because UTF-8 cannot represent it. It is
///   decoded as U+FFFD.
///
/// Strings are equal if they consist of the same Unicode scalars. Strings that look the same may differ.
/// Numbers are equal if they are written the same way. Objects are equal if they have the same members,
/// in any order.
///
/// ```swift
/// let element = try JSONElement(parsing: #"{ "id": 5, "name": "caf\u00e9" }"#, key: "id")
/// print(element)           // {"id":5,"name":"café"}
/// element["name"]?.scalar  // .string("café")
/// ```
///
/// Copying an element copies one reference.
public struct JSONElement: Sendable {
  final class Storage: Sendable {
    /// The canonical text.
    let bytes: [UInt8]
    /// The range of the key's value, or the range of the whole text if there is no key, or if it is no part of the text.
    let key: Range<Int>
    /// The identity, if it is no part of the text: the values of several fields, or one that was left out.
    let identity: [UInt8]?

    init(bytes: [UInt8], key: Range<Int>?, identity: [UInt8]?) {
      self.bytes = bytes
      self.key = key ?? 0..<bytes.count
      self.identity = identity
    }
  }

  let storage: Storage

  /// Creates an element from canonical text.
  ///
  /// - Parameters:
  ///   - bytes: The canonical text.
  ///   - key: The range of the key's value, or `nil` if the whole element is the key.
  ///   - identity: The identity, if it is no part of the text.
  init(canonical bytes: [UInt8], key: Range<Int>? = nil, identity: [UInt8]? = nil) {
    storage = Storage(bytes: bytes, key: key, identity: identity)
  }

  /// The value `null`, without a key.
  package static let null = JSONElement(canonical: Array("null".utf8))

  /// The canonical text as UTF-8.
  public var utf8: [UInt8] { storage.bytes }
}

extension JSONElement {
  /// Creates an element from a text with one JSON value of any kind.
  ///
  /// - Parameters:
  ///   - text: The value. White space around it is ignored.
  ///   - key: The name of the member that identifies the element. If no member has the name, it is a path such as
  ///     `metadata.uid`, or several names or paths, separated by commas, which identify the element together. A name with
  ///     such a character is quoted: `"a.b".c`. If the key is `nil`, the whole value identifies the element.
  /// - Throws: An error with the position and the reason if the text is not valid or the key is
  ///   missing.
  public init(parsing text: String, key: String? = nil) throws(JSONElement.ParsingError) {
    try self.init(parsing: Array(text.utf8), key: key)
  }

  /// Creates an element from UTF-8 with one JSON value of any kind.
  ///
  /// - Parameters:
  ///   - bytes: The value. A byte order mark and white space around it are ignored.
  ///   - key: The name of the member that identifies the element. If it is `nil`, the whole value
  ///     identifies the element.
  /// - Throws: An error with the position and the reason if the text is not valid or the key is
  ///   missing.
  public init(parsing bytes: [UInt8], key: String? = nil) throws(JSONElement.ParsingError) {
    try self.init(bytes, key: key, maximumDepth: JSONScanner.maximumDepth)
  }

  /// Creates a value from an event. The elements in it may be nested as deeply as in other texts.
  package init(parsingEvent bytes: [UInt8]) throws(JSONElement.ParsingError) {
    try self.init(
      bytes, key: nil, maximumDepth: JSONScanner.maximumDepth + JSONScanner.eventDepth)
  }

  private init(
    _ bytes: [UInt8], key: String?, maximumDepth: Int
  ) throws(JSONElement.ParsingError) {
    self = try JSONDocument.parse(bytes, capacity: bytes.count, maximumDepth: maximumDepth) {
      (scanner) throws(JSONScanner.ScanError) in
      let element = try Self.scanElement(&scanner, depth: 0, key: key.map(Self.quoted))
      try scanner.scanEnd(after: "value")
      return element
    }
  }

  /// Returns the elements of a JSON array in UTF-8.
  ///
  /// - Parameters:
  ///   - bytes: The text of the array. A byte order mark and white space around it are ignored.
  ///   - key: The name of the member that identifies an element. If it is `nil`, the whole value
  ///     identifies the element.
  /// - Returns: The elements in order.
  /// - Throws: An error with the position and the reason if the text is not an array, or if an
  ///   element lacks its key.
  /// - Complexity: One pass over the text, with two allocations for each element.
  public static func elements(
    ofArray bytes: [UInt8], key: String? = nil
  ) throws(JSONElement.ParsingError) -> [JSONElement] {
    try JSONDocument.load(bytes, key: key, decoding: ElementDecoding()).elements
  }

  /// Reads one element and finds its key.
  static func scanElement(
    _ scanner: inout JSONScanner, depth: Int, key: [UInt8]?
  ) throws(JSONScanner.ScanError) -> JSONElement {
    let start = scanner.position
    var match = key.map { JSONScanner.KeyMatch(name: $0) }
    scanner.beginOutput()
    try scanner.scanValue(depth: depth, key: &match)
    let bytes = scanner.takeOutput()
    guard let match else { return JSONElement(canonical: bytes) }
    guard let value = match.value else {
      if let fields = KeyFields(JSONText.decoded(match.name[...])) {
        do throws(JSONElement.ParsingError) {
          return try fields.identified(bytes)
        } catch {
          throw JSONScanner.ScanError(code: error.code, offset: start, reason: error.reason)
        }
      }
      let element = JSONElement(canonical: bytes)
      let key = JSONText.decoded(match.name[...])
      let error: JSONElement.ParsingError =
        element.members.map { .missingKey(key, among: $0.map(\.name)) }
        ?? .missingKey(key, in: element.kind)
      throw JSONScanner.ScanError(code: error.code, offset: start, reason: error.reason)
    }
    if bytes[value.lowerBound] == UInt8(ascii: "{") || bytes[value.lowerBound] == UInt8(ascii: "[")
    {
      let kind = JSONElement(canonical: Array(bytes[value])).kind
      throw JSONScanner.ScanError(
        code: .invalidKey, offset: start,
        reason: "the key \(String(decoding: match.name, as: UTF8.self)) is \(kind.described); "
          + "use a string, a number, true, false or null as the key")
    }
    return JSONElement(canonical: bytes, key: value)
  }

  /// Returns a name as a JSON string.
  static func quoted(_ name: String) -> [UInt8] {
    var bytes: [UInt8] = []
    JSONText.append(name, to: &bytes)
    return bytes
  }
}

extension JSONElement: CustomStringConvertible, TextOutputStreamable {
  /// The canonical text.
  public var description: String { String(decoding: storage.bytes, as: UTF8.self) }

  /// Writes the canonical text.
  public func write(to target: inout some TextOutputStream) { target.write(description) }
}

extension JSONElement: Hashable {
  /// Returns a Boolean value that indicates whether two elements have equal contents.
  ///
  /// - Complexity: O(n) in the bytes. If the bytes differ but their number does not, O(n log n) at
  ///   worst.
  public static func == (left: JSONElement, right: JSONElement) -> Bool {
    left.storage.isEqual(
      to: right.storage, in: left.storage.bytes.indices, right.storage.bytes.indices)
  }

  /// Hashes the contents. Members are hashed in the order of their names.
  public func hash(into hasher: inout Hasher) {
    storage.hash(storage.bytes.indices, into: &hasher)
  }
}

extension JSONElement: SizedElement {
  package var referencedBytes: Int { 80 + utf8.count }
}

extension JSONElement: Differentiable {
  /// The identity of an element: the value of its key, or the whole element if it has no key.
  ///
  /// A number differs from a string, and from the same number that is written in another way.
  public struct Identifier: Hashable, Sendable, CustomStringConvertible {
    fileprivate let storage: Storage

    /// The value, as JSON.
    public var description: String { String(decoding: utf8, as: UTF8.self) }

    /// The bytes of the value, as JSON.
    package var utf8: ArraySlice<UInt8> { storage.identity?[...] ?? storage.bytes[storage.key] }

    /// Returns whether two values are equal. The order of members does not matter.
    public static func == (left: Identifier, right: Identifier) -> Bool {
      if left.storage.identity == nil, right.storage.identity == nil {
        return left.storage.isEqual(to: right.storage, in: left.storage.key, right.storage.key)
      }
      return left.utf8 == right.utf8
    }

    /// Hashes the value. Members are hashed in the order of their names.
    public func hash(into hasher: inout Hasher) {
      guard let identity = storage.identity else { return storage.hash(storage.key, into: &hasher) }
      ByteComparison.hash(identity, identity.indices, into: &hasher)
    }
  }

  /// The value of the key, or the whole element if it has no key.
  public var differenceIdentifier: Identifier { Identifier(storage: storage) }

  /// Returns a Boolean value that indicates whether two elements have equal contents.
  public func isContentEqual(to source: JSONElement) -> Bool { self == source }
}

extension JSONElement.Storage {
  /// Returns a Boolean value that indicates whether two parts have equal contents.
  fileprivate func isEqual(
    to other: JSONElement.Storage, in part: Range<Int>, _ otherPart: Range<Int>
  ) -> Bool {
    if self === other { return true }
    guard part.count == otherPart.count else { return false }
    if ByteComparison.areEqual(bytes, part, other.bytes, otherPart) { return true }
    // Another order of members changes neither the number of bytes nor their sum.
    guard isContainer(part), other.isContainer(otherPart), sum(part) == other.sum(otherPart) else {
      return false
    }
    return JSONText.normalForm(of: Array(bytes[part]))
      == JSONText.normalForm(of: Array(other.bytes[otherPart]))
  }

  fileprivate func hash(_ part: Range<Int>, into hasher: inout Hasher) {
    if isContainer(part) {
      _ = JSONText.hash(bytes, at: part.lowerBound, into: &hasher)
    } else {
      ByteComparison.hash(bytes, part, into: &hasher)
    }
  }

  private func isContainer(_ part: Range<Int>) -> Bool {
    bytes[part.lowerBound] == UInt8(ascii: "{") || bytes[part.lowerBound] == UInt8(ascii: "[")
  }

  private func sum(_ part: Range<Int>) -> UInt { bytes[part].reduce(0) { $0 &+ UInt($1) } }
}
