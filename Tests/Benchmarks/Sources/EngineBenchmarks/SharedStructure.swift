import Swappable

/// Swaps between lists of a million rows that share most of their structure.
enum SharedStructure {
  static var benchmarks: [Benchmark] {
    [
      swap("one array, nothing differs") { (flat, flat) },
      swap("one tree, nothing differs") { (base, same) },
      swap("1 row updated") { (base, oneUpdated) },
      swap("1 row inserted") { (base, oneInserted) },
      swap("1 row moved") { (base, oneMoved) },
      swap("100 rows updated") { (base, manyUpdated) },
      swap("100 rows inserted, removed, moved or updated") { (base, manyEdited) },
      swap("10,000 rows updated") { (base, mostUpdated) },
      swap("nothing shared, 1 row updated") { (base, separate) },
      Benchmark("replace 1,000,000 rows, sharing structure, 1 row updated") {
        let list = ArrayDataSource(base.snapshot)
        return { list.replace(with: oneUpdated.snapshot) }
      },
      Benchmark("compare 1,000,000 rows, sharing structure, 1 row updated to equal contents") {
        let (one, other) = (base.snapshot, updatedBack.snapshot)
        return { precondition(one.hasSameContents(as: other)) }
      },
    ]
  }

  private typealias Source = ArrayDataSource<Row>

  private static let count = 1_000_000

  private static func row(_ number: Int) -> Row {
    Row(id: number, name: "package-\(number)", section: "devel", size: number)
  }

  private static let flat = Source((0..<count).map(row))
  /// An edit makes the list a tree.
  private static let base = edited(flat) { $0[0].size += 1 }
  private static let same = edited(base) { _ in }
  private static let oneUpdated = edited(base) { $0[count / 3].size += 1 }
  private static let oneInserted = edited(base) { $0.insert(row(count), at: count / 3) }
  private static let oneMoved = edited(base) { $0.move(from: count / 3, to: count / 2) }
  private static let manyUpdated = edited(base) { draft in
    for edit in 0..<100 { draft[edit * 9_973].size += 1 }
  }
  private static let manyEdited = edited(base) { draft in
    for edit in 0..<100 {
      let offset = edit * 9_973
      switch edit % 4 {
      case 0: draft.insert(row(count + edit), at: offset)
      case 1: draft.remove(at: offset)
      case 2: draft.move(from: offset, to: draft.count - offset)
      default: draft[offset].size += 1
      }
    }
  }
  private static let mostUpdated = edited(base) { draft in
    for edit in 0..<10_000 { draft[edit * 7_919 % count].size += 1 }
  }
  private static let updatedBack = edited(oneUpdated) { $0[count / 3].size -= 1 }
  private static let separate = edited(Source(Array(base.snapshot))) { $0[count / 3].size += 1 }

  /// A list that shares the unedited parts of another one.
  private static func edited(
    _ source: Source, _ edit: (CollectionDraft<Row>) -> Void
  ) -> Source {
    let copy = Source(source.snapshot)
    copy.transaction(edit)
    return copy
  }

  private static func swap(
    _ name: String, _ sources: @escaping () -> (Source, Source)
  ) -> Benchmark {
    Benchmark("swap, 1,000,000 rows, shared: \(name)") {
      let (old, new) = sources()
      let container = SwappableContainer(old)
      let observation = container.observe { _ in }
      let target = old === new ? Source(new.snapshot) : new
      return {
        container.swap(to: target)
        withExtendedLifetime(observation) {}
      }
    }
  }
}
