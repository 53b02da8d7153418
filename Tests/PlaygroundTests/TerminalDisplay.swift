/// What a terminal would show, as far as the demo makes use of it.
struct TerminalDisplay {
  private(set) var isAlternate = false
  private(set) var isCursorShown = true
  private(set) var wrapsLines = true
  /// Whether letters are plain.
  private(set) var isPlain = true
  /// What it was sent that it should not have been.
  private(set) var complaints: [String] = []
  private var cells: [[Character]]
  private var row = 0
  private var column = 0
  /// The beginning of a sequence whose end has not come.
  private var pending = ""

  init(rows: Int, columns: Int) {
    cells = []
    resize(rows: rows, columns: columns)
  }

  mutating func resize(rows: Int, columns: Int) {
    cells = Array(repeating: Array(repeating: " ", count: columns), count: rows)
    (row, column) = (0, 0)
  }

  /// The lines from the top, without spaces at their ends.
  var lines: [String] {
    cells.map { line in
      String(line.reversed().drop { $0 == " " }.reversed())
    }
  }

  var text: String { lines.joined(separator: "\n") }

  mutating func show(_ text: String) {
    var rest = (pending + text).unicodeScalars[...]
    pending = ""
    while let scalar = rest.first {
      if scalar == "\u{1B}" {
        guard let end = rest.dropFirst(2).firstIndex(where: { ("@"..."~").contains($0) }) else {
          pending = String(rest)
          return
        }
        obey(String(rest[rest.index(rest.startIndex, offsetBy: 1)...end]))
        rest = rest[rest.index(after: end)...]
        continue
      }
      rest.removeFirst()
      if scalar.properties.generalCategory == .control {
        complaints.append("control character \(scalar.value)")
      } else if row < cells.count, column < cells[row].count {
        cells[row][column] = Character(scalar)
        column += 1
      } else {
        // While a terminal is being resized, what was meant for the old size may still come.
        complaints.append("\(scalar) beyond the edge, at \(row), \(column)")
      }
    }
  }

  /// Forgets complaints.
  mutating func forgive() { complaints = [] }

  private mutating func obey(_ sequence: String) {
    switch sequence {
    case "[?1049h", "[?1049l": isAlternate = sequence.last == "h"
    case "[?25h", "[?25l": isCursorShown = sequence.last == "h"
    case "[?7h", "[?7l": wrapsLines = sequence.last == "h"
    case "[2J":
      for row in cells.indices { erase(row, from: 0) }
    case "[K":
      if row < cells.count { erase(row, from: column) }
    default:
      let numbers = sequence.dropFirst().dropLast().split(separator: ";").map { Int($0) }
      switch (sequence.last, numbers.count) {
      case ("m", 1): isPlain = numbers[0] == 0
      case ("H", 2): (row, column) = ((numbers[0] ?? 1) - 1, (numbers[1] ?? 1) - 1)
      default: complaints.append("unknown sequence \(sequence)")
      }
    }
  }

  private mutating func erase(_ row: Int, from column: Int) {
    for column in cells[row].indices.dropFirst(column) { cells[row][column] = " " }
  }
}
