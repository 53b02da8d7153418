import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rules T4 and T7: observers and operators that join during a delivery.
@Suite(.tags(.concurrency)) struct JoiningConcurrencyTests {
  private let control = PauseControl()
  private let items: Items

  init() {
    items = ArrayDataSource([1], pauseHook: control.hook)
  }

  @Test func `a commit between registration and the initial event follows as a change`() throws {
    let recorder = Shared<RecordingObserver<TestElement>?>(nil)
    let held = control.arm(.joined)
    let joining = Worker { [items] in recorder.value = RecordingObserver(items) }
    try held.waitUntilReached()
    items.append(2)
    items.append(3)
    held.release()
    try joining.join()
    let events = try #require(recorder.value)
    #expect(events.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]", "1-2:[1, 2, 3]"])
    items.append(4)
    try events.check(against: items)
    #expect(events.eventCount == 4)
  }

  @Test func `the check accepts a status observer that joins during a delivery`() throws {
    let recorder = RecordingObserver(items)
    let held = control.arm(.published)
    let editing = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    let statuses = StatusWatch(items, behind: recorder)
    held.release()
    try editing.join()
    #expect(statuses.fault == nil)
    #expect(recorder.eventCount == 2)
  }

  @Test func `the check accepts an observer that catches up during a delivery`() throws {
    let order = Shared<OrderWatch<TestElement>?>(nil)
    let joining = control.arm(.joined, arrival: 2)
    let joiner = Worker { [items] in order.value = OrderWatch(items) }
    try joining.waitUntilReached()
    let delivering = control.arm(.published)
    let editor = Worker { [items] in items.append(2) }
    try delivering.waitUntilReached()
    joining.release()
    try joiner.join()
    delivering.release()
    try editor.join()
    items.append(3)
    #expect(try #require(order.value).fault == nil)
  }

  @Test func `a commit while an observer catches up is delivered once`() throws {
    let recorder = Shared<RecordingObserver<TestElement>?>(nil)
    let first = control.arm(.caughtUp)
    let second = control.arm(.caughtUp, arrival: 2)
    let joining = Worker { [items] in recorder.value = RecordingObserver(items) }
    try first.waitUntilReached()
    items.append(2)
    first.release()
    try second.waitUntilReached()
    items.append(3)
    second.release()
    try joining.join()
    let events = try #require(recorder.value)
    #expect(events.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]", "1-2:[1, 2, 3]"])
    items.append(4)
    try events.check(against: items)
  }

  @Test func `a committed, undelivered revision arrives as a change`() throws {
    let held = control.arm(.committed)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    #expect(Array(items.snapshot) == [1, 2])
    let recorder = RecordingObserver(items)
    #expect(recorder.events.map(\.brief) == ["0:[1]"])
    held.release()
    try deliverer.join()
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]"])
  }

  @Test(arguments: [PausePoint.published, .delivered])
  func `a revision whose delivery has begun is in the initial event`(point: PausePoint) throws {
    let held = control.arm(point)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    let recorder = RecordingObserver(items)
    held.release()
    try deliverer.join()
    #expect(recorder.events.map(\.brief) == ["1:[1, 2]"])
  }

  @Test(arguments: [PausePoint.committed, .computed, .published, .delivered])
  func `a derived collection can be observed at any point of a pass`(point: PausePoint) throws {
    let derived = items.map { TestElement($0.id, 5) }
    let early = RecordingObserver(derived)
    let held = control.arm(point)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    let recorder = RecordingObserver(derived)
    held.release()
    try deliverer.join()
    items.append(3)
    try recorder.check(against: derived)
    try early.check(against: derived)
    #expect(early.eventCount == 3)
  }

  @Test(
    arguments: [PausePoint.committed, .computed, .published, .delivered],
    [false, true])
  func `an operator can be created at any point of a pass`(point: PausePoint, hasDerived: Bool)
    throws
  {
    let before = hasDerived ? items.map { $0 } : nil
    if point == .computed && !hasDerived { return }
    let held = control.arm(point)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    let calls = Log<Int>([])
    let derived = (before ?? items.collection).filter { element in
      calls.append(element.id)
      return true
    }
    let recorder = RecordingObserver(derived)
    held.release()
    try deliverer.join()
    #expect(calls.value == [1, 2])
    items.append(3)
    #expect(Array(derived.snapshot) == [1, 2, 3])
    try recorder.check(against: derived)
    #expect(calls.value == [1, 2, 3])
  }

  @Test(arguments: [PausePoint.committed, .computed, .published, .delivered])
  func `a pass can reach any point while an operator catches up`(point: PausePoint) throws {
    let (items, control) = (items, control)
    let before = items.map { $0 }
    let made = Shared<LiveCollection<TestElement>?>(nil)
    let joining = control.arm(.caughtUp)
    let maker = Worker { made.value = items.concatenated(with: before) }
    try joining.waitUntilReached()
    let held = control.arm(point)
    let deliverer = Worker { items.append(2) }
    try held.waitUntilReached()
    joining.release()
    try maker.join()
    let derived = try #require(made.value)
    let recorder = RecordingObserver(derived)
    held.release()
    try deliverer.join()
    #expect(Array(derived.snapshot) == [1, 2, 1, 2])
    items.append(3)
    #expect(Array(derived.snapshot) == [1, 2, 3, 1, 2, 3])
    try recorder.check(against: derived)
  }

  @Test(arguments: [PausePoint.committed, .computed, .published, .delivered])
  func `the collection of a group joins while its index changes without showing it`(
    point: PausePoint
  ) throws {
    let (items, control) = (items, control)
    let index = items.indexed { $0.content }
    let made = Shared<LiveCollection<TestElement>?>(nil)
    let joining = control.arm(.caughtUp)
    let maker = Worker { made.value = index[7] }
    try joining.waitUntilReached()
    items.append(TestElement(2, 7))
    let held = control.arm(point)
    let deliverer = Worker { items.append(TestElement(3, 7)) }
    try held.waitUntilReached()
    joining.release()
    try maker.join()
    let group = try #require(made.value)
    let recorder = RecordingObserver(group)
    held.release()
    try deliverer.join()
    #expect(group.snapshot.map(\.id) == [2, 3])
    items.append(TestElement(4, 7))
    #expect(group.snapshot.map(\.id) == [2, 3, 4])
    try recorder.check(against: group)
  }

  @Test func `lists of other domains follow and leave while passes deliver to them`() throws {
    let items = Items((0..<20).map { TestElement($0, $0) })
    let mapped = items.map { $0 }
    let base = mapped.concatenated(with: Items([TestElement(-1)]))
    let recorder = RecordingObserver(base)
    let editor = Worker { for step in 0..<500 { items[step % 20].content = step + 20 } }
    let makers = (0..<2).map { _ in
      Worker {
        for _ in 0..<100 {
          let other = mapped.concatenated(with: Items([TestElement(-2)]))
          other.observe { _ in }.dispose()
        }
      }
    }
    for worker in [editor] + makers { try worker.join() }
    base.flushAndWait()
    try recorder.check(against: base)
    #expect(recorder.snapshot.first == TestElement(0, 500))
  }

  @Test func `signals of other domains follow while a signal ends`() throws {
    for _ in 0..<100 {
      let (signal, ended) = (SignalInput<Int>(), SignalInput<Int>())
      ended.finish()
      let mapped = signal.signal.map { $0 }
      let kept = mapped.observe { _ in }
      let ends = Shared(0)
      let observations = Shared<[Disposable]>([])
      let makers = (0..<2).map { _ in
        Worker {
          let merged = mapped.merge(with: ended.signal)
          let observation = merged.observe(
            { _ in }, onCompletion: { ends.modify { $0 += 1 } })
          observations.modify { $0.append(observation) }
        }
      }
      signal.send(1)
      signal.finish()
      for worker in makers { try worker.join() }
      #expect(ends.value == 2)
      withExtendedLifetime((kept, observations)) {}
    }
  }

  @Test func `an operator makes up for passes that complete while it catches up`() throws {
    let (items, control) = (items, control)
    let made = Shared<LiveCollection<TestElement>?>(nil)
    let joining = control.arm(.caughtUp)
    let again = control.arm(.caughtUp, arrival: 2)
    let maker = Worker { made.value = items.filter { $0.id != 2 } }
    try joining.waitUntilReached()
    for id in 2..<6 { items.append(TestElement(id)) }
    joining.release()
    try again.waitUntilReached()
    items.remove(at: 0)
    again.release()
    try maker.join()
    #expect(made.value?.snapshot.map(\.id) == [3, 4, 5])
  }

  @Test func `an operator over another one created in the same pass is part of the pass`() throws {
    let before = items.map { $0 }
    let held = control.arm(.computed)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    let first = before.filter { _ in true }
    let second = first.concatenated(with: before)
    let recorder = RecordingObserver(second)
    #expect(Array(second.snapshot) == [1, 1])
    held.release()
    try deliverer.join()
    #expect(recorder.events.map(\.brief) == ["0:[1, 1]", "0-1:[1, 2, 1, 2]"])
  }

  @Test func `an operator can be released in the middle of a pass`() throws {
    let derived = Shared<LiveCollection<TestElement>?>(items.filter { _ in true })
    let held = control.arm(.computed)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    weak let leftover = derived.value
    derived.exchange(nil)
    #expect(leftover == nil)
    held.release()
    try deliverer.join()
    #expect(items.revision == 1)
  }

  @Test(arguments: [PausePoint.committed, .computed, .published, .delivered])
  func `a boundary can be created at any point of a pass of an input`(point: PausePoint) throws {
    let before = items.map { $0 }
    let other = Items([9])
    let held = control.arm(point)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    let joined = before.concatenated(with: other)
    let recorder = RecordingObserver(joined)
    other.append(8)
    held.release()
    try deliverer.join()
    #expect(Array(joined.snapshot) == [1, 2, 9, 8])
    try recorder.check(against: joined)
  }

  @Test func `a boundary fed by two threads at the same time stays correct`() throws {
    let other = ArrayDataSource<TestElement>([9])
    let joined = items.concatenated(with: other)
    let recorder = RecordingObserver(joined)
    let held = control.arm(.published)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    // Further commits are queued behind the pass that is held.
    items.append(3)
    other.append(8)
    #expect(Array(joined.snapshot) == [1, 9, 8])
    held.release()
    try deliverer.join()
    #expect(Array(joined.snapshot) == [1, 2, 3, 9, 8])
    try recorder.check(against: joined)
  }
}

