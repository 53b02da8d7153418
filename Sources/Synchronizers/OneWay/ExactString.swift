public import Diffing

/// Text that equals only text of the same bytes.
///
/// To `String` the two ways of writing é are equal, an accented letter and a letter with its accent. For a
/// key that comes from elsewhere they are two keys, or one of them is lost:
///
///     struct Page: Identifiable, Hashable, Sendable, Differentiable {
///       let id: ExactString
///       var entityTag: String
///     }
public struct ExactString: Sendable {
  /// The text.
  public let string: String

  /// Makes one of a text.
  public init(_ string: String) {
    var string = string
    string.makeContiguousUTF8()
    self.string = string
  }
}

extension ExactString: Hashable {
  /// Whether both have the same bytes.
  public static func == (one: ExactString, other: ExactString) -> Bool {
    one.string.utf8.elementsEqual(other.string.utf8)
  }

  /// Feeds the bytes into `hasher`.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(string.utf8.count)
    if string.utf8.withContiguousStorageIfAvailable({
      hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }) == nil {
      for byte in string.utf8 { hasher.combine(byte) }
    }
  }
}

extension ExactString: Comparable {
  /// Whether its bytes come first, which is the order of Unicode's code points.
  public static func < (one: ExactString, other: ExactString) -> Bool {
    one.string.utf8.lexicographicallyPrecedes(other.string.utf8)
  }
}

extension ExactString: Codable {
  /// Reads a plain text.
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }

  /// Writes a plain text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(string)
  }
}

extension ExactString: LosslessStringConvertible, ExpressibleByStringLiteral {
  /// The text.
  public var description: String { string }

  /// Makes one of a literal.
  public init(stringLiteral value: String) { self.init(value) }
}

extension ExactString: Differentiable {}
