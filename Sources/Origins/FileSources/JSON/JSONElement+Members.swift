public import ChangeDescriptions
import SwappablePrimitives

extension JSONElement {
  /// A JSON value that is neither an array nor an object.
  ///
  /// Two strings are equal if they consist of the same Unicode scalars, as for elements.
  public enum Scalar: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number as JSON writes it, such as `-1.5e3`. All digits are kept.
    case number(String)
    /// A decoded string.
    case string(String)

    /// Creates a number from an integer.
    public static func integer(_ value: some BinaryInteger) -> Scalar {
      .number(String(value))
    }
  }

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

  /// The kind of the value.
  public var kind: Kind { Kind(startingWith: storage.bytes.first) }

  /// The value, or `nil` if it is an array or an object.
  public var scalar: Scalar? {
    switch kind {
    case .null: .null
    case .bool: .bool(storage.bytes.first == UInt8(ascii: "t"))
    case .number: .number(description)
    case .string: .string(JSONText.decoded(storage.bytes[...]))
    case .array, .object: nil
    }
  }

  /// The string, or `nil` if the value is not a string.
  public var string: String? { if case .string(let value) = scalar { value } else { nil } }

  /// The integer, or `nil` if the value is not an integer or does not fit.
  public var integer: Int? { kind == .number ? Int(description) : nil }

  /// Accesses the value of a member.
  ///
  /// If several members have the name, the value is the value of the last one. It is `nil` if there is
  /// no such member, or if the element is not an object.
  ///
  /// - Complexity: O(n) in the bytes of the element.
  public subscript(name: String) -> JSONElement? {
    guard kind == .object else { return nil }
    let quoted = Self.quoted(name)
    var match: Range<Int>?
    for member in JSONMemberRanges(storage.bytes) {
      guard let name = member.name, name.count == quoted.count else { continue }
      if storage.bytes[name] == quoted[...] { match = member.value }
    }
    return match.map(part)
  }

  /// The members in order, or `nil` if the element is not an object.
  public var members: [(name: String, value: JSONElement)]? {
    guard kind == .object else { return nil }
    return JSONMemberRanges(storage.bytes).map { child in
      (child.name.map { JSONText.decoded(storage.bytes[$0]) } ?? "", part(child.value))
    }
  }

  /// The name of the member that identifies the element, or `nil` if the whole element does.
  package var keyName: String? {
    let member = JSONMemberRanges(storage.bytes).first { $0.value == storage.key }
    return member?.name.map { JSONText.decoded(storage.bytes[$0]) }
  }

  /// A Boolean value that indicates whether a part of the element identifies it, or something that was left out.
  package var hasKey: Bool { storage.identity != nil || storage.key != storage.bytes.indices }

  /// The identity, if no member is the key, but a part of a member, several members, or something that was left out.
  package var separateIdentity: [UInt8]? {
    hasKey && keyName == nil ? Array(differenceIdentifier.utf8) : nil
  }

  /// Returns an object with some of the members, in the order of the names.
  ///
  /// The member that identifies the element is kept: in front, unless it is among the names. An element
  /// that is not an object is returned as it is.
  ///
  /// - Parameters:
  ///   - names: The names, in the order of the result.
  ///   - other: A closure that returns the member for a name that no member has, or `nil`.
  package func keeping(
    members names: [String],
    orElse other: (String) -> (name: String, value: JSONElement)? = { _ in nil }
  ) -> JSONElement {
    guard kind == .object else { return self }
    let members = Array(JSONMemberRanges(storage.bytes))
    let key = members.last { $0.value == storage.key }
    var kept: [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>, isKey: Bool)] = []
    for name in names {
      let quoted = Self.quoted(name)
      if let member = members.last(where: { storage.bytes[$0.name ?? 0..<0] == quoted[...] }) {
        kept.append(
          (quoted[...], storage.bytes[member.value], member.value == key?.value))
      } else if let (name, value) = other(name) {
        kept.append((Self.quoted(name)[...], value.storage.bytes[...], false))
      }
    }
    if let key, !kept.contains(where: \.isKey) {
      kept.insert((storage.bytes[key.name ?? 0..<0], storage.bytes[key.value], true), at: 0)
    }
    var (bytes, keyRange) = ([UInt8(ascii: "{")], Range<Int>?.none)
    for (offset, member) in kept.enumerated()
    where !kept[..<offset].contains(where: { $0.name == member.name }) {
      if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
      bytes += member.name
      bytes.append(UInt8(ascii: ":"))
      let start = bytes.count
      bytes += member.value
      if member.isKey { keyRange = start..<bytes.count }
    }
    bytes.append(UInt8(ascii: "}"))
    return JSONElement(
      canonical: bytes, key: keyRange, identity: keyRange == nil ? separateIdentity : nil)
  }

  /// Returns the values of an array.
  ///
  /// - Parameter key: The name of the member that identifies a value. If it is `nil`, the whole value
  ///   identifies itself.
  /// - Returns: The values in order, or `nil` if the element is not an array.
  /// - Throws: An error for a value that has no key, or whose key is an array or an object.
  public func items(key: String? = nil) throws(JSONElement.ParsingError) -> [JSONElement]? {
    guard kind == .array else { return nil }
    let spans = JSONMemberRanges(storage.bytes).map(\.value)
    guard let key else { return spans.map(part) }
    let values = JSONValues(text: storage.bytes, spans: spans, key: key, depth: 0).elements()
    if let error = values.error {
      throw JSONElement.ParsingError(
        code: error.code, reason: error.reason,
        position: JSONElement.ParsingError.Position(
          of: spans[error.offset].lowerBound, in: storage.bytes[...]),
        elementOffset: error.offset)
    }
    return values.elements
  }

  private func part(_ range: Range<Int>) -> JSONElement {
    JSONElement(canonical: Array(storage.bytes[range]))
  }

  /// Creates an object.
  ///
  /// - Parameters:
  ///   - members: The names and values of the members, in order.
  ///   - key: The name of the member that identifies the element. If it is `nil`, the whole element
  ///     identifies itself.
  /// - Throws: An error if there is no such member, or if a number is not valid JSON.
  public init(
    members: [(name: String, value: Scalar)], key: String? = nil
  ) throws(JSONElement.ParsingError) {
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

  /// Creates an object from members with values of any kind.
  ///
  /// - Parameters:
  ///   - members: The names and values, in order.
  ///   - key: The name of the member that identifies the element, or `nil`.
  ///   - identity: The identity if it is no member.
  package init(
    members: [(name: String, value: JSONElement)], keyName key: String?, identity: [UInt8]? = nil
  ) {
    var (bytes, keyRange) = ([UInt8(ascii: "{")], Range<Int>?.none)
    for (name, value) in members {
      if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
      JSONText.append(name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      let start = bytes.count
      bytes += value.storage.bytes
      if let key, key.utf8.elementsEqual(name.utf8) { keyRange = start..<bytes.count }
    }
    bytes.append(UInt8(ascii: "}"))
    self.init(canonical: bytes, key: keyRange, identity: keyRange == nil ? identity : nil)
  }

  /// Creates an array from values.
  package init(items: [JSONElement]) {
    let texts = items.map { $0.storage.bytes }.joined(separator: [UInt8(ascii: ",")])
    self.init(canonical: [UInt8(ascii: "[")] + texts + [UInt8(ascii: "]")])
  }

  /// Creates an element from a value that is neither an array nor an object.
  ///
  /// - Throws: An error if a number is not valid JSON.
  public init(_ scalar: Scalar) throws(JSONElement.ParsingError) {
    var bytes: [UInt8] = []
    try Self.append(scalar, to: &bytes)
    self.init(canonical: bytes)
  }

  private static func append(_ value: Scalar, to bytes: inout [UInt8]) throws(JSONElement
    .ParsingError)
  {
    switch value {
    case .null: bytes += Array("null".utf8)
    case .bool(let value): bytes += Array((value ? "true" : "false").utf8)
    case .string(let value): JSONText.append(value, to: &bytes)
    case .number(let text):
      guard let first = text.utf8.first, first == UInt8(ascii: "-") || first &- 0x30 < 10,
        (try? JSONElement(parsing: text))?.storage.bytes.count == text.utf8.count
      else {
        throw JSONElement.ParsingError(
          code: .syntax, reason: "\(text) is not a JSON number; use a string instead")
      }
      bytes += Array(text.utf8)
    }
  }
}

extension JSONElement.Scalar: Hashable {
  /// Returns a Boolean value that indicates whether two values are of one kind and are written the same way.
  public static func == (left: JSONElement.Scalar, right: JSONElement.Scalar) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left.hasSameBytes(as: right)
    case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
    default: false
    }
  }

  /// Hashes the value.
  public func hash(into hasher: inout Hasher) {
    // Equal bytes are equal strings, so the hash of the string serves.
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let text), .string(let text): hasher.combine(text)
    }
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

  /// The kind with its article, for error messages.
  var described: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean value"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONElement: ChangeDescribable {
  /// The key as JSON, or `nil` if the element has no key.
  public var changeLabel: String? {
    hasKey ? differenceIdentifier.description : nil
  }

  /// The canonical text without the key's member, or an empty text if there is no other member.
  public var changeText: String {
    guard storage.key != storage.bytes.indices else { return description }
    let members = JSONMemberRanges(storage.bytes).filter { $0.value != storage.key }
    let texts = members.map { member in
      String(
        decoding: storage.bytes[(member.name ?? member.value).lowerBound..<member.value.upperBound],
        as: UTF8.self)
    }
    return texts.isEmpty ? "" : "{\(texts.joined(separator: ","))}"
  }

  /// Returns the members that differ. The members of a nested object are named by their path.
  public func changedFields(from old: JSONElement) -> [ChangeDescription.FieldChange] {
    var changes: [ChangeDescription.FieldChange] = []
    Self.compare(old.storage.bytes, storage.bytes, path: "", into: &changes)
    return changes
  }

  private static func compare(
    _ old: [UInt8], _ new: [UInt8], path: String,
    into changes: inout [ChangeDescription.FieldChange]
  ) {
    guard isObject(old), isObject(new) else { return }
    let (olds, news) = (Array(JSONMemberRanges(old)), Array(JSONMemberRanges(new)))
    func name(_ name: Range<Int>?, in bytes: [UInt8]) -> String {
      path + (name.map { JSONText.decoded(bytes[$0]) } ?? "")
    }
    var isMatched = Array(repeating: false, count: olds.count)
    for (child, place) in zip(news, places(of: news, in: new, among: olds, in: old)) {
      guard let place else {
        changes.append(
          .init(name: name(child.name, in: new), old: nil, new: text(new[child.value])))
        continue
      }
      isMatched[place] = true
      let (oldValue, newValue) = (old[olds[place].value], new[child.value])
      if oldValue == newValue { continue }
      let (oldBytes, newBytes) = (Array(oldValue), Array(newValue))
      let name = name(child.name, in: new)
      if isObject(oldBytes), isObject(newBytes) {
        compare(oldBytes, newBytes, path: name + ".", into: &changes)
      } else if JSONElement(canonical: oldBytes) != JSONElement(canonical: newBytes) {
        changes.append(.init(name: name, old: text(oldValue), new: text(newValue)))
      }
    }
    for (child, isMatched) in zip(olds, isMatched) where !isMatched {
      changes.append(
        .init(name: name(child.name, in: old), old: text(old[child.value]), new: nil))
    }
  }

  private typealias Child = (name: Range<Int>?, value: Range<Int>)

  /// Returns, for each new member, the offset of the old member with the same name, or `nil`.
  ///
  /// If several members have the same name, they are matched in order.
  private static func places(
    of news: [Child], in new: [UInt8], among olds: [Child], in old: [UInt8]
  ) -> [Int?] {
    func name(_ child: Child, in bytes: [UInt8]) -> ArraySlice<UInt8> {
      child.name.map { bytes[$0] } ?? []
    }
    let isSame =
      olds.count == news.count
      && zip(olds, news).allSatisfy { name($0, in: old) == name($1, in: new) }
    if isSame { return Array(news.indices) }
    var places: [ArraySlice<UInt8>: [Int]] = [:]
    for (place, child) in olds.enumerated().reversed() {
      places[name(child, in: old), default: []].append(place)
    }
    return news.map { places[name($0, in: new)]?.popLast() }
  }

  private static func isObject(_ bytes: [UInt8]) -> Bool { bytes.first == UInt8(ascii: "{") }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
