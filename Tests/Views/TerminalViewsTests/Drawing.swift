import TerminalViews
import TestSupport

/// The expected appearance of a frame, drawn in the simplest way.
enum Drawing {
  /// Draws each character at its position with its full style.
  static func cells(of frame: TerminalFrame, isColorless: Bool = false) -> [[TerminalModel.Cell]] {
    var model = TerminalModel(rows: frame.size.rows, columns: frame.size.columns)
    for (row, line) in frame.lines.enumerated() {
      var column = 0
      characters: for span in line.spans {
        for character in span.text {
          let width = CharacterMeasure.width(of: String(character))
          let first = CharacterMeasure.width(of: character.unicodeScalars.first ?? " ")
          guard column + max(width, first) <= frame.size.columns else { break characters }
          let isSpace = character == " "
          let style = isColorless ? span.style.withoutColors : span.style
          model.show(
            "\u{1B}[\(row + 1);\(column + 1)H\(codes(style, isSpace: isSpace))\(character)")
          column += width
        }
      }
    }
    precondition(model.complaints.isEmpty, "\(model.complaints)")
    return visible(model.cells)
  }

  private static func codes(_ style: TerminalStyle, isSpace: Bool) -> String {
    var codes = ["0"]
    // Only the background of a space is visible, unless the style reverses or underlines it.
    let hasLetters = !isSpace || style.isReversed || style.isUnderlined
    if hasLetters, style.isBold { codes.append("1") }
    if hasLetters, style.isFaint { codes.append("2") }
    if style.isUnderlined { codes.append("4") }
    if style.isReversed { codes.append("7") }
    if hasLetters, let color = style.foreground { codes.append(code(color, 30)) }
    if let color = style.background { codes.append(code(color, 40)) }
    return "\u{1B}[" + codes.joined(separator: ";") + "m"
  }

  private static func code(_ color: TerminalColor, _ first: Int) -> String {
    let number = Int(color.rawValue)
    return number < 8 ? "\(first + number)" : "\(first + 52 + number)"
  }

  /// Returns the cells with the style of each space reduced to its visible part.
  static func visible(_ cells: [[TerminalModel.Cell]]) -> [[TerminalModel.Cell]] {
    cells.map { line in
      line.map { cell in
        guard cell.text == " ", !cell.style.isReversed, !cell.style.isUnderlined else {
          return cell
        }
        var visible = TerminalModel.Cell()
        visible.style.background = cell.style.background
        return visible
      }
    }
  }
}
