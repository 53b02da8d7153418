/// How text fits into a terminal.
enum Text {
  /// The text with a question mark for all that would do more than show: control characters, ends of
  /// lines, changes of direction.
  static func printable(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { result.append(isHarmless(scalar) ? scalar : "?") }
    return String(result)
  }

  /// How many columns a text takes that is printable.
  static func width(_ text: String) -> Int {
    text.reduce(0) { $0 + width($1) }
  }

  /// As much of a text as fits into so many columns.
  static func clipped(_ text: String, to width: Int) -> String {
    var left = width
    return String(
      text.prefix { character in
        left -= Text.width(character)
        return left >= 0
      })
  }

  /// A text in exactly so many columns.
  static func padded(_ text: String, to width: Int, atStart: Bool = false) -> String {
    let clipped = clipped(text, to: width)
    let space = String(repeating: " ", count: max(0, width - Text.width(clipped)))
    return atStart ? space + clipped : clipped + space
  }

  /// A text in lines of at most so many columns, broken at spaces.
  ///
  /// - Parameters:
  ///   - text: One line of text.
  ///   - width: At least 1; a longer word is cut.
  ///   - limit: At most so many lines; the last one ends in dots where something is left out.
  static func wrapped(_ text: String, to width: Int, limit: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      let longer = line.isEmpty ? String(word) : line + " " + word
      if !line.isEmpty, Text.width(longer) > width {
        lines.append(line)
        line = String(word)
      } else {
        line = longer
      }
    }
    lines.append(line)
    guard lines.count > limit, limit > 0 else {
      return lines.prefix(limit).map { clipped($0, to: width) }
    }
    lines[limit - 1] = clipped(lines[limit - 1], to: max(0, width - 3)) + "..."
    return lines.prefix(limit).map { clipped($0, to: width) }
  }

  private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate: false
    // Joins emoji; the others of its kind are not to be seen, or turn the direction.
    case .format: scalar == "\u{200D}"
    default: true
    }
  }

  private static func width(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    if first.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}") {
      return 2
    }
    // The blocks that East Asian terminals show at double width.
    switch first.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
      0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF,
      0x1B000...0x1B2FF, 0x20000...0x3FFFD:
      return 2
    default:
      return 1
    }
  }
}
