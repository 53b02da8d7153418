import SwappablePrimitives

/// A type of the server, by its object identifier.
public struct PostgresType: Sendable, Hashable, RawRepresentable {
  /// The object identifier of the type, as in `pg_type.oid`.
  public var rawValue: UInt32

  /// Creates a type with an object identifier.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// The type `boolean`.
  public static let boolean = PostgresType(rawValue: 16)
  /// The type `bytea`.
  public static let bytes = PostgresType(rawValue: 17)
  /// The type `bigint`.
  public static let bigint = PostgresType(rawValue: 20)
  /// The type `smallint`.
  public static let smallint = PostgresType(rawValue: 21)
  /// The type `integer`.
  public static let integer = PostgresType(rawValue: 23)
  /// The type `text`.
  public static let text = PostgresType(rawValue: 25)
  /// The type `oid`.
  public static let oid = PostgresType(rawValue: 26)
  /// The type `json`.
  public static let json = PostgresType(rawValue: 114)
  /// The type `real`.
  public static let real = PostgresType(rawValue: 700)
  /// The type `double precision`.
  public static let double = PostgresType(rawValue: 701)
  /// The type `date`.
  public static let date = PostgresType(rawValue: 1082)
  /// The type `time`.
  public static let time = PostgresType(rawValue: 1083)
  /// The type `timestamp`, without a time zone.
  public static let timestamp = PostgresType(rawValue: 1114)
  /// The type `timestamp with time zone`.
  public static let timestampWithTimeZone = PostgresType(rawValue: 1184)
  /// The type `numeric`.
  public static let numeric = PostgresType(rawValue: 1700)
  /// The type `uuid`.
  public static let uuid = PostgresType(rawValue: 2950)
  /// The type `jsonb`.
  public static let jsonb = PostgresType(rawValue: 3802)

  /// The text types `text`, `varchar`, `char(n)`, `name`, `"char"` and `unknown`.
  var isText: Bool { [25, 1043, 1042, 19, 18, 705].contains(rawValue) }

  /// The type of the elements, if this is an array type of a built-in type.
  var element: PostgresType? {
    PostgresType.elements[rawValue].map(PostgresType.init(rawValue:))
  }

  private static let elements: [UInt32: UInt32] = [
    1000: 16, 1001: 17, 1016: 20, 1005: 21, 1007: 23, 1009: 25, 1028: 26, 199: 114, 1021: 700,
    1022: 701, 1182: 1082, 1183: 1083, 1115: 1114, 1185: 1184, 1231: 1700, 2951: 2950, 3807: 3802,
    1015: 1043, 1014: 1042, 1003: 19, 1002: 18, 271: 5069, 1187: 1186,
  ]
}

/// A value of a column or of an argument.
///
/// Equality compares bits: two NaN values are equal, and `0.0` differs from `-0.0`.
public enum PostgresValue: Sendable {
  /// The value NULL.
  case null
  /// A `boolean`.
  case boolean(Bool)
  /// A `smallint`, `integer`, `bigint` or `oid`.
  case integer(Int64)
  /// A `real` or `double precision`.
  ///
  /// A `real` is the number that the server writes, such as 0.1. A `Float` of it is the `real` itself.
  case double(Double)
  /// A `text`, `varchar`, `char(n)` or `name`.
  case text(String)
  /// A `bytea`.
  case bytes([UInt8])
  /// An array. An array of several dimensions contains arrays.
  case array([PostgresValue])
  /// A value of any other type, as the server writes it.
  ///
  /// Examples are `numeric`, `uuid`, `jsonb`, dates and enumerations.
  case other(String, PostgresType)

  /// A Boolean value that indicates whether the value is NULL.
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The name of the kind of the value, for messages.
  var typeName: String {
    switch self {
    case .null: "NULL"
    case .boolean: "the boolean"
    case .integer: "the integer"
    case .double: "the floating-point number"
    case .text: "the text"
    case .bytes: "the bytea"
    case .array: "the array"
    case .other: "the value"
    }
  }
}

