import DataSourceTesting
import ObservableCollections
import Testing

/// Searching the tree of values and combinations, compared with an array.
@Suite struct SummaryTreeSearchTests {
  @Test func `the first value of each kind is found in trees of all sizes`() {
    for count in 0..<300 {
      var random = SeededGenerator(seed: UInt64(count))
      let numbers = (0..<count).map { _ in random.below(50) }
      let tree = SummaryTree(leafLimit: 3, fanLimit: 4, numbers, empty: .max) { min($0, $1) }
      #expect(tree.array == numbers)
      for limit in [0, 1, 5, 20, 49] {
        let isSmall: (Int) -> Bool = { $0 <= limit }
        #expect(tree.firstOffset(where: isSmall) == numbers.firstIndex(where: isSmall))
      }
    }
  }

  @Test func `a replaced value is returned`() {
    let tree = SummaryTree(Array(0..<1_000), empty: 0) { $0 + $1 }
    #expect(tree.replace(at: 700, with: 5) == 700)
    #expect(tree.replace(at: 700, with: 6) == 5)
    #expect(tree.total == 499_500 - 700 + 6)
  }
}
