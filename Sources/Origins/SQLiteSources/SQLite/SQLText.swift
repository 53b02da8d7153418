import SQLSources

/// Answers to questions on SQL text that SQLite itself does not answer.
extension SQLText {
  /// Returns the first word in upper case, after space, comments and semicolons.
  static func firstWord(_ sql: String) -> String { firstWord(sql.utf8[...]) }

  /// Returns a Boolean value that indicates whether a statement leaves the meaning of other
  /// statements unchanged.
  static func isPlain(_ sql: Substring.UTF8View) -> Bool {
    guard firstWord(sql) == "PRAGMA" else { return true }
    let text = Substring(sql).lowercased()
    return !["case_sensitive_like", "writable_schema"].contains { text.contains($0) }
  }

  static func firstWord(_ sql: Substring.UTF8View) -> String {
    var scanner = SQLScanner(sql)
    scanner.skipSpace()
    while scanner.byte() == UInt8(ascii: ";") {
      scanner.position += 1
      scanner.skipSpace()
    }
    let word = scanner.bytes[scanner.position...].prefix { isLetter($0) }
    return String(decoding: word, as: UTF8.self).uppercased()
  }

  /// Returns a word with uppercase ASCII letters. Other letters are no letters of keywords.
  static func uppercased(_ word: String) -> String {
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    return String(decoding: word.utf8.map { letters.contains($0) ? $0 & ~0x20 : $0 }, as: UTF8.self)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
}

struct SQLToken: Equatable {
  enum Kind: Equatable {
    /// A word without quotes: a keyword or a name.
    case word
    /// A name in any kind of quotes.
    case quotedName
    case string
    case number
    case blob
    case parameter
    /// One character of an operator, or a parenthesis.
    case mark(UInt8)
  }

  var kind: Kind
  var range: Range<Int>
  /// A quoted name without its quotes, and any other token as it is written.
  var text: String

  var word: String? { kind == .word ? SQLText.uppercased(text) : nil }

  var isName: Bool { kind == .word || kind == .quotedName }

  func isMark(_ character: Unicode.Scalar) -> Bool { kind == .mark(UInt8(ascii: character)) }
}

// Splits SQL into tokens. It understands less than SQLite does, and refuses the rest.
extension SQLScanner {
  /// Returns the tokens of a text without comments, or `nil` if the scanner does not understand it.
  static func tokens(of sql: String) -> [SQLToken]? {
    var scanner = SQLScanner(sql.utf8)
    var tokens: [SQLToken] = []
    while true {
      scanner.skipSpace()
      if scanner.position == scanner.bytes.count { return tokens }
      guard let token = scanner.next() else { return nil }
      tokens.append(token)
    }
  }

  private mutating func next() -> SQLToken? {
    let start = position
    let first = byte()
    let kind: SQLToken.Kind
    var text: String?
    switch first {
    case UInt8(ascii: "'"):
      guard skipQuoted(by: first) != nil else { return nil }
      kind = .string
    case UInt8(ascii: "\""), UInt8(ascii: "`"):
      guard let name = skipQuoted(by: first) else { return nil }
      (kind, text) = (.quotedName, name)
    case UInt8(ascii: "["):
      guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "]")) else { return nil }
      position = end + 1
      (kind, text) = (.quotedName, String(decoding: bytes[(start + 1)..<end], as: UTF8.self))
    case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"):
      position += 1
      skipName()
      guard position > start + 1 || first == UInt8(ascii: "?") else { return nil }
      // SQLite allows longer names of arguments, which the scanner does not need.
      guard byte() != UInt8(ascii: ":"), first != UInt8(ascii: "$") || byte() != UInt8(ascii: "(")
      else { return nil }
      kind = .parameter
    case _ where SQLScanner.isDigit(first),
      UInt8(ascii: ".") where SQLScanner.isDigit(byte(1)):
      skipNumber()
      kind = .number
    case UInt8(ascii: "x") where byte(1) == UInt8(ascii: "'"),
      UInt8(ascii: "X") where byte(1) == UInt8(ascii: "'"):
      position += 1
      guard skipQuoted(by: byte()) != nil else { return nil }
      kind = .blob
    case _ where SQLScanner.isNamePart(first):
      skipName()
      kind = .word
    case _ where "()*,.;=<>!+-/%&|~".utf8.contains(first):
      position += 1
      kind = .mark(first)
    default:
      return nil
    }
    return SQLToken(
      kind: kind, range: start..<position,
      text: text ?? String(decoding: bytes[start..<position], as: UTF8.self))
  }

  /// Skips quoted text and returns its content, or `nil` if the quotes do not end.
  private mutating func skipQuoted(by quote: UInt8) -> String? {
    var content: [UInt8] = []
    position += 1
    while position < bytes.count {
      if byte() != quote {
        content.append(byte())
      } else if byte(1) == quote {
        content.append(quote)
        position += 1
      } else {
        position += 1
        return String(decoding: content, as: UTF8.self)
      }
      position += 1
    }
    return nil
  }

  private mutating func skipNumber() {
    while SQLScanner.isNamePart(byte()) || byte() == UInt8(ascii: ".")
      || (byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-"))
        && bytes[position - 1] | 0x20 == UInt8(ascii: "e")
    {
      position += 1
    }
  }
}
