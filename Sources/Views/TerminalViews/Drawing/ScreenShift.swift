/// A movement of adjacent rows up or down that a terminal can perform with one command.
struct ScreenShift: Equatable {
  /// The rows of the moved lines after the shift.
  let new: Range<Int>
  /// The number of rows by which the contents move down, or up if it is negative.
  let distance: Int

  /// The first row that changes.
  var top: Int { min(new.lowerBound, new.lowerBound - distance) }
  /// The last row that changes.
  var bottom: Int { max(new.upperBound, new.upperBound - distance) - 1 }

  /// Moves the rows of an array as the terminal does, and fills empty rows with `blank`.
  func apply<Row>(to rows: inout [Row], blank: Row) {
    let count = abs(distance)
    let blanks = repeatElement(blank, count: count)
    if distance < 0 {
      rows.replaceSubrange(top...bottom, with: Array(rows[(top + count)...bottom]) + blanks)
    } else {
      rows.replaceSubrange(top...bottom, with: blanks + Array(rows[top...(bottom - count)]))
    }
  }

  /// Returns shifts that move lines to their new rows, in the order in which to perform them.
  ///
  /// The search finds the run of shared lines with the greatest weight, then continues above and
  /// below it. Therefore, runs never cross. Runs that move up are shifted first, from top to
  /// bottom, and then runs that move down, from bottom to top. In this order, no shift overwrites
  /// lines that a later shift needs.
  ///
  /// - Parameters:
  ///   - old: The lines that the screen shows.
  ///   - new: The lines to show.
  ///   - costs: The number of bytes for each row that drawing it takes without shifts.
  /// - Complexity: O(n²) for each shift, where n is the number of rows from the first to the last
  ///   one with a cost above 0.
  static func shifts(
    from old: [TerminalLine], to new: [TerminalLine], costs: [Int]
  ) -> [ScreenShift] {
    guard let first = costs.firstIndex(where: { $0 > 0 }),
      let last = costs.lastIndex(where: { $0 > 0 }), first < last, last - first < maximumRows
    else { return [] }
    let moved = RunSearch(old: old, new: new).runs(in: first..<(last + 1)).filter { run in
      run.distance != 0 && costs[run.new].reduce(0, +) > shiftCost
    }
    return moved.filter { $0.distance < 0 } + moved.reversed().filter { $0.distance > 0 }
  }

  /// The approximate number of bytes of the commands for one shift.
  private static let shiftCost = 14
  /// The number of rows above which no shifts are searched, because the search is quadratic.
  private static let maximumRows = 1000
}

/// Finds the runs of lines that two versions of a screen share. A run that has not moved is a shift by 0 rows.
private struct RunSearch {
  /// A number for each line. Equal lines have equal numbers.
  private let old: [Int]
  private let new: [Int]
  /// The number of bytes saved if a line of the new version need not be drawn.
  private let weights: [Int]

  init(old: [TerminalLine], new: [TerminalLine]) {
    var numbers: [TerminalLine: Int] = [:]
    func number(_ line: TerminalLine) -> Int {
      if let number = numbers[line] { return number }
      numbers[line] = numbers.count
      return numbers.count - 1
    }
    self.old = old.map { number($0) }
    self.new = new.map { number($0) }
    weights = new.map { line in
      line.width == 0 ? 0 : line.spans.reduce(4) { $0 + $1.text.utf8.count }
    }
  }

  /// Returns the runs within some rows from top to bottom. They do not cross each other.
  func runs(in rows: Range<Int>) -> [ScreenShift] {
    var found: [ScreenShift] = []
    var open = [(old: rows, new: rows)]
    while let (old, new) = open.popLast() {
      guard let run = heaviest(old: old, new: new) else { continue }
      found.append(run)
      let end = run.new.upperBound
      open.append(
        (old.lowerBound..<(run.new.lowerBound - run.distance), new.lowerBound..<run.new.lowerBound))
      open.append(((end - run.distance)..<old.upperBound, end..<new.upperBound))
    }
    return found.sorted { $0.new.lowerBound < $1.new.lowerBound }
  }

  private func heaviest(old oldRows: Range<Int>, new newRows: Range<Int>) -> ScreenShift? {
    guard !oldRows.isEmpty, !newRows.isEmpty else { return nil }
    var best: ScreenShift?
    var bestWeight = 0
    let distances =
      (newRows.lowerBound - oldRows.upperBound + 1)...(newRows.upperBound - 1 - oldRows.lowerBound)
    // Among runs of equal weight, prefer the one with the shortest distance.
    for distance in distances.sorted(by: { abs($0) < abs($1) }) {
      var start = max(newRows.lowerBound, oldRows.lowerBound + distance)
      let end = min(newRows.upperBound, oldRows.upperBound + distance)
      var weight = 0
      var row = start
      while row < end {
        if old[row - distance] == new[row] {
          weight += weights[row]
          row += 1
          if weight > bestWeight {
            (best, bestWeight) = (ScreenShift(new: start..<row, distance: distance), weight)
          }
        } else {
          row += 1
          (start, weight) = (row, 0)
        }
      }
    }
    return best
  }
}
