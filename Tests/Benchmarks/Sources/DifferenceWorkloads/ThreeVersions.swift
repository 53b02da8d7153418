/// A list and two versions that were edited independently.
public struct ThreeVersions<Element>: Sendable where Element: Sendable {
  /// The name in tables.
  public let name: String
  /// A short description of the versions.
  public let summary: String
  /// The common version.
  public let base: [Element]
  /// The first edited version.
  public let mine: [Element]
  /// The second edited version.
  public let theirs: [Element]
}

extension ThreeVersions<Row> {
  /// The workloads, created from fixed seeds.
  public static var rows: [ThreeVersions<Row>] {
    func edited(_ name: String, _ summary: String, isFresh: Bool, count: Int, of kinds: Int)
      -> ThreeVersions<Row>
    {
      var generator = SeededGenerator(seed: 300)
      let total = 100_000
      let base = Row.list(0..<total, using: &generator)
      func version(_ ids: Range<Int>, _ change: Double) -> [Row] {
        let inserted = kinds > 1 ? Row.list(ids, using: &generator) : []
        let edits = Edits(
          updated: count, deleted: kinds > 1 ? count : 0, inserted: inserted,
          moved: kinds > 1 ? count : 0)
        let version = base.edited(edits, using: &generator) { $0.value += change }
        return isFresh ? version.map { $0.reallocated() } : version
      }
      let mine = version(total..<total + count, 1)
      let theirs = version(total + count..<total + 2 * count, 2)
      return ThreeVersions(name: name, summary: summary, base: base, mine: mine, theirs: theirs)
    }
    return [
      edited("M1", "1 % updated on each side", isFresh: false, count: 1_000, of: 1),
      edited("M1f", "as M1, strings freshly allocated", isFresh: true, count: 1_000, of: 1),
      edited(
        "M4", "¼ % each updated, deleted, inserted, moved on each side", isFresh: false,
        count: 250, of: 4),
      edited("M4f", "as M4, strings freshly allocated", isFresh: true, count: 250, of: 4),
      edited(
        "M4x", "1 % each updated, deleted, inserted, moved on each side", isFresh: false,
        count: 1_000, of: 4),
      edited("M4xf", "as M4x, strings freshly allocated", isFresh: true, count: 1_000, of: 4),
    ]
  }
}
