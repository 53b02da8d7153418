import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Counts the calls of a closure.
private final class CallCounter: Sendable {
  private let calls = Locked(0)

  var count: Int { calls.withLock { $0 } }

  func counting<Input, Output>(
    _ body: @escaping @Sendable (Input) -> Output
  ) -> @Sendable (Input) -> Output {
    { input in
      self.calls.withLock { $0 += 1 }
      return body(input)
    }
  }
}

@Suite struct OperatorTests {
  @Test func `a derived collection is counted and read like an edited one`() {
    let numbers = ArrayDataSource<TestElement>([1, 2, 3])
    let some = numbers.filter { $0.id > 1 }
    #expect(some.count == 2 && !some.isEmpty)
    #expect(some[1].id == numbers[2].id)
    numbers.removeAll()
    #expect(some.count == 0 && some.isEmpty)
  }

  // MARK: Rule O1, and rules of all operators

  @Test(.reaches(.changes)) func `map follows its input, whatever is done to it`() throws {
    let counter = CallCounter()
    let transform = counter.counting { (element: TestElement) in
      // Several identities become one, and contents become equal.
      TestElement(element.id / 2, min(element.content, 1))
    }
    try checkOperator(
      { $0.map(transform) }, is: { $0.map { TestElement($0.id / 2, min($0.content, 1)) } },
      seeds: 0..<(TestRun.isLong ? 60 : 20), calls: { counter.count })
  }

  @Test(.reaches(.changes)) func `filter follows its input, whatever is done to it`() throws {
    let counter = CallCounter()
    let isIncluded = counter.counting { (element: TestElement) in element.content > 0 }
    try checkOperator(
      { $0.filter(isIncluded) }, is: { $0.filter { $0.content > 0 } },
      seeds: 0..<(TestRun.isLong ? 60 : 20), calls: { counter.count })
  }

  @Test(.reaches(.changes)) func `compactMap follows its input, whatever is done to it`() throws {
    let counter = CallCounter()
    let transform = counter.counting { (element: TestElement) in
      element.content > 0 ? TestElement(element.id, element.content / 2) : nil
    }
    try checkOperator(
      { $0.compactMap(transform) },
      is: { $0.compactMap { $0.content > 0 ? TestElement($0.id, $0.content / 2) : nil } },
      seeds: 0..<(TestRun.isLong ? 60 : 20), calls: { counter.count })
  }

  @Test(.reaches(.changes)) func `reversed follows its input, whatever is done to it`() throws {
    try checkOperator(
      { $0.reversed() }, is: { $0.reversed() }, seeds: 0..<(TestRun.isLong ? 60 : 20))
  }

  @Test(.reaches(.changes))
  func `prefix, suffix and dropFirst follow their input, whatever is done to it`() throws {
    let seeds: Range<UInt64> = 0..<(TestRun.isLong ? 20 : 7)
    for length in [0, 1, 5, 100] {
      try checkOperator({ $0.prefix(length) }, is: { Array($0.prefix(length)) }, seeds: seeds)
      try checkOperator({ $0.suffix(length) }, is: { Array($0.suffix(length)) }, seeds: seeds)
      try checkOperator(
        { $0.dropFirst(length) }, is: { Array($0.dropFirst(length)) }, seeds: seeds)
    }
  }

  @Test(.reaches(.changes)) func `sorted by a key follows its input and reads each key once`()
    throws
  {
    let counter = CallCounter()
    let key = counter.counting { (element: TestElement) in element.content }
    try checkOperator(
      { $0.sorted(by: key) }, is: sortedByContent, seeds: 0..<(TestRun.isLong ? 60 : 20),
      calls: { counter.count })
  }

  @Test(.reaches(.changes)) func `sorted follows its input, whatever is done to it`() throws {
    try checkOperator(
      { $0.sorted { $0.content < $1.content } }, is: sortedByContent,
      seeds: 0..<(TestRun.isLong ? 60 : 20))
  }

  @Test(.reaches(.changes)) func `concatenated follows its input, whatever is done to it`() throws {
    try checkOperator(
      { $0.concatenated(with: $0) }, is: { $0 + $0 }, seeds: 0..<(TestRun.isLong ? 60 : 20))
    try checkOperator(
      { $0.filter { $0.content > 0 }.concatenated(with: $0.filter { $0.content == 0 }) },
      is: { $0.filter { $0.content > 0 } + $0.filter { $0.content == 0 } },
      seeds: 0..<(TestRun.isLong ? 60 : 20))
  }

  @Test(.reaches(.changes)) func `concatenated takes any number of collections`() throws {
    for count in 0...3 {
      try checkOperator(
        { $0.concatenated(with: Array(repeating: $0, count: count)) },
        is: { Array(repeatElement($0, count: count + 1).joined()) }, seeds: 0..<10)
    }
  }

  @Test(.reaches(.changes)) func `operators over operators follow their input`() throws {
    try checkOperator(
      {
        $0.filter { $0.id % 3 != 0 }.sorted { $0.content < $1.content }
          .map { TestElement($0.id, $0.content + 1) }
      },
      is: {
        sortedByContent($0.filter { $0.id % 3 != 0 }).map { TestElement($0.id, $0.content + 1) }
      }, seeds: 0..<(TestRun.isLong ? 60 : 20))
  }

