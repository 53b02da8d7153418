import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// The difference of two versions of a tree, compared with the difference of two arrays.
@Suite struct StorageDifferenceTests {
  private typealias List = PersistentArray<TestElement>

  private static let tiny = [(2, 4), (3, 4), (4, 5), (5, 6)].map {
    NodeLimits(leaf: $0, inner: $1, flat: 0, bulk: 0)
  }

  /// Returns a tree of numbers that an edit has made.
  private static func tree(_ count: Int, _ limits: NodeLimits) -> List {
    var list = List((1..<max(count, 1)).map { TestElement($0) })
    if count > 0 {
      list.replaceSubrange(count / 2..<count / 2, with: [TestElement(0)], limits: limits)
    }
    return list
  }

  /// Returns what is wrong with the difference of two lists, if anything.
  ///
  /// Also checks the difference through all gaps, however little the lists share.
  private static func violation(from old: List, to new: List) -> String? {
    let (oldElements, newElements) = (old.flattened(), new.flattened())
    let whole = Changeset(from: oldElements, to: newElements)
    let (oldSnapshot, newSnapshot) = (Snapshot(old), Snapshot(new))
    var changesets = [oldSnapshot.changeset(to: newSnapshot)]
    Coverage.note(changesets[0])
    if case .tree(let oldRoot) = old, case .tree(let newRoot) = new {
      let gaps = TreeComparison(oldRoot, newRoot).gaps
      changesets.append(oldSnapshot.changeset(to: newSnapshot, in: gaps))
      if let violation = violation(of: gaps, oldElements, newElements) { return violation }
    }
    let isUnique =
      Set(oldElements.map(\.id)).count == old.count
      && Set(newElements.map(\.id)).count == new.count
    for changeset in changesets {
      let context = "\(oldElements) to \(newElements) by \(changeset)"
      if let violation = changeset.invariantViolation(oldCount: old.count, newCount: new.count) {
        return "\(context): \(violation)"
      }
      if changeset.applying(to: oldElements, with: newElements) != newElements {
        return "\(context): it does not lead to the new list"
      }
      if changeset.deletions.count != whole.deletions.count {
        return "\(context): \(whole) keeps another number of elements"
      }
      let updates = Set(changeset.updates)
      for (to, from) in changeset.origins(oldCount: old.count).enumerated() where from >= 0 {
        let isUpdated = updates.contains(.init(from: from, to: to))
        if oldElements[from].id != newElements[to].id
          || isUpdated == (oldElements[from].content == newElements[to].content)
        {
          return "\(context): the pair \(from)->\(to) is wrong"
        }
      }
      if isUnique,
        changeset.deletions != whole.deletions || changeset.insertions != whole.insertions
          || changeset.updates != whole.updates || changeset.moves.count != whole.moves.count
      {
        return "\(context), not by \(whole)"
      }
    }
    if oldSnapshot.hasSameContents(as: newSnapshot) != (oldElements == newElements) {
      return "\(oldElements) and \(newElements) are compared wrong"
    }
    return nil
  }

  /// Returns what is wrong with the gaps between two lists, if anything.
  private static func violation(
    of gaps: [Gap], _ old: [TestElement], _ new: [TestElement]
  ) -> String? {
    var (oldEnd, newEnd) = (0, 0)
    for gap in gaps + [Gap(old: old.count..<old.count, new: new.count..<new.count)] {
      if old[oldEnd..<gap.old.lowerBound] != new[newEnd..<gap.new.lowerBound] {
        return "\(old) to \(new): the lists differ before \(gap) in \(gaps)"
      }
      (oldEnd, newEnd) = (gap.old.upperBound, gap.new.upperBound)
    }
    return nil
  }

  @Test(arguments: 0..<4) func `every edit of a small tree is found`(_ index: Int) {
    let limits = Self.tiny[index]
    for count in [0, 1, 2, 5, 11, 16] {
      let start = Self.tree(count, limits)
      var versions: [List] = []
      for lower in 0...count {
        for upper in lower...count {
          for newCount in [0, 1, 7] {
            var list = start
            let new = (0..<newCount).map { TestElement(100 + $0) }
            list.replaceSubrange(lower..<upper, with: new, limits: limits)
            versions.append(list)
          }
        }
      }
      for source in 0..<count {
        var updated = start
        _ = updated.exchangeElement(
          at: source, with: TestElement(start[source].id, 1), limits: limits)
        versions.append(updated)
        for destination in 0..<count {
          var moved = start
          moved.move(from: source, to: destination, limits: limits)
          versions.append(moved)
        }
      }
      // An ordinary run takes one of five edits.
      let stride = TestRun.isLong ? 1 : 5
      for (number, version) in versions.enumerated() where (number + index) % stride == 0 {
        if let violation = Self.violation(from: start, to: version)
          ?? Self.violation(from: version, to: start)
        {
          Issue.record("\(limits): \(violation)")
          return
        }
      }
    }
  }

