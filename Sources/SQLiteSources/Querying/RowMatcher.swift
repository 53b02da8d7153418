/// Finds, row by row, which row of the result before a row of this one is.
///
/// Most rows stand where they stood, or a few places further: those are found without a table of
/// all. One is made only when many are not found that way.
struct RowMatcher {
  private static let lookAhead = 8
  private static let missesBeforeTable = 32

  private let old: [RowFingerprint]
  private var next = 0
  private var misses = 0
  private var table: [RowFingerprint: Int]?

  /// A matcher against the rows of the result before, in their order.
  init(_ old: [RowFingerprint]) {
    self.old = old
  }

  /// The place in the result before of a row with the same stored values; `nil` where there is none
  /// or it was not found.
  mutating func match(_ row: RowFingerprint) -> Int? {
    for place in next..<min(next + RowMatcher.lookAhead, old.count) where old[place] == row {
      next = place + 1
      return place
    }
    misses += 1
    guard misses > RowMatcher.missesBeforeTable, !old.isEmpty else { return nil }
    let table = table ?? Dictionary(zip(old, old.indices)) { first, _ in first }
    self.table = table
    guard let place = table[row] else { return nil }
    next = place + 1
    return place
  }
}
