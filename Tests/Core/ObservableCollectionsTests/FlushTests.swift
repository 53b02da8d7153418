import DataSourceTesting
import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rule T5.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct FlushConcurrencyTests {
  @Test func `observers have been called when a mutation returns`() {
    let items = Items()
    let recorder = RecordingObserver(items.filter { _ in true }.map { $0 })
    for id in 1..<10 {
      items.append(TestElement(id))
      #expect(recorder.eventCount == id + 1)
    }
  }

  @Test func `a flush returns immediately if nothing is being delivered`() async throws {
    let items = Items([1])
    try Worker.run { items.flushAndWait() }
    await items.flush()
  }

  @Test func `a canceled flush does not wait for an observer that is never scheduled`() async {
    let items = Items([1])
    let observation = items.observe(on: DeliveryScheduler { _ in }) { _ in }
    items.append(2)
    let flushing = Task { await items.flush() }
    flushing.cancel()
    await flushing.value
    observation.dispose()
  }

  @Test func `a canceled flush does not wait for the delivery of another thread`() async throws {
    let control = PauseControl()
    let items = ArrayDataSource<TestElement>([1], pauseHook: control.hook)
    let held = control.arm(.committed)
    let deliverer = Worker { items.append(2) }
    try held.waitUntilReached()
    let flushing = Task { await items.flush() }
    flushing.cancel()
    await flushing.value
    held.release()
    try deliverer.join()
  }

  @Test(arguments: [PausePoint.committed, .published, .delivered])
  func `a flush waits for the delivery of another thread`(point: PausePoint) throws {
    let control = PauseControl()
    let items = ArrayDataSource<TestElement>([1], pauseHook: control.hook)
    let recorder = RecordingObserver(items)
    let held = control.arm(point)
    let deliverer = Worker { items.append(2) }
    try held.waitUntilReached()
    items.append(3)
    let seen = Shared(0)
    let flushing = Worker {
      items.flushAndWait()
      seen.value = recorder.eventCount
    }
    #expect(seen.value == 0)
    held.release()
    try flushing.join()
    #expect(seen.value == 3)
    try deliverer.join()
  }

  @Test func `a flush of a boundary waits upstream first`() throws {
    let control = PauseControl()
    let items = ArrayDataSource<TestElement>([1], pauseHook: control.hook)
    let joined = items.map { $0 }.concatenated(with: Items([9])).filter { _ in true }
    let recorder = RecordingObserver(joined)
    let held = control.arm(.committed)
    let deliverer = Worker { items.append(2) }
    try held.waitUntilReached()
    let seen = Log<String>([])
    let flushing = Worker {
      joined.flushAndWait()
      seen.append(recorder.snapshot.description)
    }
    held.release()
    try flushing.join()
    #expect(seen.value == ["[1, 2, 9]"])
    try deliverer.join()
  }

  @Test func `a flush waits for an observer that catches up`() throws {
    let control = PauseControl()
    let items = ArrayDataSource<TestElement>([1], pauseHook: control.hook)
    let recorder = Shared<RecordingObserver<TestElement>?>(nil)
    let held = control.arm(.joined)
    let joining = Worker { recorder.value = RecordingObserver(items) }
    try held.waitUntilReached()
    items.append(2)
    let flushing = Worker { items.flushAndWait() }
    held.release()
    try flushing.join()
    try joining.join()
    #expect(recorder.value?.eventCount == 2)
  }

  @Test func `an asynchronous flush covers scheduled observers`() async throws {
    let items = Items([1])
    let queue = DispatchQueue(label: "slow")
    queue.suspend()
    let recorder = RecordingObserver(items, on: .queue(queue))
    items.append(2)
    async let flushed: Void = items.flush()
    queue.resume()
    await flushed
    #expect(Array(recorder.snapshot) == [1, 2])
  }

  @Test
  func `an asynchronous flush does not hang if a scheduled observer is disposed`() async throws {
    let items = Items([1])
    let queue = DispatchQueue(label: "slow")
    queue.suspend()
    let recorder = RecordingObserver(items, on: .queue(queue))
    let flushing = Task { await items.flush() }
    recorder.dispose()
    await flushing.value
    queue.resume()
  }

  @Test func `a flush of many diamonds visits each collection once`() throws {
    let items = Items([1])
    var top: LiveCollection<TestElement> = items.collection
    for _ in 0..<40 {
      // One of the two is empty, so the contents do not grow.
      let (one, other) = (top.filter { _ in true }, top.filter { _ in false })
      top = one.concatenated(with: other)
    }
    let last = top
    let flushing = Worker { last.flushAndWait() }
    try flushing.join()
  }

  @Test func `a flush inside an observer traps`() async {
    await #expect(processExitsWith: .failure) {
      let items = ArrayDataSource([1])
      let observation = items.observe { _ in items.flushAndWait() }
      observation.dispose()
    }
  }

  @Test func `a flush inside an observer of another collection traps`() async {
    await #expect(processExitsWith: .failure) {
      let (items, other) = (ArrayDataSource([1]), ArrayDataSource([2]))
      let observation = items.observe { if $0.revision > 0 { other.flushAndWait() } }
      items.append(3)
      observation.dispose()
    }
  }

  @Test func `a flush inside a transaction traps`() async {
    await #expect(processExitsWith: .failure) {
      let items = ArrayDataSource([1])
      items.transaction { _ in items.flushAndWait() }
    }
  }

  @Test func `a flush inside a transaction over several collections traps`() async {
    await #expect(processExitsWith: .failure) {
      let items = ArrayDataSource([1])
      withTransaction { items.flushAndWait() }
    }
  }

  @Test func `a flush inside a scheduled observer traps`() async {
    await #expect(processExitsWith: .failure) {
      let items = ArrayDataSource([1])
      let observation = items.observe(on: .queue(DispatchQueue(label: "own"))) { _ in
        items.flushAndWait()
      }
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 60)
      observation.dispose()
    }
  }
}
