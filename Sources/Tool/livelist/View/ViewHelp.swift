import TerminalViews

/// The help that `?` shows.
enum ViewHelp {
  private static let keys: [(String, String)] = [
    ("↑ ↓  k j", "select the row above or below"),
    ("PgUp PgDn", "scroll by a page; also Ctrl-B, Ctrl-F, Ctrl-U, Ctrl-D"),
    ("Home End  g G", "select the first or last row"),
    ("F", "follow the end: select the last row after each change, until you select another one"),
    (
      "Esc",
      "choose no row: the list stays where it is, for example at its top, and rows move through it"
    ),
    ("← →  h l", "scroll by a column; the column of --key stays in view"),
    (
      "Enter  o",
      "show all fields of the row in full; n and p go to the next and previous row, q returns. With "
        + "--choose, Enter ends the view and prints the marked rows, or this one; o shows the fields"
    ),
    (
      "Space v u",
      "mark the row (*) or remove its mark; invert the marks of the shown rows; remove all marks. Marks "
        + "stay with their rows, also while a filter hides them. In a text, Space scrolls by a page"
    ),
    ("/ n N", "search for a text; find the next or the previous match"),
    ("f", "show only rows that match a filter as you type it; Esc undoes this"),
    ("< >", "sort by the previous or next column"),
    ("r  u", "reverse the order; do not sort, if no row is marked"),
    ("i  :info", "show how the source is kept in step"),
    (
      ":swap SOURCE",
      "swap to another source: a file, DATABASE#TABLE, DATABASE?SQL or live:unix:PATH#NAME"
    ),
    (
      ":sort COLUMN",
      "sort by a column; add desc for descending order, and natural for file2 before file10"
    ),
    (
      ":filter FILTER",
      "the same as f. FIELD=VALUE, or != < <= > >= instead of =, compares a field; FIELD~TEXT and "
        + "FIELD!~TEXT look for a text in it, and FIELD~/…/ for a regular expression. and, or, not and "
        + "parentheses join them. Any other filter is words that are all in the row, or a regular "
        + "expression /…/ for any field"
    ),
    ("Tab  ↑ ↓", "while you type: complete a command, column or file; recall previous lines"),
    (":NUMBER", "select a row by its number"),
    ("Ctrl-L  Ctrl-Z", "redraw the screen; stop the program (continue with fg)"),
    ("Ctrl-R", "run the commands of sources again"),
    ("q  Ctrl-C", "quit"),
  ]

  /// Returns the lines of the help.
  ///
  /// - Parameters:
  ///   - source: The description of the source.
  ///   - bindings: The keys that run commands.
  ///   - columns: The columns of the screen.
  static func lines(source: [String], _ bindings: [ViewBinding], columns: Int) -> [TerminalLine] {
    let bound = bindings.map {
      ($0.name, "run for the marked rows, or the selected one: \($0.command)")
    }
    func wrapped(_ text: String, _ style: TerminalStyle = .plain) -> [TerminalLine] {
      TerminalText.wrapped(TerminalText.printable(text), to: columns)
        .map { TerminalLine($0, style) }
    }
    var lines = wrapped(
      "livelist view: the selected row stays in place", TerminalStyle(isBold: true))
    lines += source.flatMap { wrapped($0) } + [TerminalLine()]
    lines += ViewPager.lines(
      of: (bound + keys).map { ViewPager.Entry(label: $0, text: [(0, $1)]) }, columns: columns)
    lines += [TerminalLine()]
    lines += wrapped(
      "Changed rows are marked for a moment: + inserted, ~ updated, ^ moved.")
    lines += wrapped(
      "Until you choose a row, the list stays at its top. The last line says which row is selected; "
        + "↑ and ↓ count the rows above and below the screen.")
    return lines
  }
}
