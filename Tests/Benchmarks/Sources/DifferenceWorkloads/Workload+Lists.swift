public import Foundation

// Rows have ascending identities, as in a database. Names and paths are longer than the 15 bytes that a string can
// store inline.

extension Workload<UUID> {
  /// The workloads of identifiers, as in the classic published table.
  public static var identifiers: [Workload<UUID>] {
    func scattered(_ rank: Int, _ name: String, count: Int) -> Workload<UUID> {
      Workload(rank, name, "\(count) UUIDs, 10 % deleted, 10 % inserted") {
        var generator = SeededGenerator(seed: UInt64(rank))
        let old = UUID.list(count, using: &generator)
        let inserted = UUID.list(count / 10, using: &generator)
        let edits = Edits(deleted: count / 10, inserted: inserted)
        return (old, old.edited(edits, using: &generator))
      }
    }
    return [
      scattered(10, "W1", count: 5_000),
      scattered(20, "W2", count: 10_000),
      scattered(30, "W3", count: 100_000),
      Workload(40, "DK100k", "UUIDs, a tenth deleted and inserted in one block, head shuffled") {
        var generator = SeededGenerator(seed: 40)
        let old = UUID.list(100_000, using: &generator)
        var new = old
        new.removeSubrange(20_000..<30_000)
        new.insert(contentsOf: UUID.list(10_000, using: &generator), at: 30_000)
        new[0..<2_000].shuffle(using: &generator)
        return (old, new)
      },
    ]
  }
}

extension Workload<Row> {
  /// The workloads of rows.
  public static var rows: [Workload<Row>] {
    /// Most workloads are edited versions of these 100,000 rows.
    func rows(
      _ rank: Int, _ name: String, _ summary: String, count: Int = 100_000, seed: Int? = nil,
      new: @escaping @Sendable (_ old: [Row], _ generator: inout SeededGenerator) -> [Row]
    ) -> Workload<Row> {
      Workload(rank, name, summary) {
        var generator = SeededGenerator(seed: UInt64(seed ?? rank))
        let old = Row.list(0..<count, using: &generator)
        return (old, new(old, &generator))
      }
    }
    @Sendable
    func changed(
      _ old: [Row], _ generator: inout SeededGenerator, updated: Int = 0, deleted: Int = 0,
      inserted: Int = 0, moved: Int = 0
    ) -> [Row] {
      let inserted = Row.list(old.count..<old.count + inserted, using: &generator)
      let edits = Edits(updated: updated, deleted: deleted, inserted: inserted, moved: moved)
      return old.edited(edits, using: &generator) { $0.value += 1 }
    }
    @Sendable
    func churned(_ old: [Row], _ generator: inout SeededGenerator) -> [Row] {
      changed(old, &generator, updated: 1_000, deleted: 1_000, inserted: 1_000, moved: 1_000)
    }
    return [
      rows(50, "W4", "rows, 1 % each updated, deleted, inserted, moved", seed: 50, new: churned),
      rows(51, "W4f", "as W4, strings freshly allocated", seed: 50) {
        churned($0, &$1).map { $0.reallocated() }
      },
      // Not the same array, which would be recognized by its address.
      rows(60, "W5", "rows, equal") { old, _ in old.map { $0 } },
      rows(61, "W5f", "as W5, strings freshly allocated", seed: 60) { old, _ in
        old.map { $0.reallocated() }
      },
      rows(70, "W6", "rows, one updated") { changed($0, &$1, updated: 1) },
      rows(80, "W7", "rows, shuffled") { $0.shuffled(using: &$1) },
      rows(90, "W8", "rows, reversed") { old, _ in old.reversed() },
      rows(100, "W9", "rows, all replaced") {
        Row.list($0.count..<2 * $0.count, using: &$1)
      },
      rows(110, "W10", "rows, the first moved to the end") { old, _ in
        Array(old.dropFirst() + old.prefix(1))
      },
      rows(140, "W13", "50 rows, 5 updated", count: 50) { changed($0, &$1, updated: 5) },
      rows(141, "W13m", "50 rows, 2 updated, 1 deleted, 1 inserted, 1 moved", count: 50) {
        changed($0, &$1, updated: 2, deleted: 1, inserted: 1, moved: 1)
      },
      rows(150, "X1", "rows, blocks of 100 shuffled") { $0.shuffledBlocks(of: 100, using: &$1) },
      rows(160, "X2", "rows, each up to 10 places away") { $0.jittered(by: 10, using: &$1) },
      rows(170, "X3", "rows, half of them moved") { changed($0, &$1, moved: $0.count / 2) },
      rows(180, "X5", "rows, 30 % deleted, 30 % inserted, 10 % moved") {
        changed($0, &$1, deleted: 30_000, inserted: 30_000, moved: 10_000)
      },
    ]
  }
}

extension Workload<String> {
  /// The workloads of paths.
  public static var paths: [Workload<String>] {
    @Sendable
    func versions() -> (old: [String], new: [String]) {
      var generator = SeededGenerator(seed: 120)
      let old = String.paths(0..<100_000, using: &generator)
      let inserted = String.paths(100_000..<105_000, using: &generator)
      return (
        old, old.edited(Edits(deleted: 5_000, inserted: inserted), using: &generator)
      )
    }
    return [
      Workload(120, "W11", "paths, 5 % deleted, 5 % inserted", make: versions),
      Workload(121, "W11f", "as W11, strings freshly allocated") {
        let (old, new) = versions()
        return (old, new.map { $0.reallocated() })
      },
    ]
  }
}

extension Workload<Int> {
  /// The workload of numbers.
  public static var numbers: [Workload<Int>] {
    [
      Workload(130, "W12", "1,000,000 Ints, 1 % deleted, 1 % inserted") {
        var generator = SeededGenerator(seed: 130)
        // 63 random bits, so no two numbers are equal.
        let all = (0..<1_010_000).map { _ in Int.random(in: 0...Int.max, using: &generator) }
        let old = Array(all.prefix(1_000_000))
        let edits = Edits(deleted: 10_000, inserted: Array(all.suffix(10_000)))
        return (old, old.edited(edits, using: &generator))
      }
    ]
  }
}

extension UUID {
  fileprivate static func list(_ count: Int, using generator: inout SeededGenerator) -> [UUID] {
    (0..<count).map { _ in
      let bytes = SIMD2(generator.next(), generator.next())
      return UUID(uuid: unsafeBitCast(bytes, to: uuid_t.self))
    }
  }
}

extension Row {
  static func list(
    _ ids: Range<Int>, using generator: inout SeededGenerator
  ) -> [Row] {
    ids.map { id in
      let value = Double(generator.next() % 1_000_000) / 100
      return Row(id: id, name: "Item number \(100_000_000 + id)", value: value)
    }
  }
}

extension String {
  fileprivate static func paths(
    _ numbers: Range<Int>, using generator: inout SeededGenerator
  ) -> [String] {
    let words = ["library", "sources", "release", "archive", "sandbox", "modules"]
    return numbers.map { number in
      let word = words[Int(generator.next() % UInt64(words.count))]
      // 33 bytes. Paths often differ only at their end.
      return "/srv/\(word)/shared/doc\(100_000 + number).txt"
    }
  }
}
