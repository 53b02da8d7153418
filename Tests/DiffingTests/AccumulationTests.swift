import Diffing
import Testing

@Suite("Many changes")
struct AccumulationTests {
  @Test("are combined by a binary counter in their order, each a few times", arguments: 0..<70)
  func counter(count: Int) {
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

  @Test("cost no more than their number times its logarithm")
  func work() {
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

  @Test("wait no longer where there are too many")
  func limit() {
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