  @Test(.reaches(.changes), arguments: 0..<5) func `random edits are found`(_ index: Int) {
    let limits = index < 4 ? Self.tiny[index] : NodeLimits(leaf: 16, inner: 6, flat: 0, bulk: 0)
    for seed in UInt64(0)..<(TestRun.isLong ? 6 : 2) {
      var random = SeededGenerator(seed: seed)
      let hasDuplicates = seed % 3 == 0
      var list = Self.tree(20 + random.below(index < 4 ? 100 : 500), limits)
      var versions = [list]
      for step in 0..<10 {
        for _ in 0...random.below(6) {
          Self.edit(&list, hasDuplicates: hasDuplicates, limits, &random)
        }
        for version in versions {
          if let violation = Self.violation(from: version, to: list)
            ?? Self.violation(from: list, to: version)
          {
            Issue.record("seed \(seed), step \(step), \(limits): \(violation)")
            return
          }
        }
        if versions.count < 4 { versions.append(list) }
      }
    }
  }

  private static func edit(
    _ list: inout List, hasDuplicates: Bool, _ limits: NodeLimits, _ random: inout SeededGenerator
  ) {
    func make(_ random: inout SeededGenerator) -> TestElement {
      TestElement(
        hasDuplicates ? random.below(50) : Int(random.next() >> 16), random.below(2))
    }
    let count = list.count
    let lower = random.below(count + 1)
    let upper = min(count, lower + random.below(4))
    switch random.below(7) {
    case 0 where count > 0:
      list.move(from: random.below(count), to: random.below(count), limits: limits)
    case 1 where count > 0:
      let offset = random.below(count)
      _ = list.exchangeElement(
        at: offset, with: TestElement(list[offset].id, random.below(3)), limits: limits)
    case 2:
      list.replaceSubrange(lower..<upper, with: [], limits: limits)
    case 3:
      // A block is moved.
      let block = list.elements(in: lower..<min(count, lower + random.below(20)))
      list.replaceSubrange(lower..<lower + block.count, with: [], limits: limits)
      let destination = random.below(list.count + 1)
      list.replaceSubrange(destination..<destination, with: block, limits: limits)
    case 4:
      // A block is reversed.
      let block = list.elements(in: lower..<min(count, lower + random.below(20)))
      list.replaceSubrange(lower..<lower + block.count, with: block.reversed(), limits: limits)
    default:
      let new = (0..<random.below(5)).map { _ in make(&random) }
      list.replaceSubrange(lower..<lower, with: new, limits: limits)
    }
  }

  @Test func `lists that share nothing are compared as a whole`() {
    for (one, other) in [(300, 300), (300, 2_000), (0, 300), (40, 41)] {
      for limits in Self.tiny {
        let old = Self.tree(one, limits)
        var new = Self.tree(other, limits)
        new.move(from: other / 3, to: other / 2, limits: limits)
        #expect(Self.violation(from: old, to: new) == nil)
        #expect(Self.violation(from: new, to: old) == nil)
        #expect(Self.violation(from: List(old.flattened()), to: new) == nil)
        #expect(Self.violation(from: new, to: List(old.flattened())) == nil)
      }
    }
  }

  @Test func `equal rows that moved against each other are still equal contents`() {
    let limits = Self.tiny[1]
    var old = List((0..<60).map { _ in TestElement(1) })
    old.replaceSubrange(0..<0, with: [TestElement(1)], limits: limits)
    var new = old
    new.replaceSubrange(3..<5, with: [], limits: limits)
    new.replaceSubrange(40..<40, with: [TestElement(1), TestElement(1)], limits: limits)
    #expect(Snapshot(old).hasSameContents(as: Snapshot(new)))
    #expect(Self.violation(from: old, to: new) == nil)
  }
}

/// The number of nodes that a comparison of two versions of a long list visits.
@Suite struct StorageVisitTests {
  private typealias List = PersistentArray<TestElement>

  private enum Kind: CaseIterable {
    case updates, inserts, removals, moves
  }

  private static func list(_ count: Int) -> List {
    var list = List((0..<count).map { TestElement($0) })
    _ = list.exchangeElement(at: 0, with: TestElement(0, 1))
    return list
  }

