import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Operators that remove elements by time or number, and operators that show changes later, against models with a manual
/// clock.
@Suite struct TimedOperatorTests {
  typealias Output = (list: LiveCollection<TestElement>, expected: () -> [TestElement])

  /// The time to live of an element, by its content.
  @Sendable static func time(_ element: TestElement) -> Duration? {
    switch element.content {
    case 0: .seconds(3)
    case 1: .seconds(1)
    default: element.id % 3 == 0 ? nil : .milliseconds(500 * (element.id % 3 - 1))
    }
  }

  static func outputs(_ source: any DataSource<TestElement>, _ clock: ManualClock) -> [Output] {
    let second = Duration.seconds(1)
    let constant = NotedList(source, clock: clock) { _ in second * 3 }
    let renewed = NotedList(source, clock: clock, renews: true) { _ in second * 2 }
    let individual = NotedList(source, clock: clock, timeToLive: time)
    let renewedIndividual = NotedList(source, clock: clock, renews: true, timeToLive: time)
    let quiet = DelayedList(source, clock: clock, interval: second, throttles: false)
    let readable = DelayedList(source, clock: clock, interval: second, throttles: true)
    return [
      (source.expiring(after: second * 3, clock: clock), { constant.unexpired }),
      (
        source.expiring(after: second * 2, renewsOnUpdate: true, clock: clock),
        { renewed.unexpired }
      ),
      (source.expiring(clock: clock, time), { individual.unexpired }),
      (
        source.expiring(renewsOnUpdate: true, clock: clock, time),
        { renewedIndividual.unexpired }
      ),
      (source.debounced(for: second, clock: clock), { quiet.shown }),
      (source.throttled(for: second, clock: clock), { readable.shown }),
      (source.latest(4), { constant.latest(4) }),
      (source.latest(2), { constant.latest(2) }),
      (
        source.latest(2, by: \.content),
        {
          let elements = Array(source.snapshot)
          let order = elements.indices.sorted {
            (elements[$0].content, $0) < (elements[$1].content, $1)
          }
          return order.suffix(2).sorted().map { elements[$0] }
        }
      ),
    ]
  }

  @Test(.reaches(.changes), arguments: [6, 12, 300])
  func `each operator equals its model at every step`(size: Int) throws {
    let seeds: UInt64 = size > 100 ? 6 : 30
    for seed in 0..<(TestRun.isLong ? seeds : seeds / 3) {
      var editor = RandomEditor(
        seed: seed, size: size, allowsDuplicates: seed.isMultiple(of: 2))
      let (clock, items) = (ManualClock(), Items(editor.makeElements()))
      var outputs = Self.outputs(items, clock)
      var recorders = outputs.map { RecordingObserver($0.list, seed: seed) }
      for step in 0..<60 {
        let counts = recorders.map(\.eventCount)
        var isEdit = true
        switch editor.random.below(8) {
        case 0...4: try editor.step(items)
        case 5: clock.advance(by: .zero)
        default:
          isEdit = false
          clock.advance(by: .milliseconds(250 * editor.random.below(8)))
        }
        for (number, output) in outputs.enumerated() {
          let (shown, expected) = (output.list.snapshot, output.expected())
          try #require(
            shown.hasSameContents(as: Snapshot(expected)),
            "operator \(number), seed \(seed), step \(step): \(shown), not \(expected)")
          try recorders[number].check(against: output.list)
          if isEdit { try #require(recorders[number].eventCount <= counts[number] + 1) }
        }
        // One timer for each operator at most.
        try #require(clock.sleeperCount <= outputs.count)
        if step == 20 {
          let later = Self.outputs(items, clock)
          recorders += later.map { RecordingObserver($0.list, seed: seed) }
          outputs += later
        }
      }
      for recorder in recorders { Coverage.note(recorder) }
    }
  }

