public import Diffing

/// A text whose equality compares bytes.
///
/// Two `String`s are equal if they differ only in Unicode normalization, for example in the two
/// encodings of é. Use this type for keys from other systems, in which such keys are distinct:
///
///     struct Page: Identifiable, Hashable, Sendable, Differentiable {
///       let id: ExactString
///       var entityTag: String
///     }
public struct ExactString: Sendable {
  /// The text.
  public let string: String

  /// Creates an exact string from a text.
  public init(_ string: String) {
    var string = string
    string.makeContiguousUTF8()
    self.string = string
  }
}

extension ExactString: Hashable {
  /// Returns a Boolean value that indicates whether both texts have the same bytes.
  public static func == (one: ExactString, other: ExactString) -> Bool {
    one.string.utf8.elementsEqual(other.string.utf8)
  }

  /// Adds the bytes to a hasher.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(string.utf8.count)
    // The initializer makes the bytes contiguous.
    _ = string.utf8.withContiguousStorageIfAvailable {
      hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
  }
}

extension ExactString: Comparable {
  /// Returns a Boolean value that indicates whether the bytes of the first text are smaller.
  ///
  /// This is the order of the Unicode code points.
  public static func < (one: ExactString, other: ExactString) -> Bool {
    one.string.utf8.lexicographicallyPrecedes(other.string.utf8)
  }
}

extension ExactString: Codable {
  /// Decodes a plain text.
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }

  /// Encodes a plain text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(string)
  }
}

extension ExactString: LosslessStringConvertible, ExpressibleByStringLiteral {
  /// The text.
  public var description: String { string }

  /// Creates an exact string from a literal.
  public init(stringLiteral value: String) { self.init(value) }
}

extension ExactString: Differentiable {}
