/// Parses the bytes that a terminal sends into keys.
///
/// You can pass the bytes in pieces of any size. The parser skips unknown sequences completely. The
/// number of bytes that it keeps of an unterminated sequence is bounded.
///
/// The Escape key sends the byte that also starts sequences. Only a timeout can distinguish the
/// two:
///
/// ```swift
/// var keys = parser.parse(bytes)
/// // … no more bytes have arrived for about 50 ms:
/// if parser.isWaiting { keys += parser.flush() }
/// ```
package struct TerminalKeyParser: Sendable {
  private enum State {
    case ground
    /// After an escape character.
    case escape
    /// Inside a control sequence, with its parameters so far.
    case sequence([UInt8])
    /// After `ESC O`.
    case single
    /// After `ESC [ [`, which the Linux console sends for function keys.
    case console
    /// Inside a string that the terminal sends, up to `ESC \` or BEL. `isEscaped` is true after an
    /// escape character inside the string.
    case string(introducer: UInt8, count: Int, isEscaped: Bool)
    /// Before a number of bytes to skip.
    case skipping(Int)
    case paste
  }

  private var state = State.ground
  /// The bytes of an incomplete character or of a paste.
  private var bytes: [UInt8] = []
  /// A Boolean value that indicates whether the character follows an escape character.
  private var isAlternate = false

  /// The number of parameter bytes to keep. The parameters of all known keys are shorter.
  private static let maximumParameters = 16
  /// The maximum length of a string from the terminal. A longer one is treated as ended.
  private static let maximumString = 4096
  /// The size above which a paste is reported in pieces.
  private static let maximumPaste = 65_536
  private static let pasteEnd = Array("\u{1B}[201~".utf8)

  package init() {}

  /// A Boolean value that indicates whether the next bytes determine the meaning of the previous
  /// ones.
  ///
  /// The value is `false` inside a paste, because a paste ends with a control sequence and needs
  /// no timeout.
  package var isWaiting: Bool {
    switch state {
    case .ground: !bytes.isEmpty
    case .paste: false
    default: true
    }
  }

  /// Parses bytes and returns the keys that they complete.
  package mutating func parse(_ input: some Sequence<UInt8>) -> [TerminalKey] {
    var keys: [TerminalKey] = []
    for byte in input { parse(byte, &keys) }
    return keys
  }

  /// Returns the keys that the pending bytes represent if no more bytes follow.
  package mutating func flush() -> [TerminalKey] {
    defer {
      if isWaiting {
        state = .ground
        (bytes, isAlternate) = ([], false)
      }
    }
    switch state {
    case .escape: return [.escape]
    case .single: return [.alternate("O")]
    case .sequence([]): return [.alternate("[")]
    case .string(let introducer, 0, false):
      return [.alternate(Character(Unicode.Scalar(introducer)))]
    default: return []
    }
  }

  private mutating func parse(_ byte: UInt8, _ keys: inout [TerminalKey]) {
    switch state {
    case .ground: parseCharacter(byte, &keys)
    case .escape: parseEscaped(byte, &keys)
    case .sequence(let parameters): parseSequence(byte, parameters, &keys)
    case .single:
      state = .ground
      if byte < 0x20 || byte >= 0x7F {
        parseCharacter(byte, &keys)
      } else if let key = TerminalKeyParser.singles[byte] {
        keys.append(key)
      }
    case .console:
      state = .ground
      if (0x41...0x45).contains(byte) { keys.append(.function(Int(byte) - 0x40)) }
    case .string(let introducer, let count, let isEscaped):
      // CAN, SUB, BEL, and the second byte of ESC \ end the string, and so does its maximum length.
      let isEnd = byte == 0x18 || byte == 0x1A || byte == 0x07
      if isEnd || isEscaped && byte == 0x5C || count > TerminalKeyParser.maximumString {
        state = .ground
      } else {
        state = .string(introducer: introducer, count: count + 1, isEscaped: byte == 0x1B)
      }
    case .skipping(let count): state = count > 1 ? .skipping(count - 1) : .ground
    case .paste: parsePasted(byte, &keys)
    }
  }

  private mutating func parseEscaped(_ byte: UInt8, _ keys: inout [TerminalKey]) {
    switch byte {
    case UInt8(ascii: "["): state = .sequence([])
    case UInt8(ascii: "O"): state = .single
    case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "^"),
      UInt8(ascii: "_"):
      state = .string(introducer: byte, count: 0, isEscaped: false)
    case 0x1B: keys.append(.escape)
    case 0..<0x20, 0x7F:
      // The user pressed two keys at about the same time.
      keys.append(.escape)
      state = .ground
      parseCharacter(byte, &keys)
    default:
      state = .ground
      isAlternate = true
      parseCharacter(byte, &keys)
    }
  }

  private mutating func parseSequence(
    _ byte: UInt8, _ parameters: [UInt8], _ keys: inout [TerminalKey]
  ) {
    switch byte {
    case 0x20...0x3F:
      // Beyond the limit, the parameters cannot match a known key. Further bytes are not needed.
      let isLong = parameters.count > TerminalKeyParser.maximumParameters
      state = .sequence(isLong ? parameters : parameters + [byte])
    case UInt8(ascii: "[") where parameters.isEmpty: state = .console
    // The oldest form of a mouse report.
    case UInt8(ascii: "M") where parameters.isEmpty: state = .skipping(3)
    case 0x40...0x7E:
      state = .ground
      if byte == UInt8(ascii: "~"), parameters.elementsEqual("200".utf8) {
        state = .paste
      } else if let key = TerminalKeyParser.key(final: byte, parameters) {
        keys.append(key)
      }
    default:
      // A key interrupted the sequence and is not part of it.
      state = .ground
      parseCharacter(byte, &keys)
    }
  }

  private mutating func parseCharacter(_ byte: UInt8, _ keys: inout [TerminalKey]) {
    if !bytes.isEmpty, byte & 0xC0 != 0x80 { (bytes, isAlternate) = ([], false) }
    if byte < 0x20 || byte == 0x7F {
      if byte == 0x1B {
        state = .escape
      } else if let key = TerminalKeyParser.control(byte) {
        keys.append(key)
      }
      return
    }
    bytes.append(byte)
    guard let scalar = scalar() else { return }
    let character = Character(scalar)
    if scalar.properties.generalCategory != .control {
      keys.append(isAlternate ? .alternate(character) : .character(character))
    }
    (bytes, isAlternate) = ([], false)
  }

  /// Returns the character that the bytes encode, or `nil` if they are incomplete or invalid.
  ///
  /// Invalid bytes are discarded.
  private mutating func scalar() -> Unicode.Scalar? {
    let length =
      switch bytes[0] {
      case 0..<0x80: 1
      case 0xC2...0xDF: 2
      case 0xE0...0xEF: 3
      case 0xF0...0xF4: 4
      default: 0
      }
    if bytes.count < length { return nil }
    if let text = String(validating: bytes, as: UTF8.self) { return text.unicodeScalars.first }
    (bytes, isAlternate) = ([], false)
    return nil
  }

  private mutating func parsePasted(_ byte: UInt8, _ keys: inout [TerminalKey]) {
    bytes.append(byte)
    if byte == UInt8(ascii: "~"), bytes.suffix(6).elementsEqual(TerminalKeyParser.pasteEnd) {
      append(pasted: bytes.dropLast(6), &keys)
      bytes = []
      state = .ground
    } else if bytes.count > TerminalKeyParser.maximumPaste, byte & 0xC0 != 0x80, byte != 0x0A {
      // A piece ends before a character, and before a possible start of the end sequence.
      let end = bytes.suffix(6).firstIndex(of: 0x1B) ?? bytes.endIndex - 1
      append(pasted: bytes[..<end], &keys)
      bytes.removeSubrange(..<end)
    } else if bytes.count > 2 * TerminalKeyParser.maximumPaste {
      append(pasted: bytes[...], &keys)
      bytes = []
    }
  }

  private func append(pasted bytes: ArraySlice<UInt8>, _ keys: inout [TerminalKey]) {
    guard !bytes.isEmpty else { return }
    var text = String.UnicodeScalarView()
    var last: Unicode.Scalar?
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      // Terminals send CR at the end of a line.
      if scalar == "\r" {
        text.append("\n")
      } else if scalar != "\n" || last != "\r" {
        text.append(scalar)
      }
      last = scalar
    }
    keys.append(.pasted(String(text)))
  }
}

