import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rules T11 and T12: transactions over several roots, and delivery that falls behind.
@Suite(.tags(.concurrency)) struct TicketConcurrencyTests {

  // MARK: T12

  @Test func `a transaction is one event although another thread delivers one of its roots`() throws
  {
    let (left, right) = (Items([TestElement(1, 0)]), Items([TestElement(2, 0)]))
    let both = left.concatenated(with: right)
    let events = RecordingObserver(both)
    let (isHeld, mayGoOn) = (Signpost(), Signpost())
    let observation = left.observe { event in
      guard case .change(let change) = event, change.after.count == 2 else { return }
      isHeld.open()
      mayGoOn.pass()
    }
    let worker = Worker { left.append(TestElement(3, 0)) }
    isHeld.pass()
    // The other thread delivers the left root, and is held.
    withTransaction {
      left[0] = TestElement(1, 7)
      right[0] = TestElement(2, 7)
    }
    #expect(events.changes.count == 1)
    mayGoOn.open()
    try worker.join()
    both.flushAndWait()
    #expect(events.changes.map { $0.changeset.updates.count } == [0, 2])
    try events.check(against: both)
    withExtendedLifetime(observation) {}
  }

  @Test func `a later commit waits behind a transaction, and one of another root does not`() throws
  {
    let (left, right, other) = (Items([]), Items([]), Items([]))
    let all = left.concatenated(with: right, other)
    let events = RecordingObserver(all)
    let (isHeld, mayGoOn) = (Signpost(), Signpost())
    let observation = left.observe { event in
      guard case .change(let change) = event, change.after.count == 1 else { return }
      isHeld.open()
      mayGoOn.pass()
    }
    let worker = Worker { left.append(TestElement(1, 0)) }
    isHeld.pass()
    withTransaction {
      left.append(TestElement(2, 0))
      right.append(TestElement(3, 0))
    }
    right.append(TestElement(4, 0))
    other.append(TestElement(5, 0))
    #expect(all.snapshot.map(\.id) == [1, 5])
    mayGoOn.open()
    try worker.join()
    all.flushAndWait()
    #expect(
      events.changes.map { $0.after.map(\.id) } == [[1], [1, 5], [1, 2, 3, 5], [1, 2, 3, 4, 5]])
    withExtendedLifetime(observation) {}
  }

  @Test func `a commit before a transaction has its own event, whatever arrives first`()
    throws
  {
    let control = PauseControl()
    let left = Items([], pauseHook: control.hook)
    let (right, other) = (Items([]), Items([]))
    let all = left.concatenated(with: right, other)
    let events = RecordingObserver(all)
    let (isHeld, mayGoOn) = (Signpost(), Signpost())
    let observation = all.observe { event in
      guard case .change(let change) = event, change.after.map(\.id) == [9] else { return }
      isHeld.open()
      mayGoOn.pass()
    }
    // One thread delivers the result, and another one delivers the left list. Both are held.
    let slow = Worker { other.append(TestElement(9, 0)) }
    isHeld.pass()
    let pause = control.arm(.published)
    let earlier = Worker { left.append(TestElement(1, 0)) }
    try pause.waitUntilReached()
    withTransaction {
      left.append(TestElement(2, 0))
      right.append(TestElement(3, 0))
    }
    pause.release()
    try earlier.join()
    mayGoOn.open()
    try slow.join()
    all.flushAndWait()
    #expect(events.changes.map { $0.after.map(\.id) } == [[9], [1, 9], [1, 2, 3, 9]])
    try events.check(against: all)
    withExtendedLifetime(observation) {}
  }

  @Test func `a participant whose change is filtered out is not waited for`() {
    let (left, right) = (Items([]), Items([]))
    let none = left.filter { _ in false }
    let both = none.concatenated(with: right)
    let events = RecordingObserver(both)
    for order in 0..<2 {
      withTransaction {
        if order == 0 { left.append(TestElement(1, 0)) }
        right.append(TestElement(2, 0))
        if order == 1 { left.append(TestElement(1, 0)) }
      }
    }
    #expect(events.changes.map(\.after.count) == [1, 2])
  }

  @Test func `a transaction that throws changes no property`() {
    let (first, second) = (Property(1), Property(2))
    let sums = Log<Int>([])
    let observation = first.signal.combineLatest(second.signal).observe { sums.append($0 + $1) }
    #expect(throws: Refusal.self) {
      try withTransaction {
        first.value = 10
        second.modify { $0 += 10 }
        #expect(first.value == 10)
        #expect(second.readOnly.map { $0 * 2 }.value == 24)
        throw Refusal()
      }
    }
    #expect(first.value == 1 && second.value == 2)
    #expect(sums.value == [3])
    withTransaction {
      first.value = 10
      try? withTransaction {
        first.value = 100
        second.value = 100
        throw Refusal()
      }
      #expect(first.value == 10 && second.value == 2)
      second.value = 20
    }
    #expect(sums.value == [3, 30])
    withExtendedLifetime(observation) {}
  }

  @Test func `other threads read the committed value of a property until the transaction ends`()
    throws
  {
    let property = Property(1)
    let seen = Shared(0)
    try withTransaction {
      property.value = 2
      try Worker.run { seen.value = property.value }
      #expect(property.value == 2)
    }
    #expect(seen.value == 1)
    #expect(property.value == 2)
  }

  @Test func `a join over a join and its root sees a transaction once`() {
    let (left, right) = (Items([TestElement(1, 0)]), Items([TestElement(2, 0)]))
    let both = left.concatenated(with: right)
    let nested = both.map { $0 }.concatenated(with: right, left)
    let events = RecordingObserver(nested)
    withTransaction {
      left[0] = TestElement(1, 5)
      right[0] = TestElement(2, 5)
    }
    #expect(events.changes.map { $0.changeset.updates.count } == [4])
  }

  @Test func `an observer over a property and two collections never sees a part of a transaction`()
    throws
  {
    let count = TestRun.isLong ? 100_000 : 1_000
    let (left, right) = (
      Items([TestElement(1, 0), TestElement(2, 0)]), Items([TestElement(3, 0), TestElement(4, 0)])
    )
    let property = Property(0)
    let joined = LiveCollection { inputs in
      Joined(
        left: inputs.collection(left), right: inputs.collection(right),
        value: inputs.property(property))
    }
    let (mixtures, transactions) = (Log<String>([]), Shared(0))
    let last = Shared(0)
    let observation = joined.observe { event in
      let row = event.snapshot[0]
      if row.left != row.right || row.left != row.value { mixtures.append("\(row)") }
      let before = last.exchange(row.value)
      if row.value != before { transactions.modify { $0 += 1 } }
    }
    let isOver = Shared(false)
    // Three threads keep delivering each of the roots, so the transaction's thread often does not. Their
    // number of commits is bounded: on a busy machine, they could starve the transactions.
    let workers = [
      Worker {
        for _ in 0..<10 * count where !isOver.value {
          left[1] = TestElement(2, left[1].content &+ 1)
        }
      },
      Worker {
        for _ in 0..<10 * count where !isOver.value {
          right[1] = TestElement(4, right[1].content &+ 1)
        }
      },
      Worker {
        for _ in 0..<10 * count where !isOver.value { property.modify { _ in } }
      },
    ]
    for number in 1...count {
      withTransaction {
        switch number % 3 {
        case 0: property.value = number
        case 1: left[0] = TestElement(1, number)
        default: right[0] = TestElement(3, number)
        }
        left[0] = TestElement(1, number)
        right[0] = TestElement(3, number)
        property.value = number
      }
    }
    isOver.value = true
    for worker in workers { try worker.join() }
    joined.flushAndWait()
    #expect(mixtures.value == [])
    #expect(last.value == count)
    // Fewer only if delivery fell behind by a thousand commits.
    #expect(transactions.value <= count)
    withExtendedLifetime(observation) {}
  }

  // MARK: T11

  @Test func `commits behind a slow immediate observer become one event`() throws {
    let items = Items([TestElement(0, 0)])
    let revisions = Log<[Int]>([])
    let (isHeld, mayGoOn) = (Signpost(), Signpost())
    let slow = items.observe { event in
      guard case .change(let change) = event else { return }
      revisions.append([change.revisionBefore, change.revision])
      isHeld.open()
      mayGoOn.pass()
    }
    let other = RecordingObserver(items, expectsEveryRevision: false)
    let worker = Worker { items[0] = TestElement(0, 1) }
    isHeld.pass()
    let workers = (0..<4).map { thread in
      Worker {
        for step in 0..<5_000 {
          items.append(TestElement(thread * 10_000 + step, 0))
          items.remove(at: items.count > 100 ? 50 : 0)
        }
      }
    }
    for worker in workers { try worker.join() }
    #expect(items.collection.node.domain.pendingCount <= 1_001)
    mayGoOn.open()
    try worker.join()
    items.flushAndWait()
    #expect(revisions.value.count == 2)
    #expect(revisions.value.last?.last == items.revision)
    try other.check(against: items)
    withExtendedLifetime(slow) {}
  }

  @Test func `commits behind a slow immediate observer keep the form of their edits`() throws {
    let items = Items((0..<10_000).map { TestElement($0) })
    let kept = items.filter { $0.content >= 0 }
    let (isHeld, mayGoOn) = (Signpost(), Signpost())
    let isFirst = Shared(true)
    let slow = items.observe { event in
      guard case .change = event, isFirst.exchange(false) else { return }
      isHeld.open()
      mayGoOn.pass()
    }
    let recorders = [items.collection, kept].map {
      RecordingObserver($0, expectsEveryRevision: false)
    }
    let worker = Worker { items[0] = TestElement(0, 1) }
    isHeld.pass()
    for step in 0..<1_500 { items[step % 5] = TestElement(100_000 + step) }
    mayGoOn.open()
    try worker.join()
    kept.flushAndWait()
    for recorder in recorders {
      #expect(recorder.changes.count == 2)
      // The identities have changed, and the elements have stayed (rule C9).
      #expect(
        recorder.changes.last?.changeset
          == Changeset(updates: (0..<5).map { .init(from: $0, to: $0) }))
      try recorder.check(against: recorder === recorders[0] ? items.collection : kept)
    }
    withExtendedLifetime(slow) {}
  }

  @Test func `a property behind a slow immediate observer keeps its latest value`() throws {
    let property = Property(0)
    let values = Log<Int>([])
    let (isHeld, mayGoOn) = (Signpost(), Signpost())
    let slow = property.observe { value in
      values.append(value)
      guard value == 1 else { return }
      isHeld.open()
      mayGoOn.pass()
    }
    let worker = Worker { property.value = 1 }
    isHeld.pass()
    for value in 2...100_000 { property.value = value }
    #expect(property.signal.node.domain.pendingCount <= 1_001)
    mayGoOn.open()
    try worker.join()
    #expect(values.value == [0, 1, 100_000])
    withExtendedLifetime(slow) {}
  }

  @Test func `commits that come to nothing leave no gap in the revisions`() throws {
    let items = Items([TestElement(0, 0)])
    let events = RecordingObserver(items, expectsEveryRevision: false)
    let (isHeld, mayGoOn) = (Signpost(), Signpost())
    let slow = items.observe { event in
      guard case .change(let change) = event, change.revision == 1 else { return }
      isHeld.open()
      mayGoOn.pass()
    }
    let worker = Worker { items[0] = TestElement(0, 1) }
    isHeld.pass()
    for _ in 0..<2_000 {
      items.append(TestElement(1, 0))
      items.remove(at: 1)
    }
    mayGoOn.open()
    try worker.join()
    #expect(events.changes.count == 1)
    items.append(TestElement(2, 0))
    #expect(events.changes.count == 2)
    #expect(events.changes.last?.revisionBefore == events.changes.first?.revision)
    try events.check(against: items)
    withExtendedLifetime(slow) {}
  }

  @Test func `transactions behind a slow observer stay whole when they are composed`() throws {
    let (left, right) = (Items([TestElement(1, 0)]), Items([TestElement(2, 0)]))
    let both = left.concatenated(with: right)
    let mixtures = Log<[Int]>([])
    let events = Shared(0)
    let (isHeld, mayGoOn) = (Signpost(), Signpost())
    let observation = both.observe { event in
      events.modify { $0 += 1 }
      let contents = event.snapshot.map(\.content)
      if Set(contents).count > 1 { mixtures.append(contents) }
    }
    let slow = left.observe { event in
      guard case .change(let change) = event, change.after[0].content == 1 else { return }
      isHeld.open()
      mayGoOn.pass()
    }
    @Sendable func write(_ number: Int) {
      withTransaction {
        left[0] = TestElement(1, number)
        right[0] = TestElement(2, number)
      }
    }
    let worker = Worker { write(1) }
    isHeld.pass()
    for number in 2...3_000 { write(number) }
    mayGoOn.open()
    try worker.join()
    both.flushAndWait()
    #expect(mixtures.value == [])
    #expect(both.snapshot.map(\.content) == [3_000, 3_000])
    #expect(events.value < 3_000)
    withExtendedLifetime((observation, slow)) {}
  }

  @Test(.enabled(if: TestRun.isLong))
  func `ten million commits behind a slow observer need little memory`()
    throws
  {
    let items = Items((0..<100).map { TestElement($0, 0) })
    let revision = Shared(0)
    let gaps = Shared(0)
    let most = Shared(0)
    let workers = Shared<[Worker]>([])
    let observation = items.observe { event in
      guard case .change(let change) = event else { return }
      let before = revision.exchange(change.revision)
      if before != change.revisionBefore { gaps.modify { $0 += 1 } }
      most.modify { $0 = max($0, items.collection.node.domain.pendingCount) }
      if before == 0 {
        // This thread delivers from here on, because the others always commit before it is done.
        workers.value = (0..<4).map { thread in
          Worker {
            for step in 0..<2_500_000 {
              items.update(at: (thread * 25 + step) % 100) { $0.content &+= 1 }
            }
          }
        }
      }
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(10))
    }
    items.update(at: 0) { $0.content &+= 1 }
    for worker in workers.value { while (try? worker.join()) == nil {} }
    items.flushAndWait()
    #expect(gaps.value == 0)
    #expect(revision.value == items.revision && items.revision == 10_000_001)
    #expect(items.snapshot.reduce(0) { $0 + $1.content } == 10_000_001)
    #expect(most.value <= 1_001)
    withExtendedLifetime(observation) {}
  }
}

private struct JoinedRow: Differentiable, Hashable, Sendable {
  var left: Int
  var right: Int
  var value: Int
  var others: [Int]

  var differenceIdentifier: Int { 0 }
}

private struct Joined: CollectionOperator {
  let left: CollectionInput<TestElement>
  let right: CollectionInput<TestElement>
  let value: PropertyInput<Int>

  func start(_ output: CollectionDraft<JoinedRow>) {
    output.replace(
      with: [
        JoinedRow(
          left: left.snapshot[0].content, right: right.snapshot[0].content, value: value.value,
          others: [left.snapshot[1].content, right.snapshot[1].content])
      ])
  }

  func update(_ output: CollectionDraft<JoinedRow>) { start(output) }
}
