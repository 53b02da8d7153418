import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Timed operators among transactions, observers that edit, and lifetimes: rules T2, T4, T5, T12, L1 and L2.
@Suite struct TimedBoundaryTests {
  private let clock = ManualClock()

  private func lists(_ items: any DataSource<TestElement>) -> [LiveCollection<TestElement>] {
    [
      items.expiring(after: .seconds(1), clock: clock),
      items.debounced(for: .seconds(1), clock: clock),
      items.throttled(for: .seconds(1), clock: clock),
    ]
  }

  @Test func `a list and what has not expired of it are one event below both`() throws {
    let items = Items([1, 2])
    let both = items.concatenated(with: items.expiring(after: .seconds(1), clock: clock))
    let events = RecordingObserver(both)
    items.append(3)
    #expect(events.eventCount == 2)
    #expect(events.snapshot.map(\.id) == [1, 2, 3, 1, 2, 3])
    clock.advance(by: .seconds(1))
    #expect(events.eventCount == 3)
    #expect(events.snapshot.map(\.id) == [1, 2, 3])
    try events.check(against: both)
  }

  @Test func `a transaction over the source and others is one event`() throws {
    let (items, others, limit) = (Items([1, 2]), Items([7]), Property(5))
    let both = items.expiring(after: .seconds(1), clock: clock).concatenated(with: others)
      .filter(by: limit) { $0.id > $1 }
    let events = RecordingObserver(both)
    withTransaction {
      items.append(9)
      others.append(8)
      limit.value = 0
    }
    #expect(events.eventCount == 2)
    #expect(events.snapshot.map(\.id) == [1, 2, 9, 7, 8])
    clock.advance(by: .seconds(1))
    #expect(events.snapshot.map(\.id) == [7, 8])
    try events.check(against: both)
  }

  @Test func `time that passes inside a transaction that throws is not lost`() {
    let items = Items([1, 2])
    let shown = items.expiring(after: .seconds(1), clock: clock)
    try? withTransaction { () throws(Refusal) in
      items.append(3)
      clock.advance(by: .seconds(1))
      throw Refusal()
    }
    #expect(shown.snapshot.array == [])
    #expect(items.snapshot.array == [1, 2])
  }

  @Test func `an observer may edit the source`() throws {
    let items = Items([1])
    let lists = lists(items)
    let recorders = lists.map { RecordingObserver($0) }
    let observations = lists.enumerated().map { number, list in
      list.observe { [weak items] event in
        guard case .change = event, let items, items.count < 12 else { return }
        items.append(TestElement(100 * (number + 1) + items.count))
      }
    }
    items.append(2)
    for _ in 0..<40 { clock.advance(by: .milliseconds(300)) }
    #expect(items.count == 12)
    #expect(lists[0].isEmpty)
    #expect(lists[1].snapshot.hasSameContents(as: items.snapshot))
    #expect(lists[2].snapshot.hasSameContents(as: items.snapshot))
    for (recorder, list) in zip(recorders, lists) { try recorder.check(against: list) }
    withExtendedLifetime(observations) {}
  }

  @Test func `the status is that of the source, and it is started`() {
    let source = LazySource()
    let lists = lists(source)
    #expect(lists.allSatisfy { $0.status == .loading && !$0.state.hasLoaded })
    source.contents.publish([1], status: .loaded)
    #expect(lists.allSatisfy { $0.snapshot.array == [1] && $0.state.hasLoaded })
    let error = SourceError(code: "test", message: "broken")
    source.contents.setStatus(.failed(error))
    #expect(lists.allSatisfy { $0.status == .failed(error) && $0.snapshot.array == [1] })
    clock.advance(by: .seconds(1))
    #expect(lists[0].isEmpty)
    #expect(lists[0].status == .failed(error))
  }

  @Test func `a flush waits for changes, and not for timers`() {
    let items = Items([1])
    let lists = lists(items)
    items.append(2)
    for list in lists { list.flushAndWait() }
    #expect(lists.map(\.count) == [2, 1, 1])
  }

  @Test func `released lists stop their timers and keep nothing alive`() {
    let items = Items([1, 2])
    var leftovers = Leftovers()
    do {
      let lists = lists(items)
      for list in lists { leftovers.add(list, list.node) }
      let events = lists.map { RecordingObserver($0) }
      items.append(3)
      #expect(clock.sleeperCount == 3)
      withExtendedLifetime(events) {}
    }
    #expect(leftovers.count == 0)
    #expect(clock.sleeperCount == 0)
    items.append(4)
  }

  @Test func `an observation keeps a timed list and everything upstream alive`() {
    var leftovers = Leftovers()
    let log = Log<Int>([])
    var observations: [Disposable] = []
    do {
      let items = Items([1, 2])
      leftovers.add(items.collection)
      observations = lists(items).map { list in list.observe { log.append($0.snapshot.count) } }
      items.append(3)
    }
    #expect(leftovers.count == 1)
    clock.advance(by: .seconds(1))
    #expect(log.value.sorted() == [0, 2, 2, 2, 3, 3, 3])
    for observation in observations { observation.dispose() }
    #expect(leftovers.count == 0)
    #expect(clock.sleeperCount == 0)
  }

  @Test func `elements that have expired or left are released`() {
    final class Box: Hashable, Differentiable, Sendable {
      static func == (one: Box, other: Box) -> Bool { one === other }
      func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }
    var leftovers = Leftovers()
    let boxes = ArrayDataSource<Box>()
    let shown = boxes.expiring(after: .seconds(1), clock: clock)
    let quiet = boxes.debounced(for: .seconds(1), clock: clock)
    do {
      let box = Box()
      leftovers.add(box)
      boxes.append(box)
    }
    boxes.removeAll()
    clock.advance(by: .seconds(2))
    #expect(leftovers.count == 0)
    withExtendedLifetime((shown, quiet)) {}
  }
}
