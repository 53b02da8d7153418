/// A model of a terminal for tests: it shows the screen for the bytes that it receives.
///
/// The model shares no code with the library. It measures characters with the C library, and reports all bytes
/// that a careful program does not send.
package struct TerminalModel: Sendable {
  /// The attributes of letters.
  package struct Style: Sendable, Hashable {
    package var foreground: Int?
    package var background: Int?
    package var isBold = false
    package var isFaint = false
    package var isUnderlined = false
    package var isReversed = false

    package init() {}
  }

  /// The character in a column, or an empty string if a wide character to the left covers it.
  package struct Cell: Sendable, Hashable {
    package var text = " "
    package var style = Style()

    package init() {}
  }

  package private(set) var rows: Int
  package private(set) var columns: Int
  package private(set) var cells: [[Cell]] = []
  package internal(set) var row = 0
  package internal(set) var column = 0
  package internal(set) var style = Style()
  package internal(set) var isAlternate = false
  package internal(set) var isCursorShown = true
  package internal(set) var wrapsLines = true
  package internal(set) var bracketsPastes = false
  /// The rows that scroll.
  package internal(set) var region = 0..<0
  /// The errors in the received bytes.
  package internal(set) var complaints: [String] = []
  /// The number of times that the whole screen was erased.
  package internal(set) var clearings = 0

  /// A Boolean value that indicates whether scalars are measured one by one, as simple terminals do.
  private let isSimple: Bool
  /// The bytes of a character or a sequence that has not ended.
  private var pending: [UInt8] = []
  /// A Boolean value that indicates whether the last column is written, so the next character begins a line.
  var isPastEnd = false
  /// A Boolean value that indicates whether only attributes have changed since a character was written.
  var isAfterText = false
  var saved = (row: 0, column: 0, style: Style())
  /// The normal screen while the alternate one is shown.
  private var other: [[Cell]] = []
  /// The position of the cursor on the normal screen.
  private var normal = (row: 0, column: 0)

  package init(rows: Int, columns: Int, isSimple: Bool = false) {
    (self.rows, self.columns, self.isSimple) = (rows, columns, isSimple)
    region = 0..<rows
    cells = blank()
    other = cells
  }

  /// A Boolean value that indicates whether letters have no attributes.
  package var isPlain: Bool { style == Style() }

  /// The lines from the top, without trailing spaces.
  package var lines: [String] {
    cells.map { line in
      var text = line.map(\.text).joined()
      while text.last == " " { text.removeLast() }
      return text
    }
  }

  package var text: String { lines.joined(separator: "\n") }

  /// Changes the size and clears the screen, because a program draws it again.
  package mutating func resize(rows: Int, columns: Int) {
    (self.rows, self.columns) = (rows, columns)
    region = 0..<rows
    (row, column, isPastEnd, isAfterText) = (0, 0, false, false)
    cells = blank()
    other = cells
  }

  /// Fills the screen with text that no program has written.
  package mutating func damage() {
    var cell = Cell()
    cell.text = "?"
    cells = Array(repeating: Array(repeating: cell, count: columns), count: rows)
  }

  /// Removes the errors so far.
  package mutating func forgive() { complaints = [] }

  package mutating func show(_ text: String) { show(Array(text.utf8)) }

  package mutating func show(_ bytes: [UInt8]) {
    var rest = (pending + bytes)[...]
    pending = []
    while let first = rest.first {
      let length: Int?
      if first == 0x1B {
        length = TerminalModel.lengthOfSequence(rest)
      } else {
        let count = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        length = rest.count >= count ? count : nil
      }
      guard let length else {
        pending = Array(rest)
        return
      }
      let part = rest.prefix(length)
      rest = rest.dropFirst(length)
      guard let text = String(validating: part, as: UTF8.self) else {
        complaints.append("bytes that are no text: \(Array(part))")
        continue
      }
      if first == 0x1B {
        obey(String(text.dropFirst()))
      } else if let scalar = text.unicodeScalars.first {
        show(scalar)
      }
    }
  }

  /// Returns the number of bytes of the sequence that begins here, or `nil` if it has not ended.
  private static func lengthOfSequence(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.count > 1 else { return nil }
    guard bytes[bytes.startIndex + 1] == UInt8(ascii: "[") else { return 2 }
    let end = bytes.dropFirst(2).firstIndex { (0x40...0x7E).contains($0) }
    return end.map { $0 - bytes.startIndex + 1 }
  }

  private func blank() -> [[Cell]] {
    Array(repeating: Array(repeating: Cell(), count: columns), count: rows)
  }

  private mutating func show(_ scalar: Unicode.Scalar) {
    if scalar.properties.generalCategory == .control {
      if scalar == "\r" {
        (column, isPastEnd) = (0, false)
      } else if scalar == "\n", row < rows - 1 {
        row += 1
      } else {
        complaints.append("control character \(scalar.value)")
      }
      return
    }
    let measured = CharacterMeasure.width(of: scalar)
    if measured < 0 { complaints.append("U+\(String(scalar.value, radix: 16)) cannot be shown") }
    let width = max(0, measured)
    if isAfterText, let start = previous, width == 0 || !isSimple,
      CharacterMeasure.joins(scalar, to: cells[row][start].text)
    {
      cells[row][start].text.unicodeScalars.append(scalar)
      // The added scalar may change the width of the character.
      if !isSimple { widen(start, to: CharacterMeasure.widthOfPart(cells[row][start].text)) }
      return
    }
    if width == 0 {
      complaints.append("U+\(String(scalar.value, radix: 16)) has nothing to stand on")
      return
    }
    if isPastEnd || column + width > columns {
      if wrapsLines || column + width > columns {
        complaints.append("\(scalar) beyond the edge, at \(row), \(column)")
      }
      isPastEnd = false
      column = max(0, columns - width)
    }
    put(String(scalar), width: width)
  }

  /// Returns the column of the last character, if the cursor is directly after it.
  private var previous: Int? {
    guard let last = isPastEnd ? columns - 1 : column > 0 ? column - 1 : nil else { return nil }
    return cells[row][...last].lastIndex { !$0.text.isEmpty }
  }

  private mutating func put(_ text: String, width: Int) {
    for column in column..<(column + width) { clear(column) }
    var cell = Cell()
    (cell.text, cell.style) = (text, style)
    cells[row][column] = cell
    cell.text = ""
    for column in (column + 1)..<max(column + 1, column + width) { cells[row][column] = cell }
    advance(to: column + width)
  }

  private mutating func widen(_ start: Int, to width: Int) {
    let cell = cells[row][start]
    let old = cells[row][(start + 1)...].prefix { $0.text.isEmpty }.count + 1
    guard width != old else { return }
    guard start + width <= columns else {
      complaints.append("\(cell.text) beyond the edge, at \(row), \(start)")
      return
    }
    let current = style
    clear(start)
    (column, style) = (start, cell.style)
    put(cell.text, width: width)
    style = current
  }

  private mutating func advance(to column: Int) {
    isPastEnd = column >= columns
    isAfterText = true
    self.column = min(column, columns - 1)
  }

  /// Clears a column. If half of a wide character is overwritten, all of it is removed.
  mutating func clear(_ column: Int, _ background: Int? = nil) {
    guard let start = cells[row][...column].lastIndex(where: { !$0.text.isEmpty }) else { return }
    var end = start + 1
    while end < columns, cells[row][end].text.isEmpty { end += 1 }
    for part in start..<end { cells[row][part] = Cell() }
    cells[row][column].style.background = background
  }

  /// Returns an empty row, as it appears after erasing and scrolling.
  var emptyRow: [Cell] {
    var cell = Cell()
    cell.style.background = style.background
    return Array(repeating: cell, count: columns)
  }

  mutating func setRows(_ range: Range<Int>, _ rows: some Collection<[Cell]>) {
    cells.replaceSubrange(range, with: rows)
  }

  mutating func setAlternate(_ isAlternate: Bool) {
    guard isAlternate != self.isAlternate else { return }
    self.isAlternate = isAlternate
    swap(&cells, &other)
    if isAlternate {
      cells = blank()
      normal = (row, column)
    } else {
      (row, column) = (min(normal.row, rows - 1), min(normal.column, columns - 1))
    }
    isPastEnd = false
  }
}