// The key sequences of xterm, VT220, rxvt and the Linux console.
extension TerminalKeyParser {
  /// Returns the key of a control character.
  private static func control(_ byte: UInt8) -> TerminalKey? {
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

  /// The keys of `ESC O` followed by one byte.
  private static let singles: [UInt8: TerminalKey] = {
    var keys = letters
    keys[UInt8(ascii: "M")] = .enter
    let arrows: [TerminalKey] = [.up, .down, .right, .left]
    for (byte, key) in zip(UInt8(ascii: "a")..., arrows) { keys[byte] = key }
    // The keypad in application mode.
    for (byte, character) in zip(UInt8(ascii: "j")..., "*+,-./0123456789") {
      keys[byte] = .character(character)
    }
    return keys
  }()

  /// The keys whose sequences end with a letter.
  private static let letters: [UInt8: TerminalKey] = [
    UInt8(ascii: "A"): .up, UInt8(ascii: "B"): .down, UInt8(ascii: "C"): .right,
    UInt8(ascii: "D"): .left, UInt8(ascii: "H"): .home, UInt8(ascii: "F"): .end,
    UInt8(ascii: "P"): .function(1), UInt8(ascii: "Q"): .function(2),
    UInt8(ascii: "R"): .function(3), UInt8(ascii: "S"): .function(4),
  ]

  /// The keys whose sequences consist of a number and `~`.
  private static let numbers: [Int: TerminalKey] = [
    1: .home, 2: .insert, 3: .delete, 4: .end, 5: .pageUp, 6: .pageDown, 7: .home, 8: .end,
    11: .function(1), 12: .function(2), 13: .function(3), 14: .function(4), 15: .function(5),
    17: .function(6), 18: .function(7), 19: .function(8), 20: .function(9), 21: .function(10),
    23: .function(11), 24: .function(12), 25: .function(13), 26: .function(14),
    28: .function(15), 29: .function(16), 31: .function(17), 32: .function(18),
    33: .function(19), 34: .function(20),
  ]

  /// Returns the key of a control sequence, or `nil` if the sequence represents no known key.
  ///
  /// - Parameters:
  ///   - final: The last byte of the sequence.
  ///   - parameters: The bytes between `ESC [` and the last byte.
  private static func key(final: UInt8, _ parameters: [UInt8]) -> TerminalKey? {
    // Private sequences and sequences with intermediate bytes represent no keys.
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
      // The first of two parameters is 1 before a modifier. Another number occurs in reports only,
      // for example in a report of the cursor position.
      guard values.count == 1 || values[0] == 1, parameters.isEmpty || values[0] == 1 else {
        return nil
      }
      return letters[final]
    }
  }
}

