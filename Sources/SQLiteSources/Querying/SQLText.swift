/// Looking at SQL as text, as far as SQLite itself gives no answer.
enum SQLText {
  /// The first word of `sql` in upper case, after white space, comments and semicolons.
  static func firstWord(_ sql: String) -> String { firstWord(sql.utf8[...]) }

  /// Whether the statement that `sql` begins with leaves the meaning of others as it is.
  static func isPlain(_ sql: Substring.UTF8View) -> Bool {
    guard firstWord(sql) == "PRAGMA" else { return true }
    let text = Substring(sql).lowercased()
    return !["case_sensitive_like", "writable_schema"].contains { text.contains($0) }
  }

  private static func firstWord(_ sql: Substring.UTF8View) -> String {
    var rest = sql
    while let byte = rest.first {
      if isSpace(byte) || byte == UInt8(ascii: ";") {
        rest = rest.dropFirst()
      } else if rest.starts(with: "--".utf8) {
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      } else if rest.starts(with: "/*".utf8) {
        rest = rest.dropFirst(2)
        while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
        rest = rest.dropFirst(2)
      } else {
        break
      }
    }
    let word = rest.prefix { isLetter($0) }
    return String(Substring(word)).uppercased()
  }

  /// `name` in quotes, so that it is nothing but a name.
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }

  /// Whether two texts are the same byte by byte.
  static func isSame(_ one: String, _ other: String) -> Bool {
    var (one, other) = (one, other)
    return one.withUTF8 { left in other.withUTF8 { left.elementsEqual($0) } }
  }

  /// Whether two names are one to SQLite: it ignores the case of ASCII letters.
  static func isSameName(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count
      && zip(one.utf8, other.utf8).allSatisfy { lowered($0) == lowered($1) }
  }

  /// `name` in lower case, as far as SQLite ignores that.
  static func lowered(_ name: String) -> String {
    String(decoding: name.utf8.map(lowered), as: UTF8.self)
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  /// `text` with each stretch of white space as one space, cut after `limit` characters.
  static func oneLine(_ text: String, limit: Int = 500) -> String {
    let words = text.split { $0.isWhitespace || $0.isNewline || $0 == "\0" }
    let line = words.joined(separator: " ")
    return line.count > limit ? line.prefix(limit) + "…" : line
  }

  /// Where byte `offset` of `sql` is, in words.
  static func position(of offset: Int, in sql: String) -> String {
    let before = sql.utf8.prefix(offset)
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let column =
      before.count
      - (before.lastIndex(of: UInt8(ascii: "\n")).map {
        before.distance(from: before.startIndex, to: $0) + 1
      } ?? 0) + 1
    let rest = oneLine(String(decoding: sql.utf8.dropFirst(offset), as: UTF8.self), limit: 20)
    let place = line == 1 ? "column \(column)" : "line \(line), column \(column)"
    return rest.isEmpty ? place : "\(place) («\(rest)»)"
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || (9...13).contains(byte)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
}
