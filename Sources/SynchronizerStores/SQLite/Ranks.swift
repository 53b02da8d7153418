/// The ranks of rows: numbers that determine their order.
///
/// Ranks have gaps, so an insertion usually writes only one row.
enum Ranks {
  /// The gap between the rows of a new list.
  static let step: Int64 = 1 << 32
  /// The smallest gap between rows that receive new ranks because a gap was too small.
  static let leastStep: Int64 = 1 << 16

  /// Fills in missing ranks.
  ///
  /// If a gap is too small, neighbors receive new ranks too: at first a few, and then more and more
  /// until their gaps are large enough.
  ///
  /// - Parameter ranks: The ranks, in ascending order. A missing rank is `nil`.
  /// - Complexity: O(n), and amortized O(log n) new ranks for an insertion.
  static func fill(_ ranks: inout [Int64?]) {
    var start = 0
    while let first = ranks[start...].firstIndex(of: nil) {
      let end = ranks[first...].firstIndex { $0 != nil } ?? ranks.count
      start = place(first..<end, in: &ranks)
    }
  }

  /// Assigns ranks to consecutive rows without a rank, and to neighbors if necessary.
  ///
  /// - Returns: The index at which to continue.
  private static func place(_ run: Range<Int>, in ranks: inout [Int64?]) -> Int {
    var (low, high) = (run.lowerBound, run.upperBound)
    // A gap of 1 is enough for the rows alone. If neighbors must move, leave larger gaps.
    var needed: Int64 = 1
    while true {
      if let (first, step) = spread(low..<high, ranks, needed) {
        for (number, index) in (low..<high).enumerated() {
          ranks[index] = first + Int64(number) * step
        }
        return high
      }
      needed = leastStep
      let width = max(8, high - low)
      low = max(0, low - width)
      high = min(ranks.count, high + width)
      // The row after the range must have a rank.
      while high < ranks.count, ranks[high] == nil { high += 1 }
    }
  }

  /// Returns the first rank and the gap for a range of rows, or `nil` if the gap would be too small.
  private static func spread(
    _ range: Range<Int>, _ ranks: [Int64?], _ needed: Int64
  ) -> (first: Int64, step: Int64)? {
    let count = Int64(range.count)
    let before = range.lowerBound == 0 ? nil : ranks[range.lowerBound - 1]
    let after = range.upperBound == ranks.count ? nil : ranks[range.upperBound]
    switch (before, after) {
    case (nil, nil):
      return (-(count / 2) * step, step)
    case (let before?, nil):
      let (_, overflows) = before.addingReportingOverflow(step * (count + 1))
      return overflows ? nil : (before + step, step)
    case (nil, let after?):
      let (first, overflows) = after.subtractingReportingOverflow(step * count)
      return overflows ? nil : (first, step)
    case (let before?, let after?):
      let (room, overflows) = after.subtractingReportingOverflow(before)
      let part = (overflows ? Int64.max : room) / (count + 1)
      return part < needed ? nil : (before + part, part)
    }
  }
}
