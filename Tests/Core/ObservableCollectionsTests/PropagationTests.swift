import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Rules O6 and O7: which nodes a propagation pass visits, and parameters of operators.
@Suite struct PropagationTests {
  @Test func `a pass visits only children of changed nodes`() {
    let items = Items((0..<200).map { TestElement($0, 0) })
    let filters = (0..<100).map { number in items.filter { $0.id % 100 == number } }
    let below = filters.map { filter in (0..<100).map { _ in filter.map { $0 } } }
    let domain = items.collection.node.domain
    let before = domain.visits
    items[7] = TestElement(7, 1)
    #expect(domain.visits - before == 200)
    #expect(below[7].allSatisfy { $0.snapshot[0] == TestElement(7, 1) })
    withExtendedLifetime(below) {}
  }

  @Test func `a node with two changed inputs is visited once`() {
    let items = Items([TestElement(1, 1)])
    let (left, right) = (items.map { $0 }, items.map { TestElement($0.id + 10, $0.content) })
    let both = left.concatenated(with: right)
    let events = RecordingObserver(both)
    let domain = items.collection.node.domain
    let before = domain.visits
    items[0] = TestElement(1, 2)
    #expect(domain.visits - before == 3)
    #expect(events.changes.count == 1)
  }

  @Test func `nothing below an unchanged output is visited`() {
    let items = Items([TestElement(1, 1)])
    let filtered = items.filter { $0.content > 5 }
    let below = filtered.map { $0 }
    let domain = items.collection.node.domain
    let before = domain.visits
    items[0] = TestElement(1, 2)
    #expect(domain.visits - before == 1)
    withExtendedLifetime(below) {}
  }

  @Test func `a chain of a thousand operators needs little stack`() throws {
    try Worker.run(stackSize: 512 << 10) {
      let items = Items([TestElement(1, 1)])
      var chain: [LiveCollection<TestElement>] = [items.map { $0 }]
      for _ in 1..<1_000 { chain.append(chain[chain.count - 1].map { $0 }) }
      let last = chain[chain.count - 1]
      let events = RecordingObserver(last)
      items.append(TestElement(2, 2))
      #expect(events.changes.map(\.changeset) == [Changeset(insertions: [1])])
      last.flushAndWait()
      chain = []
    }
  }

  @Test func `a chain of a thousand signals needs little stack`() throws {
    try Worker.run(stackSize: 512 << 10) {
      let property = Property(0)
      var signal = property.signal.map { $0 + 1 }
      for _ in 1..<1_000 { signal = signal.map { $0 + 1 } }
      let values = Log<Int>([])
      let observation = signal.observe { values.append($0) }
      property.value = 1
      #expect(values.value == [1_000, 1_001])
      observation.dispose()
    }
  }

  @Test func `ten thousand sibling filters each run once`() throws {
    try Worker.run(stackSize: 512 << 10) {
      let items = Items([TestElement(1, 1)])
      let calls = Shared(0)
      var filters = (0..<10_000).map { number in
        items.filter { element in
          calls.modify { $0 += 1 }
          return element.content == number
        }
      }
      calls.value = 0
      items[0] = TestElement(1, 5)
      #expect(calls.value == 10_000)
      #expect(filters[5].snapshot.count == 1)
      filters = []
      #expect(!items.collection.node.hasLiveChildren)
    }
  }

  @Test func `a chain of operators released inside its own pass needs little stack`() throws {
    try Worker.run(stackSize: 512 << 10) {
      let items = Items([TestElement(1, 1)])
      var last: LiveCollection<TestElement>? = items.map { $0 }
      for _ in 1..<1_000 { last = last?.map { $0 } }
      let chain = Shared(last)
      last = nil
      let observation = items.observe { event in
        if case .change = event { _ = chain.exchange(nil) }
      }
      items.append(TestElement(2, 2))
      #expect(!items.collection.node.hasLiveChildren)
      withExtendedLifetime(observation) {}
    }
  }

  @Test func `a parameter is set by a change and not by the start`() {
    let (items, limit, log) = (Items([TestElement(1, 1)]), Property(0), Log<Bool>([]))
    let rows = LiveCollection { inputs in
      SetRecorder(items: inputs.collection(items), limit: inputs.property(limit), log: log)
    }
    limit.value = 1
    items.append(TestElement(2, 2))
    #expect(log.value == [false, true, false])
    withExtendedLifetime(rows) {}
  }

  // MARK: Parameters

