import DataSourceTesting
import Diffing
import TestSupport
import TestTags
import Testing

@Suite struct OffsetMapTests {
  /// Compares an offset map with the old offsets after the change is applied to them.
  private func check(_ changeset: Changeset, oldCount: Int) throws {
    let newCount = oldCount + changeset.countChange
    let carried = changeset.applying(
      to: Array(0..<oldCount), with: Array(repeating: -1, count: newCount))
    var expected = [Int?](repeating: nil, count: oldCount)
    for (new, old) in carried.enumerated() where old >= 0 { expected[old] = new }
    let map = OffsetMap(changeset)
    Coverage.note(changeset)
    for old in 0..<oldCount {
      try #require(map[old] == expected[old], "\(old) by \(changeset)")
      let nearest =
        expected[old] ?? expected[old...].lazy.compactMap(\.self).first
        ?? expected[..<old].compactMap(\.self).last
      try #require(map.nearest(to: old, count: oldCount) == nearest, "near \(old) by \(changeset)")
    }
  }

  @Test func `all changes of small lists are mapped`() throws {
    let lists = allLists(upTo: 4, of: (1...4).map { Item(id: $0, content: 0) })
    // An ordinary run takes one of five changes.
    let stride = TestRun.isLong ? 1 : 5
    for (number, old) in lists.enumerated() {
      for (position, new) in lists.enumerated() where (number + position) % stride == 0 {
        // Updates would take the carried offsets' place.
        try check(Changeset(from: old, to: new), oldCount: old.count)
      }
    }
  }

  @Test(.reaches(.rearrangements), arguments: 0..<20 as Range<UInt64>)
  func `random changes of long lists are mapped`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let old = (0..<200).shuffled(using: &random)
    var new = old
    for _ in 0..<Int.random(in: 0..<40, using: &random) {
      new.remove(at: new.indices.randomElement(using: &random) ?? 0)
    }
    for element in 0..<Int.random(in: 0..<40, using: &random) {
      new.insert(1000 + element, at: Int.random(in: 0...new.count, using: &random))
    }
    for _ in 0..<Int.random(in: 0..<20, using: &random) {
      let element = new.remove(at: new.indices.randomElement(using: &random) ?? 0)
      new.insert(element, at: Int.random(in: 0...new.count, using: &random))
    }
    try check(Changeset(from: old, to: new), oldCount: old.count)
  }
}