extension PostgresValue: Hashable {
  /// Returns a Boolean value that indicates whether two values have the same type and bits.
  public static func == (left: PostgresValue, right: PostgresValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.boolean(let left), .boolean(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
    case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
    case (.bytes(let left), .bytes(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.other(let left, let type), .other(let right, let other)):
      type == other && left.hasSameBytes(as: right)
    default: false
    }
  }

  /// Hashes the type and the bits.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .boolean(let value): hasher.combine(value)
    case .integer(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value.bitPattern)
    case .text(let value), .other(let value, _): for byte in value.utf8 { hasher.combine(byte) }
    case .bytes(let value): hasher.combine(value)
    case .array(let values): hasher.combine(values)
    }
  }
}

extension PostgresValue: CustomStringConvertible {
  /// The value as a literal of SQL.
  public var description: String {
    switch self {
    case .null: "NULL"
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .double(let value): PostgresValue.text(of: value)
    case .text(let value), .other(let value, _): PostgresText.literal(value)
    case .bytes: "'\(parameterText ?? "")'"
    case .array: PostgresText.literal(parameterText ?? "")
    }
  }
}

// MARK: - Texts of the server

extension PostgresValue {
  /// Reads a value from the text that the server has sent.
  init(_ text: UnsafeRawBufferPointer, type: PostgresType) {
    switch type {
    case .bigint, .integer, .smallint, .oid:
      self = PostgresValue.integer(in: text).map { .integer($0) } ?? .other(String(text), type)
    case .boolean: self = .boolean(text.first == UInt8(ascii: "t"))
    case .double, .real: self = .double(Double(String(text)) ?? .nan)
    case .bytes: self = .bytes(PostgresValue.bytes(in: text))
    case _ where type.isText: self = .text(String(text))
    default:
      if let element = type.element {
        var parser = ArrayParser(text: text, element: element)
        if let values = parser.parse() {
          self = .array(values)
          return
        }
      }
      self = .other(String(text), type)
    }
  }

  /// Reads the text of an array, or returns `nil` if it is another text.
  static func array(in text: String, of element: PostgresType = .text) -> [PostgresValue]? {
    var text = text
    return text.withUTF8 { bytes in
      var parser = ArrayParser(text: UnsafeRawBufferPointer(bytes), element: element)
      return parser.parse()
    }
  }

  static func integer(in text: UnsafeRawBufferPointer) -> Int64? {
    var digits = text[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits = digits.dropFirst() }
    guard !digits.isEmpty, digits.count <= 19 else { return nil }
    // A negative number has one value more than a positive one.
    var value: Int64 = 0
    for digit in digits {
      guard digit >= 48, digit <= 57 else { return nil }
      let (tens, hasOverflowed) = value.multipliedReportingOverflow(by: 10)
      let (sum, hasOverflowedAgain) = tens.subtractingReportingOverflow(Int64(digit - 48))
      if hasOverflowed || hasOverflowedAgain { return nil }
      value = sum
    }
    if isNegative { return value }
    return value == .min ? nil : -value
  }

  /// Reads bytes in the form `\x0123…`, or in the form with escapes, which never begins with `\x`.
  private static func bytes(in text: UnsafeRawBufferPointer) -> [UInt8] {
    guard text.count >= 2, text[0] == UInt8(ascii: "\\"), text[1] == UInt8(ascii: "x") else {
      return escapedBytes(in: text)
    }
    func digit(_ byte: UInt8) -> UInt8 {
      byte <= UInt8(ascii: "9") ? byte &- 48 : (byte | 0x20) &- 87
    }
    return stride(from: 2, to: text.count - 1, by: 2).map {
      digit(text[$0]) << 4 | digit(text[$0 + 1])
    }
  }

