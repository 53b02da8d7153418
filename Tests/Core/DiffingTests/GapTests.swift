import DataSourceTesting
import Diffing
import TestSupport
import TestTags
import Testing

/// The difference of lists that differ only inside some gaps.
@Suite struct GapTests {
  /// An old and a new list: segments that differ, with equal segments between them.
  private struct Segments {
    var old: [Item] = []
    var new: [Item] = []
    var gaps: [Gap] = []

    mutating func append(gapFrom old: [Item], to new: [Item]) {
      gaps.append(
        Gap(
          old: self.old.count..<self.old.count + old.count,
          new: self.new.count..<self.new.count + new.count))
      self.old += old
      self.new += new
    }

    mutating func append(shared: [Item]) {
      old += shared
      new += shared
    }

    var changeset: Changeset {
      let parts = gaps.map { ($0, Changeset(from: old[$0.old], to: new[$0.new])) }
      return Changeset(joining: parts) { deletions, insertions in
        Changeset(from: deletions.map { old[$0] }, to: insertions.map { new[$0] })
      }
    }

    /// Returns a description of the first error in the changeset, or `nil`.
    var violation: String? {
      let changeset = changeset
      if let violation = DiffingTests.violation(of: changeset, from: old, to: new) {
        return "\(old) to \(new) in \(gaps) by \(changeset): \(violation)"
      }
      let (oldIDs, newIDs) = (old.map(\.id), new.map(\.id))
      if old.count - changeset.deletions.count != commonCount(oldIDs, newIDs) {
        return "\(old) to \(new) in \(gaps) by \(changeset): C8, not as many as could be are kept"
      }
      // Without duplicates, there is only one pairing.
      guard Set(oldIDs).count == old.count, Set(newIDs).count == new.count else { return nil }
      let whole = Changeset(from: old, to: new)
      if changeset.deletions != whole.deletions || changeset.insertions != whole.insertions
        || changeset.updates != whole.updates || changeset.moves.count != whole.moves.count
      {
        return "\(old) to \(new) in \(gaps) by \(changeset), not by \(whole)"
      }
      return nil
    }
  }

  @Test func `all short lists in two gaps keep the rules`() {
    let items = [Item(id: 1, content: 0), Item(id: 1, content: 1), Item(id: 2, content: 0)]
    let lists = allLists(upTo: 2, of: items)
    // An ordinary run takes one of five cases.
    let stride = TestRun.isLong ? 1 : 5
    var number = 0
    for shared in [[items[0]], [Item(id: 9, content: 0)]] {
      for first in lists {
        for second in lists {
          for newFirst in lists {
            for newSecond in lists {
              number += 1
              guard number % stride == 0 else { continue }
              var segments = Segments()
              segments.append(gapFrom: first, to: newFirst)
              segments.append(shared: shared)
              segments.append(gapFrom: second, to: newSecond)
              if let violation = segments.violation {
                Issue.record("\(violation)")
                return
              }
            }
          }
        }
      }
    }
  }

  @Test(.reaches(.changes)) func `moves across shared segments of all lengths are minimal`() {
    for seed in UInt64(0)..<1_000 {
      var random = SeededGenerator(seed: seed)
      let gapCount = Int.random(in: 1...5, using: &random)
      let hasDuplicates: Bool = seed % 3 == 0
      var pool = (0..<UInt8(20)).map {
        Item(id: hasDuplicates ? $0 % 6 : $0, content: UInt8.random(in: 0...1, using: &random))
      }
      pool.shuffle(using: &random)
      var newPool = pool.map {
        Item(id: $0.id, content: Bool.random(using: &random) ? $0.content : 2)
      }
      // Nearly in order half of the time.
      if Bool.random(using: &random) {
        newPool.shuffle(using: &random)
      } else {
        for _ in 0..<3 {
          newPool.swapAt(
            .random(in: 0..<20, using: &random), .random(in: 0..<20, using: &random))
        }
      }
      var segments = Segments()
      for gap in 0..<gapCount {
        let length = Int.random(in: 0...6, using: &random)
        segments.append(
          shared: (0..<length).map { Item(id: UInt8(100 + gap * 10 + $0), content: 0) })
        segments.append(
          gapFrom: Array(pool.prefix(.random(in: 0...6, using: &random))),
          to: Array(newPool.prefix(.random(in: 0...6, using: &random))))
        pool.removeFirst(min(pool.count, segments.gaps[gap].old.count))
        newPool.removeFirst(min(newPool.count, segments.gaps[gap].new.count))
      }
      segments.append(shared: [Item(id: 200, content: 0)])
      Coverage.note(segments.changeset)
      if let violation = segments.violation {
        Issue.record("seed \(seed): \(violation)")
        return
      }
    }
  }

  @Test func `an element that is updated on its way to another gap is a move and an update`() {
    var segments = Segments()
    segments.append(gapFrom: [Item(id: 1, content: 0)], to: [])
    segments.append(shared: (10..<13).map { Item(id: $0, content: 0) })
    segments.append(gapFrom: [], to: [Item(id: 1, content: 1)])
    #expect(
      segments.changeset
        == Changeset(moves: [.init(from: 0, to: 3)], updates: [.init(from: 0, to: 3)]))
  }

  @Test func `a shared segment moves if it is shorter than what crosses it`() {
    let crossing = (1..<4).map { Item(id: $0, content: 0) }
    var segments = Segments()
    segments.append(gapFrom: crossing, to: [])
    segments.append(shared: [Item(id: 10, content: 0)])
    segments.append(gapFrom: [], to: crossing)
    #expect(segments.changeset == Changeset(moves: [.init(from: 3, to: 0)]))
  }
}
