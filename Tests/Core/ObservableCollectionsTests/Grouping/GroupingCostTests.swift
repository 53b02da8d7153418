import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Rule O7 for sections, groups and indexes: what one change costs, counted in short and in long lists.
@Suite struct GroupingCostTests {
  static let sizes = TestRun.isLong ? [1_000, 100_000, 1_000_000] : [1_000, 100_000]

  /// A key that counts how often it is hashed and compared.
  private struct CountedKey: Hashable, Comparable, Sendable {
    let value: Int
    let uses: Shared<Int>

    static func == (one: CountedKey, other: CountedKey) -> Bool {
      one.uses.modify { $0 += 1 }
      return one.value == other.value
    }

    static func < (one: CountedKey, other: CountedKey) -> Bool {
      one.uses.modify { $0 += 1 }
      return one.value < other.value
    }

    func hash(into hasher: inout Hasher) {
      uses.modify { $0 += 1 }
      hasher.combine(value)
    }
  }

  /// Edits a list in each way, and returns the most that one edit has counted.
  private func most(_ count: Shared<Int>, of items: Items) -> Int {
    let middle = items.count / 2
    let edits: [() -> Void] = [
      { items[middle] = TestElement(middle, 7) }, { items.insert(TestElement(-1, 6), at: middle) },
      { items.remove(at: middle + 1) }, { items.move(from: middle, to: 3) },
      { items.remove(at: 0) }, { items.insert(TestElement(-2, 9), at: 0) },
      { items.append(TestElement(-3, 1_000_000)) },
    ]
    return edits.map { edit in
      count.value = 0
      edit()
      return count.value
    }.max() ?? 0
  }

  @Test(arguments: sizes)
  func `the key of an element is read when it changes, and those of others are not`(size: Int) {
    let items = Items((0..<size).map { TestElement($0, $0 % 100) })
    let calls = Shared(0)
    let key: @Sendable (TestElement) -> Int = { element in
      calls.modify { $0 += 1 }
      return element.content
    }
    let (sections, ordered) = (
      items.sections(by: key), items.sections(by: key, order: .descending(\.self))
    )
    let (groups, index) = (items.grouped(by: key), items.indexed(by: key))
    let held = (0..<10).map { index[$0] }
    calls.value = 0
    #expect(most(calls, of: items) == 4)
    #expect(sections.count == 101 && ordered.count == 101 && groups.count == 101)
    withExtendedLifetime(held) {}
  }

  @Test(arguments: TestRun.isLong ? [1_000, 100_000] : [1_000, 10_000])
  func `keys are hashed and compared a few times for each change`(size: Int) {
    // There are as many keys as elements.
    let (items, uses) = (Items((0..<size).map { TestElement($0, $0) }), Shared(0))
    let key: @Sendable (TestElement) -> CountedKey = { CountedKey(value: $0.content, uses: uses) }
    let sections = items.sections(by: key, order: .ascending(\.self))
    let index = items.indexed(by: key)
    let held = (0..<100).map { index[CountedKey(value: $0, uses: uses)] }
    let observation = sections.observe { _ in }
    let logarithm = Int.bitWidth - size.leadingZeroBitCount
    #expect(most(uses, of: items) < 12 * logarithm)
    withExtendedLifetime((held, observation)) {}
  }

  @Test(arguments: sizes)
  func `a change visits the sections and the held collections that it affects`(size: Int) {
    let items = Items((0..<size).map { TestElement($0, $0 % 200) })
    let groups = items.grouped { $0.content }
    let held = groups.snapshot.map(\.elements)
    let observations = held.map { $0.observe { _ in } }
    let domain = items.collection.node.domain
    func visits(_ edit: () -> Void) -> Int {
      let before = domain.visits
      edit()
      return domain.visits - before
    }
    // The groups, and one or two of two hundred collections.
    #expect(held.count == 200)
    #expect(visits { items.append(TestElement(-1, 5)) } == 2)
    #expect(visits { items[size / 2].content = items[size / 2 + 1].content } == 3)
    #expect(visits { items.remove(at: size / 3) } == 2)
    #expect(visits { items.append(TestElement(-2, 100_000)) } == 1)
    withExtendedLifetime(observations) {}
  }

  @Test func `what follows a group is computed for this group, and while somebody holds it`() {
    let items = Items((0..<1_000).map { TestElement($0, $0 % 10) })
    let groups = items.grouped { $0.content }
    let calls = Shared(0)
    var doubled: LiveCollection<TestElement>? = groups.snapshot[3].elements.map { element in
      calls.modify { $0 += 1 }
      return TestElement(element.id, 2 * element.content)
    }
    #expect(doubled?.count == 100 && calls.exchange(0) == 100)
    for key in 0..<10 where key != 3 { items.append(TestElement(2_000 + key, key)) }
    items[4].content = 5
    #expect(calls.value == 0)
    items[4].content = 3
    #expect(calls.exchange(0) == 1 && doubled?.count == 101)
    doubled = nil
    items[5].content = 3
    #expect(calls.value == 0)
  }

  @Test(arguments: sizes) func `changes have as many operations as elements change`(size: Int) {
    let items = Items((0..<size).map { TestElement($0, $0 % 100) })
    let largest = Shared(0)
    let sections = items.sections(by: \.content)
    let groups = items.grouped { $0.content }
    let observations = [
      sections.observe { event in
        guard case .change(let change) = event else { return }
        let elements = change.sectionedChangeset()
        let count =
          elements.elementDeletions.count + elements.elementInsertions.count
          + elements.elementMoves.count + elements.elementUpdates.count
        largest.modify { $0 = max($0, count, change.changeset.changeCount) }
      },
      groups.observe { event in
        guard case .change(let change) = event else { return }
        largest.modify { $0 = max($0, change.changeset.changeCount) }
      },
    ]
    items[size / 3] = TestElement(size / 3, 8)
    items.insert(TestElement(-1, 9), at: size / 3)
    items.remove(at: size / 3 + 5)
    items.move(from: size / 3, to: size / 3 + 7)
    #expect(largest.value == 2)
    for observation in observations { observation.dispose() }
  }

  @Test func `a group stays equal while its number of elements does`() throws {
    let items = Items((0..<20).map { TestElement($0, $0 % 4) })
    let groups = items.grouped { $0.content }
    let recorder = RecordingObserver(groups)
    let elements = try #require(groups.snapshot.first).elements
    let elementRecorder = RecordingObserver(elements)
    let followers = groups.map { TestElement($0.key, $0.count) }
    let domain = items.collection.node.domain
    let before = domain.visits
    items.transaction { draft in
      draft.remove(at: 0)
      draft.insert(TestElement(30, 0), at: 0)
    }
    // The groups, and the elements of the first one.
    #expect(domain.visits - before == 2)
    items.move(from: 0, to: 1)
    #expect(elements.snapshot.map(\.id) == [30, 4, 8, 12, 16])
    // The groups, and what follows them: the move changes only the order of the groups.
    #expect(domain.visits - before == 4)
    #expect(recorder.eventCount == 2 && followers.count == 4)
    items.transaction { draft in
      draft[0].content = 2
      draft[1].content = 1
    }
    #expect(groups.snapshot.map(\.count) == [6, 5, 5, 4])
    try elementRecorder.check(against: elements)
    try recorder.check(against: groups)
  }
}
