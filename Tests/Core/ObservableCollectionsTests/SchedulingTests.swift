import DataSourceTesting
import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// A scheduler that runs work when a test asks for it.
final class Stepper: Sendable {
  private let waiting = Log<@Sendable () -> Void>([])

  var scheduler: DeliveryScheduler {
    DeliveryScheduler { [waiting] work in waiting.append(work) }
  }

  func add(_ work: @escaping @Sendable () -> Void) { waiting.append(work) }

  /// The number of pending pieces of work.
  var count: Int { waiting.value.count }

  /// Runs pending work until none is left.
  func run() {
    while let work = waiting.modify({ $0.isEmpty ? nil : $0.removeFirst() }) { work() }
  }
}

/// Rule T9.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SchedulingConcurrencyTests {
  private let stepper = Stepper()
  private let items = Items([1])

  private func recorder(_ policy: DeliveryPolicy) -> RecordingObserver<TestElement> {
    RecordingObserver(items, on: stepper.scheduler, policy: policy)
  }

  @Test func `a pending initial event absorbs later changes`() {
    let recorder = recorder(.coalesce)
    items.append(2)
    items.append(3)
    #expect(recorder.eventCount == 0)
    #expect(stepper.count == 1)
    stepper.run()
    #expect(recorder.events.map(\.brief) == ["2:[1, 2, 3]"])
  }

  @Test func `pending changes become one`() throws {
    let recorder = recorder(.coalesce)
    stepper.run()
    items.append(2)
    items[0].content = 5
    items.append(3)
    items.remove(at: 1)
    stepper.run()
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-4:[1.5, 3]"])
    let change = try #require(recorder.changes.last)
    #expect(change.changeset.updates.count == 1 && change.changeset.insertions == [1])
    try recorder.check(against: items)
  }

  @Test
  func `changes that cancel out are no event, and the next continues from the last one`() throws {
    let recorder = recorder(.coalesce)
    stepper.run()
    items.append(2)
    items.remove(at: 1)
    stepper.run()
    #expect(recorder.eventCount == 1)
    items.append(3)
    stepper.run()
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-3:[1, 3]"])
    items.append(4)
    items.append(5)
    stepper.run()
    #expect(recorder.events.last?.brief == "3-5:[1, 3, 4, 5]")
    try recorder.check(against: items)
  }

  @Test func `the everything policy delivers each change`() throws {
    let recorder = recorder(.everything)
    for id in 2..<6 { items.append(TestElement(id)) }
    #expect(stepper.count == 1)
    stepper.run()
    #expect(recorder.eventCount == 5)
    #expect(recorder.changes.map(\.revision) == [1, 2, 3, 4])
    try recorder.check(against: items)
  }

  @Test func `the bounded policy merges changes beyond its limit`() throws {
    let recorder = recorder(.bounded(3))
    stepper.run()
    for id in 2..<8 { items.append(TestElement(id)) }
    stepper.run()
    #expect(recorder.changes.map(\.revision) == [1, 2, 6])
    try recorder.check(against: items)
  }

  @Test(arguments: [0, -1, 1]) func `a limit of less than one counts as one`(limit: Int) throws {
    let recorder = recorder(.bounded(limit))
    stepper.run()
    items.append(2)
    items.append(3)
    stepper.run()
    #expect(recorder.changes.map(\.revision) == [2])
  }

  @Test func `changes made while the observer runs have a turn of their own`() throws {
    let log = Log<String>([])
    let observation = items.observe(on: stepper.scheduler) { [items] event in
      log.append(event.brief)
      if event.revision == 0 {
        items.append(2)
        items.append(3)
      }
      log.append("ends")
    }
    stepper.run()
    #expect(log.value == ["0:[1]", "ends", "0-2:[1, 2, 3]", "ends"])
    observation.dispose()
  }

  @Test func `a scheduler that runs work immediately does not nest calls`() throws {
    let log = Log<String>([])
    let observation = items.observe(on: DeliveryScheduler { $0() }) { [items] event in
      log.append(event.brief)
      if event.revision < 3 { items.append(TestElement(event.revision + 2)) }
      log.append("ends")
    }
    #expect(log.value.count == 8)
    #expect(log.value.enumerated().allSatisfy { ($1 == "ends") == ($0 % 2 == 1) })
    observation.dispose()
  }

  @Test
  func `a scheduler that runs work immediately inside its own work does not nest turns`() throws {
    let (depth, deepest) = (Shared(0), Shared(0))
    let scheduler = DeliveryScheduler { [stepper] work in
      let run: @Sendable () -> Void = {
        let depthNow = depth.modify {
          $0 += 1
          return $0
        }
        deepest.modify { $0 = max($0, depthNow) }
        work()
        depth.modify { $0 -= 1 }
      }
      if depth.value > 0 { run() } else { stepper.add(run) }
    }
    // An observer that subscribes while the other one runs is called immediately, in turns of its own.
    let inner = Shared<RecordingObserver<TestElement>?>(nil)
    let observation = items.observe(on: scheduler) { [items] event in
      if event.revision == 5 { inner.value = RecordingObserver(items, on: scheduler) }
      if event.revision < 1000 { items.append(TestElement(event.revision)) }
    }
    let recorder = RecordingObserver(items, on: scheduler, policy: .everything)
    stepper.run()
    #expect(items.revision == 1000)
    #expect(deepest.value < 5)
    observation.dispose()
    try recorder.check(against: items)
    try inner.value?.check(against: items)
  }

  @Test func `an observer that is disposed while its event is computed is not called`() throws {
    let items = ArrayDataSource<Meddler>()
    let bag = DisposeBag()
    let (isOn, called) = (Shared(false), Shared(0))
    let meddle: @Sendable () -> Void = { if isOn.exchange(false) { bag.dispose() } }
    items.append(Meddler(id: 1, meddle: meddle))
    items.observe(on: stepper.scheduler) { _ in called.modify { $0 += 1 } }.store(in: bag)
    stepper.run()
    items[0] = Meddler(id: 1, content: 4, meddle: meddle)
    items.append(Meddler(id: 2, meddle: meddle))
    isOn.value = true
    stepper.run()
    #expect(!isOn.value)
    #expect(called.value == 1)
  }

  @Test func `a slow observer blocks no other observer`() throws {
    let (inside, go) = (Signpost(), Signpost())
    let observation = items.observe(on: .queue(DispatchQueue(label: "slow"))) { _ in
      inside.open()
      go.pass()
    }
    inside.pass()
    let quick = RecordingObserver(items)
    for id in 2..<50 { items.append(TestElement(id)) }
    #expect(quick.eventCount == 49)
    go.open()
    observation.disposeAndWait()
  }

  @Test(.reaches(.changes), arguments: [DeliveryPolicy.coalesce, .everything, .bounded(4)])
  func `events stay in order on a concurrent queue`(policy: DeliveryPolicy) async throws {
    let queue = DispatchQueue(label: "many", attributes: .concurrent)
    let recorder = RecordingObserver(items, on: .queue(queue), policy: policy)
    let workers = (0..<4).map { number in
      Worker { [items] in
        var editor = RandomEditor(seed: UInt64(number))
        for _ in 0..<100 { try? editor.step(items) }
      }
    }
    for worker in workers { try worker.join() }
    await items.flush()
    try recorder.check(against: items)
    Coverage.note(recorder)
  }

  @MainActor @Test func `an observer on the main actor receives events in order`() async throws {
    let log = Log<String>([])
    let observation = items.observeOnMainActor(policy: .everything) { event in
      MainActor.assertIsolated()
      log.append(event.brief)
    }
    items.append(2)
    items.append(3)
    await items.flush()
    #expect(log.value == ["0:[1]", "0-1:[1, 2]", "1-2:[1, 2, 3]"])
    observation.dispose()
  }

  @Test(.reaches(.changes), arguments: UInt64(0)..<20) func `random merges keep the contract`(
    seed: UInt64
  ) throws {
    var editor = RandomEditor(seed: seed)
    let recorders = [DeliveryPolicy.coalesce, .bounded(3), .everything].map { recorder($0) }
    for _ in 0..<60 {
      try editor.step(items)
      if editor.random.oneIn(4) { stepper.run() }
    }
    stepper.run()
    for recorder in recorders {
      try recorder.check(against: items)
      Coverage.note(recorder)
    }
  }
}

