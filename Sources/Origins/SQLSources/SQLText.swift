package import SwappablePrimitives

/// Functions on SQL and on messages that are the same for all databases.
package enum SQLText {
  /// Returns a name in quotes, which a database reads as nothing but a name.
  package static func quoted(_ name: String) -> String { "\"" + name.doubling("\"") + "\"" }

  /// Returns text with each run of white space as one space, cut off after `limit` characters.
  package static func oneLine(_ text: String, limit: Int = 500) -> String {
    let words = text.split { $0.isWhitespace || $0.isNewline || $0 == "\0" }
    let line = words.joined(separator: " ")
    return line.count > limit ? line.prefix(limit) + "…" : line
  }

  /// Describes a position in SQL, for messages.
  ///
  /// - Parameters:
  ///   - before: The units of text before the position, in which columns are counted.
  ///   - newline: The unit that ends a line.
  ///   - rest: The text at the position.
  package static func position<Unit: Equatable>(
    after before: some BidirectionalCollection<Unit>, newline: Unit, rest: String
  ) -> String {
    let line = before.count { $0 == newline } + 1
    let column = before.reversed().prefix { $0 != newline }.count + 1
    let rest = oneLine(rest, limit: 20)
    let place = line == 1 ? "column \(column)" : "line \(line), column \(column)"
    return rest.isEmpty ? place : "\(place) («\(rest)»)"
  }

  /// Returns a Boolean value that indicates whether two names are equal apart from the case of ASCII letters.
  package static func isSameName(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count
      && zip(one.utf8, other.utf8).allSatisfy { lowered($0) == lowered($1) }
  }

  /// Returns a name with lowercase ASCII letters. Equal names then have equal bytes.
  package static func lowered(_ name: String) -> ByteString {
    ByteString(bytes: name.utf8.map { lowered($0) })
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
