import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import Observation
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Rule T11: commits that are composed while their delivery is held.
@Suite(.tags(.concurrency)) struct ComposedCommitConcurrencyTests {
  @Test func `a status step after commits that come to nothing leaves no gap`() throws {
    let items = Items([TestElement(0, 0)])
    let events = RecordingObserver(items, expectsEveryRevision: false)
    let (statuses, held) = (Log<SourceStatus.State>([]), Held())
    let statusObservation = items.observeStatus { statuses.append($0.state) }
    let slow = items.observe { event in
      if case .change(let change) = event, change.revision == 1 { held.hold() }
    }
    let worker = Worker { items[0] = TestElement(0, 1) }
    held.wait()
    for _ in 0..<1_000 {
      items.append(TestElement(1, 0))
      items.remove(at: 1)
    }
    held.release()
    try worker.join()
    items.setStatus(.loading)
    items.append(TestElement(2, 0))
    items.setStatus(.loaded)
    items.append(TestElement(3, 0))
    #expect(events.changes.map(\.after.count) == [1, 2, 3])
    #expect(statuses.value == [.loaded, .loading, .loaded])
    try events.check(against: items)
    withExtendedLifetime((slow, statusObservation)) {}
  }

  @Test(arguments: [false, true])
  func `a tracked read of commits that come to nothing is reported`(hasStatusStep: Bool) throws {
    let items = Items([TestElement(0, 0)])
    let (held, isReported) = (Held(), Shared(false))
    let slow = items.observe { event in
      if case .change(let change) = event, change.revision == 1 { held.hold() }
    }
    let worker = Worker { items[0] = TestElement(0, 1) }
    held.wait()
    for _ in 0..<1_000 {
      items.append(TestElement(1, 0))
      items.remove(at: 1)
    }
    items.append(TestElement(1, 0))
    withObservationTracking {
      #expect(items.count == 2)
    } onChange: {
      isReported.value = true
    }
    items.remove(at: 1)
    if hasStatusStep { items.setStatus(.loading) }
    held.release()
    try worker.join()
    #expect(items.count == 1)
    #expect(isReported.value)
    withExtendedLifetime(slow) {}
  }

  @Test func `elements of commits that came to nothing are released without a lock`() throws {
    let items = ArrayDataSource([Meddler(id: 0)])
    let other = Items([])
    let (held, released) = (Held(), Shared(0))
    let slow = items.observe { event in
      if case .change(let change) = event, change.revision == 1 { held.hold() }
    }
    let worker = Worker { items.append(Meddler(id: 9)) }
    held.wait()
    items.remove(at: 0)
    items.insert(
      Meddler(
        id: 0,
        token: Token { [weak items] in
          // This takes the domain's lock.
          released.value = items?.count ?? -1
        }), at: 0)
    for _ in 0..<1_000 {
      items.append(Meddler(id: 1))
      items.remove(at: 2)
    }
    held.release()
    try worker.join()
    try Worker.run {
      withTransaction {
        items.remove(at: 0)
        other.append(TestElement(1, 0))
      }
    }
    #expect(released.value == 1)
    withExtendedLifetime(slow) {}
  }

  @Test func `two domains may compose the same commits at the same time`() throws {
    let items = Items([TestElement(0, 0)])
    let others = [Items([]), Items([])]
    let joins = others.map { items.concatenated(with: $0) }
    let held = [Held(), Held()]
    let observations = zip(joins, held).map { join, held in
      join.observe { event in
        if case .change(let change) = event, change.revision == 1 { held.hold() }
      }
    }
    let events = joins.map { RecordingObserver($0, expectsEveryRevision: false) }
    // Each join has a delivering thread of its own, which is held.
    let workers = others.map { other in Worker { other.append(TestElement(9, 0)) } }
    for held in held { held.wait() }
    for number in 1...1_500 { items[0] = TestElement(0, number) }
    for held in held { held.release() }
    for worker in workers { try worker.join() }
    for (event, join) in zip(events, joins) {
      join.flushAndWait()
      #expect(event.changes.count == 2)
      try event.check(against: join)
    }
    withExtendedLifetime(observations) {}
  }

  @Test func `the end of a signal does not replace its last value`() throws {
    let node = Node(domain: Domain(), state: SignalValue(0))
    let (held, values) = (Held(), Log<Int>([]))
    let observation = Signal<Int>(node).observe { value in
      values.append(value)
      if value == 1 { held.hold() }
    } onCompletion: {
      values.append(-1)
    }
    let worker = Worker { node.send(value: 1) }
    held.wait()
    for value in 2...2_000 { node.send(value: value) }
    node.finish()
    held.release()
    try worker.join()
    #expect(values.value == [0, 1, 2_000, -1])
    withExtendedLifetime(observation) {}
  }

  @Test(arguments: ["a root", "a join", "two joins"])
  func `tickets of composed commits are not kept`(slow: String) throws {
    let (left, right) = (Items([TestElement(1, 0)]), Items([TestElement(2, 0)]))
    let joins = [left.concatenated(with: right), right.concatenated(with: left)]
    let all = joins[0].concatenated(with: joins[1])
    let (held, events) = (Held(), RecordingObserver(all, expectsEveryRevision: false))
    let source: LiveCollection<TestElement> =
      slow == "a root" ? left.collection : slow == "a join" ? joins[0] : all
    let observation = source.observe { event in
      if case .change(let change) = event, change.revision == 1 { held.hold() }
    }
    let worker = Worker { left[0] = TestElement(1, 1) }
    held.wait()
    let domains = ([left.collection, right.collection, all] + joins).map(\.node.domain)
    for number in 0..<6_000 {
      // The tickets of the first thousand commits are kept, as the commits are.
      if number % 1_000 == 999 {
        for domain in domains { #expect(domain.pendingTicketCount < 2_000) }
      }
      if slow == "two joins", number % 2 == 0 {
        left[0] = TestElement(1, number)
      } else {
        withTransaction {
          left[0] = TestElement(1, number)
          right[0] = TestElement(2, number)
        }
      }
    }
    held.release()
    try worker.join()
    all.flushAndWait()
    #expect(all.snapshot.map(\.content) == [5_999, 5_999, 5_999, 5_999])
    try events.check(against: all)
    withExtendedLifetime(observation) {}
  }

  @Test(.enabled(if: TestRun.isLong))
  func `transactions behind a slow observer need little memory`() throws {
    let (left, right) = (Items([TestElement(1, 0)]), Items([TestElement(2, 0)]))
    let both = left.concatenated(with: right)
    let held = Held()
    let slow = left.observe { event in
      if case .change(let change) = event, change.revision == 1 { held.hold() }
    }
    let worker = Worker { left[0] = TestElement(1, 1) }
    held.wait()
    var sizes: [Int] = []
    for step in 0..<3 {
      for number in 0..<100_000 {
        withTransaction {
          left[0] = TestElement(1, step * 100_000 + number)
          right[0] = TestElement(2, step * 100_000 + number)
        }
      }
      sizes.append(residentPages())
    }
    held.release()
    try worker.join()
    both.flushAndWait()
    print("resident pages after each 100,000 transactions: \(sizes)")
    #expect(sizes[2] - sizes[0] < 2_000)
    withExtendedLifetime(slow) {}
  }
}

/// Holds a thread until a test releases it.
private final class Held: Sendable {
  private let (isHeld, mayGoOn) = (Signpost(), Signpost())

  func hold() {
    isHeld.open()
    mayGoOn.pass()
  }

  func wait() { isHeld.pass() }

  func release() { mayGoOn.open() }
}

private func residentPages() -> Int {
  let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
  return text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
}