  private static func edited(_ list: List, _ kind: Kind, times: Int) -> List {
    var random = SeededGenerator(seed: UInt64(times))
    var list = list
    for edit in 0..<times {
      let offset = random.below(list.count)
      switch kind {
      case .updates: _ = list.exchangeElement(at: offset, with: TestElement(list[offset].id, 5))
      case .inserts: list.replaceSubrange(offset..<offset, with: [TestElement(-1 - edit)])
      case .removals: list.replaceSubrange(offset..<offset + 1, with: [])
      case .moves: list.move(from: offset, to: random.below(list.count))
      }
    }
    return list
  }

  private static func comparison(_ old: List, _ new: List) throws -> TreeComparison {
    guard case .tree(let old) = old, case .tree(let new) = new else { throw Refusal() }
    return TreeComparison(old, new)
  }

  @Test(arguments: TestRun.isLong ? [1_000, 100_000, 1_000_000] : [1_000, 100_000])
  func `a comparison visits as many nodes as edits have copied`(_ count: Int) throws {
    let list = Self.list(count)
    let levels = Double(count.bitWidth - count.leadingZeroBitCount)
    for kind in Kind.allCases {
      for times in [1, 10, 100] {
        let new = Self.edited(list, kind, times: times)
        let paths = Double(kind == .moves ? 2 * times : times)
        let comparison = try Self.comparison(list, new)
        #expect(Double(comparison.visitCount) <= 8 * paths * levels, "\(kind), \(times)")
        // An edit may merge a leaf with a neighbor or split it.
        let limit = Int(paths) * 6 * NodeLimits.standard(for: TestElement.self).leaf
        #expect(comparison.gapElementCount <= limit, "\(kind), \(times)")
        let (old, changed) = (Snapshot(list), Snapshot(new))
        #expect(
          old.changeset(to: changed, in: comparison.gaps).changeCount
            == Changeset(from: old.array, to: changed.array).changeCount)
      }
    }
  }

  @Test(arguments: [1_000, 1_000_000])
  func `the same list takes no more than one look`(_ count: Int) throws {
    let list = Self.list(count)
    #expect(try Self.comparison(list, list).visitCount == 2)
    #expect(try Self.comparison(list, list).gaps.isEmpty)
  }

  @Test func `trees of different heights share deeper nodes`() throws {
    let limits = NodeLimits.standard(for: TestElement.self)
    let list = Self.list(limits.leaf * limits.inner * limits.inner * limits.inner - 100)
    var higher = list
    for _ in 0..<1_000 { higher.replaceSubrange(0..<0, with: [TestElement(-1)]) }
    #expect(higher.height > list.height)
    let comparison = try Self.comparison(list, higher)
    #expect(comparison.gaps.count == 1)
    #expect(comparison.gapElementCount < 1_000 + 6 * limits.leaf)
    #expect(
      Snapshot(list).changeset(to: Snapshot(higher)) == Changeset(insertions: Array(0..<1_000)))
    #expect(
      Snapshot(higher).changeset(to: Snapshot(list)) == Changeset(deletions: Array(0..<1_000)))
  }

  @Test func `elements in shared parts are never compared`() {
    let items = ArrayDataSource((0..<100_000).map { CountingElement(id: $0) })
    items.replaceElement(at: 7, value: 1)
    let before = items.snapshot
    items.replaceElement(at: 50_000, value: 1)
    let after = items.snapshot
    items.replaceElement(at: 50_000, value: 0)
    let back = items.snapshot
    let count = CountingElement.comparisons.value
    #expect(before.changeset(to: after) == Changeset(updates: [.init(from: 50_000, to: 50_000)]))
    #expect(!before.hasSameContents(as: after))
    #expect(before.hasSameContents(as: back))
    #expect(before.hasSameContents(as: before))
    #expect(CountingElement.comparisons.value - count <= 8)
  }
}

/// An element whose bytes differ in each instance, and that counts its comparisons.
private struct CountingElement: Differentiable, Sendable {
  static let comparisons = Shared(0)
  private static let serial = Shared(0)

  let id: Int
  var value = 0
  private let instance: Int

  init(id: Int, value: Int = 0) {
    self.id = id
    self.value = value
    instance = Self.serial.modify {
      $0 += 1
      return $0
    }
  }

  var differenceIdentifier: Int { id }

  func isContentEqual(to source: CountingElement) -> Bool {
    Self.comparisons.modify { $0 += 1 }
    return value == source.value
  }
}

extension ArrayDataSource<CountingElement> {
  fileprivate func replaceElement(at offset: Int, value: Int) {
    self[offset] = CountingElement(id: offset, value: value)
  }
}