/// Rule T9: snapshots only.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SnapshotsOnlyConcurrencyTests {
  private let items = Items([1])

  @Test func `immediate observers receive the contents after each change`() {
    let log = Log<[TestElement]>([])
    let observation = items.observeSnapshots { log.append(Array($0)) }
    items.append(2)
    items.transaction { _ in }
    items.remove(at: 0)
    #expect(log.value == [[1], [1, 2], [2]])
    observation.dispose()
    items.append(3)
    #expect(log.value.count == 3)
  }

  @Test func `scheduled observers receive only the latest contents`() {
    let stepper = Stepper()
    let log = Log<[TestElement]>([])
    let observation = items.observeSnapshots(on: stepper.scheduler) { log.append(Array($0)) }
    items.append(2)
    items.append(3)
    #expect(stepper.count == 1 && log.value.isEmpty)
    stepper.run()
    #expect(log.value == [[1, 2, 3]])
    for id in 4..<8 { items.append(TestElement(id)) }
    stepper.run()
    #expect(log.value.dropFirst() == [[1, 2, 3, 4, 5, 6, 7]])
    observation.dispose()
  }

  @Test func `no difference is ever computed`() {
    let stepper = Stepper()
    let compared = Shared(0)
    let meddlers = ArrayDataSource((0..<4).map { Compared(id: $0, compared: compared) })
    let log = Log<Int>([])
    let observation = meddlers.observeSnapshots(on: stepper.scheduler) { log.append($0.count) }
    stepper.run()
    meddlers.append(Compared(id: 4, compared: compared))
    meddlers.remove(at: 0)
    meddlers.append(Compared(id: 5, compared: compared))
    compared.modify { $0 = 0 }
    stepper.run()
    #expect(log.value == [4, 5])
    #expect(compared.value == 0)
    observation.dispose()
  }

  @Test func `a sequence of snapshots is in order and ends with its task`() async throws {
    var iterator = items.snapshots().makeAsyncIterator()
    #expect(await iterator.next().map { Array($0) } == [1])
    items.append(2)
    items.append(3)
    #expect(await iterator.next().map { Array($0) } == [1, 2, 3])
    let worker = Worker { [items] in items.append(4) }
    #expect(await iterator.next()?.last == 4)
    try worker.join()

    let snapshots = items.snapshots()
    let task = Task { for await _ in snapshots {} }
    task.cancel()
    await task.value
  }

  @Test func `the source is released with the observation`() async {
    weak var leftover: Items?
    do {
      let items = Items([1])
      leftover = items
      var iterator = items.snapshots().makeAsyncIterator()
      _ = await iterator.next()
      let observation = items.observeSnapshots(on: .queue(.global())) { _ in }
      #expect(leftover != nil)
      observation.dispose()
    }
    #expect(leftover == nil)
  }
}

