import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rule T9: pending changes are composed, and stay small.
@Suite struct MailboxMergingTests {
  private let stepper = Stepper()

  /// In an ordinary run, there are fewer.
  @Test func `a million changes behind a sleeping observer are one correct event`() throws {
    let items = Items([0, 1, 2, 3])
    let recorder = RecordingObserver(items, on: stepper.scheduler)
    let waiting = WaitingLog(items)
    stepper.run()
    let count = TestRun.isLong ? 1_000_000 : 30_000
    for step in 1...count {
      switch step % 4 {
      case 0: items.remove(at: 0)
      case 1: items.append(TestElement(step % 7, step))
      case 2: items[step % 3].content = step
      default: items.move(from: 0, to: 2)
      }
    }
    #expect(stepper.count == 1)
    #expect(waiting.most <= 1_000)
    stepper.run()
    #expect(recorder.eventCount == 2)
    #expect(recorder.changes.map(\.revision) == [items.revision])
    #expect(items.revision == count)
    try recorder.check(against: items)
  }

  @Test func `pending changes are never larger than the collection`() throws {
    let items = Items((0..<1_000).map { TestElement($0) })
    let waiting = WaitingLog(items)
    let size = Changeset(updates: [.init(from: 0, to: 0)]).footprint
    #expect(size == 6)
    for step in 1...333 { items[step].content = step }
    #expect(waiting.newest == 333 * size)
    items[0].content = -1
    #expect(waiting.newest == 0)
    items[0].content = -2
    #expect(waiting.newest == 0)
    #expect(waiting.most <= 2_000)
  }

  @Test func `the limit of pending changes shrinks with the collection`() {
    let items = Items((0..<1_000).map { TestElement($0) })
    let waiting = WaitingLog(items)
    for step in 1...10 { items[step].content = step }
    items.append(1_000)
    #expect(waiting.newest == 65)
    items.removeAll()
    // 1,005 more exceed the 1,000 elements before and none after.
    #expect(waiting.newest == 0)
  }

  @Test func `a few changes of many elements are composed without reading the others`() throws {
    let asked = Shared(0)
    let items = ArrayDataSource((0..<1_000).map { Asked(id: $0, asked: asked) })
    let log = Log<CollectionEvent<Asked>>([])
    let observation = items.observe(on: stepper.scheduler) { log.append($0) }
    stepper.run()
    items.remove(at: 500)
    items.move(from: 700, to: 3)
    items.insert(Asked(id: 2_000, asked: asked), at: 10)
    items[20] = Asked(id: 19, content: 1, asked: asked)
    // It is inserted again elsewhere.
    items.insert(Asked(id: 500, asked: asked), at: 900)
    items.remove(at: 10)
    asked.value = 0
    stepper.run()
    #expect(asked.value < 20)
    guard case .change(let change) = log.value.last else {
      Issue.record("there is no change")
      return
    }
    #expect(change.changeset.deletions.isEmpty && change.changeset.insertions.isEmpty)
    #expect(change.changeset.moves.map(\.from) == [701, 500])
    #expect(change.changeset.updates.map(\.from) == [18])
    #expect(change.revisionBefore == 0 && change.revision == 6)
    let patched = change.patch.applying(to: change.before).map(\.id)
    #expect(patched == items.snapshot.map(\.id))
    observation.dispose()
  }

