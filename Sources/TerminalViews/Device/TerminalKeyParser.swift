/// Tells keys from the bytes that a terminal sends for them.
///
/// How the bytes are cut into pieces makes no difference. Sequences that mean no key known are left
/// out as a whole, and what is kept of one that does not end is bounded.
///
/// The escape key sends the byte that also begins sequences. Whether more follows, only time tells:
///
/// ```swift
/// var keys = parser.parse(bytes)
/// // … nothing more has come for some 50 ms:
/// if parser.isWaiting { keys += parser.flush() }
/// ```
public struct TerminalKeyParser: Sendable {
  private enum State {
    case ground
    /// After an escape character.
    case escape
    /// Within a control sequence, of which the parameters are kept.
    case sequence([UInt8])
    /// After `ESC O`.
    case single
    /// After `ESC [ [`, which a console sends for function keys.
    case console
    /// Within an answer of the terminal, which goes on until `ESC \` or BEL; `isEscaped` after an
    /// escape character in it.
    case string(introducer: UInt8, count: Int, isEscaped: Bool)
    /// Before so many bytes that mean nothing here.
    case skipping(Int)
    case paste
  }

  private var state = State.ground
  /// The bytes of a character that has not ended, or of a paste.
  private var bytes: [UInt8] = []
  /// Whether the character comes after an escape character.
  private var isAlternate = false

  /// The longest parameters that a key has are shorter.
  private static let mostParameters = 16
  /// No answer of a terminal that nobody has asked is longer.
  private static let mostString = 4096
  private static let mostPaste = 65_536
  private static let pasteEnd = Array("\u{1B}[201~".utf8)

  /// Creates one that has read nothing.
  public init() {}

  /// Whether what comes next decides over what has come.
  ///
  /// A paste is not waited for: it ends when it ends.
  public var isWaiting: Bool {
    switch state {
    case .ground: !bytes.isEmpty
    case .paste: false
    default: true
    }
  }

  /// The keys that end with these bytes.
  public mutating func parse(_ input: some Sequence<UInt8>) -> [TerminalKey] {
    var keys: [TerminalKey] = []
    for byte in input { parse(byte, &keys) }
    return keys
  }

  /// The keys that were pressed if nothing more comes.
  public mutating func flush() -> [TerminalKey] {
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
      // CAN, SUB, BEL, and the second byte of ESC \ end it; so does too much of it.
      let isEnd = byte == 0x18 || byte == 0x1A || byte == 0x07
      if isEnd || isEscaped && byte == 0x5C || count > TerminalKeyParser.mostString {
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
      // Two keys, pressed at about the same time.
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
      // What is longer stays longer than all that is known.
      let isLong = parameters.count > TerminalKeyParser.mostParameters
      state = .sequence(isLong ? parameters : parameters + [byte])
    case UInt8(ascii: "[") where parameters.isEmpty: state = .console
    // A report of the mouse in its oldest form.
    case UInt8(ascii: "M") where parameters.isEmpty: state = .skipping(3)
    case 0x40...0x7E:
      state = .ground
      if byte == UInt8(ascii: "~"), parameters.elementsEqual("200".utf8) {
        state = .paste
      } else if let key = TerminalKeyParser.key(final: byte, parameters) {
        keys.append(key)
      }
    default:
      // It was broken off; a key that was pressed meanwhile is none of it.
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

  /// The character that the bytes are; nil where it has not ended, or they are none and dropped.
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
    } else if bytes.count > TerminalKeyParser.mostPaste, byte & 0xC0 != 0x80, byte != 0x0A {
      // A piece ends before a character, and before what may be the beginning of the end.
      let end = bytes.suffix(6).firstIndex(of: 0x1B) ?? bytes.endIndex - 1
      append(pasted: bytes[..<end], &keys)
      bytes.removeSubrange(..<end)
    } else if bytes.count > 2 * TerminalKeyParser.mostPaste {
      append(pasted: bytes[...], &keys)
      bytes = []
    }
  }

  private func append(pasted bytes: ArraySlice<UInt8>, _ keys: inout [TerminalKey]) {
    guard !bytes.isEmpty else { return }
    var text = String.UnicodeScalarView()
    var last: Unicode.Scalar?
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      // Terminals send CR for the end of a line.
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
