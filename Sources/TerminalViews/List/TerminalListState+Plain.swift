import ObservableCollections

extension TerminalListState {
  /// Writes the whole list as plain lines, headings first: for an output that is no terminal.
  ///
  /// Columns are as wide as their widest text; neither marks nor the selection show.
  ///
  /// - Parameter write: Takes each line, without its end.
  /// - Complexity: O(*n*), each text asked for twice.
  public func writePlainLines(_ write: (String) throws -> Void) rethrows {
    var widths = ColumnWidths()
    widths.reset(titles: columns.map(\.title))
    for element in contents {
      for (number, column) in columns.enumerated() {
        let text = TerminalText.printable(column.text(element))
        widths.note(TerminalText.width(text), in: number, maximum: column.maximumWidth)
      }
    }
    let fitted = widths.fitted(from: 0, into: .max)
    func line(_ text: (TerminalColumn<Element>) -> String) -> String {
      var line = TerminalLine()
      append(to: &line, fitted) { (text($0), .plain) }
      var plain = line.text[...]
      while plain.last == " " { plain.removeLast() }
      return String(plain)
    }
    try write(line(\.title))
    for element in contents { try write(line { $0.text(element) }) }
  }
}
