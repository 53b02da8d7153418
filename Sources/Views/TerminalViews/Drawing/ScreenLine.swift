/// The contents of one column in a row of the screen.
struct ScreenCell: Equatable {
  /// A character with its combining marks. The text is empty if a wide character on the left covers
  /// the cell.
  var text: String
  var style: TerminalStyle

  static let blank = ScreenCell(text: " ", style: .plain)

  /// A Boolean value that indicates whether terminals may measure the character differently.
  var isAmbiguous: Bool { text.contains { CharacterWidth.isAmbiguous($0) } }
}

/// The layout of a line on the screen, column by column, clipped at the edge.
struct ScreenLine {
  /// The cells up to the last one that is not blank.
  private(set) var cells: [ScreenCell] = []
  /// A Boolean value that indicates whether terminals may measure a character differently.
  private(set) var isAmbiguous = false

  init() {}

  init(_ line: TerminalLine, columns: Int, isColorless: Bool) {
    cells.reserveCapacity(min(line.width, columns))
    for span in line.spans {
      let style = isColorless ? span.style.withoutColors : span.style
      guard append(span.text, style, columns: columns) else { break }
    }
    while cells.last == .blank { cells.removeLast() }
  }

  subscript(column: Int) -> ScreenCell {
    column < cells.count ? cells[column] : .blank
  }

  var lastCharacter: ScreenCell? { cells.last { !$0.text.isEmpty } }

  /// Returns a Boolean value that indicates whether a column is the first one of its character.
  func isStart(_ column: Int) -> Bool {
    column >= cells.count || !cells[column].text.isEmpty
  }

  /// Appends as much of a text as fits.
  ///
  /// - Returns: A Boolean value that indicates whether the whole text fits.
  private mutating func append(_ text: String, _ style: TerminalStyle, columns: Int) -> Bool {
    let space = ScreenLine.visibleStyle(ofSpaceIn: style)
    if TerminalText.isPlain(text) {
      for byte in text.utf8.prefix(columns - cells.count) {
        let isSpace = byte == UInt8(ascii: " ")
        cells.append(
          ScreenCell(text: String(Unicode.Scalar(byte)), style: isSpace ? space : style))
      }
      return cells.count < columns
    }
    for character in text {
      let width = CharacterWidth.width(of: character)
      // A variation selector can make a character narrow, but the terminal first shows it wide.
      let room = max(
        width, character.unicodeScalars.first.map { CharacterWidth.width(of: $0) } ?? 0)
      guard cells.count + room <= columns else { return false }
      isAmbiguous = isAmbiguous || CharacterWidth.isAmbiguous(character)
      if width > 0 {
        cells.append(
          ScreenCell(text: String(character), style: character == " " ? space : style))
        for _ in 1..<width { cells.append(ScreenCell(text: "", style: style)) }
      } else if let start = cells.lastIndex(where: { !$0.text.isEmpty }) {
        cells[start].text.append(character)
      }
    }
    return true
  }

  /// Returns the part of a style that is visible in a space.
  static func visibleStyle(ofSpaceIn style: TerminalStyle) -> TerminalStyle {
    guard !style.isReversed, !style.isUnderlined else { return style }
    return TerminalStyle(background: style.background)
  }

  /// Returns ranges of columns that cover all differences between two rows.
  ///
  /// No range cuts a character of either row. The last range ends at or before the end of the new
  /// row, unless a character of the old row extends beyond it.
  static func differences(_ old: ScreenLine, _ new: ScreenLine) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var column = 0
    while column < new.cells.count {
      guard new[column] != old[column] else {
        column += 1
        continue
      }
      // Equal characters have equal widths: the first difference is the start of a character in
      // both.
      let start = column
      var end = column + 1
      while !new.isStart(end) || !old.isStart(end) { end += 1 }
      // Rewriting up to four equal columns takes no more bytes than moving the cursor.
      if let last = ranges.last, start - last.upperBound <= 4 {
        ranges[ranges.count - 1] = last.lowerBound..<end
      } else {
        ranges.append(start..<end)
      }
      column = end
    }
    return ranges
  }
}
