/// One line of a screen: stretches of text, each with its look.
///
/// Its text is printable, whatever it was made of: control characters of data are shown by signs of
/// their own and never sent.
public struct TerminalLine: Sendable, Hashable {
  /// A stretch of text that looks the same throughout.
  public struct Span: Sendable, Hashable {
    /// The text, printable.
    public let text: String
    /// How it looks.
    public let style: TerminalStyle
    /// How many columns it takes.
    public let width: Int
  }

  /// The stretches, none of them empty, no two neighbours of one look.
  public private(set) var spans: [Span] = []
  /// How many columns the line takes.
  public private(set) var width = 0

  /// Creates a line without text.
  public init() {}

  /// Creates a line of one look.
  public init(_ text: String, _ style: TerminalStyle = .plain) {
    append(text, style)
  }

  /// Adds text at the end.
  public mutating func append(_ text: String, _ style: TerminalStyle = .plain) {
    append(printable: TerminalText.printable(text), style)
  }

  /// The text without its looks.
  public var text: String { spans.map(\.text).joined() }

  /// As much of the line as fits into some columns, followed by spaces of the last look up to there.
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

  /// The line in another look throughout.
  public func restyled(_ change: (TerminalStyle) -> TerminalStyle) -> TerminalLine {
    var line = TerminalLine()
    for span in spans { line.append(printable: span.text, change(span.style)) }
    return line
  }

  private mutating func append(printable text: String, _ style: TerminalStyle) {
    guard !text.isEmpty else { return }
    if let last = spans.last, last.style == style {
      // What is joined may combine: measured as a whole.
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