/// An element that counts its comparisons.
private struct Compared: Differentiable, Sendable {
  let id: Int
  let compared: Shared<Int>

  var differenceIdentifier: Int {
    compared.modify { $0 += 1 }
    return id
  }

  func isContentEqual(to other: Compared) -> Bool {
    compared.modify { $0 += 1 }
    return true
  }
}

/// Rule T9: the asynchronous sequence.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct AsyncEventsConcurrencyTests {
  private let items = Items([1])

  @Test func `events arrive in order`() async throws {
    let recorder = RecordingObserver<TestElement>()
    var iterator = items.events(policy: .everything).makeAsyncIterator()
    items.append(2)
    items.append(3)
    for _ in 0..<3 { recorder.receive(try #require(await iterator.next())) }
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]", "1-2:[1, 2, 3]"])
    try recorder.check(against: items)
  }

  @Test func `a slow consumer receives one composed change`() async throws {
    let recorder = RecordingObserver<TestElement>()
    var iterator = items.events().makeAsyncIterator()
    recorder.receive(try #require(await iterator.next()))
    for id in 2..<10 { items.append(TestElement(id)) }
    recorder.receive(try #require(await iterator.next()))
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-8:[1, 2, 3, 4, 5, 6, 7, 8, 9]"])
    try recorder.check(against: items)
  }

  @Test func `a consumer waits through changes that cancel out`() async throws {
    var iterator = items.events().makeAsyncIterator()
    _ = await iterator.next()
    items.append(2)
    items.remove(at: 1)
    items.append(3)
    items.remove(at: 1)
    let worker = Worker { [items] in items.append(4) }
    #expect(await iterator.next()?.snapshot.last == 4)
    try worker.join()
  }

  @Test func `a consumer that waits is woken by a change`() async throws {
    let events = items.events(policy: .everything)
    let consumer = Task {
      let recorder = RecordingObserver<TestElement>()
      for await event in events {
        recorder.receive(event)
        if recorder.snapshot.count == 200 { return recorder }
      }
      return recorder
    }
    for id in 2...200 { items.append(TestElement(id)) }
    let recorder = await consumer.value
    try recorder.check(against: items)
  }

  @Test func `cancellation ends the sequence`() async {
    let events = items.events()
    let task = Task {
      var count = 0
      for await _ in events { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value <= 1)
  }

  @Test func `the source is released with the iterator`() async {
    weak var leftover: Items?
    do {
      let items = Items([1])
      leftover = items
      var iterator = items.events().makeAsyncIterator()
      _ = await iterator.next()
      #expect(leftover != nil)
    }
    #expect(leftover == nil)
  }

  @Test func `the source is released when a consumer is canceled`() async {
    weak var leftover: Items?
    let task: Task<Void, Never>
    do {
      let items = Items([1])
      leftover = items
      let events = items.events()
      task = Task { for await _ in events {} }
    }
    task.cancel()
    await task.value
    #expect(leftover == nil)
  }
}

/// The status, observed elsewhere than on the thread that edits.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct StatusObservationTests {
  private let items = ArrayDataSource([1], status: .loading)

  @Test func `a scheduled observer of the status receives the latest pending status`() {
    let stepper = Stepper()
    let statuses = Log<SourceStatus>([])
    let observation = items.observeStatus(on: stepper.scheduler) { statuses.append($0) }
    #expect(statuses.value.isEmpty)
    stepper.run()
    items.setStatus(.failed(SourceError(code: "test", message: "the file is not readable")))
    items.setStatus(.loaded)
    items.append(2)
    stepper.run()
    #expect(statuses.value == [.loading, .loaded])
    observation.dispose()
    items.setStatus(.loading)
    stepper.run()
    #expect(statuses.value == [.loading, .loaded])
  }

  @Test func `the asynchronous flush waits for scheduled observers of the status`() async {
    let queue = DispatchQueue(label: "statuses")
    let statuses = Log<SourceStatus>([])
    let observation = items.observeStatus(on: .queue(queue)) { statuses.append($0) }
    items.setStatus(.loaded)
    await items.flush()
    #expect(statuses.value.last == .loaded)
    observation.dispose()
  }

  @Test
  func `the sequence of statuses begins with the present status, and ends when it is canceled`()
    async
  {
    var statuses = items.statuses().makeAsyncIterator()
    #expect(await statuses.next() == .loading)
    items.setStatus(.loading)
    items.setStatus(.loaded)
    #expect(await statuses.next() == .loaded)
    let waiting = Task { [items] in
      for await _ in items.statuses() {}
      return true
    }
    waiting.cancel()
    #expect(await waiting.value)
  }
}
