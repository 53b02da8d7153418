extension JSONScanner {
  func truncated(_ container: String) -> Fault {
    fault(.truncated, "the text ends inside an \(container), before its closing bracket")
  }

  func notUTF8() -> Fault {
    fault(.encoding, "a byte that is not UTF-8; save the text as UTF-8")
  }

  /// Says what stands at the position, with a hint at common mistakes.
  func unexpected(expecting expected: String) -> Fault {
    guard let byte = next else {
      return fault(.truncated, "the text ends where \(expected) is expected")
    }
    if byte >= 0x80 { return fault(.syntax, "\(expected) is expected") }
    let hint =
      switch byte {
      case UInt8(ascii: "'"): "; JSON has double quotes only"
      case UInt8(ascii: "/"), UInt8(ascii: "#"): "; JSON has no comments"
      case UInt8(ascii: "N"), UInt8(ascii: "I"): "; JSON has no NaN and no Infinity"
      case UInt8(ascii: "+"), UInt8(ascii: "."): "; a number begins with a digit or a minus"
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
        "; put words in double quotes"
      case 0: "; the text may be UTF-16, save it as UTF-8"
      default: ""
      }
    return fault(.syntax, "\(expected) is expected, but \(Self.quoted(byte)) found\(hint)")
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
    case 0x09: "a tab stands in a string; write \\t"
    default: "a control character, the byte \(byte), stands in a string; write it as an escape"
    }
  }
}
