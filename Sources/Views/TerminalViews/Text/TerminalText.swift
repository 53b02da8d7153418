/// The alignment of text within a number of columns.
public enum TerminalAlignment: Sendable, Hashable, CaseIterable {
  /// Aligned at the left edge.
  case leading
  /// Centered. An odd space is added on the right.
  case center
  /// Aligned at the right edge.
  case trailing

  /// Returns the number of spaces before a text that leaves some columns free.
  func indent(in room: Int) -> Int {
    switch self {
    case .leading: 0
    case .center: room / 2
    case .trailing: room
    }
  }
}

/// Functions that measure text and fit it into the columns of a terminal.
public enum TerminalText {
  /// Returns the text in printable form.
  ///
  /// A symbol of its own replaces each control character, for example `␊` or `␛`. The character `�`
  /// replaces all other characters that a terminal does not simply show: invisible characters and
  /// changes of the text direction.
  ///
  /// Joiners are kept within emoji and between letters, and variation selectors after the character
  /// that they modify. A combining mark without a letter is shown on `◌`. Only the first few marks
  /// of a tall stack are kept.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func printable(_ text: String) -> String {
    isPlain(text) ? text : PrintableText.make(text)
  }

  /// Returns JSON text without characters that act on a terminal. Its content is the same.
  ///
  /// Control characters, changes of the text direction and invisible characters become escapes such as
  /// `\u202e`. In valid JSON, they occur in strings only.
  ///
  /// - Complexity: O(n) in the length of the text.
  package static func escaped(json: [UInt8]) -> [UInt8] {
    if json.allSatisfy({ $0 < 0x7F }) { return json }
    var escaped: [UInt8] = []
    escaped.reserveCapacity(json.count)
    for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
      // A line break between two lines of JSON is no part of a string.
      if scalar.value < 0x7F || !PrintableText.isAction(scalar) {
        escaped.append(contentsOf: scalar.utf8)
        continue
      }
      for unit in scalar.utf16 {
        let digits = String(unit, radix: 16)
        escaped.append(contentsOf: "\\u".utf8)
        escaped.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count))
        escaped.append(contentsOf: digits.utf8)
      }
    }
    return escaped
  }

  /// Returns the number of columns that a printable text takes.
  ///
  /// Wide East Asian characters and emoji take two columns, combining marks none, and characters of
  /// ambiguous width one.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func width(_ text: String) -> Int {
    if isPlain(text) { return text.utf8.count }
    return text.reduce(0) { $0 + CharacterWidth.width(of: $1) }
  }

  /// Returns the longest prefix of a printable text that fits into a number of columns.
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

  /// Returns a printable text, shortened to a number of columns with `…` at the end if it is wider.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func truncated(_ text: String, to columns: Int) -> String {
    guard width(text) > columns else { return text }
    return columns > 0 ? clipped(text, to: columns - 1) + "…" : ""
  }

  /// Returns a printable text that takes exactly a number of columns.
  ///
  /// A wider text is clipped. Spaces fill up a narrower text.
  ///
  /// - Complexity: O(n) in the length of the text.
  public static func padded(
    _ text: String, to columns: Int, alignment: TerminalAlignment = .leading
  ) -> String {
    let clipped = clipped(text, to: columns)
    let missing = max(0, columns - width(clipped))
    let before = alignment.indent(in: missing)
    return String(repeating: " ", count: before) + clipped
      + String(repeating: " ", count: missing - before)
  }

  /// Breaks a printable text at spaces into lines that fit into a number of columns.
  ///
  /// Several spaces between words count as one. A word that is wider than a line is broken between
  /// characters. A character that is wider than a line is omitted.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - columns: The maximum number of columns of a line.
  ///   - limit: The maximum number of lines. If text is left over, the last line ends with `…`.
  /// - Returns: The lines. There is at least one line unless `limit` is 0.
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

  /// Breaks a printable text into lines that fit into a number of columns, and keeps all its spaces.
  ///
  /// A line ends after a space, or between characters if it has none. Only the spaces at its end can
  /// exceed the columns.
  ///
  /// - Complexity: O(n) in the length of the text.
  package static func folded(_ text: String, to columns: Int) -> [String] {
    var lines: [String] = []
    var (start, width) = (text.startIndex, 0)
    // The place after the last space of the line, and the columns before it.
    var space: (end: String.Index, width: Int)?
    for index in text.indices {
      let character = text[index]
      let taken = CharacterWidth.width(of: character)
      while character != " ", width + taken > columns, index > start {
        let end = space ?? (index, width)
        lines.append(String(text[start..<end.end]))
        (start, width, space) = (end.end, width - end.width, nil)
      }
      width += taken
      if character == " " { space = (text.index(after: index), width) }
    }
    return lines + [String(text[start...])]
  }

  /// Returns a Boolean value that indicates whether the text is printable ASCII, with one column a
  /// byte.
  static func isPlain(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      // Without an early return, the compiler vectorizes the loop.
      var isPlain = true
      for byte in bytes { isPlain = isPlain && (0x20..<0x7F).contains(byte) }
      return isPlain
    }
  }
}

/// A line of text with styles.
///
/// The text is always printable: the line converts each text that you append with
/// ``TerminalText/printable(_:)``. A line never sends control characters to the terminal.
public struct TerminalLine: Sendable, Hashable {
  /// A part of a line that has one style.
  public struct Span: Sendable, Hashable {
    /// The printable text.
    public fileprivate(set) var text: String
    /// The appearance of the text.
    public let style: TerminalStyle
    /// The number of columns that the text takes.
    public fileprivate(set) var width: Int
  }

  /// The parts of the line. No span is empty, and neighboring spans have different styles.
  public private(set) var spans: [Span] = []
  /// The number of columns that the line takes.
  public private(set) var width = 0

  /// Creates an empty line.
  public init() {}

  /// Creates a line in one style.
  public init(_ text: String, _ style: TerminalStyle = .plain) {
    append(text, style)
  }

  /// Appends text.
  public mutating func append(_ text: String, _ style: TerminalStyle = .plain) {
    append(printable: TerminalText.printable(text), style)
  }

  /// The text without styles.
  public var text: String { spans.map(\.text).joined() }

  /// Returns a line that takes exactly a number of columns.
  ///
  /// A wider line is clipped. Spaces in the style of the last span fill up a narrower line.
  public func fitted(to columns: Int) -> TerminalLine {
    var line = TerminalLine()
    for span in spans {
      let left = columns - line.width
      let text = span.width <= left ? span.text : TerminalText.clipped(span.text, to: left)
      line.append(printable: text, span.style)
      if span.width > left { break }
    }
    let rest = columns - line.width
    if rest > 0 {
      let style = line.spans.last?.style ?? .plain
      line.append(printable: String(repeating: " ", count: rest), style)
    }
    return line
  }

  /// Returns a line in which a closure has replaced the style of each span.
  package func restyled(_ change: (TerminalStyle) -> TerminalStyle) -> TerminalLine {
    var line = TerminalLine()
    for span in spans { line.append(printable: span.text, change(span.style)) }
    return line
  }

  private mutating func append(printable text: String, _ style: TerminalStyle) {
    guard !text.isEmpty else { return }
    var added = TerminalText.width(text)
    if let last = spans.indices.last, spans[last].style == style {
      if !TerminalText.isPlain(text) {
        // The first character of the text may combine with the last one of the span.
        let end = String(spans[last].text.suffix(1))
        added = TerminalText.width(end + text) - TerminalText.width(end)
      }
      spans[last].text += text
      spans[last].width += added
    } else {
      spans.append(Span(text: text, style: style, width: added))
    }
    width += added
  }
}
