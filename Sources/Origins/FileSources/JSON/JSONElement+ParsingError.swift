extension JSONElement {
  /// An error in a JSON text.
  public struct ParsingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: String, Sendable, Hashable {
      /// The text contains only white space.
      case empty
      /// The text ends too early.
      case truncated
      /// A character is not valid at its position.
      case syntax
      /// The text is not UTF-8.
      case encoding
      /// Arrays and objects are nested too deeply.
      case depth
      /// The text is valid JSON, but not an array.
      case notAnArray
      /// An element has no member with the name of the key.
      case missingKey
      /// The key of an element is an object or an array.
      case invalidKey
      /// There is no value at a JSON pointer.
      case notFound
      /// An element cannot be decoded to its type.
      case undecodable
    }

    /// A position in a text. Columns count Unicode scalars.
    public struct Position: Sendable, Hashable {
      /// The number of the line, which begins with 1.
      public var line: Int
      /// The number of the column, which begins with 1.
      public var column: Int

      /// Creates a position.
      public init(line: Int, column: Int) {
        self.line = line
        self.column = column
      }
    }

    /// The kind of the error.
    public var code: Code
    /// The reason, and a way to correct it.
    public var reason: String
    /// The position of the error, or `nil` if there is no text.
    public var position: Position?
    /// The offset of the element of the outermost array that contains the error, or `nil`.
    public var elementOffset: Int?

    /// Creates an error.
    public init(
      code: Code, reason: String, position: Position? = nil, elementOffset: Int? = nil
    ) {
      self.code = code
      self.reason = reason
      self.position = position
      self.elementOffset = elementOffset
    }

    /// The position, the element and the reason.
    public var description: String {
      var place: [String] = []
      if let position { place.append("line \(position.line), column \(position.column)") }
      if let elementOffset { place.append("element \(elementOffset)") }
      return place.isEmpty ? reason : place.joined(separator: ", ") + ": " + reason
    }
  }
}

extension JSONElement.ParsingError {
  /// Returns the error for an object that has no member with the name of the key.
  static func missingKey(_ key: String, among names: [String]) -> JSONElement.ParsingError {
    let shown = names.prefix(8).joined(separator: ", ") + (names.count > 8 ? ", …" : "")
    return JSONElement.ParsingError(
      code: .missingKey,
      reason: "the element has no member \"\(key)\", which is the key; "
        + (names.isEmpty ? "it has no members" : "its members are \(shown)"))
  }

  /// Returns the error for a value that cannot have a key.
  static func missingKey(_ key: String, in kind: JSONElement.Kind) -> JSONElement.ParsingError {
    JSONElement.ParsingError(
      code: .missingKey,
      reason: "the element is \(kind.described) and has no member \"\(key)\", which is the key; "
        + "use an object")
  }
}

extension JSONElement.ParsingError {
  /// Returns the error of a part of a text with its position in the whole text, or without one if it is no part.
  func moved(to offset: Int?, in text: [UInt8]) -> JSONElement.ParsingError {
    var error = self
    guard let position, let offset else {
      error.position = nil
      return error
    }
    let start = Position(of: offset, in: text[JSONText.bodyStart(of: text[...])...])
    error.position = Position(
      line: start.line + position.line - 1,
      column: position.column + (position.line == 1 ? start.column - 1 : 0))
    return error
  }
}

extension JSONElement.ParsingError.Position {
  /// Counts the lines up to an offset, and the Unicode scalars in the last line. A line ends in a
  /// line feed, a carriage return, or both.
  init(of offset: Int, in bytes: ArraySlice<UInt8>) {
    line = 1
    column = 1
    let end = min(offset, bytes.endIndex)
    for index in bytes.startIndex..<max(end, bytes.startIndex) {
      let byte = bytes[index]
      let isReturnBeforeFeed =
        byte == 0x0D && index + 1 < bytes.endIndex && bytes[index + 1] == 0x0A
      if byte == 0x0A || byte == 0x0D && !isReturnBeforeFeed {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
  }
}

// The errors that the scanner throws.
extension JSONScanner {
  /// Returns the error for a text that ends inside an array or object.
  func truncated(_ container: String) -> ScanError {
    error(.truncated, "the text ends inside an \(container), before its closing bracket")
  }

  func notUTF8() -> ScanError {
    error(.encoding, "a byte that is not UTF-8; save the text as UTF-8")
  }

  /// Returns the error for the byte at the position, with a hint for common mistakes.
  func unexpected(expecting expected: String) -> ScanError {
    guard let byte = next else {
      return error(.truncated, "the text ends where \(expected) is expected")
    }
    if byte >= 0x80 { return error(.syntax, "\(expected) is expected") }
    let hint =
      switch byte {
      case UInt8(ascii: "'"): "; JSON has double quotes only"
      case UInt8(ascii: "/"), UInt8(ascii: "#"): "; JSON has no comments"
      case UInt8(ascii: "N"), UInt8(ascii: "I"): "; JSON has neither NaN nor Infinity"
      case UInt8(ascii: "+"), UInt8(ascii: "."): "; a number begins with a digit or a minus"
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
        "; put words in double quotes"
      case 0: "; the text may be UTF-16; save it as UTF-8"
      default: ""
      }
    return error(.syntax, "\(expected) is expected, but \(Self.quoted(byte)) is found\(hint)")
  }

  static func quoted(_ byte: UInt8) -> String {
    switch byte {
    case 0x21..<0x7F: String(Character(Unicode.Scalar(byte)))
    case 0x0A, 0x0D: "the end of the line"
    case 0x20, 0x09: "white space"
    case 0x80...: "a character outside of ASCII"
    default: "the byte \(byte)"
    }
  }

  static func controlCharacterReason(_ byte: UInt8) -> String {
    switch byte {
    case 0x0A, 0x0D:
      "the line ends inside a string; its closing quote is missing, or write \\n for a line break"
    case 0x09: "a string contains a tab; write \\t"
    default: "a string contains the control character \(byte); write it as an escape"
    }
  }
}
