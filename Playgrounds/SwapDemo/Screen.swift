/// What stands on the screen, so that only lines that change are written.
struct Screen {
  /// How a piece of a line looks.
  enum Style: String {
    case plain = ""
    case bold = "1"
    case faint = "2"
    case reversed = "7"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"
  }

  /// One line, in pieces. What would disturb the screen is taken out of them.
  struct Line: Equatable {
    private(set) var pieces: [(text: String, style: Style)] = []

    init(_ text: String = "", _ style: Style = .plain) {
      append(text, style)
    }

    mutating func append(_ text: String, _ style: Style = .plain) {
      pieces.append((Text.printable(text), style))
    }

    /// The line without its looks.
    var text: String { pieces.map(\.text).joined() }

    static func == (one: Line, other: Line) -> Bool {
      one.pieces.elementsEqual(other.pieces) { $0.text == $1.text && $0.style == $1.style }
    }
  }

  private let isColourless: Bool
  private var shown: [Line] = []
  private var size = (rows: 0, columns: 0)

  /// Makes a screen of which nothing is known.
  ///
  /// - Parameter isColourless: Whether everything is to look plain.
  init(isColourless: Bool) {
    self.isColourless = isColourless
  }

  /// Forgets what is shown, so that everything is written again.
  mutating func forget() {
    size = (0, 0)
  }

  /// What to send to a terminal of this size so that it shows these lines; empty where it does.
  mutating func update(to lines: [Line], size: (rows: Int, columns: Int)) -> String {
    var output = ""
    if size != self.size {
      output += "\u{1B}[0m\u{1B}[2J"
      shown = []
      self.size = size
    }
    let lines = Array(lines.prefix(size.rows))
    for row in 0..<max(lines.count, shown.count) {
      let line = row < lines.count ? lines[row] : Line()
      guard line != (row < shown.count ? shown[row] : Line()) else { continue }
      output += "\u{1B}[\(row + 1);1H" + rendered(line)
    }
    shown = lines
    return output
  }

  /// As much of a line as fits, and the rest of its row blank.
  private func rendered(_ line: Line) -> String {
    var left = size.columns
    var output = ""
    for piece in line.pieces {
      let text = Text.clipped(piece.text, to: left)
      left -= Text.width(text)
      if isColourless || piece.style == .plain {
        output += text
      } else {
        output += "\u{1B}[\(piece.style.rawValue)m\(text)\u{1B}[0m"
      }
    }
    // In the last column, erasing would take the last character away.
    return left > 0 ? output + "\u{1B}[K" : output
  }
}
