import DataSourceTesting
import Diffing
import ObservableCollections
import Observation
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Aggregates as inputs of operators, in transactions, and their lifetimes.
@Suite struct AggregatePropagationTests {
  private let items = Items([TestElement(1, 2), TestElement(2, 3)])

  @Test func `a transaction over a collection and a property sends one value below both`() {
    let (factor, log) = (Property(10), Log<Int>([]))
    let total = items.live.sum(of: \.content)
    let product = ReadOnlyProperty { inputs in
      Product(number: inputs.property(total), factor: inputs.property(factor))
    }
    let observation = product.observe { log.append($0) }
    withTransaction {
      items.append(TestElement(3, 5))
      factor.value = 2
      // Only the commit changes derived values.
      #expect(total.value == 5 && product.value == 50)
    }
    #expect(log.value == [50, 20])
    factor.value = 1
    items.removeAll()
    #expect(log.value == [50, 20, 10, 0])
    // The product stays zero.
    factor.value = 5
    #expect(log.value == [50, 20, 10, 0])
    withExtendedLifetime(observation) {}
  }

  @Test(.reaches(.changes))
  func `an operator over an aggregate and its collection sees both up to date`() throws {
    let mismatches = Shared(0)
    let sorted = items.sorted { $0.content < $1.content }
    let total = items.live.sum(of: \.content)
    let shares = LiveCollection { inputs in
      Shares(
        items: inputs.collection(sorted), total: inputs.property(total), mismatches: mismatches)
    }
    let events = RecordingObserver(shares)
    let edits = RecordingObserver(counting: items)
    var editor = RandomEditor<TestElement>(seed: 4)
    for step in 1...200 {
      let revision = items.revision
      try editor.step(items)
      #expect(events.changes.count <= items.revision, "step \(step)")
      #expect(items.revision - revision <= 1)
    }
    try events.check(against: shares)
    Coverage.note(edits)
    #expect(mismatches.value == 0)
  }

  @Test func `a transaction over two collections sends one value over both`() {
    let others = Items([1])
    let log = Log<Int>([])
    let sum = ReadOnlyProperty { [items] inputs in
      Sum(
        one: inputs.property(items.live.count), other: inputs.property(others.live.count))
    }
    let observation = sum.observe { log.append($0) }
    withTransaction {
      items.append(7)
      others.append(8)
      others.append(9)
    }
    #expect(log.value == [3, 6])
    // An element that goes from one to the other leaves the sum as it was.
    withTransaction { others.append(items.remove(at: 0)) }
    #expect(log.value == [3, 6])
    items.append(4)
    #expect(log.value == [3, 6, 7])
    withExtendedLifetime(observation) {}
  }

  @Test func `all aggregates are up to date when any observer is called`() {
    let log = Log<[Int]>([])
    let (count, sum) = (items.live.count, items.live.sum(of: \.content))
    let positive = items.filter { $0.content > 0 }
    let positiveCount = positive.live.count
    let record: @Sendable () -> Void = {
      log.append([count.value, sum.value, positive.count, positiveCount.value])
    }
    let observations = [
      items.observe { _ in record() }, count.observe { _ in record() },
      positive.observe { _ in record() }, sum.observe { _ in record() },
      positiveCount.observe { _ in record() },
    ]
    log.value = []
    items.transaction { draft in
      draft.append(TestElement(3, 5))
      draft.append(TestElement(4, 0))
    }
    #expect(log.value == Array(repeating: [4, 10, 3, 3], count: 5))
    withExtendedLifetime(observations) {}
  }

  @Test func `nothing below an unchanged aggregate is computed`() {
    let calls = Shared(0)
    let text = items.live.count.map { count in
      calls.modify { $0 += 1 }
      return "\(count) items"
    }
    #expect(text.value == "2 items")
    let visits = items.collection.node.domain.visits
    calls.value = 0
    items[0] = TestElement(1, 7)
    #expect(items.collection.node.domain.visits - visits == 1)
    #expect(calls.value == 0 && text.value == "2 items")
    items.append(3)
    #expect(text.value == "3 items")
  }

  @Test func `a step of the status sends no value`() {
    let calls = Shared(0)
    let property = ReadOnlyProperty { [items] inputs in
      Counter(items: inputs.collection(items), calls: calls)
    }
    items.setStatus(.loading)
    #expect(calls.value == 0)
    items.append(3)
    #expect(calls.value == 1 && property.value == 3)
  }