/// A key that the user pressed, or text that the user pasted.
public enum TerminalKey: Sendable, Hashable {
  /// A typed character.
  ///
  /// A character of several Unicode scalars arrives as several keys. Append them to a string one by
  /// one to obtain the character.
  case character(Character)
  /// A character typed with the Control key: a lowercase letter, a space, or one of `\ ] ^ _`.
  case control(Character)
  /// A character typed with the Alt key.
  case alternate(Character)
  /// Pasted text, with lines that end with `\n`. A very long text arrives in several pieces.
  case pasted(String)
  /// The Return key.
  case enter
  /// The Escape key.
  case escape
  /// The Tab key.
  case tab
  /// The Tab key with the Shift key.
  case backTab
  /// The Backspace key, which deletes to the left.
  case backspace
  /// The Delete key, which deletes to the right.
  case delete
  /// The Insert key.
  case insert
  /// The Up Arrow key. This and the following keys are reported alike with and without modifiers.
  case up
  /// The Down Arrow key.
  case down
  /// The Left Arrow key.
  case left
  /// The Right Arrow key.
  case right
  /// The Home key.
  case home
  /// The End key.
  case end
  /// The Page Up key.
  case pageUp
  /// The Page Down key.
  case pageDown
  /// A function key. The first one has the number 1.
  case function(Int)
}