  @Test(arguments: [1, 3, 10, 100])
  func `updates that change an identity stay updates in short lists`(count: Int) throws {
    let items = Items((0..<count).map { TestElement($0) })
    let recorder = RecordingObserver(items, on: stepper.scheduler)
    stepper.run()
    for step in 0..<100 { items[0] = TestElement(1_000 + step) }
    stepper.run()
    #expect(
      recorder.changes.map(\.changeset) == [Changeset(updates: [.init(from: 0, to: 0)])])
    try recorder.check(against: items)
  }

  @Test func `a single recorded change keeps its form, also with repeated identities`() async throws
  {
    let clock = ManualClock()
    let items = Items([1, 2, 1])
    let throttled = items.throttled(for: .seconds(1), clock: clock)
    let recorders = [RecordingObserver(items), RecordingObserver(throttled)]
    items.transaction { draft in
      draft.move(from: 0, to: 1)
      draft[0].content = 4
      draft[1].content = 5
    }
    clock.advance(by: .seconds(2))
    await throttled.flush()
    #expect(recorders[0].changes.map(\.changeset) == recorders[1].changes.map(\.changeset))
    #expect(recorders[0].changes.first?.changeset.moves.count == 1)
    try recorders[1].check(against: throttled)
  }

  @Test func `recorded changes are delivered, and not the result of a comparison`() throws {
    let items = Items([TestElement(1), TestElement(1, 1), 2, 3, 4])
    let recorder = RecordingObserver(items, on: stepper.scheduler)
    stepper.run()
    items.remove(at: 0)
    items.append(5)
    stepper.run()
    // A comparison would keep the first of the twins, updated.
    #expect(
      recorder.changes.map(\.changeset) == [Changeset(deletions: [0], insertions: [4])])
    try recorder.check(against: items)
  }

  @Test func `the difference of both ends is delivered if it is smaller than the changes`() throws {
    let items = Items([1, 2, 1, 3, 4, 5, 6, 7])
    let recorder = RecordingObserver(items, on: stepper.scheduler)
    let immediate = RecordingObserver(items)
    stepper.run()
    items.transaction { draft in
      // Twins are exchanged, which is not visible.
      draft.move(from: 0, to: 2)
      draft.move(from: 1, to: 0)
      draft.append(8)
    }
    items.append(9)
    stepper.run()
    #expect(immediate.changes.first?.changeset.moves.count == 2)
    #expect(recorder.changes.map(\.changeset) == [Changeset(insertions: [8, 9])])
    try recorder.check(against: items)
  }

  @Test func `changes that cancel out in pairs are no event`() throws {
    let items = Items([1, 2, 3])
    let recorder = RecordingObserver(items, on: stepper.scheduler)
    stepper.run()
    items.remove(at: 0)
    items.insert(1, at: 0)
    stepper.run()
    items[1].content = 1
    items[1].content = 0
    stepper.run()
    items.move(from: 0, to: 2)
    items.move(from: 2, to: 0)
    stepper.run()
    #expect(recorder.eventCount == 1)
    // The change continues from the last delivered revision, although others have passed.
    items.append(4)
    items.append(5)
    stepper.run()
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-8:[1, 2, 3, 4, 5]"])
    try recorder.check(against: items)
  }

  @Test func `twins that change places are no event`() throws {
    let items = Items([1, 1, 2])
    let recorder = RecordingObserver(items, on: stepper.scheduler)
    stepper.run()
    items.remove(at: 0)
    items.insert(1, at: 1)
    stepper.run()
    #expect(recorder.eventCount == 1)
    try recorder.check(against: items)
  }

  @Test(.reaches(.changes), arguments: UInt64(0)..<40)
  func `long chains of changes keep the contract`(seed: UInt64) throws {
    var editor = RandomEditor(seed: seed)
    // With many elements nothing is dropped, with few elements everything is.
    let items = Items((0..<(seed % 2 == 0 ? 200 : 4)).map { TestElement($0 % 90) })
    let recorders = [DeliveryPolicy.coalesce, .bounded(2)].map {
      RecordingObserver(items, on: stepper.scheduler, policy: $0)
    }
    for _ in 0..<50 {
      try editor.step(items)
      if editor.random.oneIn(20) { stepper.run() }
    }
    stepper.run()
    for recorder in recorders {
      try recorder.check(against: items)
      Coverage.note(recorder)
    }
  }
}

/// The pending events of an observer that never takes them.
private final class WaitingLog: Sendable {
  private let waiting = Shared(
    PendingBuffer<PendingEvent<TestElement>>(.bounded(2)))
  private let sizes = Shared((newest: 0, most: 0))
  private let observation = Shared<Disposable?>(nil)

  init(_ items: Items) {
    let observed = items.collection.observePending { [waiting, sizes] event in
      // The initial event stays separate, so changes are merged with changes.
      let released = waiting.modify { $0.append(event) }
      withExtendedLifetime(released) {}
      let count = waiting.modify { $0.newest?.footprint ?? 0 }
      sizes.modify { $0 = (count, max($0.most, count)) }
    }
    observation.value = Disposable(observed, keeping: nil)
  }

  deinit {
    observation.value?.dispose()
  }

  /// The size of the pending events.
  var newest: Int { sizes.value.newest }

  /// The largest size of the pending events so far.
  var most: Int { sizes.value.most }
}

/// An element that counts reads of its identity and its content.
private struct Asked: Differentiable, Sendable {
  let id: Int
  var content = 0
  let asked: Shared<Int>

  var differenceIdentifier: Int {
    asked.modify { $0 += 1 }
    return id
  }

  func isContentEqual(to other: Asked) -> Bool {
    asked.modify { $0 += 1 }
    return content == other.content
  }
}
