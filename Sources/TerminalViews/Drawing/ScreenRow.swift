/// What stands in one column of the screen.
struct ScreenCell: Equatable {
  /// A character, with what combines with it; empty where one to the left reaches over.
  var text: String
  var style: TerminalStyle

  static let blank = ScreenCell(text: " ", style: .plain)
}

/// A line as it stands on a screen: cut at its edge, column by column.
struct ScreenRow {
  /// One for each column up to the last that is not blank.
  private(set) var cells: [ScreenCell] = []
  /// Whether terminals may measure some of it differently.
  private(set) var isDoubtful = false

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

  /// What stands at the end.
  var lastCharacter: ScreenCell? { cells.last { !$0.text.isEmpty } }

  /// Whether a column is the first one of what stands there.
  func isStart(_ column: Int) -> Bool {
    column >= cells.count || !cells[column].text.isEmpty
  }

  /// Adds text as far as it fits; false where it did not.
  private mutating func append(_ text: String, _ style: TerminalStyle, columns: Int) -> Bool {
    let space = ScreenRow.ofSpace(style)
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
      // One that is made narrow by what follows it in the text needs room for a moment.
      let room = max(
        width, character.unicodeScalars.first.map { CharacterWidth.width(of: $0) } ?? 0)
      guard cells.count + room <= columns else { return false }
      isDoubtful = isDoubtful || CharacterWidth.isDoubtful(character)
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

  /// What can be seen of a style where there are no letters.
  static func ofSpace(_ style: TerminalStyle) -> TerminalStyle {
    guard !style.isReversed, !style.isUnderlined else { return style }
    return TerminalStyle(background: style.background)
  }
}

extension ScreenCell {
  /// Whether terminals may measure it differently.
  var isDoubtful: Bool { text.contains { CharacterWidth.isDoubtful($0) } }
}

extension ScreenRow {
  /// Stretches of columns that hold all in which the new row differs from the old one, no character of
  /// either cut; up to the end of the new one, but for a character of the old one that ends behind it.
  static func differences(_ old: ScreenRow, _ new: ScreenRow) -> [Range<Int>] {
    var stretches: [Range<Int>] = []
    var column = 0
    while column < new.cells.count {
      guard new[column] != old[column] else {
        column += 1
        continue
      }
      // Equal characters are equally wide: what differs first is the start of one in both.
      let start = column
      var end = column + 1
      while !new.isStart(end) || !old.isStart(end) { end += 1 }
      // To write what is there costs no more than to go past it.
      if let last = stretches.last, start - last.upperBound <= 4 {
        stretches[stretches.count - 1] = last.lowerBound..<end
      } else {
        stretches.append(start..<end)
      }
      column = end
    }
    return stretches
  }
}
