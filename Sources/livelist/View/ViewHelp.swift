import TerminalViews

/// What `?` shows.
enum ViewHelp {
  private static let lines: [(keys: String, meaning: String)] = [
    ("↑ ↓  k j", "the row above, below"),
    ("PgUp PgDn", "a screen up, down; also Ctrl-B, Ctrl-F and space"),
    ("Home End  g G", "the first, the last row"),
    ("← →  h l", "columns further left, right"),
    ("/ n N", "search for some text, find it again, find it before"),
    ("f", "show only rows that hold some text; an empty one shows all"),
    ("< >", "sort by the column before, behind"),
    ("r  u", "reverse the order; do not sort"),
    (":swap SOURCE", "show another source: json:PATH, jsonl:PATH, sqlite:PATH?SQL, lines:-"),
    (":sort COLUMN", "sort by a column; with desc behind it, the greatest first"),
    (":filter TEXT", "as f does"),
    (":NUMBER", "go to a row"),
    ("Ctrl-L  Ctrl-Z", "draw all anew; stop, until fg"),
    ("q  Ctrl-C", "quit"),
  ]

  static func frame(for size: TerminalSize) -> TerminalFrame {
    let bold = TerminalStyle(isBold: true)
    let width = lines.map { TerminalText.width($0.keys) }.max() ?? 0
    var shown = [
      TerminalLine("livelist view: a list that stays where you look", bold), TerminalLine(),
    ]
    shown += lines.map { keys, meaning in
      var line = TerminalLine("  ")
      let space = String(repeating: " ", count: width - TerminalText.width(keys) + 3)
      line.append(keys + space, bold)
      line.append(meaning)
      return line
    }
    shown += [
      TerminalLine(),
      TerminalLine("Rows are marked for a moment: + came, ~ changed, ^ moved."),
      TerminalLine("Any key goes back."),
    ]
    return TerminalFrame(size: size, lines: shown)
  }
}