  /// Reads bytes in which a backslash is doubled, and others are three octal digits behind a backslash.
  private static func escapedBytes(in text: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), rest.count >= 3, rest.first != UInt8(ascii: "\\") {
        bytes.append(rest.prefix(3).reduce(0) { $0 << 3 | ($1 &- 48) & 7 })
        rest = rest.dropFirst(3)
      } else {
        if byte == UInt8(ascii: "\\") { rest = rest.dropFirst() }
        bytes.append(byte)
      }
    }
    return bytes
  }

  private static func text(of number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
    return "\(number)"
  }

  /// The text that is sent to the server, or `nil` for NULL. Bytes are sent as they are.
  var parameterText: String? {
    switch self {
    case .null: nil
    case .boolean(let value): value ? "t" : "f"
    case .integer(let value): "\(value)"
    case .double(let value): PostgresValue.text(of: value)
    case .text(let value), .other(let value, _): value
    case .bytes(let value): "\\x" + value.lazy.map(\.hexadecimal).joined()
    case .array(let values):
      "{" + values.map(\.elementText).joined(separator: ",") + "}"
    }
  }

  /// The text of an element of an array.
  private var elementText: String {
    switch self {
    case .null: return "NULL"
    case .array: return parameterText ?? "{}"
    default:
      let text = parameterText ?? ""
      var quoted = "\""
      for scalar in text.unicodeScalars {
        if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
        quoted.unicodeScalars.append(scalar)
      }
      return quoted + "\""
    }
  }
}

extension String {
  init(_ bytes: UnsafeRawBufferPointer) { self.init(decoding: bytes, as: UTF8.self) }
}

/// Reads the text of an array, for example `{1,NULL,"a b"}` or `[0:1]={{1},{2}}`.
private struct ArrayParser {
  private static let maximumDepth = 6

  let text: UnsafeRawBufferPointer
  let element: PostgresType
  var position = 0

  /// Returns the elements, or `nil` if this is not the text of an array.
  mutating func parse() -> [PostgresValue]? {
    // Skip bounds other than 1.
    if byte == UInt8(ascii: "[") {
      while position < text.count, byte != UInt8(ascii: "=") { position += 1 }
      position += 1
    }
    let values = parseList(depth: 1)
    return position == text.count ? values : nil
  }

  private var byte: UInt8 { position < text.count ? text[position] : 0 }

  private mutating func parseList(depth: Int) -> [PostgresValue]? {
    guard byte == UInt8(ascii: "{"), depth <= ArrayParser.maximumDepth else { return nil }
    position += 1
    var values: [PostgresValue] = []
    if byte == UInt8(ascii: "}") {
      position += 1
      return values
    }
    while true {
      if byte == UInt8(ascii: "{") {
        guard let list = parseList(depth: depth + 1) else { return nil }
        values.append(.array(list))
      } else {
        guard let value = parseValue() else { return nil }
        values.append(value)
      }
      let separator = byte
      position += 1
      if separator == UInt8(ascii: "}") { return values }
      guard separator == UInt8(ascii: ",") else { return nil }
    }
  }

  private mutating func parseValue() -> PostgresValue? {
    var content: [UInt8] = []
    let isQuoted = byte == UInt8(ascii: "\"")
    if isQuoted { position += 1 }
    while position < text.count {
      if byte == UInt8(ascii: "\\") {
        position += 1
      } else if isQuoted ? byte == UInt8(ascii: "\"") : ",}".utf8.contains(byte) {
        break
      }
      content.append(byte)
      position += 1
    }
    guard position < text.count else { return nil }
    if isQuoted { position += 1 }
    if !isQuoted, String(decoding: content, as: UTF8.self).uppercased() == "NULL" { return .null }
    return content.withUnsafeBytes { PostgresValue($0, type: element) }
  }
}

// MARK: - Swift types

/// A type whose values can be arguments of a statement and can be read from a column.
///
/// The integers of the standard library conform, and `Bool`, `Double`, `Float`, `String`, `[UInt8]`, `UUID`, `Date`,
/// arrays of values, and optionals of these types. Reading never converts text to numbers, and refuses a number that
/// does not fit.
public protocol PostgresValueConvertible {
  /// The value to send.
  var postgresValue: PostgresValue { get }

  /// Reads a value. Returns `nil` if it has another type or does not fit.
  init?(postgresValue: PostgresValue)
}

extension PostgresValue: PostgresValueConvertible {
  /// The value itself.
  public var postgresValue: PostgresValue { self }

  /// Takes any value.
  public init?(postgresValue: PostgresValue) { self = postgresValue }
}

extension PostgresValueConvertible where Self: FixedWidthInteger {
  /// The number as a `bigint`, or as a `numeric` if it is too large.
  public var postgresValue: PostgresValue {
    Int64(exactly: self).map { .integer($0) } ?? .other("\(self)", .numeric)
  }

