import Swappable

/// Edits all over a million rows, with one observer.
enum MillionRows {
  static var benchmarks: [Benchmark] {
    [
      edits("append") { draft, one, _ in draft.append(row(one)) },
      edits("insert") { draft, one, _ in draft.insert(row(one), at: one) },
      edits("update") { draft, one, _ in draft[one].size += 1 },
      edits("move") { draft, one, other in draft.move(from: one, to: other) },
      batch("appends") { draft, one, _ in draft.append(row(one)) },
      batch("updates") { draft, one, _ in draft[one].size += 1 },
      batch("edits of all kinds") { draft, one, other in
        switch one % 4 {
        case 0: draft.insert(row(one), at: other)
        case 1: draft.remove(at: one)
        case 2: draft.move(from: one, to: other)
        default: draft[one].size += 1
        }
      },
    ]
  }

  private typealias Edit = (_ draft: CollectionDraft<Row>, _ one: Int, _ other: Int) -> Void

  private static let source = ArrayDataSource((0..<count).map(row))
  private static let observation = source.observe { _ in }
  private static let count = 1_000_000

  private static func row(_ number: Int) -> Row {
    Row(id: number, name: "package-\(number)", section: "devel", size: number)
  }

  /// A list that was edited before and keeps its size, with two offsets for each edit.
  private static func prepare(_ edits: Int) -> [(one: Int, other: Int)] {
    withExtendedLifetime(observation) {}
    source.transaction { draft in
      draft[0].size += 1
      while draft.count < count { draft.append(row(draft.count)) }
      draft.removeSubrange(count..<draft.count)
    }
    return (0..<edits).map { _ in
      (.random(in: 0..<count - edits), .random(in: 0..<count - edits))
    }
  }

  private static func edits(_ name: String, _ edit: @escaping Edit) -> Benchmark {
    let count = 500
    return Benchmark("\(name), 1,000,000 rows, 1 observer", operations: count) {
      let places = prepare(count)
      return {
        for (one, other) in places { source.transaction { edit($0, one, other) } }
      }
    }
  }

  private static func batch(_ name: String, _ edit: @escaping Edit) -> Benchmark {
    Benchmark("2,000 \(name) in one transaction, 1,000,000 rows, 1 observer") {
      let places = prepare(2_000)
      return {
        source.transaction { draft in for (one, other) in places { edit(draft, one, other) } }
      }
    }
  }
}
