import TestSupport

/// A drawing of terminal screens below each other, as SVG. Each screen has a caption.
///
/// Each text has a fixed width, so columns line up in any font. The colors are readable on white and dark pages.
struct TerminalPicture {
  private static let cell = (width: 9.0, height: 20.0)
  private static let margin = 16.0
  private static let captionHeight = 34.0
  private static let background = "#0d1117"
  private static let letters = "#e6edf3"
  private static let faint = "#9da7b3"
  /// Black, red, green, yellow, blue, magenta, cyan and white, and then their bright forms.
  private static let palette = [
    "#7d8590", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#e6edf3",
    "#9198a1", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
  ]

  private let title: String
  private let columns: Int
  private var parts: [String] = []
  private var height = 0.0

  init(title: String, columns: Int) {
    (self.title, self.columns) = (title, columns)
  }

  private var width: Double { Double(columns) * Self.cell.width + 2 * Self.margin }

  /// The text of an SVG file.
  var svg: String {
    let width = Int(width)
    let height = Int(height + Self.margin)
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" \
      width="\(width)" height="\(height)" role="img" \
      font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" \
      font-size="15">
      <title>\(Self.escaped(title))</title>
      <clipPath id="frame"><rect width="\(width)" height="\(height)" rx="10"/></clipPath>
      <g clip-path="url(#frame)">
      <rect width="\(width)" height="\(height)" fill="\(Self.background)"/>
      \(parts.joined(separator: "\n"))
      </g>
      <rect x="1" y="1" width="\(width - 2)" height="\(height - 2)" rx="9" fill="none" \
      stroke="#57606a" stroke-width="2"/>
      </svg>

      """
  }

  /// Adds the screen of a terminal below the previous ones.
  mutating func append(_ screen: TerminalModel, caption: String) {
    parts.append(Self.rectangle(0, height, width, Self.captionHeight, "#262c36"))
    let baseline = height + 0.5 * Self.captionHeight + 5
    parts.append(
      Self.text(caption, Self.margin, baseline, columns: caption.count, Self.letters, ""))
    height += Self.captionHeight + 8
    for (row, cells) in screen.cells.enumerated() {
      let cursor = screen.isCursorShown && row == screen.row ? screen.column : nil
      appendRow(cells, cursor: cursor)
      height += Self.cell.height
    }
    height += 8
  }

  private mutating func appendRow(_ cells: [TerminalModel.Cell], cursor: Int?) {
    func style(_ column: Int) -> TerminalModel.Style {
      var style = cells[column].style
      if column == cursor { style.isReversed.toggle() }
      return style
    }
    var start = 0
    while start < cells.count {
      var end = start + 1
      while end < cells.count, style(end) == style(start) { end += 1 }
      appendRun(cells[start..<end], style(start))
      start = end
    }
  }

  /// Draws cells with the same attributes.
  private mutating func appendRun(
    _ cells: ArraySlice<TerminalModel.Cell>, _ style: TerminalModel.Style
  ) {
    var letters = style.foreground.map { Self.palette[$0] } ?? Self.letters
    if style.isFaint { letters = Self.faint }
    var background = style.background.map { Self.palette[$0] } ?? Self.background
    if style.isReversed { swap(&letters, &background) }
    let x = Self.margin + Double(cells.startIndex) * Self.cell.width
    if background != Self.background {
      let width = Double(cells.count) * Self.cell.width
      parts.append(Self.rectangle(x, height, width, Self.cell.height, background))
    }
    let attributes =
      (style.isBold ? " font-weight=\"bold\"" : "")
      + (style.isUnderlined ? " text-decoration=\"underline\"" : "")
    // Each word has a position of its own, because renderers collapse spaces in different ways.
    for word in cells.split(whereSeparator: { $0.text == " " }) {
      let x = Self.margin + Double(word.startIndex) * Self.cell.width
      parts.append(
        Self.text(
          word.map(\.text).joined(), x, height + 15, columns: word.count, letters, attributes))
    }
  }

  private static func rectangle(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ color: String
  ) -> String {
    #"<rect x="\#(x)" y="\#(y)" width="\#(width)" height="\#(height)" fill="\#(color)"/>"#
  }

  private static func text(
    _ text: String, _ x: Double, _ y: Double, columns: Int, _ color: String, _ attributes: String
  ) -> String {
    #"<text x="\#(x)" y="\#(y)" textLength="\#(Double(columns) * cell.width)" "#
      + #"lengthAdjust="spacingAndGlyphs" fill="\#(color)"\#(attributes)>\#(escaped(text))</text>"#
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