  @Test func `a parameter causes one event, also through a diamond`() throws {
    let items = Items((0..<10).map { TestElement($0, $0) })
    let limit = Property(5)
    let small = LiveCollection { inputs in
      Below(items: inputs.collection(items), limit: inputs.property(limit))
    }
    let both = small.concatenated(with: small.map { TestElement($0.id + 100, $0.content) })
    let (smallEvents, events) = (RecordingObserver(small), RecordingObserver(both))
    limit.value = 7
    #expect(smallEvents.changes.map(\.changeset) == [Changeset(insertions: [5, 6])])
    #expect(events.changes.map(\.changeset) == [Changeset(insertions: [5, 6, 12, 13])])
    try events.check(against: both)
  }

  @Test func `a parameter that enters a list directly and through a view causes one event`() throws
  {
    let (items, others) = (Items([1, 2, 3]), Items([4, 5, 6]))
    let limit = Property(4)
    // A list of two roots has a domain of its own, into which both the property and its view lead.
    let shown = items.concatenated(with: others).filter(by: limit) { $0.id <= $1 }
      .dropFirst(limit.map { $0 - 4 })
    let events = RecordingObserver(shown)
    limit.value = 6
    #expect(events.changes.map(\.changeset) == [Changeset(deletions: [0, 1], insertions: [2, 3])])
    try events.check(against: shown)
  }

  @Test func `a parameter and a collection that change in one transaction cause one event`() {
    let items = Items((0..<10).map { TestElement($0, $0) })
    let limit = Property(5)
    let small = LiveCollection { inputs in
      Below(items: inputs.collection(items), limit: inputs.property(limit.map { $0 * 2 }))
    }
    let events = RecordingObserver(small)
    withTransaction {
      limit.value = 1
      items.removeSubrange(0..<1)
    }
    #expect(events.changes.map(\.after.count) == [1])
    withTransaction {
      items.append(TestElement(20, 0))
      limit.value = 2
    }
    #expect(events.changes.map(\.after.count) == [1, 4])
  }

  @Test func `a parameter set inside an observer is the next revision`() {
    let items = Items((0..<10).map { TestElement($0, $0) })
    let limit = Property(5)
    let small = LiveCollection { inputs in
      Below(items: inputs.collection(items), limit: inputs.property(limit))
    }
    let log = Log<String>([])
    let first = small.observe { event in
      guard case .change(let change) = event else { return }
      log.append("first \(change.revision)")
      if change.revision == 1 { limit.value = 8 }
    }
    let second = small.observe { event in
      if case .change(let change) = event { log.append("second \(change.revision)") }
    }
    limit.value = 6
    #expect(log.value == ["first 1", "second 1", "first 2", "second 2"])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `a parameter that is derived from the same root changes with it`() {
    let limit = Property(3)
    let derived = limit.map { $0 + 1 }
    let rows = LiveCollection { inputs in
      Pair(first: inputs.property(limit), second: inputs.property(derived))
    }
    let events = RecordingObserver(rows)
    limit.value = 10
    #expect(events.changes.map { Array($0.after) } == [["10, 11"]])
  }

  @Test func `a parameter downstream of the operator's own root does not wait for itself`() {
    let items = Items([TestElement(1, 1)])
    let other = Property(1)
    // A property in a domain that is downstream of the collection, and an input of its operator.
    let count = CountSignal(items)
    let parameter = Property(0)
    let binding = count.signal.combineLatest(other.signal).map { $0 * $1 }.bind(to: parameter)
    let rows = LiveCollection { inputs in
      Below(items: inputs.collection(items), limit: inputs.property(parameter))
    }
    withTransaction {
      items.append(TestElement(2, 0))
      other.value = 3
    }
    #expect(parameter.value == 6)
    #expect(rows.snapshot.count == 2)
    withExtendedLifetime(binding) {}
  }

  @Test func `a collection can be the input of a signal`() {
    let items = Items([TestElement(1, 1)])
    let count = CountSignal(items).signal
    let values = Log<Int>([])
    let observation = count.observe { values.append($0) }
    items.append(TestElement(2, 2))
    items[0] = TestElement(1, 5)
    #expect(values.value == [1, 2, 2])
    withExtendedLifetime(observation) {}
  }

  @Test func `disposing of a derived collection releases its parameters`() {
    let items = Items([TestElement(1, 1)])
    let limit = Property(5)
    do {
      let small = LiveCollection { inputs in
        Below(items: inputs.collection(items), limit: inputs.property(limit))
      }
      #expect(small.count == 1)
      #expect(limit.signal.node.isFollowed)
    }
    #expect(!limit.signal.node.isFollowed)
  }

  @Test func `two operators over the same properties in opposite orders see a transaction once`() {
    let (first, second) = (Property(0), Property(0))
    let rows = LiveCollection { inputs in
      Pair(first: inputs.property(first), second: inputs.property(second))
    }
    let turned = LiveCollection { inputs in
      Pair(first: inputs.property(second), second: inputs.property(first))
    }
    let (events, turnedEvents) = (RecordingObserver(rows), RecordingObserver(turned))
    for number in 1...2 {
      withTransaction {
        first.value = number
        second.value = number
      }
    }
    #expect(events.changes.map { Array($0.after) } == [["1, 1"], ["2, 2"]])
    #expect(turnedEvents.changes.map { Array($0.after) } == [["1, 1"], ["2, 2"]])
  }

