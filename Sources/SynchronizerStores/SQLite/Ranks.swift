/// Numbers that keep rows in order and leave room between them, so that an insertion writes one row.
enum Ranks {
  /// The room between neighbours of a new list.
  static let step: Int64 = 1 << 32
  /// The least room that is left when rows are spread anew.
  static let leastStep: Int64 = 1 << 16

  /// Fills in ranks where there are none, between those that are there.
  ///
  /// Where there is no room, neighbours get new ranks too: as few as it takes to give all of them room
  /// for a while.
  ///
  /// - Parameter ranks: Ascending but for nil.
  /// - Complexity: O(n), and amortised O(log n) new ranks for an insertion.
  static func fill(_ ranks: inout [Int64?]) {
    var start = 0
    while let first = ranks[start...].firstIndex(of: nil) {
      let end = ranks[first...].firstIndex { $0 != nil } ?? ranks.count
      start = place(first..<end, in: &ranks)
    }
  }

  /// Gives ranks to a run of rows that have none, and to neighbours where it must.
  ///
  /// - Returns: Where the next run can begin.
  private static func place(_ run: Range<Int>, in ranks: inout [Int64?]) -> Int {
    var (low, high) = (run.lowerBound, run.upperBound)
    // Enough room for the run alone is taken as it is; neighbours are moved only for more than that.
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
      // The bounds must be rows that have a rank already.
      while high < ranks.count, ranks[high] == nil { high += 1 }
    }
  }

  /// How a range of rows can be spread between its neighbours; nil where there is not room enough.
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
