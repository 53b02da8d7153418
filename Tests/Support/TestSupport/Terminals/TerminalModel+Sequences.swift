extension TerminalModel {
  /// Performs a sequence, which is given without its escape character.
  mutating func obey(_ sequence: String) {
    let final = sequence.last ?? " "
    let body = sequence.dropFirst().dropLast()
    if final != "m" { isAfterText = false }
    switch sequence {
    case "7": saved = (row, column, style)
    case "8":
      (row, column, style) = saved
      isPastEnd = false
    case "[!p":
      (style, region, isCursorShown, wrapsLines) = (Style(), 0..<rows, true, true)
    case _ where !sequence.hasPrefix("["): complain(sequence)
    case _ where body.hasPrefix("?"): setModes(body.dropFirst(), final, sequence)
    case _ where final == "m": setStyle(body, sequence)
    default:
      let fields = body.split(separator: ";", omittingEmptySubsequences: false)
      let numbers = fields.map { $0.isEmpty ? 0 : Int($0) ?? -1 }
      guard !numbers.contains(-1), numbers.count <= 2 else { return complain(sequence) }
      let first = numbers.first ?? 0
      perform(final, first, numbers.count > 1 ? numbers[1] : 0, sequence)
    }
  }

  private mutating func complain(_ sequence: String) {
    complaints.append("unknown sequence \(sequence)")
  }

  private mutating func perform(_ final: Character, _ first: Int, _ second: Int, _ sequence: String)
  {
    let count = max(1, first)
    switch final {
    case "H":
      move(to: count - 1, max(1, second) - 1, sequence)
    case "G": move(to: row, count - 1, sequence)
    case "K", "X":
      if final == "K", first != 0 { return complain(sequence) }
      if isPastEnd { complaints.append("\(sequence) where the last column was just written") }
      let end = final == "K" ? columns : min(columns, column + count)
      for column in column..<end { clear(column, style.background) }
    case "J":
      guard first == 2 else { return complain(sequence) }
      setRows(0..<rows, Array(repeating: emptyRow, count: rows))
      clearings += 1
    case "L", "M": shift(row..<region.upperBound, by: final == "L" ? count : -count, sequence)
    case "T", "S": shift(region, by: final == "T" ? count : -count, sequence)
    case "P", "@":
      for _ in 0..<min(count, columns - column) {
        clear(final == "P" ? column : columns - 1)
        var line = cells[row]
        line.remove(at: final == "P" ? column : columns - 1)
        line.insert(emptyRow[0], at: final == "P" ? columns - 1 : column)
        setRows(row..<(row + 1), [line])
      }
    case "r":
      let bottom = second == 0 ? rows : second
      guard count < bottom, bottom <= rows else {
        if first == 0, second == 0 { return setRegion(0..<rows) }
        return complaints.append("a region that is none: \(sequence)")
      }
      setRegion((count - 1)..<bottom)
    default: complain(sequence)
    }
  }

  private mutating func setRegion(_ rows: Range<Int>) {
    region = rows
    move(to: 0, 0, "r")
  }

  private mutating func move(to row: Int, _ column: Int, _ sequence: String) {
    if row >= rows || column >= columns { complaints.append("\(sequence) beyond the edge") }
    (self.row, self.column) = (min(row, rows - 1), min(column, columns - 1))
    isPastEnd = false
  }

  private mutating func shift(_ range: Range<Int>, by distance: Int, _ sequence: String) {
    guard region.contains(range.lowerBound) else {
      return complaints.append("\(sequence) outside of the region")
    }
    let count = min(abs(distance), range.count)
    let blanks = Array(repeating: emptyRow, count: count)
    let (low, high) = (range.lowerBound, range.upperBound)
    setRows(
      range,
      distance < 0
        ? Array(cells[(low + count)..<high]) + blanks : blanks + Array(cells[low..<(high - count)]))
    (column, isPastEnd) = (0, false)
  }

  private mutating func setModes(_ modes: Substring, _ final: Character, _ sequence: String) {
    guard final == "h" || final == "l" else { return complain(sequence) }
    let isOn = final == "h"
    for mode in modes.split(separator: ";") {
      switch mode {
      case "7": wrapsLines = isOn
      case "25": isCursorShown = isOn
      case "1049": setAlternate(isOn)
      case "2004": bracketsPastes = isOn
      default: complain(sequence)
      }
    }
  }

  private mutating func setStyle(_ codes: Substring, _ sequence: String) {
    for code in codes.split(separator: ";", omittingEmptySubsequences: false) {
      switch Int(code) ?? (code.isEmpty ? 0 : -1) {
      case 0: style = Style()
      case 1: style.isBold = true
      case 2: style.isFaint = true
      case 4: style.isUnderlined = true
      case 7: style.isReversed = true
      case 22: (style.isBold, style.isFaint) = (false, false)
      case 24: style.isUnderlined = false
      case 27: style.isReversed = false
      case let code where (30...37).contains(code): style.foreground = code - 30
      case let code where (90...97).contains(code): style.foreground = code - 82
      case 39: style.foreground = nil
      case let code where (40...47).contains(code): style.background = code - 40
      case let code where (100...107).contains(code): style.background = code - 92
      case 49: style.background = nil
      default: complain(sequence)
      }
    }
  }
}