  @Test func `collections of properties with each other's parameters see a transaction once`() {
    let (first, second) = (Property(0), Property(0))
    let rowsOfFirst = LiveCollection { SingleRow(value: $0.property(first)) }
    let rowsOfSecond = LiveCollection { SingleRow(value: $0.property(second)) }
    let one = LiveCollection { inputs in
      Tagged(rows: inputs.collection(rowsOfFirst), tag: inputs.property(second))
    }
    let other = LiveCollection { inputs in
      Tagged(rows: inputs.collection(rowsOfSecond), tag: inputs.property(first))
    }
    let (events, otherEvents) = (RecordingObserver(one), RecordingObserver(other))
    withTransaction {
      first.value = 1
      second.value = 1
    }
    #expect(events.changes.map { Array($0.after) } == [["1, 1"]])
    #expect(otherEvents.changes.map { Array($0.after) } == [["1, 1"]])
  }

  @Test func `one property that is a parameter of two operators in a chain causes one event`() {
    let items = Items((0..<4).map { TestElement($0, $0) })
    let limit = Property(1)
    let small = LiveCollection { inputs in
      Below(items: inputs.collection(items), limit: inputs.property(limit))
    }
    let tagged = LiveCollection { inputs in
      Tagged(
        rows: inputs.collection(small.map { "\($0.id)" }), tag: inputs.property(limit))
    }
    let events = RecordingObserver(tagged)
    limit.value = 2
    #expect(events.changes.map { Array($0.after) } == [["0, 2", "1, 2"]])
  }

  @Test func `a transaction over a parameter of many operators takes linear time`() {
    // One commit of each operator enters the domain. No commit may search all others.
    let items = Items((0..<3).map { TestElement($0, $0) })
    let limit = Property(1)
    let count = TestRun.isLong ? 10_000 : 500
    let all = (0..<count).map { _ in
      LiveCollection { inputs in
        Below(items: inputs.collection(items), limit: inputs.property(limit))
      }
    }
    let start = ContinuousClock.now
    withTransaction {
      items.append(TestElement(3, 0))
      limit.value = 2
    }
    print("a parameter of \(count) operators: \(ContinuousClock.now - start)")
    #expect(all.allSatisfy { $0.snapshot.count == 3 })
  }
}

/// The elements with a content below a limit.
struct Below: CollectionOperator {
  let items: CollectionInput<TestElement>
  let limit: PropertyInput<Int>

  func start(_ output: CollectionDraft<TestElement>) {
    output.replace(with: items.snapshot.filter { $0.content < limit.value })
  }

  func update(_ output: CollectionDraft<TestElement>) { start(output) }
}

/// Records whether its parameter was set.
private struct SetRecorder: CollectionOperator {
  let items: CollectionInput<TestElement>
  let limit: PropertyInput<Int>
  let log: Log<Bool>

  func start(_ output: CollectionDraft<TestElement>) { log.append(limit.isSet) }
  func update(_ output: CollectionDraft<TestElement>) { log.append(limit.isSet) }
}

/// One row with the values of two properties.
private struct Pair: CollectionOperator {
  let first: PropertyInput<Int>
  let second: PropertyInput<Int>

  func start(_ output: CollectionDraft<String>) {
    output.replace(with: ["\(first.value), \(second.value)"])
  }

  func update(_ output: CollectionDraft<String>) { start(output) }
}

/// The number of elements of a collection as a signal in its domain.
private struct CountSignal {
  let signal: Signal<Int>

  init(_ items: Items) {
    let input = NodeInput(items.collection.node)
    let node = Node(over: [input], remembers: true, composesSteps: true) { _ in
      SignalValue(StateBox<Items.Element>.read(input.state).state.snapshot.count)
    }
    signal = Signal(node, upstream: [items])
  }
}

/// One row with the value of a property.
private struct SingleRow: CollectionOperator {
  let value: PropertyInput<Int>

  func start(_ output: CollectionDraft<String>) { output.replace(with: ["\(value.value)"]) }

  func update(_ output: CollectionDraft<String>) { start(output) }
}

/// The rows of a collection, each with the value of a property.
private struct Tagged: CollectionOperator {
  let rows: CollectionInput<String>
  let tag: PropertyInput<Int>

  func start(_ output: CollectionDraft<String>) {
    output.replace(with: rows.snapshot.map { "\($0), \(tag.value)" })
  }

  func update(_ output: CollectionDraft<String>) { start(output) }
}
