import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Mistakes that are easily made in operators. Each test holds one of them off.
@Suite struct OperatorTrapTests {
  private func changes<Output>(
    of output: LiveCollection<Output>, _ edit: () -> Void
  ) throws -> [Changeset] {
    let recorder = RecordingObserver(output)
    edit()
    try recorder.check(against: output)
    return recorder.changes.map(\.changeset)
  }

  // MARK: Orders

  /// An order is searched only while all its elements are in their places.
  @Test func `elements that change places at once are put in order again`() throws {
    let items = Items((0..<200).map { TestElement($0, $0) })
    let (sorted, newest) = (items.sorted(by: \.content), items.latest(50, by: \.content))
    let sections = items.sections(by: { $0.content / 10 }, order: .descending(\.self))
    let recorders = [sorted, newest, sections.flatMap { $0.elements }].map {
      ($0, RecordingObserver($0))
    }
    var random = SeededGenerator(seed: 4)
    for _ in 0..<100 {
      items.transaction { draft in
        // Exchange the keys of neighbors in the order, so that each is between places that are wrong by now.
        let offset = random.below(draft.count - 2)
        let (one, other) = (draft[offset].content, draft[offset + 1].content)
        draft[offset].content = other
        draft[offset + 1].content = one
        draft.remove(at: random.below(draft.count))
        draft.insert(TestElement(1_000 + random.below(9_000), one), at: random.below(draft.count))
      }
      let expected = items.snapshot.enumerated().sorted {
        ($0.element.content, $0.offset) < ($1.element.content, $1.offset)
      }
      try #require(sorted.snapshot.hasSameContents(as: Snapshot(expected.map(\.element))))
      try #require(
        newest.snapshot.hasSameContents(as: Snapshot(latest(50, of: Array(items.snapshot)))))
      try #require(
        sections.snapshot.map(\.key) == Set(items.snapshot.map { $0.content / 10 }).sorted(by: >))
    }
    for (output, recorder) in recorders { try recorder.check(against: output) }
  }

  @Test func `a comparison that mixes two elements is found`() {
    let mixed: @Sendable (TestElement, TestElement) -> Bool = { $0.content < $1.id % 3 }
    do {
      try checkOperator({ $0.sorted(by: mixed) }, is: { $0.sorted(by: mixed) })
      Issue.record("a comparison that is no order passes")
    } catch {
      #expect(error.rule == "O1")
    }
  }

  @Test func `keys that are not equal to themselves lose no element`() throws {
    let items = Items((0..<100).map { TestElement($0, $0 % 7) })
    let key: @Sendable (TestElement) -> Double = { $0.content == 3 ? .nan : Double($0.content) }
    let sorted = items.sorted(by: key)
    let newest = items.latest(90, by: key)
    let sections = items.sections(by: key, order: .ascending(\.self))
    let recorders = [sorted, newest].map { ($0, RecordingObserver($0)) }
    for step in 0..<200 {
      items.transaction { draft in
        draft[step % draft.count].content = step * 5 % 7
        draft.append(TestElement(1_000 + step, step % 7))
        draft.remove(at: step * 3 % draft.count)
      }
      let ids = items.snapshot.map(\.id).sorted()
      try #require(sorted.snapshot.map(\.id).sorted() == ids && newest.count == 90)
      try #require(sections.snapshot.flatMap { $0.elements.map(\.id) }.sorted() == ids)
      try #require(sections.count <= 7)
    }
    for (output, recorder) in recorders { try recorder.check(against: output) }
  }

  // MARK: Windows

  @Test func `a limit after a filter is filled again`() throws {
    let items = Items((0..<20).map { TestElement($0, $0 % 2) })
    let shown = items.filter { $0.content == 0 }.prefix(3)
    let recorder = RecordingObserver(shown)
    items[0].content = 1
    items.removeSubrange(1..<5)
    #expect(shown.snapshot.map(\.id) == [6, 8, 10])
    items.transaction { draft in
      for offset in 0..<draft.count { draft[offset].content = 1 }
      draft[0].content = 0
    }
    #expect(shown.snapshot.map(\.id) == [0])
    items.append(TestElement(30, 0))
    #expect(shown.snapshot.map(\.id) == [0, 30])
    try recorder.check(against: shown)
  }

  // MARK: Joins

  /// The identity of an employee, and that of the manager.
  @Test func `a foreign key that changes in a join of a list with itself is one step`() throws {
    let staff = Items([TestElement(1, 0), TestElement(2, 1), TestElement(3, 1), TestElement(4, 2)])
    let output = staff.joined(with: staff, on: \.content)
    let changes = try changes(of: output) { staff[2].content = 2 }
    #expect(changes == [Changeset(deletions: [1], insertions: [1])])
    #expect(output.snapshot.map { [$0.left.id, $0.right.id] } == [[2, 1], [3, 2], [4, 2]])
  }

  @Test func `an edit of both sides of a join of a list with itself is one event`() throws {
    let staff = Items([TestElement(1, 0), TestElement(2, 1), TestElement(3, 2)])
    let managers = staff.leftJoined(with: staff, on: \.content)
    let changes = try changes(of: managers) {
      // The manager gets another identity, and the employee follows by the same change.
      staff.transaction { draft in
        draft[0] = TestElement(9, 0)
        draft[1].content = 9
      }
      // The employee becomes the manager of the manager.
      staff.transaction { draft in
        draft[0].content = 3
        draft[2].content = 0
      }
      // The right side is deleted, and inserted with another content.
      staff.transaction { draft in
        draft.remove(at: 1)
        draft.append(TestElement(2, 3))
      }
    }
    #expect(changes.count == 3)
    #expect(
      managers.snapshot.map { [$0.left.id, $0.right?.id] } == [[9, 3], [3, nil], [2, 3]])
    #expect(managers.snapshot.last?.left.content == 3)
  }

  // MARK: Status

  @Test func `results of a list that has not loaded are empty and load by a change`() throws {
    let items = Items(status: .loading)
    let (sections, groups) = (items.sections(by: \.content), items.grouped(by: \.content))
    let held = items.indexed(by: \.content)[1]
    let pairs = items.joined(with: items, on: \.content)
    let recorder = RecordingObserver(sections)
    let outputs: [any LoadingSource] = [
      sections, groups, held, pairs, items.distinct(), items.flatMap { [$0, $0] },
      items.latest(3, by: \.content), items.expiring(after: .seconds(1), clock: ManualClock()),
      items.debounced(for: .zero, clock: ManualClock()), items.outline { $0.content },
    ]
    for output in outputs {
      #expect(!output.hasLoaded && output.status == .loading && output.isEmpty, "\(output)")
    }
    items.publish([TestElement(1, 1)], status: .loaded)
    for output in outputs {
      #expect(output.hasLoaded && output.status == .loaded && !output.isEmpty, "\(output)")
    }
    #expect(recorder.changes.count == 1 && recorder.changes[0].revisionBefore == 0)
    let failure = SourceStatus.failed(SourceError(code: "gone", message: "it is gone"))
    items.setStatus(failure)
    for output in outputs {
      #expect(output.hasLoaded && output.status == failure && !output.isEmpty, "\(output)")
    }
    try recorder.check(against: sections)
  }

  @Test func `results of a list that fails at once are empty and show the failure`() {
    let failure = SourceStatus.failed(SourceError(code: "gone", message: "it is gone"))
    let items = Items(status: .loading)
    let outputs: [any LoadingSource] = [
      items.sections(by: \.content), items.grouped(by: \.content), items.indexed(by: \.content)[1],
      items.joined(with: items, on: \.content), items.distinct(), items.flatMap { [$0] },
    ]
    items.setStatus(failure)
    for output in outputs {
      #expect(!output.hasLoaded && output.status == failure && output.isEmpty, "\(output)")
    }
    items.publish([TestElement(1, 1)], status: .loaded)
    for output in outputs { #expect(output.hasLoaded && !output.isEmpty, "\(output)") }
  }

  // MARK: Costs

  /// A list of offsets would be shifted from the place of the edit to its end.
  @Test func `an edit at the front leaves nearly all of the index of a filter and of a sort`() {
    var bits = BitTree(count: 100_000) { $0 % 3 == 0 }
    var rows = RowTree((0..<100_000).map { UInt32($0) })
    func words(_ arena: borrowing NodeArena) -> [Int32] {
      Array(UnsafeBufferPointer(start: arena.words, count: arena.usedCount * arena.stride))
    }
    func changeCount<Word: Equatable>(_ before: [Word], _ after: [Word]) -> Int {
      zip(before, after).count { $0 != $1 } + abs(before.count - after.count)
    }
    let before = (bits.blocks.array.map(\.bits), words(rows.storage.nodes))
    bits.insert(true, at: 0)
    rows.insert(100_000, at: 0)
    // Two blocks of bits, and at most two leaves and a path of the rows, of more than 100,000 words.
    #expect(changeCount(before.0, bits.blocks.array.map(\.bits)) <= 2)
    #expect(changeCount(before.1, words(rows.storage.nodes)) <= 6 * RowNode.stride)
    #expect(before.1.count > 100_000)
    #expect(bits.setCount == 33_335 && rows.count == 100_001)
  }

  @Test func `whether an edit has an effect is known at the first element that differs`() {
    let comparisons = Shared(0)
    let items = ArrayDataSource<Meddler>(
      (0..<100_000).map { id in
        Meddler(id: id) { comparisons.modify { $0 += 1 } }
      })
    let output = items.filter { $0.content == 0 }
    comparisons.value = 0
    items.move(from: 0, to: 99_999)
    items.transaction { draft in
      let element = draft.remove(at: 10)
      draft.insert(element, at: 90_000)
    }
    #expect(output.count == 100_000 && comparisons.value < 100)
  }
}

/// The status of a collection of any type.
private protocol LoadingSource {
  var hasLoaded: Bool { get }
  var status: SourceStatus { get }
  var isEmpty: Bool { get }
}

extension LiveCollection: LoadingSource {
  fileprivate var hasLoaded: Bool { state.hasLoaded }
}
