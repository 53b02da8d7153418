import DataSourceTesting
import TestSupport
import Testing

@testable import SynchronizerStores

@Suite struct RanksTests {
  /// Fills the gaps, and checks the result.
  ///
  /// - Returns: The number of changed ranks.
  @discardableResult
  private func fill(_ ranks: inout [Int64?]) throws -> Int {
    let before = ranks
    Ranks.fill(&ranks)
    let filled = ranks.compactMap { $0 }
    try #require(filled.count == ranks.count)
    try #require(zip(filled, filled.dropFirst()).allSatisfy { $0 < $1 }, "\(before) to \(filled)")
    return zip(before, ranks).count { $0 != nil && $0 != $1 }
  }

  @Test func `all small patterns are filled`() throws {
    // Each place has no rank, the next rank, a rank with a small gap, or a distant rank.
    let steps: [Int64?] = [nil, 1, 3, Ranks.step]
    for start: Int64 in [.min, -5, .max - 40 - 6 * Ranks.step] {
      for pattern in 0..<4096 {
        var (ranks, rank, code) = ([Int64?](), start, pattern)
        for _ in 0..<6 {
          let step = steps[code % 4]
          code /= 4
          rank += step ?? 0
          ranks.append(step == nil ? nil : rank)
        }
        try fill(&ranks)
      }
    }
  }

  @Test func `insertions at either end move no row`() throws {
    var ranks = [Int64?](repeating: nil, count: 1000)
    try fill(&ranks)
    for _ in 0..<300 {
      ranks.insert(nil, at: 0)
      ranks.append(nil)
      #expect(try fill(&ranks) == 0)
    }
  }

  @Test func `insertions at one place move few rows`() throws {
    let count = TestRun.isLong ? 600 : 200
    for place in [1, 500, 999] {
      var ranks = [Int64?](repeating: nil, count: 1000)
      try fill(&ranks)
      var moved = 0
      for _ in 0..<count {
        ranks.insert(nil, at: place)
        moved += try fill(&ranks)
      }
      #expect(moved < count * 12, "\(moved) at \(place)")
    }
  }

  @Test func `random runs are filled`() throws {
    var random = SeededGenerator(seed: 5)
    var ranks: [Int64?] = []
    for _ in 0..<2000 {
      for _ in 0..<random.below(4) {
        let place = random.below(min(ranks.count, 20) + 1)
        ranks.insert(contentsOf: [Int64?](repeating: nil, count: random.below(5)), at: place)
      }
      try fill(&ranks)
      if ranks.count > 200 { ranks.removeSubrange(20..<100) }
    }
  }
}
