import DataSourceTesting
import Diffing
import TestSupport
import TestTags
import Testing

@Suite("The composition of two changes in normal form")
struct NormalFormTests {
  @Test
  func `the composition of two changes between small lists keeps every rule`() {
    let items = (0..<2).flatMap { id in (0..<2).map { Item(id: id, content: $0) } }
    let short = allLists(upTo: 2, of: items + [Item(id: 2, content: 0)])
    // An ordinary run takes one of three changes after each first one.
    let stride = TestRun.isLong ? 1 : 3
    for lists in TestRun.isLong ? [short, allLists(upTo: 3, of: items)] : [short] {
      for old in lists {
        // Which identity is which makes no difference.
        if let first = old.first, first.id != 0 { continue }
        for (number, middle) in lists.enumerated() {
          let first = Changeset(from: old, to: middle)
          for (position, new) in lists.enumerated() where (number + position) % stride == 0 {
            let second = Changeset(from: middle, to: new)
            if let violation = Self.fault(first, second, from: old, to: new) {
              Issue.record("\(old) by \(middle) to \(new): \(violation)")
              return
            }
          }
        }
      }
    }
  }

  private static func fault(
    _ first: Changeset, _ second: Changeset, from old: [Item], to new: [Item]
  ) -> String? {
    let composed = first.composed(with: second, from: old, to: new)
    if let violation = violation(of: composed, from: old, to: new) {
      return "\(first) and \(second) make \(composed): \(violation)"
    }
    // As many are kept as can be.
    let difference = Changeset(from: old, to: new)
    if composed.deletions.count != difference.deletions.count {
      return "\(composed) deletes and inserts what could be kept"
    }
    let areUnique = Set(old.map(\.id)).count == old.count && Set(new.map(\.id)).count == new.count
    if areUnique && composed.differs(from: difference) {
      return "\(composed) is not the difference \(difference)"
    }
    return nil
  }

  @Test
  func `a composition pairs equal identities and drops updates that were undone`() {
    let a = Item(id: 0, content: 0)
    let b = Item(id: 1, content: 0)
    let changed = Item(id: 0, content: 1)
    let update = Changeset(updates: [.init(from: 0, to: 0)])
    #expect(update.composed(with: update, from: [a], to: [a]) == .empty)
    #expect(update.composed(with: update, from: [a], to: [changed]) == update)
    let deletion = Changeset(deletions: [0])
    let insertion = Changeset(insertions: [0])
    #expect(deletion.composed(with: insertion, from: [a, b], to: [a, b]) == .empty)
    #expect(deletion.composed(with: insertion, from: [a, b], to: [changed, b]) == update)
    #expect(
      deletion.composed(with: Changeset(insertions: [1]), from: [a, b], to: [b, changed])
        == Changeset(moves: [.init(from: 0, to: 1)], updates: [.init(from: 0, to: 1)]))
    #expect(
      deletion.composed(with: insertion, from: [a], to: [b])
        == Changeset(deletions: [0], insertions: [0]))
  }

  @Test(.reaches(.changes), arguments: 0..<100 as Range<UInt64>)
  func `the composition of a change and its inverse is empty`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var list = EditedList(count: 30, ids: seed % 2 == 0 ? 0..<6 : nil, using: &generator)
    let old = list.items
    let change = list.edit(using: &generator)
    Coverage.note(change)
    #expect(
      change.composed(with: change.inverse, from: old, to: old) == .empty, "seed \(seed)")
    #expect(
      change.inverse.composed(with: change, from: list.items, to: list.items) == .empty,
      "seed \(seed)")
  }

  @Test(.reaches(.changes), arguments: 0..<(TestRun.isLong ? 2_000 : 10) as Range<UInt64>)
  func `the rules hold over chains of 50 changes`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let isUnique = seed % 2 == 0
    var list = EditedList(
      count: .random(in: 0..<40, using: &generator), ids: isUnique ? nil : 0..<5,
      using: &generator)
    let start = list.items
    var versions = [start]
    var changes: [Changeset] = []
    var folded = Changeset.empty
    var recorded = Changeset.empty
    var accumulator = ChangesetAccumulator()
    for step in 0..<50 {
      let change = list.edit(using: &generator)
      #expect(
        violation(of: change, from: versions[step], to: list.items) == nil,
        "seed \(seed) step \(step)")
      changes.append(change)
      versions.append(list.items)
      folded = folded.composed(with: change, from: start, to: list.items)
      if let violation = violation(of: folded, from: start, to: list.items) {
        Issue.record("seed \(seed) step \(step): \(folded): \(violation)")
        return
      }
      // By offsets alone, all 50 have the same effect in whatever order they are composed.
      recorded = recorded.composed(with: change)
      accumulator.append(change)
      if step % 7 == 0 || step == 49 {
        let composed = accumulator.composed()
        #expect(composed.map { recorded.differs(from: $0) } == false, "seed \(seed) step \(step)")
      }
      #expect(recorded.applying(to: start, with: list.items) == list.items, "seed \(seed)")
    }
    if isUnique {
      #expect(!folded.differs(from: Changeset(from: start, to: list.items)), "seed \(seed)")
    }
    // From the right, with the last version fixed.
    var fromRight = Changeset.empty
    for step in (0..<50).reversed() {
      fromRight = changes[step].composed(
        with: fromRight, from: versions[step], to: list.items)
    }
    let difference = violation(of: fromRight, from: start, to: list.items)
    #expect(difference == nil, "seed \(seed)")
    if isUnique { #expect(!folded.differs(from: fromRight), "seed \(seed)") }
  }
}
