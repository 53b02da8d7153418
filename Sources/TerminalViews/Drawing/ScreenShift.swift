/// A stretch of rows that moves up or down, as a terminal can do by itself.
struct ScreenShift: Equatable {
  /// The first and the last row that are touched.
  let top: Int
  let bottom: Int
  /// By how many rows what stands there moves down; up where negative.
  let distance: Int

  /// Moves rows of an array as the terminal does, putting `blank` where rows are left empty.
  func apply<Row>(to rows: inout [Row], blank: Row) {
    let count = abs(distance)
    let blanks = repeatElement(blank, count: count)
    if distance < 0 {
      rows.replaceSubrange(top...bottom, with: Array(rows[(top + count)...bottom]) + blanks)
    } else {
      rows.replaceSubrange(top...bottom, with: blanks + Array(rows[top...(bottom - count)]))
    }
  }
}

extension ScreenShift {
  /// Shifts that bring lines to where they are to be, in the order in which they can be done.
  ///
  /// The heaviest run of lines that both versions share is found, then those above and below it, and
  /// so on: so the runs never cross. Those that go up are shifted from the top down and before the
  /// others, those that go down from the bottom up: so no shift runs over lines that another still
  /// needs.
  ///
  /// - Parameters:
  ///   - costs: For each row the bytes that drawing it takes where nothing is shifted.
  /// - Complexity: O(n²) for each shift, in the number n of rows from the first to the last that costs
  ///   something.
  static func shifts(
    from old: [TerminalLine], to new: [TerminalLine], costs: [Int]
  ) -> [ScreenShift] {
    guard let first = costs.firstIndex(where: { $0 > 0 }),
      let last = costs.lastIndex(where: { $0 > 0 }), first < last, last - first < mostRows
    else { return [] }
    let search = RunSearch(old: old, new: new, rows: first..<(last + 1))
    let moved = search.runs().filter { run in
      run.distance != 0 && costs[run.new].reduce(0, +) > bytes
    }
    let up = moved.filter { $0.distance < 0 }.map { run in
      ScreenShift(
        top: run.new.lowerBound, bottom: run.new.upperBound - 1 - run.distance,
        distance: run.distance)
    }
    let down = moved.filter { $0.distance > 0 }.reversed().map { run in
      ScreenShift(
        top: run.new.lowerBound - run.distance, bottom: run.new.upperBound - 1,
        distance: run.distance)
    }
    return up + down
  }

  /// About what one takes.
  private static let bytes = 14
  /// No screen has more; the search would take long.
  private static let mostRows = 1000
}

/// A stretch of rows in the new version that stands as a whole elsewhere in the old one.
private struct Run {
  let new: Range<Int>
  /// By how many rows it has moved down.
  let distance: Int
}

/// Finds the runs that two versions of a screen share.
private struct RunSearch {
  private let rows: Range<Int>
  /// A number for each line, the same for equal ones.
  private let old: [Int]
  private let new: [Int]
  /// How much it is worth to have a line of the new version there already.
  private let weights: [Int]

  init(old: [TerminalLine], new: [TerminalLine], rows: Range<Int>) {
    self.rows = rows
    var numbers: [TerminalLine: Int] = [:]
    func number(_ line: TerminalLine) -> Int {
      if let number = numbers[line] { return number }
      numbers[line] = numbers.count
      return numbers.count - 1
    }
    self.old = old[rows].map { number($0) }
    self.new = new[rows].map { number($0) }
    weights = new[rows].map { line in
      line.width == 0 ? 0 : line.spans.reduce(4) { $0 + $1.text.utf8.count }
    }
  }

  /// The runs from the top down; none crosses another.
  func runs() -> [Run] {
    var found: [Run] = []
    var open = [(old: old.indices, new: new.indices)]
    while let (old, new) = open.popLast() {
      guard let run = heaviest(old: old, new: new) else { continue }
      found.append(run)
      let end = run.new.upperBound
      open.append(
        (old.lowerBound..<(run.new.lowerBound - run.distance), new.lowerBound..<run.new.lowerBound))
      open.append(((end - run.distance)..<old.upperBound, end..<new.upperBound))
    }
    return found.sorted { $0.new.lowerBound < $1.new.lowerBound }
      .map { run in
        let start = rows.lowerBound
        return Run(
          new: (run.new.lowerBound + start)..<(run.new.upperBound + start), distance: run.distance)
      }
  }

  private func heaviest(old oldRows: Range<Int>, new newRows: Range<Int>) -> Run? {
    guard !oldRows.isEmpty, !newRows.isEmpty else { return nil }
    var best: Run?
    var bestWeight = 0
    let distances =
      (newRows.lowerBound - oldRows.upperBound + 1)...(newRows.upperBound - 1 - oldRows.lowerBound)
    // Of runs of one weight the one that moves least.
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
            (best, bestWeight) = (Run(new: start..<row, distance: distance), weight)
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
