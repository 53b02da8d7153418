import Swappable

/// Single updates of lists with an observed aggregate. The times are for one update.
enum Aggregates {
  static var benchmarks: [Benchmark] {
    [1_000, 1_000_000].flatMap { count in
      [
        updates("no aggregate", count) { _ in [] },
        updates("count", count) { [$0.live.count.observe { _ in }] },
        updates("sum of integers", count) { [$0.live.sum(of: \.size).observe { _ in }] },
        updates("sum of doubles", count) { [$0.live.sum { Double($0.size) }.observe { _ in }] },
        updates("average of doubles", count) {
          [$0.live.average { Double($0.size) }.observe { _ in }]
        },
        updates("contains", count) { [$0.live.contains { $0.size < 0 }.observe { _ in }] },
        updates("min by a key", count) { [$0.live.min(by: \.size).observe { _ in }] },
        updates("min by a comparison", count) {
          [$0.live.min { $0.size < $1.size }.observe { _ in }]
        },
      ]
    }
  }

  private typealias Rows = ArrayDataSource<Row>

  private static func updates(
    _ name: String, _ count: Int, _ observe: @escaping (Rows) -> [Disposable]
  ) -> Benchmark {
    let edits = 500
    return Benchmark("aggregate, \(name), \(count) rows", operations: edits) {
      let rows = Rows(
        (0..<count).map { Row(id: $0, name: "package-\($0)", section: "devel", size: $0) })
      let observations = observe(rows)
      // The first edit of a long list makes it a tree.
      rows[0].size += 1
      let places = (0..<edits).map { _ in Int.random(in: 0..<count) }
      return {
        for place in places { rows[place].size += 7 }
        withExtendedLifetime(observations) {}
      }
    }
  }
}
