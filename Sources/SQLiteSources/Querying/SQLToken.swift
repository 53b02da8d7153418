/// One token of SQL.
struct SQLToken: Equatable {
  enum Kind: Equatable {
    /// A word without quotes: a keyword or a name.
    case word
    /// A name in quotes of any kind.
    case quotedName
    case string
    case number
    case blob
    case parameter
    /// One character of an operator, or a bracket.
    case mark(UInt8)
  }

  var kind: Kind
  /// Where it stands, in bytes.
  var range: Range<Int>
  /// A quoted name without its quotes, anything else as it is written.
  var text: String

  /// The word in upper case; `nil` for anything else.
  var word: String? { kind == .word ? text.uppercased() : nil }

  /// Whether it can name a table or a column.
  var isName: Bool { kind == .word || kind == .quotedName }

  func isMark(_ character: Unicode.Scalar) -> Bool { kind == .mark(UInt8(ascii: character)) }
}

/// Takes SQL apart; it understands less than SQLite does, and says so.
struct SQLTokenizer {
  private let bytes: [UInt8]
  private var position = 0

  /// The tokens of `sql`, comments left out; `nil` where it is not understood.
  static func tokens(of sql: String) -> [SQLToken]? {
    var tokenizer = SQLTokenizer(bytes: Array(sql.utf8))
    var tokens: [SQLToken] = []
    while tokenizer.skipSpace(), tokenizer.position < tokenizer.bytes.count {
      guard let token = tokenizer.next() else { return nil }
      tokens.append(token)
    }
    return tokenizer.position == tokenizer.bytes.count ? tokens : nil
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  private func byte(_ offset: Int = 0) -> UInt8 {
    position + offset < bytes.count ? bytes[position + offset] : 0
  }

  /// - Returns: `false` in a comment that does not end.
  private mutating func skipSpace() -> Bool {
    while position < bytes.count {
      if byte() == UInt8(ascii: " ") || (9...13).contains(byte()) && byte() != 11 {
        position += 1
      } else if byte() == UInt8(ascii: "-"), byte(1) == UInt8(ascii: "-") {
        while position < bytes.count, byte() != UInt8(ascii: "\n") { position += 1 }
      } else if byte() == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
        position += 2
        while byte() != UInt8(ascii: "*") || byte(1) != UInt8(ascii: "/") {
          guard position < bytes.count else { return false }
          position += 1
        }
        position += 2
      } else {
        break
      }
    }
    return true
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
      // Names of arguments may go on in ways that nobody needs here.
      guard byte() != UInt8(ascii: ":"), first != UInt8(ascii: "$") || byte() != UInt8(ascii: "(")
      else { return nil }
      kind = .parameter
    case _ where SQLTokenizer.isDigit(first),
      UInt8(ascii: ".") where SQLTokenizer.isDigit(byte(1)):
      skipNumber()
      kind = .number
    case UInt8(ascii: "x") where byte(1) == UInt8(ascii: "'"),
      UInt8(ascii: "X") where byte(1) == UInt8(ascii: "'"):
      position += 1
      guard skipQuoted(by: byte()) != nil else { return nil }
      kind = .blob
    case _ where SQLTokenizer.isNamePart(first):
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

  /// - Returns: what stands between the quotes; `nil` where they do not end.
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

  private mutating func skipName() {
    while position < bytes.count, SQLTokenizer.isNamePart(byte()) { position += 1 }
  }

  private mutating func skipNumber() {
    while SQLTokenizer.isNamePart(byte()) || byte() == UInt8(ascii: ".")
      || (byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-"))
        && bytes[position - 1] | 0x20 == UInt8(ascii: "e")
    {
      position += 1
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || byte >= 0x80
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
