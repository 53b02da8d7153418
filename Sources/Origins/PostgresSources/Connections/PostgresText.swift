import SQLSources
import SwappablePrimitives

/// Functions on SQL and on messages.
enum PostgresText {
  /// Returns text as a literal of SQL, for statements that cannot have arguments.
  static func literal(_ text: String) -> String {
    let doubled = text.doubling("'")
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return "'\(doubled)'" }
    return "E'\(doubled.doubling("\\"))'"
  }

  /// Returns SQL without passwords: strings after the word PASSWORD, and connection strings.
  static func redacted(_ sql: String) -> String {
    var followsPassword = false
    let masked = replacingTokens(of: sql) { token, text in
      defer { followsPassword = token.kind == .word && text.uppercased().hasSuffix("PASSWORD") }
      return token.kind == .string && followsPassword ? "'…'" : nil
    }
    return ConnectionString.redact(masked)
  }

  /// Returns a message of the server without its severity, for example `FATAL:`.
  static func withoutSeverity(_ message: String) -> String {
    let severity = message.prefix { $0.isLetter }
    let rest = message[severity.endIndex...]
    guard !severity.isEmpty, rest.first == ":" else { return message }
    return String(rest.dropFirst().drop { $0.isWhitespace })
  }

  /// Describes the position of a character, for messages.
  static func position(of offset: Int, in sql: String) -> String {
    let scalars = sql.unicodeScalars
    return SQLText.position(
      after: scalars.prefix(offset), newline: "\n",
      rest: String(String.UnicodeScalarView(scalars.dropFirst(offset))))
  }

  /// Returns the first word in upper case, after space, comments, parentheses and semicolons.
  static func firstWord(_ sql: String) -> String {
    var scanner = SQLScanner(sql.utf8, nestsComments: true)
    while let token = scanner.next() {
      if token.kind == .mark, "(;".utf8.contains(scanner.bytes[token.range.lowerBound]) { continue }
      return token.kind == .word ? scanner.text(token).uppercased() : ""
    }
    return ""
  }

  /// Returns the SQL of one statement without the semicolons at its end.
  ///
  /// - Throws: A ``PostgresError`` if there is no statement, or if there are several.
  static func singleStatement(_ sql: String) throws(PostgresError) -> String {
    var scanner = SQLScanner(sql.utf8, nestsComments: true)
    var start: Int?
    var end = 0
    var isEnded = false
    while let token = scanner.next() {
      if token.kind == .mark, scanner.bytes[token.range.lowerBound] == UInt8(ascii: ";") {
        isEnded = start != nil
        continue
      }
      if isEnded {
        throw PostgresError(
          .severalStatements, "the SQL contains several statements", sql: sql,
          help: "use one statement here, and pass the others to separate calls")
      }
      start = start ?? token.range.lowerBound
      end = token.range.upperBound
    }
    if sql.utf8.contains(0) { throw .nulCharacter(in: sql) }
    guard let start else {
      throw PostgresError(.emptySQL, "the SQL contains no statement", help: "write a statement")
    }
    return String(decoding: scanner.bytes[start..<end], as: UTF8.self)
  }

  /// Returns the largest number of an argument, as in `$3`, or 0 if there are no arguments.
  static func argumentCount(_ sql: String) -> Int {
    var scanner = SQLScanner(sql.utf8, nestsComments: true)
    var count = 0
    while let token = scanner.next() {
      if token.kind == .parameter { count = max(count, Int(scanner.text(token).dropFirst()) ?? 0) }
    }
    return count
  }

  /// Returns SQL in which each argument is replaced by a typed NULL.
  ///
  /// - Parameter types: The name of each argument's type, as SQL.
  static func withoutArguments(_ sql: String, types: [String]) -> String {
    replacingTokens(of: sql) { token, text in
      guard token.kind == .parameter, let number = Int(text.dropFirst()),
        types.indices.contains(number - 1)
      else { return nil }
      return "CAST(NULL AS \(types[number - 1]))"
    }
  }

  /// Returns SQL with other text in place of the tokens for which a closure returns one.
  private static func replacingTokens(
    of sql: String, by replacement: (SQLScanner.Token, _ text: String) -> String?
  ) -> String {
    var scanner = SQLScanner(sql.utf8, nestsComments: true)
    var result: [UInt8] = []
    var copied = 0
    while let token = scanner.next() {
      guard let new = replacement(token, scanner.text(token)) else { continue }
      result += scanner.bytes[copied..<token.range.lowerBound] + Array(new.utf8)
      copied = token.range.upperBound
    }
    result += scanner.bytes[copied...]
    return String(decoding: result, as: UTF8.self)
  }
}

// Splits SQL into tokens, as PostgreSQL with `standard_conforming_strings` does.
//
// It finds the ends of strings, names and comments. Everything else is a word, a number, an argument or one
// character.
extension SQLScanner {
  struct Token {
    enum Kind {
      case word, quotedName, string, number, parameter, mark
    }

    var kind: Kind
    var range: Range<Int>
  }

  func text(_ token: Token) -> String { String(decoding: bytes[token.range], as: UTF8.self) }

  /// Returns the next token, or `nil` at the end.
  mutating func next() -> Token? {
    skipSpace()
    guard position < bytes.count else { return nil }
    let start = position
    let kind = scan()
    return Token(kind: kind, range: start..<position)
  }

  private mutating func scan() -> Token.Kind {
    switch byte() {
    case UInt8(ascii: "'"):
      skipQuoted(by: byte(), backslashEscapes: false)
      return .string
    case UInt8(ascii: "\""):
      skipQuoted(by: byte(), backslashEscapes: false)
      return .quotedName
    case UInt8(ascii: "e") where byte(1) == UInt8(ascii: "'"),
      UInt8(ascii: "E") where byte(1) == UInt8(ascii: "'"):
      position += 1
      skipQuoted(by: byte(), backslashEscapes: true)
      return .string
    case UInt8(ascii: "$"): return scanDollar()
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      while Self.isNamePart(byte()) || byte() == UInt8(ascii: ".") { position += 1 }
      return .number
    case let first where Self.isNameStart(first):
      skipName()
      return .word
    default:
      position += 1
      return .mark
    }
  }

  /// Scans an argument, as in `$1`, or a string in dollar quotes, as in `$tag$…$tag$`.
  private mutating func scanDollar() -> Token.Kind {
    let start = position
    position += 1
    if Self.isDigit(byte()) {
      while Self.isDigit(byte()) { position += 1 }
      return .parameter
    }
    while Self.isNamePart(byte()), byte() != UInt8(ascii: "$") { position += 1 }
    guard byte() == UInt8(ascii: "$") else {
      position = start + 1
      return .mark
    }
    position += 1
    let tag = bytes[start..<position]
    while position < bytes.count {
      if byte() == UInt8(ascii: "$"), bytes[position...].starts(with: tag) {
        position += tag.count
        return .string
      }
      position += 1
    }
    return .string
  }

  private mutating func skipQuoted(by quote: UInt8, backslashEscapes: Bool) {
    position += 1
    while position < bytes.count {
      if backslashEscapes, byte() == UInt8(ascii: "\\") {
        position += 2
      } else if byte() != quote {
        position += 1
      } else if byte(1) == quote {
        position += 2
      } else {
        position += 1
        return
      }
    }
    position = min(position, bytes.count)
  }
}
