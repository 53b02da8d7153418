/// Looking at SQL as text, as far as SQLite itself gives no answer.
enum SQLText {
  /// The first word of `sql` in upper case, after white space, comments and semicolons.
  static func firstWord(_ sql: String) -> String {
    var rest = Substring(sql).utf8
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
