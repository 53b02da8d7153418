import DataSourceTesting
import Diffing
import Synchronizers
import TestSupport
import TestTags
import Testing

/// Compares the merge, which works on ranges, with a reference that works on single elements.
@Suite struct MergeReferenceTests {
  /// The resolutions of conflicts, in turn. The content 9 is on neither side.
  private enum Answers: CaseIterable {
    case mine, theirs, inTurn

    func resolver() -> (MergeConflict<TestElement>) -> MergeConflict<TestElement>.Resolution {
      var count = 0
      return { conflict in
        count += 1
        return switch self {
        case .mine: .mine
        case .theirs: .theirs
        case .inTurn:
          switch count % 3 {
          case 0: .mine
          case 1: .merged(TestElement((conflict.mine ?? conflict.theirs)?.id ?? 0, 9))
          default: .theirs
          }
        }
      }
    }
  }

  /// An ordinary run takes one of five cases.
  private let stride = TestRun.isLong ? 1 : 5

  private func compare(
    _ base: [TestElement], _ mine: [TestElement], _ theirs: [TestElement], _ answers: Answers
  ) throws {
    let merge = ThreeWayMerge(
      base: base, mine: mine, theirs: theirs, resolve: answers.resolver())
    let reference = ReferenceMerge(
      base: base, mine: mine, theirs: theirs, resolve: answers.resolver())
    let merged = merge.merged
    func complaint() -> Comment { "\(base) | \(mine) | \(theirs), \(answers): \(merged)" }
    try #require(merged == reference.merged, complaint())
    try #require(Array(merge.mergedSnapshot) == merged, complaint())
    try #require(
      merge.conflicts.map { "\($0.conflict)" } == reference.conflicts.map { "\($0)" }, complaint())
    let sides = [
      (mine, merge.changesForMine, reference.changes(from: \.mine, mine)),
      (theirs, merge.changesForTheirs, reference.changes(from: \.theirs, theirs)),
    ]
    for (side, changes, expected) in sides {
      try #require(changes.applying(to: side, with: merged) == merged, complaint())
      let violation = changes.invariantViolation(oldCount: side.count, newCount: merged.count)
      try #require(violation == nil, complaint())
      try #require(changes.deletions == expected.deletions, complaint())
      try #require(changes.insertions == expected.insertions, complaint())
      try #require(changes.updates == expected.updates, complaint())
      try #require(changes.moves.count == expected.moves.count, complaint())
    }
  }

  @Test func `the merge equals the reference for all small lists`() throws {
    let identities = everyList(upTo: 3, of: [1, 2] as [TestElement]) + [[1, 2, 3], [3, 1, 2]]
    let contents = everyList(
      upTo: 2, of: (1...2).flatMap { id in (0...2).map { TestElement(id, $0) } })
    for (bases, versions) in [
      (everyList(upTo: 3, of: [1, 2, 3] as [TestElement]), identities), (identities, contents),
    ] {
      for (first, base) in bases.enumerated() {
        for (second, mine) in versions.enumerated() {
          for (third, theirs) in versions.enumerated() where (first + second + third) % stride == 0
          {
            try compare(base, mine, theirs, .inTurn)
          }
        }
      }
    }
  }

  @Test func `the merge equals the reference for all edits of three elements`() throws {
    let base = (1...3).map { TestElement($0) }
    let versions = everyList(upTo: 3, of: (1...4).map { TestElement($0) }).flatMap { list in
      [list, list.map { TestElement($0.id, $0.id == 2 ? 1 : 0) }]
    }
    for (number, mine) in versions.enumerated() {
      for (position, theirs) in versions.enumerated() where (number + position) % stride == 0 {
        let edited = theirs.map { TestElement($0.id, $0.content * 2) }
        for answers in Answers.allCases { try compare(base, mine, edited, answers) }
      }
    }
  }

  @Test(.reaches(.changes), arguments: 0..<300 as Range<UInt64>)
  func `the merge equals the reference for long lists`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    // Some lists have many elements of one identity.
    let identities = random.below(3) == 0 ? 8 : 200
    func element() -> TestElement { TestElement(random.below(identities), random.below(2)) }
    let base = (0..<random.below(60)).map { identities == 8 ? element() : TestElement($0) }
    func edited() -> [TestElement] {
      var list = base
      for _ in 0..<random.below(25) {
        let place = random.below(max(list.count, 1))
        switch random.below(5) {
        case 0: list.insert(element(), at: random.below(list.count + 1))
        case 1: if !list.isEmpty { list.remove(at: place) }
        case 2: if !list.isEmpty { list[place].content = random.below(4) }
        case 3:
          // Move a range.
          let end = min(place + 1 + random.below(4), list.count)
          let segment = Array(list[place..<end])
          list.removeSubrange(place..<end)
          list.insert(contentsOf: segment, at: random.below(list.count + 1))
        default:
          guard !list.isEmpty else { continue }
          let element = list.remove(at: place)
          list.insert(element, at: random.below(list.count + 1))
        }
      }
      return list
    }
    let (mine, theirs) = (edited(), edited())
    Coverage.note(Changeset(from: base, to: mine))
    for answers in Answers.allCases { try compare(base, mine, theirs, answers) }
  }
}
