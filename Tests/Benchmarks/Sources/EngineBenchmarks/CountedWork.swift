import Measuring
import Swappable

/// Changes of three of 10,000 rows that are filtered, sorted and mapped, while their work is counted or traced. The times
/// are for one change.
enum CountedWork {
  static var benchmarks: [Benchmark] {
    [
      changes("not counted") { _ in {} },
      changes("counted") { rows in
        let work = rows.countWork()
        return { work.dispose() }
      },
      changes("traced, not read") { rows in
        let steps = rows.trace().makeAsyncIterator()
        return { withExtendedLifetime(steps) {} }
      },
    ]
  }

  private static func changes(
    _ name: String, _ begin: @escaping (LiveCollection<Row>) -> () -> Void
  ) -> Benchmark {
    let (count, edits) = (10_000, 1_000)
    return Benchmark("work of a pipeline, \(name)", operations: edits) {
      let source = ArrayDataSource(
        (0..<count).map { Row(id: $0, name: "", section: "", size: $0 &* 7_919 % count) })
      let rows = source.filter { $0.size % 10 != 0 }.sorted { $0.size < $1.size }
        .map { Row(id: $0.id, name: "", section: "", size: $0.size + 1) }
      let observation = rows.observe { _ in }
      let end = begin(rows)
      let places = (0..<3 * edits).map { _ in Int.random(in: 0..<count) }
      return {
        for edit in 0..<edits {
          source.transaction { draft in
            for place in places[3 * edit..<3 * edit + 3] {
              draft[place].size = (place &* 31) % count
            }
          }
        }
        end()
        withExtendedLifetime(observation) {}
      }
    }
  }
}
