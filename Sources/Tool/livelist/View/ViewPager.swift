import TerminalViews

/// Lines of text that take the place of the list, and that the user scrolls.
struct ViewPager: Equatable {
  typealias Command = TerminalListState<ViewLine>.Command

  private var lines: [TerminalLine] = []
  private var height = 0
  private var top = 0

  /// Returns the lines that are visible, followed by empty lines.
  mutating func show(_ lines: [TerminalLine], height: Int) -> [TerminalLine] {
    (self.lines, self.height) = (lines, height)
    scroll(to: top)
    let visible = lines[top...].prefix(height)
    return visible + Array(repeating: TerminalLine(), count: max(0, height - visible.count))
  }

  /// Scrolls by a line or a page, or to one end.
  ///
  /// - Returns: A Boolean value that indicates whether the command scrolls up or down.
  mutating func perform(_ command: Command) -> Bool {
    let page = max(1, height - 1)
    switch command {
    case .up: scroll(to: top - 1)
    case .down: scroll(to: top + 1)
    case .pageUp: scroll(to: top - page)
    case .pageDown: scroll(to: top + page)
    case .home: scroll(to: 0)
    case .end: scroll(to: lines.count)
    case .left, .right: return false
    }
    return true
  }

  /// The visible part of the lines, or `nil` if all of them are visible.
  var part: String? {
    let end = min(top + height, lines.count)
    return lines.count > height ? "lines \(top + 1)–\(end) of \(lines.count)" : nil
  }

  private mutating func scroll(to line: Int) { top = max(0, min(line, lines.count - height)) }
}

extension ViewPager {
  /// A label, and a text beside it.
  struct Entry {
    let label: String
    /// The lines of the text, each with the number of columns by which it is indented.
    let text: [(indent: Int, line: String)]
    /// The mark before the label.
    var mark: RowMark?
  }

  /// Returns the lines of entries, in which long texts are wrapped.
  static func lines(of entries: [Entry], columns: Int) -> [TerminalLine] {
    let widths = entries.map { TerminalText.width(TerminalText.printable($0.label)) }
    let labelWidth = min(widths.max() ?? 0, max(8, columns / 3))
    return entries.flatMap { lines(of: $0, labelWidth: labelWidth, columns: columns) }
  }

  private static func lines(
    of entry: Entry, labelWidth: Int, columns: Int
  ) -> [TerminalLine] {
    let (start, color) = (labelWidth + 4, entry.mark?.color)
    let label = TerminalText.printable(entry.label)
    var line = TerminalLine((entry.mark?.sign ?? " ") + " ", TerminalStyle(foreground: color))
    line.append(label, TerminalStyle(foreground: color, isBold: true))
    var lines: [TerminalLine] = []
    if TerminalText.width(label) > labelWidth {
      lines.append(line)
      line = TerminalLine()
    }
    for (indent, text) in entry.text {
      // Leave room for some characters on each line, also of deeply nested values.
      let indent = start + min(indent, max(0, (columns - start) / 2))
      for part in TerminalText.folded(TerminalText.printable(text), to: max(1, columns - indent)) {
        line.append(String(repeating: " ", count: max(0, indent - line.width)))
        line.append(part, TerminalStyle(foreground: color))
        lines.append(line)
        line = TerminalLine()
      }
    }
    return lines
  }
}
