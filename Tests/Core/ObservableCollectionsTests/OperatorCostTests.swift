import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import Testing

/// Rule O7: what one change costs, counted in lists of a thousand and a hundred thousand elements, and a million in a
/// long run.
@Suite struct OperatorCostTests {
  static let sizes = TestRun.isLong ? [1_000, 100_000, 1_000_000] : [1_000, 100_000]

  /// The number of calls of closures.
  private final class Calls: Sendable {
    private let count = Locked(0)

    func add() { count.withLock { $0 += 1 } }

    /// Returns the number of calls that a closure causes.
    func during(_ body: () -> Void) -> Int {
      count.withLock { $0 = 0 }
      body()
      return count.withLock { $0 }
    }
  }

  /// Edits a list in each way, and returns the most calls of one edit.
  private func calls(_ calls: Calls, of items: Items) -> Int {
    let middle = items.count / 2
    return [
      calls.during { items[middle] = TestElement(middle, 7) },
      calls.during { items.insert(TestElement(-1, 6), at: middle) },
      calls.during { items.remove(at: middle + 1) },
      calls.during { items.move(from: middle, to: 3) },
    ].max() ?? 0
  }

  @Test(arguments: sizes) func `a filter tests only the element that changes`(size: Int) {
    let items = Items((0..<size).map { TestElement($0, $0 % 10) })
    let tests = Calls()
    let filtered = items.filter {
      tests.add()
      return $0.content > 4
    }
    #expect(calls(tests, of: items) == 1)
    withExtendedLifetime(filtered) {}
  }

  @Test(arguments: sizes) func `a transform runs only for the element that changes`(size: Int) {
    let items = Items((0..<size).map { TestElement($0, $0 % 10) })
    let transforms = Calls()
    let (mapped, kept) = (
      items.map { element -> TestElement in
        transforms.add()
        return element
      },
      items.compactMap { element -> TestElement? in
        transforms.add()
        return element.content > 4 ? element : nil
      }
    )
    #expect(calls(transforms, of: items) == 2)
    withExtendedLifetime((mapped, kept)) {}
  }

  @Test(arguments: sizes) func `a sort compares each changed element a few times`(size: Int) {
    // Begin with elements in order: sorting them takes few comparisons.
    let items = Items((0..<size).map { TestElement($0, $0) })
    let (comparisons, keys) = (Calls(), Calls())
    let sorted = items.sorted {
      comparisons.add()
      return $0.content < $1.content
    }
    let logarithm = Int.bitWidth - size.leadingZeroBitCount
    #expect(calls(comparisons, of: items) <= 2 * logarithm + 8)

    let byKey = items.sorted(by: { element -> Int in
      keys.add()
      return element.content
    })
    #expect(calls(keys, of: items) == 1)
    withExtendedLifetime((sorted, byKey)) {}
  }

  @Test func `a parameter that narrows tests only elements that pass`() {
    let items = Items((0..<100_000).map { TestElement($0, $0) })
    let tests = Calls()
    let limit = Property(1_000)
    let small = items.filter(by: limit, effect: { $1 < $0 ? .narrowing : .widening }) {
      tests.add()
      return $0.content < $1
    }
    #expect(tests.during { limit.value = 500 } == 1_000)
    #expect(tests.during { limit.value = 600 } == 99_500)
    #expect(small.count == 600)
  }

  @Test(arguments: [1, 50, 500])
  func `a sort forgets how long its list was`(editsPerTransaction: Int) throws {
    let items = Items((0..<2_000).map { TestElement($0, $0 * 7919 % 2_003) })
    let rowCount = Shared(0)
    let sorted = items.transformed { input in
      ObservedSort(
        sort: SortOperator(
          input: input, order: ElementOrder { $0 < $1 }, parameter: nil, key: { $0.content }),
        rowCount: rowCount)
    }
    let recorder = RecordingObserver(sorted)
    while items.count > 10 {
      items.transaction { draft in
        for _ in 0..<min(editsPerTransaction, draft.count - 10) {
          draft.remove(at: draft.count / 2)
        }
      }
      #expect(rowCount.value <= max(64, 4 * items.count + 4))
    }
    items.append(TestElement(3_000, 4))
    items.update(at: 3) { $0.content = -1 }
    #expect(sorted.snapshot.map(\.content) == items.snapshot.map(\.content).sorted())
    try recorder.check(against: sorted)
  }