  /// Reads an integer that fits into the type.
  public init?(postgresValue: PostgresValue) {
    guard let number = postgresValue.read(Self.self) else { return nil }
    self = number
  }
}

extension Int: PostgresValueConvertible {}
extension Int8: PostgresValueConvertible {}
extension Int16: PostgresValueConvertible {}
extension Int32: PostgresValueConvertible {}
extension Int64: PostgresValueConvertible {}
extension UInt: PostgresValueConvertible {}
extension UInt8: PostgresValueConvertible {}
extension UInt16: PostgresValueConvertible {}
extension UInt32: PostgresValueConvertible {}
extension UInt64: PostgresValueConvertible {}

extension Bool: PostgresValueConvertible {
  /// The value as a `boolean`.
  public var postgresValue: PostgresValue { .boolean(self) }

  /// Reads a `boolean`.
  public init?(postgresValue: PostgresValue) {
    guard case .boolean(let value) = postgresValue else { return nil }
    self = value
  }
}

extension Double: PostgresValueConvertible {
  /// The number as a `double precision`.
  public var postgresValue: PostgresValue { .double(self) }

  /// Reads a floating-point number, or an integer that a `Double` represents exactly.
  public init?(postgresValue: PostgresValue) {
    switch postgresValue {
    case .double(let value): self = value
    case .integer(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension Float: PostgresValueConvertible {
  /// The number as a `real`.
  public var postgresValue: PostgresValue { .double(Double(self)) }

  /// Reads a floating-point number, rounded to the nearest `Float`, or an integer that a `Float` represents exactly.
  public init?(postgresValue: PostgresValue) {
    switch postgresValue {
    case .double(let value): self = Float(value)
    case .integer(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension String: PostgresValueConvertible {
  /// The string as `text`.
  public var postgresValue: PostgresValue { .text(self) }

  /// Reads text, or the text of a `numeric`, `jsonb`, enumeration, or other value.
  public init?(postgresValue: PostgresValue) {
    switch postgresValue {
    case .text(let value), .other(let value, _): self = value
    default: return nil
    }
  }
}

extension Array: PostgresValueConvertible where Element: PostgresValueConvertible {
  /// The elements as an array, or the bytes as a `bytea`.
  public var postgresValue: PostgresValue {
    // An empty array of any type can be cast.
    if Element.self == UInt8.self, let bytes = self as? [UInt8] { return .bytes(bytes) }
    return .array(map(\.postgresValue))
  }

  /// Reads an array, or a `bytea` as `[UInt8]`.
  public init?(postgresValue: PostgresValue) {
    switch postgresValue {
    case .bytes(let bytes):
      guard Element.self == UInt8.self, let bytes = bytes as? [Element] else { return nil }
      self = bytes
    case .array(let values):
      var elements: [Element] = []
      for value in values {
        guard let element = Element(postgresValue: value) else { return nil }
        elements.append(element)
      }
      self = elements
    default: return nil
    }
  }
}

extension Optional: PostgresValueConvertible where Wrapped: PostgresValueConvertible {
  /// The wrapped value, or NULL.
  public var postgresValue: PostgresValue { self?.postgresValue ?? .null }

  /// Reads NULL as `nil`, and any other value as the wrapped type does.
  public init?(postgresValue: PostgresValue) {
    if postgresValue.isNull {
      self = .none
    } else if let value = Wrapped(postgresValue: postgresValue) {
      self = .some(value)
    } else {
      return nil
    }
  }
}

/// The values of a statement's arguments `$1`, `$2`, …, in order.
///
///     try await connection.query("SELECT title FROM task WHERE list = $1 AND due < $2", [7, date])
public struct PostgresArguments: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// The values, in order.
  public let values: [PostgresValue]

  /// Creates arguments from values.
  public init(_ values: some Sequence<PostgresValue> = []) {
    self.values = Array(values)
  }

  /// Creates arguments from Swift values.
  public init(arrayLiteral values: any PostgresValueConvertible...) {
    self.values = values.map(\.postgresValue)
  }
}
