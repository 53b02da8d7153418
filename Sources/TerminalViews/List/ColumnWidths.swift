/// How wide the columns of a terminal list are: as wide as what they have shown so far, so that they
/// do not change whenever one scrolls.
struct ColumnWidths: Sendable, Hashable {
  /// What stands between two columns.
  static let gap = 2

  private var widest: [Int] = []

  /// Forgets what was shown, for other columns.
  mutating func reset(titles: [String]) {
    widest = titles.map { TerminalText.width(TerminalText.printable($0)) }
  }

  /// Takes note of a text that is shown.
  mutating func note(_ width: Int, in column: Int, maximum: Int) {
    widest[column] = max(widest[column], min(width, maximum))
  }

  /// The end of the columns that a screen can have room for: gaps alone fill it beyond that one.
  static func end(from first: Int, of count: Int, in room: Int) -> Int {
    min(count, first + room / gap + 1)
  }

  /// The widths of the columns from `first` on that fit into a line; fewer than there are columns where
  /// the rest stands beyond the edge.
  ///
  /// Where room is short no column takes more than a part of it. What is left then goes to those that
  /// were cut; where even that does not fit, the columns at the right are cut off by the edge.
  ///
  /// - Parameters:
  ///   - first: The first column that is shown.
  ///   - room: The columns of the terminal.
  func fitted(from first: Int, into room: Int) -> [Int] {
    let wanted = widest.dropFirst(first)
    let gaps = max(0, wanted.count - 1) * ColumnWidths.gap
    guard wanted.reduce(gaps, +) > room else { return Array(wanted) }
    let limit = max(12, room / 3)
    var fitted: [Int] = []
    var left = room
    for width in wanted where left > 0 {
      let taken = min(width, limit, left)
      fitted.append(taken)
      left -= taken + ColumnWidths.gap
    }
    // After the last column there is no gap.
    left += ColumnWidths.gap
    for (number, width) in wanted.prefix(fitted.count).enumerated() where left > 0 {
      let more = min(width - fitted[number], left)
      fitted[number] += more
      left -= more
    }
    return fitted
  }
}
