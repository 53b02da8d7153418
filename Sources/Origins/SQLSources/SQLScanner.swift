/// Reads SQL byte by byte. Each database adds its own tokens.
package struct SQLScanner {
  package let bytes: [UInt8]
  package var position = 0
  private let nestsComments: Bool

  /// Creates a scanner of a text.
  ///
  /// - Parameters:
  ///   - sql: The bytes of the text.
  ///   - nestsComments: A Boolean value that indicates whether a comment may contain other comments.
  package init(_ sql: some Sequence<UInt8>, nestsComments: Bool = false) {
    bytes = Array(sql)
    self.nestsComments = nestsComments
  }

  /// Returns the byte at the position or after it, or 0 behind the end.
  package func byte(_ offset: Int = 0) -> UInt8 {
    position + offset < bytes.count ? bytes[position + offset] : 0
  }

  /// Skips space and comments. A comment that does not end reaches to the end of the text.
  package mutating func skipSpace() {
    while position < bytes.count {
      if byte() == UInt8(ascii: " ") || (9...13).contains(byte()) {
        position += 1
      } else if byte() == UInt8(ascii: "-"), byte(1) == UInt8(ascii: "-") {
        while position < bytes.count, byte() != UInt8(ascii: "\n") { position += 1 }
      } else if byte() == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
        skipComment()
      } else {
        return
      }
    }
  }

  private mutating func skipComment() {
    var depth = 0
    repeat {
      if depth == 0 || nestsComments, byte() == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
        depth += 1
        position += 2
      } else if byte() == UInt8(ascii: "*"), byte(1) == UInt8(ascii: "/") {
        depth -= 1
        position += 2
      } else {
        position += 1
      }
    } while depth > 0 && position < bytes.count
  }

  /// Skips the letters, digits and other characters of a name.
  package mutating func skipName() {
    while Self.isNamePart(byte()) { position += 1 }
  }

  package static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  package static func isNameStart(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "_") || byte >= 0x80
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  package static func isNamePart(_ byte: UInt8) -> Bool {
    isNameStart(byte) || isDigit(byte) || byte == UInt8(ascii: "$")
  }
}
