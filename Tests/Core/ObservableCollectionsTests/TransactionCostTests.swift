import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// The costs of transactions over many roots, and of transactions inside others.
@Suite struct TransactionCostTests {
  @Test(arguments: [1_000, 10_000])
  func `a transaction over many lists and properties looks at each commit a few times`(
    count: Int
  ) throws {
    let lists = (0..<count / 2).map { Items([TestElement($0, 0)]) }
    let properties = lists.map { _ in Property(0) }
    let all = LiveCollection { inputs in
      Sums(
        lists: lists.map { inputs.collection($0) },
        properties: properties.map { inputs.property($0) })
    }
    let domain = all.collection.node.domain
    let events = RecordingObserver(all)
    for value in 1...3 {
      let before = domain.searchSteps
      withTransaction {
        for list in lists { list[0].content = value }
        for property in properties { property.value = value }
      }
      #expect(all.snapshot.map(\.content) == [count * value])
      // Which of the roots is waited for is random. In the mean, it is another one ln(count) times.
      #expect(domain.searchSteps - before < 64 * count)
    }
    #expect(events.changes.count == 3)
    try events.check(against: all)
  }

  @Test func `a transaction over many pairs of lists looks at each commit a few times`() throws {
    let first = (0..<5_000).map { Items([TestElement($0, 0)]) }
    let second = (0..<5_000).map { Items([TestElement($0, 0)]) }
    let pairs = zip(first, second).map { $0.concatenated(with: $1) }
    let counts = Shared(0)
    let observations = pairs.map { pair in
      pair.observe { event in if case .change = event { counts.modify { $0 += 1 } } }
    }
    withTransaction {
      for list in first { list[0].content = 1 }
      for list in second { list[0].content = 1 }
    }
    #expect(counts.value == pairs.count)
    #expect(pairs.allSatisfy { $0.collection.node.domain.searchSteps < 16 })
    withExtendedLifetime(observations) {}
  }

  @Test func `a transaction inside another one saves only what it edits`() {
    let participants = (0..<1_000).map { _ in CountingParticipant() }
    withTransaction {
      for participant in participants { ThreadContext.current.transaction?.add(participant) }
      for number in 0..<10_000 {
        withTransaction { ThreadContext.current.willEdit(participants[number % 10]) }
      }
    }
    #expect(participants.map(\.saves).reduce(0, +) == 10_000)
    #expect(participants[10...].allSatisfy { $0.saves == 0 })
  }

  @Test func `what an observer edits in a transaction around it is rolled back with its part`() {
    let (items, others) = (Items([1]), Items([2]))
    let input = SignalInput<Int>()
    let observation = input.signal.observe { value in
      items.append(TestElement(value))
      withTransaction { others.append(TestElement(value)) }
    }
    withTransaction {
      items.append(3)
      others.append(4)
      try? withTransaction {
        input.send(5)
        throw Refusal()
      }
      input.send(6)
    }
    #expect(items.snapshot.map(\.id) == [1, 3, 6])
    #expect(others.snapshot.map(\.id) == [2, 4, 6])
    items.transaction { draft in
      draft.append(7)
      try? withTransaction {
        draft.append(8)
        input.send(9)
        throw Refusal()
      }
    }
    #expect(items.snapshot.map(\.id) == [1, 3, 6, 7])
    #expect(others.snapshot.map(\.id) == [2, 4, 6, 9])
    observation.dispose()
  }
}

private struct Refusal: Error {}

/// One element with the sum of all contents and values.
private struct Sums: CollectionOperator {
  let lists: [CollectionInput<TestElement>]
  let properties: [PropertyInput<Int>]

  private var sum: TestElement {
    let contents = lists.map { $0.snapshot[0].content } + properties.map(\.value)
    return TestElement(0, contents.reduce(0, +))
  }

  func start(_ output: CollectionDraft<TestElement>) { output.append(sum) }

  func update(_ output: CollectionDraft<TestElement>) { output[0] = sum }
}

/// A participant of transactions that counts how often it is saved.
private final class CountingParticipant: TransactionParticipant {
  let domain = Domain()
  private(set) var saves = 0

  func prepareCommit() -> Bool { false }

  func commitTransaction(tickets: [Ticket]) -> Any { () }

  func rollBackTransaction() -> Any { () }

  func saveTransaction() -> () -> Any {
    saves += 1
    return { () }
  }
}
