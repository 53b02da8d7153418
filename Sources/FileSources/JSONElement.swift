public import Diffing

/// One JSON value, kept as text: nothing of it is lost by being read and written.
///
/// The text is compact and canonical: no white space outside of strings, the shortest escapes, members
/// in their order, numbers as they were written, so that integers of any size survive. Members of one
/// name are all kept; a look-up finds the last. A surrogate escape without its partner, which UTF-8
/// cannot hold, stays an escape, and reads as U+FFFD.
///
/// Two elements have equal contents if their strings are equal scalar by scalar, their numbers are
/// written alike, and their objects have the same members in any order. Strings that look alike but
/// are composed of other scalars differ.
///
/// ```swift
/// let element = try JSONElement(parsing: #"{ "id": 5, "name": "caf\u00e9" }"#, key: "id")
/// print(element)           // {"id":5,"name":"café"}
/// element["name"]?.scalar  // .string("café")
/// ```
///
/// A copy costs one reference.
public struct JSONElement: Sendable {
  final class Storage: Sendable {
    /// The canonical text.
    let bytes: [UInt8]
    /// Where the value of the key stands in it; all of it where there is no key.
    let key: Range<Int>

    init(bytes: [UInt8], key: Range<Int>?) {
      self.bytes = bytes
      self.key = key ?? 0..<bytes.count
    }
  }

  let storage: Storage

  /// - Parameters:
  ///   - bytes: canonical text.
  ///   - key: where the value of the key stands in it; nil for the whole element.
  init(canonical bytes: [UInt8], key: Range<Int>? = nil) {
    storage = Storage(bytes: bytes, key: key)
  }

  /// The canonical text as UTF-8.
  public var utf8: [UInt8] { storage.bytes }
}

extension JSONElement: CustomStringConvertible, TextOutputStreamable {
  /// The canonical text.
  public var description: String { String(decoding: storage.bytes, as: UTF8.self) }

  /// Writes the canonical text.
  public func write(to target: inout some TextOutputStream) { target.write(description) }
}

extension JSONElement: Hashable {
  /// Tells whether two elements have equal contents.
  ///
  /// - Complexity: one comparison of bytes; where these differ but not in number, O(n log n) at worst.
  public static func == (left: JSONElement, right: JSONElement) -> Bool {
    left.storage.isEqual(
      to: right.storage, in: left.storage.bytes.indices, right.storage.bytes.indices)
  }

  /// Feeds the contents to a hasher, members in the order of their names.
  public func hash(into hasher: inout Hasher) {
    storage.hash(storage.bytes.indices, into: &hasher)
  }
}

extension JSONElement: Differentiable {
  /// What an element is known by: the value of its key, or all of it where it has no key.
  ///
  /// Numbers are told apart from strings, and from other ways to write the same number.
  public struct Identifier: Hashable, Sendable, CustomStringConvertible {
    fileprivate let storage: Storage

    /// The value as JSON.
    public var description: String {
      String(decoding: storage.bytes[storage.key], as: UTF8.self)
    }

    /// Tells whether two values are equal, members in any order.
    public static func == (left: Identifier, right: Identifier) -> Bool {
      left.storage.isEqual(to: right.storage, in: left.storage.key, right.storage.key)
    }

    /// Feeds the value to a hasher, members in the order of their names.
    public func hash(into hasher: inout Hasher) { storage.hash(storage.key, into: &hasher) }
  }

  /// The value of the key, or the whole element where it has no key.
  public var differenceIdentifier: Identifier { Identifier(storage: storage) }

  /// Tells whether two elements have equal contents.
  public func isContentEqual(to source: JSONElement) -> Bool { self == source }
}

extension JSONElement.Storage {
  /// Tells whether two parts have equal contents.
  ///
  /// Another order of members keeps the number of bytes, and how often each occurs.
  fileprivate func isEqual(
    to other: JSONElement.Storage, in part: Range<Int>, _ otherPart: Range<Int>
  ) -> Bool {
    if self === other { return true }
    guard part.count == otherPart.count else { return false }
    if JSONBytes.areEqual(bytes, part, other.bytes, otherPart) { return true }
    guard isContainer(part), other.isContainer(otherPart), sum(part) == other.sum(otherPart) else {
      return false
    }
    return JSONText.normalForm(of: Array(bytes[part]))
      == JSONText.normalForm(of: Array(other.bytes[otherPart]))
  }

  fileprivate func hash(_ part: Range<Int>, into hasher: inout Hasher) {
    if isContainer(part) {
      let form = JSONText.normalForm(of: Array(bytes[part]))
      JSONBytes.hash(form, form.indices, into: &hasher)
    } else {
      JSONBytes.hash(bytes, part, into: &hasher)
    }
  }

  private func isContainer(_ part: Range<Int>) -> Bool {
    bytes[part.lowerBound] == UInt8(ascii: "{") || bytes[part.lowerBound] == UInt8(ascii: "[")
  }

  private func sum(_ part: Range<Int>) -> UInt { bytes[part].reduce(0) { $0 &+ UInt($1) } }
}
