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

  /// The widths of the columns from `first` on that fit into a line.
  ///
  /// Where room is short the widest columns are cut first, to a common width; what is left over is not
  /// shared out.
  ///
  /// - Parameters:
  ///   - first: The first column that is shown.
  ///   - room: The columns of the terminal.
  func fitted(from first: Int, into room: Int) -> [Int] {
    let wanted = Array(widest.dropFirst(first))
    let gaps = max(0, wanted.count - 1) * ColumnWidths.gap
    guard wanted.reduce(gaps, +) > room else { return wanted }
    // Narrow ones take what they need, the others share the rest evenly.
    var left = max(0, room - gaps)
    var fitted = wanted
    let byWidth = wanted.indices.sorted { wanted[$0] < wanted[$1] }
    for (number, column) in byWidth.enumerated() {
      let share = left / (byWidth.count - number)
      fitted[column] = min(wanted[column], share)
      left -= fitted[column]
    }
    return fitted
  }
}
