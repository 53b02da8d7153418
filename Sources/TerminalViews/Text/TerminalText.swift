/// How text fits into a terminal.
public enum TerminalText {
  /// The text with a sign for each character that would do more than show.
  ///
  /// Such are controls, ends of lines, changes of direction, and what cannot be seen.
  ///
  /// Controls are shown by pictures of their own (`␊`, `␛`), all else by `�`. Joiners stay inside emoji
  /// and between letters, variation selectors behind what they vary. Marks without a letter stand on
  /// `◌`, and of a tall stack of marks the first few stay.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func printable(_ text: String) -> String {
    isPlain(text) ? text : PrintableText.make(text)
  }

  /// How many columns a printable text takes.
  ///
  /// Wide East Asian characters and emoji count two, combining marks none, characters of ambiguous
  /// width one.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func width(_ text: String) -> Int {
    if isPlain(text) { return text.utf8.count }
    return text.reduce(0) { $0 + CharacterWidth.width(of: $1) }
  }

  /// As much of a printable text as fits into some columns; no character is cut.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func clipped(_ text: String, to columns: Int) -> String {
    guard columns > 0 else { return "" }
    guard text.utf8.count > columns else { return text }
    if isPlain(text) {
      return String(text[..<text.utf8.index(text.startIndex, offsetBy: columns)])
    }
    var left = columns
    return String(
      text.prefix { character in
        left -= CharacterWidth.width(of: character)
        return left >= 0
      })
  }

  /// A printable text, with dots in place of its end where it does not fit.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func truncated(_ text: String, to columns: Int) -> String {
    guard width(text) > columns else { return text }
    return columns > 0 ? clipped(text, to: columns - 1) + "…" : ""
  }

  /// A printable text in exactly so many columns: cut, or with spaces.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func padded(
    _ text: String, to columns: Int, alignment: TerminalAlignment = .leading
  ) -> String {
    let clipped = clipped(text, to: columns)
    let missing = max(0, columns - width(clipped))
    let before =
      switch alignment {
      case .leading: 0
      case .center: missing / 2
      case .trailing: missing
      }
    return String(repeating: " ", count: before) + clipped
      + String(repeating: " ", count: missing - before)
  }

  /// A printable text in lines of at most so many columns, broken at spaces; at least one line.
  ///
  /// Spaces between words count as one. A word that is wider than a line is broken between characters,
  /// and a character that is wider than a line is left out.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - columns: How many columns a line takes at most.
  ///   - limit: How many lines there are at most; the last one ends in dots where text is left.
  /// - Complexity: O(n) in the length of the text.
  public static func wrapped(_ text: String, to columns: Int, limit: Int = .max) -> [String] {
    var lines: [String] = []
    var (line, taken) = ("", 0)
    func end() {
      lines.append(line)
      (line, taken) = ("", 0)
    }
    for word in text.split(separator: " ") where lines.count <= limit {
      let width = width(String(word))
      if !line.isEmpty {
        if taken + 1 + width > columns {
          end()
        } else {
          line += " "
          taken += 1
        }
      }
      if width <= columns {
        line += word
        taken += width
        continue
      }
      for character in word {
        let width = CharacterWidth.width(of: character)
        guard width <= columns else { continue }
        if taken + width > columns { end() }
        line.append(character)
        taken += width
      }
    }
    end()
    guard lines.count > limit else { return lines }
    lines.removeSubrange(max(0, limit)...)
    if let last = lines.popLast() {
      lines.append(columns > 0 ? clipped(last, to: columns - 1) + "…" : "")
    }
    return lines
  }

  /// Whether the text is printable ASCII throughout, one column a byte.
  static func isPlain(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      // No early return: the loop is one that vectors do.
      var isPlain = true
      for byte in bytes { isPlain = isPlain && (0x20..<0x7F).contains(byte) }
      return isPlain
    }
  }
}