  @Test(.reaches(.changes)) func `concatenated over two roots follows both`() throws {
    for seed in UInt64(0)..<30 {
      var editor = RandomEditor<TestElement>(seed: seed)
      let (one, other) = (ArrayDataSource<TestElement>(), ArrayDataSource<TestElement>())
      let both = one.concatenated(with: other)
      let recorder = RecordingObserver(both, seed: seed)
      for _ in 0..<40 {
        if editor.random.oneIn(3) {
          try withTransaction {
            try editor.step(one)
            try editor.step(other)
          }
        } else {
          try editor.step(editor.random.oneIn(2) ? one : other)
        }
        #expect(
          both.snapshot.hasSameContents(as: Snapshot(Array(one.snapshot) + Array(other.snapshot))),
          "seed \(seed)")
      }
      try recorder.check(against: both)
      Coverage.note(recorder)
    }
  }

  // MARK: Exact changes over [1, 2, 3]

  @Test func `map passes offsets through`() {
    expectChanges(
      of: { $0.map { $0 * 2 } }, from: [2, 4, 6],
      are: [
        Changeset(insertions: [3]),
        Changeset(updates: [.init(from: 0, to: 0)]),
        Changeset(moves: [.init(from: 0, to: 2)]),
        Changeset(deletions: [1]),
      ]
    ) { source in
      source.append(4)
      source[0] = 7
      source.move(from: 0, to: 2)
      source.remove(at: 1)
    }
  }

  @Test func `appending the greatest element inserts it first in descending order`() {
    expectChanges(of: { $0.sorted(by: >) }, from: [3, 2, 1], are: [Changeset(insertions: [0])]) {
      $0.append(4)
    }
  }

  @Test func `lowering the least element updates it last in descending order`() {
    expectChanges(
      of: { $0.sorted(by: >) }, from: [3, 2, 1], are: [Changeset(updates: [.init(from: 2, to: 2)])]
    ) {
      $0[0] = 0
    }
  }

  @Test func `raising the middle element moves it to the front with an update`() {
    expectChanges(
      of: { $0.sorted(by: >) }, from: [3, 2, 1],
      are: [
        Changeset(moves: [.init(from: 1, to: 0)], updates: [.init(from: 1, to: 0)])
      ]
    ) {
      $0[1] = 4
    }
  }

  @Test func `appending an element that is filtered out sends nothing`() {
    expectChanges(of: { $0.filter { $0 % 2 == 1 } }, from: [1, 3], are: []) { $0.append(4) }
  }

  @Test func `appending an element that passes the filter inserts it last`() {
    expectChanges(
      of: { $0.filter { $0 % 2 == 1 } }, from: [1, 3], are: [Changeset(insertions: [2])]
    ) {
      $0.append(5)
    }
  }

  @Test func `an element that begins to pass the filter is inserted`() {
    expectChanges(
      of: { $0.filter { $0 % 2 == 1 } }, from: [1, 3], are: [Changeset(insertions: [1])]
    ) {
      $0[1] = 5
    }
  }

  @Test func `an element that no longer passes the filter is deleted`() {
    expectChanges(
      of: { $0.filter { $0 % 2 == 1 } }, from: [1, 3], are: [Changeset(deletions: [1])]
    ) {
      $0[2] = 4
    }
  }

  // MARK: Identity and equality

  @Test func `an element that leaves the filter while its twin enters is kept`() throws {
    let source = ArrayDataSource([TestElement(1, 1), TestElement(2), TestElement(1, 0)])
    let passing = source.filter { $0.content > 0 }
    let recorder = RecordingObserver(passing)
    source.transaction { draft in
      draft.remove(at: 0)
      draft[1].content = 2
    }
    try recorder.check(against: passing)
    #expect(recorder.changes.map(\.changeset) == [Changeset(updates: [.init(from: 0, to: 0)])])
  }

  @Test func `contents that are NaN are equal to themselves`() throws {
    let source = ArrayDataSource([Reading(key: .nan), Reading(key: 1)])
    let recorder = RecordingObserver(source)
    source[0] = Reading(key: .nan)
    source.transaction { $0.insert($0.remove(at: 0), at: 0) }
    source.replace(with: [Reading(key: .nan), Reading(key: 1)])
    #expect(recorder.changes.map(\.changeset) == [])
    source.append(Reading(key: 2))
    try recorder.check(against: source)
  }

  private func expectChanges(
    of makeOutput: (any DataSource<Int>) -> LiveCollection<Int>, from initial: [Int],
    are expected: [Changeset], at location: SourceLocation = #_sourceLocation,
    when edit: (ArrayDataSource<Int>) -> Void
  ) {
    let source = ArrayDataSource([1, 2, 3])
    let output = makeOutput(source)
    let recorder = RecordingObserver(output)
    #expect(Array(recorder.snapshot) == initial, sourceLocation: location)
    edit(source)
    #expect(recorder.changes.map(\.changeset) == expected, sourceLocation: location)
    #expect(throws: Never.self, sourceLocation: location) { try recorder.check(against: output) }
  }
}

/// An element whose identity may be NaN.
private struct Reading: Differentiable, Equatable, Sendable {
  var key: Double

  var differenceIdentifier: Double { key }
}

@Sendable private func sortedByContent(_ elements: [TestElement]) -> [TestElement] {
  elements.enumerated()
    .sorted { ($0.element.content, $0.offset) < ($1.element.content, $1.offset) }
    .map(\.element)
}
