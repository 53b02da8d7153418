import DataSourceTesting
import Diffing
import TestTags
import Testing

@Suite("Many changes")
struct AccumulationTests {
  @Test(arguments: 0..<70)
  func `a binary counter combines values in order, each of them only a few times`(count: Int) {
    var counter = BinaryCounter<[Int]>()
    var work = 0
    func combine(_ first: [Int], _ second: [Int]) -> [Int] {
      work += first.count + second.count
      return first + second
    }
    for value in 0..<count {
      counter.append([value], combine: combine)
      #expect(counter.total(combine: { $0 + $1 }) == Array(0...value))
    }
    let total = counter.total(combine: combine)
    #expect(total == (count == 0 ? nil : Array(0..<count)))
    // The logarithm, rounded up, and once more at the end.
    let levels = Int.bitWidth - count.leadingZeroBitCount
    #expect(work <= count * (levels + 1))
  }

  @Test(.reaches(.changes)) func `composing k changes takes at most k log k combinations`() {
    var generator = SeededGenerator(seed: 7)
    var count = 1_000_000_000_000
    let changes = (0..<250).map { _ -> Changeset in
      var offsets: Set<Int> = []
      for _ in 0..<8 { offsets.insert(.random(in: 0..<count, using: &generator)) }
      let sorted = offsets.sorted()
      let change =
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: Changeset(deletions: sorted)
        case 1: Changeset(insertions: sorted)
        case 2: Changeset(moves: [.init(from: sorted[1], to: sorted[0])])
        default: Changeset(updates: sorted.map { .init(from: $0, to: $0) })
        }
      count += change.countChange
      Coverage.note(change)
      return change
    }
    var counter = BinaryCounter<OffsetMap>()
    var visited = 0
    for change in changes {
      counter.append(OffsetMap(change)) { first, second in
        visited += first.segmentCount + second.segmentCount
        return first.followed(by: second)
      }
    }
    let operations = changes.reduce(0) { $0 + $1.changeCount }
    // Two segments for an operation and one more, in each of the eight levels.
    #expect(visited <= (2 * operations + changes.count) * 8)
    let oneByOne = changes.reduce(Changeset.empty) { $0.composed(with: $1) }
    let composed = Changeset.composed(of: changes)
    #expect(composed.deletions == oneByOne.deletions)
    #expect(composed.insertions == oneByOne.insertions)
    #expect(composed.updates == oneByOne.updates)
    #expect(composed.moves.count == oneByOne.moves.count)
  }

  @Test func `pending changes are dropped above the limit`() {
    var accumulator = ChangesetAccumulator()
    #expect(accumulator.composed() == .empty)
    let change = Changeset(insertions: Array(0..<1_000))
    #expect(change.footprint == 1_004)
    accumulator.append(change, limit: 2_008)
    accumulator.append(.empty, limit: 2_008)
    accumulator.append(change, limit: 2_008)
    #expect(accumulator.footprint == 2_008 && !accumulator.isExceeded && accumulator.count == 2)
    #expect(accumulator.composed() == Changeset(insertions: Array(0..<2_000)))
    var both = ChangesetAccumulator(change)
    both.append(accumulator, limit: 3_012)
    #expect(both.composed() == Changeset(insertions: Array(0..<3_000)))
    both.append(accumulator, limit: 5_019)
    #expect(both.isExceeded)
    accumulator.append(change, limit: 3_011)
    #expect(accumulator.footprint == 0 && accumulator.isExceeded)
    #expect(accumulator.composed() == nil)
    accumulator.append(change)
    #expect(accumulator.footprint == 0 && accumulator.composed() == nil)
    both = ChangesetAccumulator(change)
    both.append(accumulator, limit: .max)
    #expect(both.isExceeded)
  }

  @Test func `a few changes are kept whatever the limit`() {
    var accumulator = ChangesetAccumulator()
    let change = Changeset(updates: [.init(from: 0, to: 0)])
    for _ in 0..<1_000 / change.footprint { accumulator.append(change, limit: 2) }
    #expect(accumulator.composed() == change)
    accumulator.append(change, limit: 2)
    #expect(accumulator.isExceeded)
  }
}
