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

  @Test func `the first prefix of each length is found in trees of all sizes`() {
    for count in 0..<200 {
      var random = SeededGenerator(seed: UInt64(count))
      let lists = (0..<count).map { number in Array(repeating: number, count: random.below(4)) }
      let tree = SummaryTree(leafLimit: 3, fanLimit: 4, lists, empty: [], combine: +)
      for length in [0, 1, 7, count, 2 * count, 4 * count] {
        let found = tree.firstPrefix { $0.count > length }
        let expected = lists.indices.first { lists[...$0].joined().count > length }
        #expect(found?.offset == expected)
        if let found {
          #expect(found.before == Array(lists[..<found.offset].joined()))
          #expect(found.value == lists[found.offset])
        }
      }
    }
  }

  @Test func `a replaced value is returned`() {
    var tree = SummaryTree(Array(0..<1_000), empty: 0) { $0 + $1 }
    #expect(tree.replace(at: 700, with: 5) == 700)
    #expect(tree.replace(at: 700, with: 6) == 5)
    #expect(tree.total == 499_500 - 700 + 6)
  }
}
