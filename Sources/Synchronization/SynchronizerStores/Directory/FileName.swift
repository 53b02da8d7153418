public import Diffing
import SwappablePrimitives

/// The file names of arbitrary keys.
///
/// A name consists of `a` to `z`, digits and `- _ . =`. Such names stay distinct on file systems that
/// ignore case or Unicode normalization. They are never names of hidden files or devices. A short
/// plain key is its own name. Other bytes become `=` and two hexadecimal digits. The store's own files
/// begin with `+`, which is not the first character of any name.
enum FileName {
  /// The largest length of a name without a hash. Longer names are cut and get a hash of the key.
  static let limit = 180
  private static let keptLength = 100

  /// Returns the possible names of a key, an infinite sequence that begins with the best one.
  static func candidates(for key: String.UTF8View, hash: UInt64) -> some Sequence<String> {
    let escaped = escape(key)
    let fits = escaped.reduce(0) { $0 + $1.utf8.count } <= limit
    var length = 0
    let kept = escaped.prefix { part in
      length += part.utf8.count
      return length <= keptLength
    }
    // `h` is not a hexadecimal digit, so no escaped key contains `=h`.
    let long = kept.joined() + "=h" + hash.hexadecimal
    return (0...).lazy.compactMap { number in
      switch number {
      case 0: fits ? (escaped.isEmpty ? "=" : escaped.joined()) : nil
      case 1: long
      default: "\(long)-\(number)"
      }
    }
  }

  /// Returns a Boolean value that indicates whether an index may contain this name.
  ///
  /// It must neither lead out of the folder nor name one of the store's own files.
  static func isPossible(_ name: String) -> Bool {
    name.utf8.count <= 255 && !name.isEmpty && name.utf8.first != UInt8(ascii: ".")
      && name.utf8.allSatisfy {
        isPlain($0) || [UInt8(ascii: "."), UInt8(ascii: "=")].contains($0)
      }
  }

  private static func escape(_ key: String.UTF8View) -> [String] {
    let dot = UInt8(ascii: ".")
    let isDevice = devices.contains(String(decoding: key.prefix { $0 != dot }, as: UTF8.self))
    var parts: [String] = []
    parts.reserveCapacity(key.count)
    var last = dot
    for (offset, byte) in key.enumerated() {
      let isKept =
        byte == dot
        ? last != dot && offset != key.count - 1
        // Programs would treat a name that begins with a dash as an option.
        : isPlain(byte) && !(offset == 0 && (byte == UInt8(ascii: "-") || isDevice))
      parts.append(isKept ? String(UnicodeScalar(byte)) : "=" + byte.hexadecimal)
      last = byte
    }
    return parts
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static let devices: Set<String> = Set(
    ["con", "prn", "aux", "nul"]
      + (0...9).flatMap { ["com\($0)", "lpt\($0)"] })
}

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
    if string.utf8.withContiguousStorageIfAvailable({
      hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }) == nil {
      for byte in string.utf8 { hasher.combine(byte) }
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
