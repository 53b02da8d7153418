/// A line of text with styles.
///
/// The text is always printable: the line converts each text that you append with
/// ``TerminalText/printable(_:)``. A line never sends control characters to the terminal.
public struct TerminalLine: Sendable, Hashable {
  /// A part of a line that has one style.
  public struct Span: Sendable, Hashable {
    /// The printable text.
    public let text: String
    /// The appearance of the text.
    public let style: TerminalStyle
    /// The number of columns that the text takes.
    public let width: Int
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
    if let last = spans.last, last.style == style {
      // The first character of the text may combine with the last one of the span.
      let joined = last.text + text
      spans.removeLast()
      width -= last.width
      spans.append(Span(text: joined, style: style, width: TerminalText.width(joined)))
    } else {
      spans.append(Span(text: text, style: style, width: TerminalText.width(text)))
    }
    width += spans.last?.width ?? 0
  }
}
