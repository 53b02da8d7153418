import DataSourceTesting
import Diffing
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

  @Test func `composing k changes takes at most k log k combinations`() {
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
      return change
    }
    var counter = BinaryCounter<PartialInjection>()
    var visited = 0
    for change in changes {
      counter.append(PartialInjection(change)) { first, second in
        visited += first.stretchCount + second.stretchCount
        return first.followed(by: second)
      }
    }
    let operations = changes.reduce(0) { $0 + $1.changeCount }
    // Two stretches for an operation and one more, in each of the eight levels.
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
    let change = Changeset(insertions: [0, 1])
    #expect(change.footprint == 6)
    accumulator.append(change, limit: 12)
    accumulator.append(.empty, limit: 12)
    accumulator.append(change, limit: 12)
    #expect(accumulator.footprint == 12 && !accumulator.isExceeded)
    #expect(accumulator.composed() == Changeset(insertions: [0, 1, 2, 3]))
    accumulator.append(change, limit: 17)
    #expect(accumulator.footprint == 0 && accumulator.isExceeded)
    #expect(accumulator.composed() == nil)
    accumulator.append(change)
    #expect(accumulator.footprint == 0 && accumulator.composed() == nil)
  }
}