  @Test func `the opposite order takes few comparisons`() {
    let items = Items((0..<10_000).map { TestElement($0, $0 * 7919 % 10_007) })
    let comparisons = Calls()
    let order = Property(
      ElementOrder<TestElement> {
        comparisons.add()
        return $0.content < $1.content
      })
    let sorted = items.sorted(by: order)
    #expect(comparisons.during { order.value = order.value.reversed } < 30_000)
    #expect(sorted[0].content == 10_006)
  }

  @Test(arguments: sizes) func `a window edits only what enters and leaves`(size: Int) throws {
    let items = Items((0..<size).map { TestElement($0, 0) })
    let page = Property(size / 2..<size / 2 + 50)
    let window = items.window(page)
    let recorder = RecordingObserver(window)
    items.insert(TestElement(-1, 0), at: 0)
    page.value = size / 2 + 10..<size / 2 + 60
    #expect(recorder.changes.map(\.changeset.changeCount) == [2, 20])
    try recorder.check(against: window)
  }

  @Test(arguments: sizes) func `chunks that a change does not touch stay`(size: Int) throws {
    let items = Items((0..<size).map { TestElement($0, 0) })
    let chunks = items.chunked(into: 10)
    let recorder = RecordingObserver(chunks)
    let before = items.collection.node.domain.visits
    items[size / 2] = TestElement(size / 2, 1)
    items.move(from: size / 2, to: size / 2 + 25)
    items.append(TestElement(-1, 0))
    items.append(TestElement(-2, 0))
    items.remove(at: size)
    items.insert(TestElement(-3, 0), at: size - 20)
    #expect(recorder.changes.map(\.changeset.changeCount) == [1, 3, 1, 1, 1, 3])
    #expect(recorder.changes.map(\.changeset.insertions) == [[], [], [size / 10], [], [], []])
    #expect(items.collection.node.domain.visits - before == 6)
    items.insert(TestElement(-4, 0), at: 0)
    #expect(recorder.changes.last?.changeset.updates.count == size / 10 + 1)
    try recorder.check(against: chunks)
  }

  @Test(arguments: sizes) func `each operator edits only what changes`(size: Int) {
    let items = Items((0..<size).map { TestElement($0, $0 % 10) })
    let outputs = [
      items.map { $0 }, items.compactMap { $0.content > 4 ? $0 : nil },
      items.filter { $0.content > 4 }, items.filter(by: Property(4)) { $0.content > $1 },
      items.sorted(by: \.content), items.sorted(by: Property(.descending(\.content))),
      items.reversed(), items.concatenated(with: items), items.prefix(size / 2),
      items.suffix(Property(size / 2)), items.dropFirst(size / 4),
      items.window(Property(size / 4..<size / 2)),
      items.window(around: Property<Int?>(size / 2), before: 10, after: 20),
    ]
    let largest = Shared(0)
    let observations = outputs.map { output in
      output.observe { event in
        if case .change(let change) = event {
          largest.modify { $0 = max($0, change.changeset.changeCount) }
        }
      }
    }
    let domain = items.collection.node.domain
    let before = domain.visits
    items[size / 3] = TestElement(size / 3, 8)
    items.insert(TestElement(-1, 9), at: size / 3)
    items.remove(at: size / 3 + 5)
    items.move(from: size / 3, to: size / 3 + 7)
    // A list that is concatenated with itself changes twice.
    #expect(largest.value == 2)
    #expect(domain.visits - before == 4 * outputs.count)
    for observation in observations { observation.dispose() }
  }

  @Test(arguments: sizes) func `one change visits each operator once`(size: Int) {
    let items = Items((0..<size).map { TestElement($0, $0 % 10) })
    let output = items.filter { $0.content > 2 }.sorted(by: \.content).reversed().prefix(10)
    let domain = items.collection.node.domain
    let before = domain.visits
    items.insert(TestElement(-1, 9), at: 0)
    #expect(domain.visits - before == 4)
    withExtendedLifetime(output) {}
  }
}

/// A sort that tells how many numbers of rows it uses.
private struct ObservedSort: ~Copyable, CollectionOperator {
  var sort: SortOperator<TestElement, Int>
  let rowCount: Shared<Int>

  mutating func start(_ output: CollectionDraft<TestElement>) { sort.start(output) }

  mutating func update(_ output: CollectionDraft<TestElement>) {
    sort.update(output)
    rowCount.value = sort.rows.values.rowCount
  }
}
