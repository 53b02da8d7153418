import TerminalViews

/// The help that `?` shows.
enum ViewHelp {
  private static let lines: [(keys: String, meaning: String)] = [
    ("↑ ↓  k j", "select the row above or below"),
    ("PgUp PgDn", "scroll by a page; also Ctrl-B, Ctrl-F and Space"),
    ("Home End  g G", "select the first or last row"),
    ("← →  h l", "scroll by a column"),
    ("/ n N", "search for a text; find the next or the previous match"),
    ("f", "show only rows that contain the text as you type it; Esc undoes this"),
    ("< >", "sort by the previous or next column"),
    ("r  u", "reverse the order; do not sort"),
    (":swap SOURCE", "swap to json:PATH, jsonl:PATH, sqlite:PATH?SQL or lines:-"),
    (":sort COLUMN", "sort by a column; add desc for descending order"),
    (":filter TEXT", "the same as f"),
    (":NUMBER", "select a row by its number"),
    ("Ctrl-L  Ctrl-Z", "redraw the screen; stop the program (continue with fg)"),
    ("q  Ctrl-C", "quit"),
  ]

  static func frame(for size: TerminalSize) -> TerminalFrame {
    let bold = TerminalStyle(isBold: true)
    let width = lines.map { TerminalText.width($0.keys) }.max() ?? 0
    var shown = [
      TerminalLine("livelist view: the selected row stays in place", bold), TerminalLine(),
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
      TerminalLine("Changed rows are marked for a moment: + inserted, ~ updated, ^ moved."),
      TerminalLine("Press any key to return."),
    ]
    return TerminalFrame(size: size, lines: shown)
  }
}
