import Swappable

/// Commits with many nodes downstream. The times are for one commit.
enum Graphs {
  static var benchmarks: [Benchmark] {
    [
      Benchmark("graph, chain of 1,000 signals", operations: 20) {
        let property = Property(0)
        var signal = property.signal.map { $0 &+ 1 }
        for _ in 1..<1_000 { signal = signal.map { $0 &+ 1 } }
        let last = signal
        return {
          for value in 0..<20 { property.value = value }
          withExtendedLifetime(last) {}
        }
      },
      Benchmark("graph, chain of 1,000 maps of 10 rows", operations: 20) {
        let rows = ArrayDataSource(0..<10)
        var chain = rows.map { $0 &+ 1 }
        for _ in 1..<1_000 { chain = chain.map { $0 &+ 1 } }
        let last = chain
        return {
          for value in 0..<20 { rows[value % 10] = value + 100 }
          withExtendedLifetime(last) {}
        }
      },
      Benchmark("graph, chain of 1,000 filters of 10 rows", operations: 20) {
        let rows = ArrayDataSource(0..<10)
        var chain = rows.filter { $0 >= 0 }
        for _ in 1..<1_000 { chain = chain.filter { $0 >= 0 } }
        let last = chain
        return {
          for value in 0..<20 { rows[value % 10] = value + 100 }
          withExtendedLifetime(last) {}
        }
      },
      Benchmark("graph, 10,000 sibling filters of 10 rows", operations: 10) {
        let rows = ArrayDataSource(0..<10)
        let filters = (0..<10_000).map { number in rows.filter { $0 == -number } }
        return {
          for value in 0..<10 { rows[value % 10] = value + 100 }
          withExtendedLifetime(filters) {}
        }
      },
      Benchmark("graph, 100 filters with 100 maps each, one affected", operations: 20) {
        let rows = ArrayDataSource(0..<100)
        let filters = (0..<100).map { number in rows.filter { $0 % 100 == number } }
        let below = filters.map { filter in (0..<100).map { _ in filter.map { $0 &+ 1 } } }
        return {
          for value in 0..<20 { rows[value] = rows[value] + 100 }
          withExtendedLifetime(below) {}
        }
      },
      Benchmark("graph, transaction over 2 lists with a join above", operations: 1_000) {
        let (left, right) = (ArrayDataSource(0..<10), ArrayDataSource(0..<10))
        let both = left.concatenated(with: right)
        return {
          for value in 0..<1_000 {
            withTransaction {
              left[value % 10] = value + 100
              right[value % 10] = value + 100
            }
          }
          withExtendedLifetime(both) {}
        }
      },
    ]
  }
}
