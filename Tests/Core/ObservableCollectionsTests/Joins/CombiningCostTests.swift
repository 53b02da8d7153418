import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Rule O7 for sets, joins and `flatMap`: what one change costs, counted in short and in long lists.
@Suite struct CombiningCostTests {
  static let sizes = [1_000, 100_000]

  /// A key that counts how often it is hashed and compared.
  private struct CountedKey: Hashable, Sendable {
    let value: Int
    let uses: Shared<Int>

    static func == (one: CountedKey, other: CountedKey) -> Bool {
      one.uses.modify { $0 += 1 }
      return one.value == other.value
    }

    func hash(into hasher: inout Hasher) {
      uses.modify { $0 += 1 }
      hasher.combine(value)
    }
  }

  private struct Customer: Differentiable, Sendable {
    let differenceIdentifier: CountedKey
    var name = ""

    func isContentEqual(to source: Customer) -> Bool { name == source.name }
  }

  /// Edits a list in each way, and returns the most calls of one edit.
  private func mostCalls(_ calls: Shared<Int>, of items: Items) -> Int {
    let middle = items.count / 2
    let edits: [() -> Void] = [
      { items[middle] = TestElement(middle, 7) }, { items.insert(TestElement(-1, 6), at: middle) },
      { items.remove(at: middle + 1) }, { items.move(from: middle, to: 3) },
    ]
    return edits.map { edit in
      calls.value = 0
      edit()
      return calls.value
    }.max() ?? 0
  }

  @Test(arguments: sizes)
  func `a join on identity uses an index without being asked`(size: Int) throws {
    let (keys, uses) = (Shared(0), Shared(0))
    let orders = Items((0..<size).map { TestElement($0, $0) })
    let customers = ArrayDataSource(
      (0..<size).map { Customer(differenceIdentifier: CountedKey(value: $0, uses: uses)) })
    let output = orders.joined(with: customers) { order -> CountedKey? in
      keys.modify { $0 += 1 }
      return CountedKey(value: order.content, uses: uses)
    }
    let largest = Shared(0)
    let observation = output.observe { event in
      if case .change(let change) = event {
        largest.modify { $0 = max($0, change.changeset.changeCount) }
      }
    }
    #expect(mostCalls(keys, of: orders) == 1)
    #expect(mostCalls(uses, of: orders) < 100)
    uses.value = 0
    customers[size / 3].name = "Ada"
    customers.move(from: size / 3, to: 1)
    #expect(uses.value < 200 && largest.value == 2)
    #expect(output.snapshot.contains { $0.right.name == "Ada" })
    observation.dispose()
  }

  @Test(arguments: sizes) func `sets hash only what changes`(size: Int) {
    let uses = Shared(0)
    let items = Items((0..<size).map { TestElement($0, $0) })
    let customers = items.map {
      Customer(differenceIdentifier: CountedKey(value: $0.content, uses: uses))
    }
    let others = ArrayDataSource([
      Customer(differenceIdentifier: CountedKey(value: 3, uses: uses))
    ])
    let outputs = [
      customers.distinct(), customers.union(others), customers.intersection(others),
      customers.subtracting(others), customers.distinct(by: { $0.differenceIdentifier.value % 10 }),
    ]
    #expect(mostCalls(uses, of: items) < 300)
    withExtendedLifetime(outputs) {}
  }

  @Test(arguments: sizes) func `each operator edits only what changes`(size: Int) {
    let items = Items((0..<size).map { TestElement($0, $0 % 10) })
    let others = items.filter { $0.content > 4 }
    let keys = Items((0..<size / 2).map { TestElement($0, $0) })
    let outputs: [LiveCollection<TestElement>] = [
      items.distinct(), items.distinct(by: \.id), items.union(others), items.intersection(others),
      items.subtracting(others), items.flatMap { [$0, TestElement(-$0.id, $0.content)] },
      items.joined(with: keys, on: \.id).map(\.left),
      keys.leftJoined(with: items, on: \.id).map(\.left),
    ]
    let largest = Shared(0)
    let observations = outputs.map { output in
      output.observe { event in
        if case .change(let change) = event {
          largest.modify { $0 = max($0, change.changeset.changeCount) }
        }
      }
    }
    items[size / 3] = TestElement(size / 3, 8)
    items.insert(TestElement(-1, 9), at: size / 3)
    items.remove(at: size / 3 + 5)
    items.move(from: size / 3, to: size / 3 + 7)
    #expect(largest.value == 2)
    for observation in observations { observation.dispose() }
  }

  @Test(arguments: sizes)
  func `elements of one key among many are found without visiting the others`(size: Int) throws {
    // All have one key, and only the first one is shown.
    let items = Items((0..<size).map { TestElement($0, 0) })
    let output = items.distinct(by: \.content)
    let recorder = RecordingObserver(output)
    for _ in 0..<4 {
      items.remove(at: 0)
      items.move(from: size / 2, to: 0)
      items.insert(TestElement(size + items.count, 0), at: 0)
      items.insert(TestElement(2 * size + items.count, 0), at: size / 2)
    }
    #expect(output.snapshot.map(\.id) == [items[0].id])
    #expect(recorder.changes.allSatisfy { $0.changeset.changeCount == 2 })
    try recorder.check(against: output)
  }

  @Test func `the total before each offset is that of the values`() {
    for count in [0, 1, 5, 16, 100, 3_000] {
      let values = (0..<count).map { $0 * 7 % 11 }
      let tree = SummaryTree(values, empty: 0, combine: +)
      var total = 0
      for offset in 0...count {
        #expect(tree.summary(before: offset) == total)
        if offset < count { total += values[offset] }
      }
    }
  }
}