/// Rule T3 between threads.
@Suite(.tags(.concurrency)) struct OrderConcurrencyTests {
  @Test func `a commit of another thread is delivered by the delivering thread`() throws {
    let control = PauseControl()
    let items = ArrayDataSource<TestElement>([1], pauseHook: control.hook)
    let recorders = (0..<3).map { _ in RecordingObserver(items) }
    let held = control.arm(.published)
    let deliverer = Worker { items.append(2) }
    try held.waitUntilReached()
    try Worker.run { items.append(3) }
    #expect(recorders.map(\.eventCount) == [1, 1, 1])
    held.release()
    try deliverer.join()
    for recorder in recorders {
      #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]", "1-2:[1, 2, 3]"])
      try recorder.check(against: items)
    }
  }

  @Test func `no observer is called while its initial event still runs`() throws {
    let items = Items([1])
    let (inside, go) = (Signpost(), Signpost())
    let log = Log<String>([])
    let kept = Shared<Disposable?>(nil)
    let joining = Worker {
      kept.value = items.observe { event in
        log.append(event.brief)
        if case .initial = event {
          inside.open()
          go.pass()
        }
        log.append("ends")
      }
    }
    inside.pass()
    items.append(2)
    #expect(log.value == ["0:[1]"])
    go.open()
    try joining.join()
    #expect(log.value == ["0:[1]", "ends", "0-1:[1, 2]", "ends"])
    kept.exchange(nil)
  }
}
