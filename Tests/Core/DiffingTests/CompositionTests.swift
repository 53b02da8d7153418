import DataSourceTesting
import Diffing
import TestSupport
import TestTags
import Testing

@Suite("The composition of two changes by offsets alone")
struct CompositionTests {
  @Test
  func `all changes of up to 3 elements are paired exactly, with the fewest moves`() {
    let most = TestRun.isLong ? 4 : 3
    for middle in 0...most {
      for old in 0...most {
        let firsts = allChanges(oldCount: old, newCount: middle)
        for new in 0...most {
          for second in allChanges(oldCount: middle, newCount: new) {
            for first in firsts {
              if let violation = Self.violation(first, second, oldCount: old) {
                Issue.record("\(violation)")
                return
              }
            }
          }
        }
      }
    }
  }

  @Test(.reaches(.changes), arguments: 0..<100 as Range<UInt64>)
  func `the composition of large changes pairs the right elements`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let oldCount = Int.random(in: 0..<120, using: &generator)
    let first = CountedChange.random(oldCount: oldCount, upTo: 60, using: &generator)
    let second = CountedChange.random(oldCount: first.newCount, upTo: 60, using: &generator)
    #expect(
      Self.violation(first.change, second.change, oldCount: oldCount) == nil, "seed \(seed)")
  }

  private static func violation(
    _ first: Changeset, _ second: Changeset, oldCount: Int
  ) -> String? {
    let composed = first.composed(with: second)
    Coverage.note(composed)
    return CountedChange(change: first, oldCount: oldCount)
      .violation(ofComposition: composed, with: second)
      .map { "\(oldCount) elements: \(first) and \(second) make \(composed): \($0)" }
  }

  @Test func `an inserted and deleted element disappears, a deleted and inserted one is both`() {
    let insertion = Changeset(insertions: [1])
    let deletion = Changeset(deletions: [1])
    let update = Changeset(updates: [.init(from: 1, to: 1)])
    let move = Changeset(moves: [.init(from: 1, to: 4)])
    #expect(insertion.composed(with: deletion) == .empty)
    #expect(deletion.composed(with: insertion) == Changeset(deletions: [1], insertions: [1]))
    #expect(insertion.composed(with: update) == insertion)
    #expect(update.composed(with: deletion) == deletion)
    #expect(update.composed(with: update) == update)
    #expect(insertion.composed(with: move) == Changeset(insertions: [4]))
    #expect(move.composed(with: Changeset(deletions: [4])) == deletion)
    #expect(move.composed(with: move.inverse) == .empty)
    #expect(
      move.composed(with: update)
        == Changeset(moves: [.init(from: 1, to: 4)], updates: [.init(from: 2, to: 1)]))
    #expect(Changeset.empty.composed(with: move) == move)
    #expect(move.composed(with: .empty) == move)
  }

  @Test(.reaches(.changes))
  func `composition is associative for all changes of up to 2 elements and random ones`() {
    let most = TestRun.isLong ? 3 : 2
    for one in 0...most {
      for two in 0...most {
        let seconds = allChanges(oldCount: one, newCount: two, updated: !TestRun.isLong)
        let thirds = (0...most).flatMap {
          allChanges(oldCount: two, newCount: $0, updated: !TestRun.isLong)
        }
        for first in (0...most).flatMap({
          allChanges(oldCount: $0, newCount: one, updated: !TestRun.isLong)
        }) {
          for second in seconds {
            let left = first.composed(with: second)
            for third in thirds {
              let byLeft = left.composed(with: third)
              let byRight = first.composed(with: second.composed(with: third))
              if byLeft.differs(from: byRight) {
                Issue.record("\(first), \(second), \(third): \(byLeft), \(byRight)")
                return
              }
            }
          }
        }
      }
    }
    for seed in 0..<UInt64(TestRun.isLong ? 5_000 : 200) {
      var generator = SeededGenerator(seed: seed)
      let first = CountedChange.random(oldCount: 30, upTo: 30, using: &generator)
      let second = CountedChange.random(oldCount: first.newCount, upTo: 30, using: &generator)
      let third = CountedChange.random(oldCount: second.newCount, upTo: 30, using: &generator)
      let (a, b, c) = (first.change, second.change, third.change)
      let byLeft = a.composed(with: b).composed(with: c)
      let byRight = a.composed(with: b.composed(with: c))
      Coverage.note(byLeft)
      #expect(!byLeft.differs(from: byRight), "seed \(seed)")
    }
  }

  @Test(.reaches(.changes), arguments: 0..<100 as Range<UInt64>)
  func `the inverse of a composition composes the inverses in reverse order`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let first = CountedChange.random(oldCount: 40, upTo: 30, using: &generator)
    let second = CountedChange.random(oldCount: first.newCount, upTo: 30, using: &generator)
    let composed = first.change.composed(with: second.change)
    let back = second.change.inverse.composed(with: first.change.inverse)
    Coverage.note(composed)
    #expect(!composed.inverse.differs(from: back), "seed \(seed)")
    // Only deleted elements, which offsets alone cannot pair, and updated elements.
    let nothing = first.change.composed(with: first.change.inverse)
    #expect(nothing.deletions == first.change.deletions)
    #expect(nothing.insertions == first.change.deletions)
    #expect(nothing.moves.isEmpty)
    #expect(nothing.updates.map(\.from) == first.change.updates.map(\.from).sorted())
  }

  @Test func `the composition does not depend on the number of elements`() {
    // Offsets in a list of 10^12: a step for each element would never end, nor fit into memory.
    let (count, step) = (1_000_000_000_000, 100_000_000)
    var generator = SeededGenerator(seed: 1)
    let operations = 500
    func change() -> Changeset {
      // Each edit has a part of its own, so no element is edited twice.
      var deletions: [Int] = []
      var moves: [Changeset.Move] = []
      var updates: [Changeset.Update] = []
      var insertions: [Int] = []
      for part in 0..<operations {
        let start = part * 8 * step + Int.random(in: 0..<step, using: &generator)
        deletions.append(start)
        insertions.append(start + 2 * step)
        moves.append(.init(from: start + 6 * step, to: start + 4 * step))
        updates.append(.init(from: start + 6 * step, to: start + 4 * step))
      }
      return Changeset(
        deletions: deletions, insertions: insertions, moves: moves, updates: updates)
    }
    let (first, second, third) = (change(), change(), change())
    let size = 4 * operations
    #expect(OffsetMap(first).segmentCount <= 2 * size + 1)
    let both = OffsetMap(first).followed(by: OffsetMap(second))
    #expect(both.segmentCount <= 2 * 2 * size + 1)
    let composed = first.composed(with: second)
    #expect(composed.changeCount <= 2 * size)
    #expect(!composed.moves.isEmpty && composed.inverse.inverse == composed)
    let byLeft = composed.composed(with: third)
    let byRight = first.composed(with: second.composed(with: third))
    #expect(byLeft.deletions == byRight.deletions)
    #expect(byLeft.insertions == byRight.insertions)
    #expect(byLeft.updates == byRight.updates)
    #expect(byLeft.moves.count == byRight.moves.count)
    // There and back again: nothing is left but what was deleted or updated.
    let nothing = byLeft.composed(with: byLeft.inverse)
    #expect(nothing.moves.isEmpty)
    #expect(nothing.deletions == byLeft.deletions)
    // A single move over almost all of it.
    let move = Changeset(moves: [.init(from: 0, to: count - 1)])
    #expect(move.composed(with: move.inverse) == .empty)
    #expect(
      move.composed(with: Changeset(insertions: [0]))
        == Changeset(insertions: [0], moves: [.init(from: 0, to: count)]))
    let twice = move.composed(with: move)
    #expect(twice.moves == [.init(from: 0, to: count - 2), .init(from: 1, to: count - 1)])
  }

  @Test(arguments: [5, 1_000_000_000_000]) func `the shorter segment moves, for any length`(
    length: Int
  ) {
    // a, b, c, d become b, a, d, c become b, d, a, c in blocks; a and c are single elements.
    let first = Changeset(
      moves: [.init(from: 0, to: length), .init(from: length + 1, to: 2 * length + 1)])
    let second = Changeset(moves: [.init(from: length, to: 2 * length)])
    #expect(
      first.composed(with: second).moves
        == [.init(from: 0, to: 2 * length), .init(from: length + 1, to: 2 * length + 1)])
  }
}

extension Changeset {
  /// Returns `true` if the pairing, the updates or the number of moves differ.
  func differs(from other: Changeset) -> Bool {
    if self == other { return false }
    return deletions != other.deletions || insertions != other.insertions
      || updates != other.updates || moves.count != other.moves.count
      || origins(oldCount: 1_000) != other.origins(oldCount: 1_000)
  }
}
