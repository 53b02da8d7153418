import DataSourceTesting
import Diffing
import Testing

/// An element of more identities than a byte has.
private struct Entry: Differentiable, Hashable {
  let id: Int
  var content = 0

  var differenceIdentifier: Int { id }
  func isContentEqual(to source: Entry) -> Bool { content == source.content }
}

@Suite("The difference of a list and the same turned round")
struct TurnedRoundTests {
  private static func list(_ count: Int) -> [Entry] {
    (0..<count).map { Entry(id: $0 * 7919 % 100_003) }
  }

  @Test(arguments: [2, 3, 63, 64, 65, 200, 201, 1_000])
  func `the reversal of a list moves all elements but one`(count: Int) {
    let old = Self.list(count)
    let changeset = Changeset(from: old, to: old.reversed())
    #expect(changeset.moves.count == count - 1)
    #expect(changeset.changeCount == count - 1)
    #expect(violation(from: old, to: Array(old.reversed())) == nil)
  }

  @Test(arguments: [64, 65, 200, 1_000]) func `the reversal of a list includes updates`(count: Int)
  {
    let old = Self.list(count)
    for updated in [[0], [count - 1], [count / 2], [3, 5, count - 2], Array(0..<count)] {
      var new = Array(old.reversed())
      for offset in updated { new[offset].content = 1 }
      let changeset = Changeset(from: old, to: new)
      #expect(changeset.updates.map(\.to) == updated)
      #expect(violation(from: old, to: new) == nil)
    }
  }

  @Test(arguments: [64, 65, 200, 1_000]) func `a reversal with further edits is found correctly`(
    count: Int
  ) {
    let old = Self.list(count)
    for offset in [0, 1, 2, 3, 4, 20, count / 2, count - 2, count - 1] {
      var replaced = Array(old.reversed())
      replaced[offset] = Entry(id: -1)
      var inserted = Array(old.reversed())
      inserted.insert(Entry(id: -1), at: offset)
      var removed = Array(old.reversed())
      removed.remove(at: offset)
      var swapped = Array(old.reversed())
      swapped.swapAt(offset, (offset + 7) % count)
      for new in [replaced, inserted, removed, swapped] {
        #expect(violation(from: old, to: new) == nil)
      }
    }
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `the reversal of a list with duplicates follows all rules`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let count = Int.random(in: 64...300, using: &generator)
    let identities = Int.random(in: 1...count, using: &generator)
    let old = (0..<count).map { _ in
      Entry(id: .random(in: 0..<identities, using: &generator))
    }
    #expect(violation(from: old, to: Array(old.reversed())) == nil)
  }
}
