import DataSourceTesting
import Diffing
import Synchronizers
import TestSupport
import TestTags
import Testing

/// An element with several fields.
private struct Item: Identifiable, Equatable, Differentiable, Sendable {
  let id: String
  var title = "Tea"
  var count = 1
}

/// A letter whose content can differ from itself.
private struct Measure: Identifiable, Equatable, Differentiable, Sendable {
  let id: Int
  let value: Double
}

@Suite struct ThreeWayMergeTests {
  private typealias Merge = ThreeWayMerge<Letter>
  private typealias Conflict = MergeConflict<Letter>

  private func merge(
    _ base: String, _ mine: String, _ theirs: String,
    _ preference: MergeConflict<Letter>.Preference = .theirs
  ) throws -> Merge {
    let (base, mine, theirs) = (Letter.list(base), Letter.list(mine), Letter.list(theirs))
    let merge = Merge(base: base, mine: mine, theirs: theirs) { preference.resolution(of: $0) }
    try check(merge, mine, theirs)
    return merge
  }

  /// Compares the changesets with the merged contents.
  private func check<Element: Differentiable & Equatable>(
    _ merge: ThreeWayMerge<Element>, _ mine: [Element], _ theirs: [Element]
  ) throws {
    let merged = merge.merged
    for (side, changes) in [(mine, merge.changesForMine), (theirs, merge.changesForTheirs)] {
      try #require(changes.applying(to: side, with: merged) == merged)
      try #require(
        changes.invariantViolation(oldCount: side.count, newCount: merged.count) == nil)
    }
  }

  @Test(arguments: [
    // base, mine, theirs, result, conflicts
    ("A B", "A1 B", "A B", "A1 B", ""),
    ("A B", "A B", "A1 B", "A1 B", ""),
    ("A B", "A1 B", "A1 B", "A1 B", ""),
    ("A B", "A1 B", "A2 B", "A2 B", "edited"),
    ("A B", "B", "A B", "B", ""),
    ("A B", "A B", "B", "B", ""),
    ("A B", "B", "A1 B", "A1 B", "deletedByMine"),
    ("A B", "A1 B", "B", "B", "deletedByTheirs"),
    ("A", "A B1", "A B1", "A B1", ""),
    ("A", "A B1", "A B2", "A B2", "added"),
    ("A B", "B", "B", "B", ""),
    ("A B C D", "D A B C", "A B C D", "D A B C", ""),
    ("A B C D", "A B C D", "D A B C", "D A B C", ""),
    ("A B C D", "D A B C", "A D B C", "A D B C", "moved"),
    ("A B C D", "A D B C", "A D B C", "A D B C", ""),
    // An element that only mine added follows its predecessor in mine, before elements of theirs.
    ("A B", "A X B", "A Y B", "A X Y B", ""),
    ("A B", "X A B", "Y A B", "X Y A B", ""),
    ("A B", "A B X", "B", "B X", ""),
    // One side moves the element, and the other one edits it.
    ("A B C D", "D A B C", "A B C D1", "D1 A B C", ""),
    ("", "", "", "", ""), ("", "A", "", "A", ""), ("A", "", "", "", ""),
  ])
  func `each case has the result of the table`(
    base: String, mine: String, theirs: String, outcome: String, conflicts: String
  ) throws {
    let merge = try merge(base, mine, theirs)
    #expect(merge.merged == Letter.list(outcome))
    #expect(merge.conflicts.map { "\($0.conflict.kind)" }.joined(separator: " ") == conflicts)
  }

  @Test(arguments: [
    ("A B", "A1 B", "A2 B", "A1 B"), ("A B", "B", "A1 B", "A1 B"), ("A B", "A1 B", "B", "A1 B"),
    ("A", "A B1", "A B2", "A B1"), ("A B C D", "D A B C", "A D B C", "D A B C"),
  ])
  func `mine can be preferred`(base: String, mine: String, theirs: String, outcome: String) throws {
    #expect(try merge(base, mine, theirs, .mine).merged == Letter.list(outcome))
  }

  @Test(arguments: [
    ("A B C", "A1 C D", "A B C", MergeConflict<Letter>.Preference.mine, "A1 C D"),
    ("A1 B1 C", "A B C D1", "A B C D", .theirs, "A1 B1 C"),
    ("A1 B1 C", "A2 B2 D E F", "A B C1", .mine, "A2 B2 C D E F"),
    ("A B C", "A B C D", "A B C", .theirs, "A B C D"),
  ])
  func `the documented examples hold`(
    remote: String, client: String, shadow: String, preference: MergeConflict<Letter>.Preference,
    both: String
  ) throws {
    #expect(try merge(shadow, client, remote, preference).merged == Letter.list(both))
  }

  @Test func `a resolver is called once for each conflict and never otherwise`() throws {
    var asked: [String] = []
    let (base, mine, theirs) = (
      Letter.list("A B C D E F"), Letter.list("A1 C1 D F1 G1 E1"), Letter.list("A2 B2 D1 E1 F G2")
    )
    let merge = Merge(base: base, mine: mine, theirs: theirs) { conflict in
      let sides = [conflict.base, conflict.mine, conflict.theirs].map { $0.map { "\($0)" } ?? "-" }
      asked.append("\(conflict.kind) \(sides.joined(separator: " "))")
      return switch conflict.kind {
      case .edited: .merged(Letter(key: "A", content: "12"))
      case .added: .mine
      case .deletedByMine: .mine
      case .deletedByTheirs: .merged(Letter(key: "C", content: "9"))
      case .moved: .mine
      }
    }
    try check(merge, mine, theirs)
    #expect(
      asked == [
        "edited A A1 A2", "deletedByMine B - B2", "deletedByTheirs C C1 -", "added - G1 G2",
      ])
    #expect(Set(merge.merged) == Set(Letter.list("A12 C9 D1 E1 F1 G1")))
  }

  @Test func `a merged value for a place means theirs`() throws {
    let (mine, theirs) = (Letter.list("D1 A B C"), Letter.list("A D2 B C"))
    let merge = Merge(base: Letter.list("A B C D"), mine: mine, theirs: theirs) { _ in
      .merged(Letter(key: "D", content: "3"))
    }
    try check(merge, mine, theirs)
    #expect(merge.merged == Letter.list("A D3 B C"))
    #expect(merge.conflicts.map(\.conflict.kind) == [.edited, .moved])
    if case .theirs = merge.conflicts[1].resolution {
    } else {
      Issue.record("\(merge.conflicts[1].resolution)")
    }
  }

  @Test func `a merged value of another identity traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = ThreeWayMerge(
        base: Letter.list("A B"), mine: Letter.list("A1 B"), theirs: Letter.list("A2 B")
      ) { _ in
        .merged(Letter(key: "B", content: "3"))
      }
    }
  }

  @Test func `contents with equal bits are equal`() {
    let (base, edited) = ([Measure(id: 1, value: 1)], [Measure(id: 1, value: .nan)])
    for base in [base, []] {
      let merge = ThreeWayMerge(base: base, mine: edited, theirs: edited)
      #expect(merge.conflicts.isEmpty)
      #expect(merge.changesForMine.isEmpty && merge.changesForTheirs.isEmpty)
    }
    let other = [Measure(id: 1, value: 2)]
    let merge = ThreeWayMerge(base: base, mine: edited, theirs: other) { _ in .merged(edited[0]) }
    #expect(merge.changesForMine.isEmpty)
    #expect(merge.changesForTheirs.updates.count == 1)
  }

  @Test func `plain values are their own identity`() throws {
    let merge = ThreeWayMerge(base: [1, 2, 2], mine: [1, 2, 2, 3], theirs: [2, 1, 2, 2])
    try check(merge, [1, 2, 2, 3], [2, 1, 2, 2])
    #expect(merge.merged.sorted() == [1, 2, 2, 2, 3])
    #expect(merge.conflicts.isEmpty)
  }

  @Test func `if one side is unchanged, the result is the other side`() throws {
    let lists = everyList(upTo: 3, of: [1, 2, 3, 4]) + everyList(upTo: 4, of: [1, 2])
    // An ordinary run takes one of five pairs.
    let stride = TestRun.isLong ? 1 : 5
    for (number, base) in lists.enumerated() {
      for (position, other) in lists.enumerated() where (number + position) % stride == 0 {
        for merge in [
          ThreeWayMerge(base: base, mine: other, theirs: base),
          ThreeWayMerge(base: base, mine: base, theirs: other),
        ] {
          try #require(merge.merged == other, "\(base) to \(other)")
          try #require(merge.conflicts.isEmpty)
        }
        let both = ThreeWayMerge(base: base, mine: other, theirs: other)
        try #require(both.merged == other && both.conflicts.isEmpty)
        try #require(both.changesForMine.isEmpty && both.changesForTheirs.isEmpty)
      }
    }
  }

  @Test(
    .reaches(.changes, "conflict", "merge without conflicts"), arguments: 0..<200 as Range<UInt64>)
  func `an edit of one side alone is never lost`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let base = (0..<20).map { TestElement($0) }
    func edited(_ next: inout Int) -> [TestElement] {
      var list = base
      for _ in 0..<random.below(10) {
        switch random.below(4) {
        case 0: if !list.isEmpty { list.remove(at: random.below(list.count)) }
        case 1:
          list.insert(TestElement(next, 1), at: random.below(list.count + 1))
          next += 1
        case 2: if !list.isEmpty { list[random.below(list.count)].content = 1 + random.below(5) }
        default:
          guard !list.isEmpty else { continue }
          let element = list.remove(at: random.below(list.count))
          list.insert(element, at: random.below(list.count + 1))
        }
      }
      return list
    }
    var (mineNext, theirNext) = (100, 200)
    let (mine, theirs) = (edited(&mineNext), edited(&theirNext))
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
    try check(merge, mine, theirs)
    Coverage.note(Changeset(from: base, to: mine))
    Coverage.note("conflict", merge.conflicts.count)
    if merge.conflicts.isEmpty { Coverage.note("merge without conflicts") }
    #expect(Set(merge.merged.map(\.id)).count == merge.merged.count)

    func contents(_ list: [TestElement]) -> [Int: Int] {
      Dictionary(uniqueKeysWithValues: list.map { ($0.id, $0.content) })
    }
    let (b, m, t, r) = (contents(base), contents(mine), contents(theirs), contents(merge.merged))
    for id in Set(b.keys).union(m.keys).union(t.keys) {
      if m[id] == b[id] { #expect(r[id] == t[id], "\(id), seed \(seed)") }
      if t[id] == b[id] { #expect(r[id] == m[id], "\(id), seed \(seed)") }
    }
    // With exchanged sides, the result has the same elements, except for conflicts.
    if merge.conflicts.isEmpty {
      let turned = ThreeWayMerge(base: base, mine: theirs, theirs: mine)
      #expect(contents(turned.merged) == r)
    }
  }

  @Test func `a resolved conflict describes the key, the edits and the winner in one line`() {
    let item = Item(id: "x")
    let mine = Item(id: "x", title: "Green\ntea")
    let theirs = Item(id: "x", count: 2)
    func text(
      _ base: Item?, _ mine: Item?, _ theirs: Item?,
      _ resolution: MergeConflict<Item>.Resolution
    ) -> [String] {
      let lists = [base, mine, theirs].map { $0.map { [$0] } ?? [] }
      let merge = ThreeWayMerge(base: lists[0], mine: lists[1], theirs: lists[2]) { _ in resolution
      }
      return merge.conflicts.map(\.description)
    }
    let fields =
      #"(title is "Green\ntea" in mine and "Tea" in theirs, count is 1 in mine and 2 in theirs)"#
    #expect(
      text(item, mine, theirs, .merged(item)) == [
        #"conflict at "x": both sides edited it \#(fields); the merged value wins"#
      ])
    #expect(
      text(nil, mine, theirs, .mine) == [
        #"conflict at "x": both sides added it \#(fields); mine wins"#
      ])
    #expect(
      text(item, nil, theirs, .theirs) == [
        #"conflict at "x": mine deleted it, theirs edited it (count: 1 → 2); theirs wins"#
      ])
    #expect(
      text(item, theirs, nil, .mine) == [
        #"conflict at "x": theirs deleted it, mine edited it (count: 1 → 2); mine wins"#
      ])
    let lists = ["a b c", "b c a", "b a c"].map {
      $0.split(separator: " ").map { Item(id: String($0)) }
    }
    let moved = ThreeWayMerge(base: lists[0], mine: lists[1], theirs: lists[2])
    #expect(
      moved.conflicts.map(\.description) == [
        #"conflict at "a": both sides moved it, to different places; theirs wins"#
      ])
  }
}