  @Test func `an aggregate can be made inside an observer and a transaction`() {
    let log = Log<Int>([])
    let made = Shared<[ReadOnlyProperty<Int>]>([])
    let observation = items.observe { [items] event in
      let sum = items.live.sum(of: \.content)
      made.append(sum)
      log.append(sum.value)
    }
    items.append(TestElement(3, 5))
    items.transaction { draft in
      draft.append(TestElement(4, 100))
      log.append(items.live.sum(of: \.content).value)
    }
    #expect(log.value == [5, 10, 10, 110])
    #expect(made.value.map(\.value) == [110, 110, 110])
    withExtendedLifetime(observation) {}
  }

  @Test func `an edit inside an observer of an aggregate is the next value`() {
    let log = Log<Int>([])
    let observation = items.live.count.observe { [items] count in
      log.append(count)
      if count < 5 { items.append(TestElement(count, 0)) }
    }
    #expect(log.value == [2, 3, 4, 5])
    withExtendedLifetime(observation) {}
  }

  @Test func `closures of aggregates may read, edit and derive`() {
    let isArmed = Shared(true)
    let made = Shared<[ReadOnlyProperty<Int>]>([])
    let sum = items.live.sum { [items] element in
      _ = items.snapshot.count
      if isArmed.exchange(false) {
        items.append(TestElement(9, 100))
        made.append(items.live.count)
      }
      return element.content
    }
    #expect(sum.value == 105 && made.value[0].value == 3)
    isArmed.value = true
    items.append(TestElement(3, 20))
    #expect(sum.value == 225 && made.value.map(\.value) == [5, 5])
  }

  @Test func `an element that a minimum releases may edit its collection`() {
    let isArmed = Shared(true)
    let meddlers = ArrayDataSource([Meddler(id: 5)])
    let least = meddlers.live.min { $0.id < $1.id }
    meddlers.append(
      Meddler(
        id: 1,
        token: Token {
          if isArmed.exchange(false) { meddlers.append(Meddler(id: 0)) }
        }))
    #expect(least.value?.id == 1)
    meddlers.remove(at: 1)
    #expect(least.value?.id == 0 && meddlers.snapshot.map(\.id) == [5, 0])
  }

  @Test func `a read of an aggregate is tracked`() {
    let log = Log<String>([])
    let count = items.live.count
    func track() {
      withObservationTracking {
        _ = count.value
      } onChange: {
        log.append("\(count.value)")
      }
    }
    track()
    items[0] = TestElement(1, 9)
    #expect(log.value == [])
    items.append(3)
    #expect(log.value == ["3"])
    track()
    items.removeAll()
    #expect(log.value == ["3", "0"])
  }

  @Test func `an aggregate keeps its collection alive, and not the other way round`() {
    var leftovers = Leftovers()
    var count: ReadOnlyProperty<Int>?
    do {
      let filtered = items.filter { $0.content > 2 }
      leftovers.add(filtered)
      count = filtered.live.count
    }
    #expect(leftovers.count == 1)
    items.append(TestElement(3, 3))
    #expect(count?.value == 2)
    count = nil
    #expect(leftovers.count == 0)
    #expect(!items.collection.node.hasLiveChildren)
  }
}

private struct Product: PropertyOperator {
  let number: PropertyInput<Int>
  let factor: PropertyInput<Int>

  func start() -> Int { update() }

  func update() -> Int { number.value * factor.value }
}

private struct Sum: PropertyOperator {
  let one: PropertyInput<Int>
  let other: PropertyInput<Int>

  func start() -> Int { update() }

  func update() -> Int { one.value + other.value }
}

private struct Counter: PropertyOperator {
  let items: CollectionInput<TestElement>
  let calls: Shared<Int>

  func start() -> Int { items.snapshot.count }

  func update() -> Int {
    calls.modify { $0 += 1 }
    return items.snapshot.count
  }
}

/// The share of each element in the sum of all.
private struct Shares: CollectionOperator {
  let items: CollectionInput<TestElement>
  let total: PropertyInput<Int>
  let mismatches: Shared<Int>

  func start(_ output: CollectionDraft<TestElement>) { update(output) }

  func update(_ output: CollectionDraft<TestElement>) {
    let sum = items.snapshot.reduce(0) { $0 + $1.content }
    if sum != total.value { mismatches.modify { $0 += 1 } }
    output.replace(with: items.snapshot.map { TestElement($0.id, $0.content * 100 + total.value) })
  }
}