  @Test func `each change between short lists, with time between`() throws {
    let elements = [TestElement(1, 0), TestElement(1, 1), TestElement(2, 0)]
    let lists = everyList(upTo: 3, of: elements)
    let (clock, items) = (ManualClock(), Items())
    let outputs = Self.outputs(items, clock)
    let recorders = outputs.map { RecordingObserver($0.list, keeps: 3) }
    func check(_ step: String) throws {
      for (number, output) in outputs.enumerated() {
        let (shown, expected) = (output.list.snapshot, output.expected())
        try #require(
          shown.hasSameContents(as: Snapshot(expected)),
          "operator \(number), \(step): \(shown), not \(expected)")
      }
    }
    // An ordinary run takes one of five changes.
    let stride = TestRun.isLong ? 1 : 5
    for (number, before) in lists.enumerated() {
      for (position, after) in lists.enumerated() where (number + position) % stride == 0 {
        items.replace(with: before)
        clock.advance(by: .milliseconds(1_000 * (after.count % 3)))
        try check("before \(before)")
        items.replace(with: after)
        try check("from \(before) to \(after)")
        clock.advance(by: .milliseconds(1_000 * (before.count % 4)))
        try check("after \(after)")
      }
    }
    for (recorder, output) in zip(recorders, outputs) { try recorder.check(against: output.list) }
  }

  /// The rows are numbered again then.
  @Test(arguments: 0..<8)
  func `each operator equals its model after a long list has become short`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (clock, items) = (ManualClock(), Items((0..<400).map { TestElement($0, $0 % 3) }))
    let outputs = Self.outputs(items, clock)
    for step in 0..<60 {
      switch step {
      case 20: items.removeSubrange(random.below(10)..<390)
      case 0..<20: items.insert(TestElement(1_000 + step, step % 3), at: random.below(400))
      default:
        items.move(from: random.below(items.count), to: random.below(items.count))
        items[random.below(items.count)].content = random.below(4)
        items.insert(TestElement(1_000 + step, 2), at: random.below(items.count))
        items.remove(at: random.below(items.count))
      }
      clock.advance(by: .milliseconds(250 * random.below(3)))
      for (number, output) in outputs.enumerated() {
        let (shown, expected) = (output.list.snapshot, output.expected())
        try #require(
          shown.hasSameContents(as: Snapshot(expected)),
          "operator \(number), step \(step): \(shown), not \(expected)")
      }
    }
  }

  // MARK: expiring

  @Test func `elements that are due at once leave in one change`() {
    let (clock, items) = (ManualClock(), Items([1, 2, 3]))
    let events = RecordingObserver(items.expiring(after: .seconds(60), clock: clock))
    clock.advance(by: .seconds(30))
    items.append(4)
    clock.advance(by: .seconds(30))
    #expect(events.changes.map { $0.changeset.summary } == ["1 inserted", "3 deleted"])
    #expect(events.snapshot.array == [4])
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(30))
    #expect(events.snapshot.array == [])
    #expect(clock.sleeperCount == 0)
  }

  @Test func `a move never renews the time of an element, and an update does only if asked`() {
    let (clock, items) = (ManualClock(), Items([1, 2, 3]))
    let shown = items.expiring(after: .seconds(60), clock: clock)
    let renewed = items.expiring(after: .seconds(60), renewsOnUpdate: true, clock: clock)
    clock.advance(by: .seconds(30))
    items.move(from: 0, to: 2)
    items[0].content = 7
    clock.advance(by: .seconds(30))
    #expect(shown.snapshot.array == [])
    #expect(renewed.snapshot.array == [TestElement(2, 7)])
    // It has expired: an update does not bring it back.
    items[1].content = 7
    #expect(renewed.snapshot.array == [TestElement(2, 7)])
  }

  @Test func `an expired element comes back by a deletion and an insertion`() {
    let (clock, items) = (ManualClock(), Items([1, 2]))
    let shown = items.expiring(after: .seconds(60), clock: clock)
    clock.advance(by: .seconds(60))
    // In one change, the element is kept.
    items.transaction { draft in
      draft.remove(at: 0)
      draft.insert(TestElement(1, 5), at: 1)
    }
    #expect(shown.snapshot.array == [])
    items.remove(at: 1)
    items.append(1)
    #expect(shown.snapshot.array == [1])
    // Another identity is another element.
    items[0] = 9
    #expect(shown.snapshot.array == [9, 1])
  }

  @Test func `without time, no element is shown`() {
    let (clock, items) = (ManualClock(), Items([1, 2]))
    let events = RecordingObserver(items.expiring(after: .zero, clock: clock))
    items.append(3)
    let past = items.expiring(after: .seconds(-5), clock: clock)
    #expect(events.eventCount == 1)
    #expect(events.snapshot.array == [])
    #expect(past.snapshot.array == [])
    let forever = items.expiring(after: .seconds(Int64.max), clock: clock)
    clock.advance(by: .seconds(1_000_000))
    #expect(forever.snapshot.array == [1, 2, 3])
    #expect(clock.sleeperCount == 0)
  }

  /// A clock that wakes too early.
  private struct Hasty: Clock {
    let base: ManualClock
    var now: ManualClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }
    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
      try await base.sleep(until: deadline.advanced(by: .seconds(-1)))
    }
  }

  @Test func `a clock that wakes too early wakes once`() async throws {
    let (clock, items) = (ManualClock(), Items([1, 2]))
    let events = RecordingObserver(
      items.expiring(after: .seconds(60), clock: Hasty(base: clock)))
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(59))
    try await events.wait(forContents: [])
    #expect(clock.sleeperCount == 0)
  }

  // MARK: latest

  @Test(.reaches(.changes)) func `the newest elements follow their source and their number`() throws
  {
    for keyCount in [3, 1] {
      try checkOperator(
        overSeveralInputs: { first, _, count in first.latest(count) { $0.content % keyCount } },
        is: { first, _, count in
          let order = first.indices.sorted {
            (first[$0].content % keyCount, $0) < (first[$1].content % keyCount, $1)
          }
          return order.suffix(count).sorted().map { first[$0] }
        }, seeds: 0..<(TestRun.isLong ? 60 : 20))
    }
    try checkOperator(
      { $0.latest(5, by: \.id) },
      is: { elements in
        let order = elements.indices.sorted { (elements[$0].id, $0) < (elements[$1].id, $1) }
        return order.suffix(5).sorted().map { elements[$0] }
      })
  }

  @Test func `a deleted element makes room for the next older one`() {
    let items = Items([1, 2, 3, 4])
    let events = RecordingObserver(items.latest(2))
    #expect(events.snapshot.array == [3, 4])
    items.move(from: 3, to: 0)
    items[0].content = 1
    #expect(events.snapshot.array == [TestElement(4, 1), 3])
    items.remove(at: 0)
    #expect(events.snapshot.array == [2, 3])
    items.insert(7, at: 0)
    #expect(events.snapshot.array == [7, 3])
    items[2] = 8
    #expect(events.snapshot.array == [7, 8])
  }

  // MARK: debounced and throttled

  @Test func `the first contents are shown at once`() {
    let (clock, items) = (ManualClock(), Items(status: .loading))
    let debounced = items.debounced(for: .seconds(1), clock: clock)
    let throttled = items.throttled(for: .seconds(1), clock: clock)
    #expect(debounced.status == .loading)
    items.publish([1, 2], status: .loaded)
    for list in [debounced, throttled] {
      #expect(list.snapshot.array == [1, 2])
      #expect(list.state.hasLoaded)
      #expect(list.revision == 1)
    }
    items.append(3)
    #expect(debounced.snapshot.array == [1, 2])
    #expect(throttled.snapshot.array == [1, 2])
  }

  @Test func `pending changes become one, and the status passes at once`() {
    let (clock, items) = (ManualClock(), Items([1, 2, 3]))
    let events = RecordingObserver(items.debounced(for: .seconds(1), clock: clock))
    let log = Log<String>([])
    let list = items.debounced(for: .seconds(1), clock: clock)
    let observation = list.observeStatus { log.append($0.description) }
    items.append(4)
    clock.advance(by: .milliseconds(900))
    items.move(from: 3, to: 0)
    items.remove(at: 1)
    let error = SourceError(code: "test", message: "broken")
    items.setStatus(.failed(error))
    #expect(log.value == ["loaded", "failed: broken"])
    clock.advance(by: .milliseconds(900))
    #expect(events.eventCount == 1)
    clock.advance(by: .milliseconds(100))
    #expect(events.changes.map { $0.changeset.summary } == ["1 inserted, 1 deleted"])
    #expect(events.snapshot.array == [4, 2, 3])
    #expect(list.snapshot.array == [4, 2, 3])
    #expect(list.status == .failed(error))
    // Changes that cancel each other out are not shown.
    items.append(5)
    items.remove(at: 3)
    clock.advance(by: .seconds(2))
    #expect(events.eventCount == 2)
    withExtendedLifetime(observation) {}
  }

  @Test func `changes without a pause are shown after the longest wait`() {
    let (clock, items) = (ManualClock(), Items([0]))
    let events = RecordingObserver(
      items.debounced(for: .seconds(1), atMost: .seconds(3), clock: clock))
    for number in 1...70 {
      items.append(TestElement(integerLiteral: number))
      clock.advance(by: .milliseconds(100))
    }
    // At 3 s from the first change, and at 3 s from the first one after that.
    #expect(events.changes.map(\.after.count) == [31, 61])
    clock.advance(by: .milliseconds(800))
    #expect(events.eventCount == 3)
    clock.advance(by: .milliseconds(100))
    #expect(events.snapshot.count == 71)
    items.append(71)
    clock.advance(by: .seconds(1))
    #expect(events.snapshot.count == 72)
  }

  @Test func `the first contents of a throttled list begin its interval`() {
    let (clock, items) = (ManualClock(), Items([1]))
    let throttled = items.throttled(for: .seconds(1), clock: clock)
    items.append(2)
    clock.advance(by: .milliseconds(999))
    #expect(throttled.snapshot.array == [1])
    clock.advance(by: .milliseconds(1))
    #expect(throttled.snapshot.array == [1, 2])
    // After an interval without a change, the next one is shown at once.
    clock.advance(by: .seconds(1))
    items.append(3)
    #expect(throttled.snapshot.array == [1, 2, 3])
    // As long as there is no element, changes are shown at once.
    let empty = Items([])
    let filled = empty.throttled(for: .seconds(1), clock: clock)
    empty.append(4)
    #expect(filled.snapshot.array == [4])
  }

  @Test func `a throttled list shows changes again and again, a debounced one waits`() {
    let (clock, items) = (ManualClock(), Items([0]))
    let debounced = RecordingObserver(items.debounced(for: .seconds(1), clock: clock))
    let throttled = RecordingObserver(items.throttled(for: .seconds(1), clock: clock))
    for number in 1...20 {
      clock.advance(by: .milliseconds(250))
      items[0].content = number
    }
    #expect(debounced.eventCount == 1)
    #expect(throttled.changes.map { $0.after[0].content } == [4, 8, 12, 16, 20].map { $0 - 1 })
    clock.advance(by: .seconds(1))
    #expect(debounced.snapshot[0].content == 20)
    #expect(throttled.snapshot[0].content == 20)
  }
}
