/// What the sequences of keys mean: those of xterm, of VT220, of rxvt and of the Linux console.
extension TerminalKeyParser {
  /// The key of a control character.
  static func control(_ byte: UInt8) -> TerminalKey? {
    switch byte {
    case 0x00: .control(" ")
    case 0x08, 0x7F: .backspace
    case 0x09: .tab
    case 0x0A, 0x0D: .enter
    case 0x01...0x1A: .control(Character(Unicode.Scalar(byte + 0x60)))
    case 0x1C...0x1F: .control(Character(Unicode.Scalar(byte + 0x40)))
    default: nil
    }
  }

  /// The keys of `ESC O` and one more byte.
  static let singles: [UInt8: TerminalKey] = {
    var keys = letters
    keys[UInt8(ascii: "M")] = .enter
    let arrows: [TerminalKey] = [.up, .down, .right, .left]
    for (byte, key) in zip(UInt8(ascii: "a")..., arrows) { keys[byte] = key }
    // The keypad in its application mode.
    for (byte, character) in zip(UInt8(ascii: "j")..., "*+,-./0123456789") {
      keys[byte] = .character(character)
    }
    return keys
  }()

  /// The keys whose sequences end in a letter.
  private static let letters: [UInt8: TerminalKey] = [
    UInt8(ascii: "A"): .up, UInt8(ascii: "B"): .down, UInt8(ascii: "C"): .right,
    UInt8(ascii: "D"): .left, UInt8(ascii: "H"): .home, UInt8(ascii: "F"): .end,
    UInt8(ascii: "P"): .function(1), UInt8(ascii: "Q"): .function(2),
    UInt8(ascii: "R"): .function(3), UInt8(ascii: "S"): .function(4),
  ]

  /// The keys whose sequences hold a number and end in `~`.
  private static let numbers: [Int: TerminalKey] = [
    1: .home, 2: .insert, 3: .delete, 4: .end, 5: .pageUp, 6: .pageDown, 7: .home, 8: .end,
    11: .function(1), 12: .function(2), 13: .function(3), 14: .function(4), 15: .function(5),
    17: .function(6), 18: .function(7), 19: .function(8), 20: .function(9), 21: .function(10),
    23: .function(11), 24: .function(12), 25: .function(13), 26: .function(14),
    28: .function(15), 29: .function(16), 31: .function(17), 32: .function(18),
    33: .function(19), 34: .function(20),
  ]

  /// The key of a control sequence.
  ///
  /// - Parameters:
  ///   - final: Its last byte.
  ///   - parameters: What is between that and `ESC [`.
  static func key(final: UInt8, _ parameters: [UInt8]) -> TerminalKey? {
    // Private ones and those with intermediate bytes are no keys.
    let isSeparator = { (byte: UInt8) in byte == UInt8(ascii: ";") }
    guard parameters.allSatisfy({ (0x30...0x39).contains($0) || isSeparator($0) }),
      parameters.count <= 8
    else { return nil }
    let values = parameters.split(omittingEmptySubsequences: false, whereSeparator: isSeparator)
      .map { Int(String(decoding: $0, as: UTF8.self)) }
    guard values.count <= 2 else { return nil }
    switch final {
    case UInt8(ascii: "~"): return values[0].flatMap { numbers[$0] }
    case UInt8(ascii: "Z"): return .backTab
    case UInt8(ascii: "a")...UInt8(ascii: "d"): return parameters.isEmpty ? singles[final] : nil
    default:
      // Before a modifier stands a 1; with another number it is an answer, such as the cursor's place.
      guard values.count == 1 || values[0] == 1, parameters.isEmpty || values[0] == 1 else {
        return nil
      }
      return letters[final]
    }
  }
}
