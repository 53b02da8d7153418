import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// A transform whose calls return when the test says so. The result has 100 more in its content.
private final class HeldTransform: Sendable {
  private struct Call: Sendable {
    let element: TestElement
    let continuation: CheckedContinuation<TestElement, any Error>
  }

  /// The elements of all calls so far, and of those whose task was canceled.
  let (started, canceled) = (Items(), Items())
  private let (starts, cancellations):
    (RecordingObserver<TestElement>, RecordingObserver<TestElement>)
  private let calls = Log<Call>([])
  private let most = Shared(0)

  init() {
    (starts, cancellations) = (RecordingObserver(started), RecordingObserver(canceled))
  }

  @Sendable func run(_ element: TestElement) async throws -> TestElement {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let running = calls.modify { calls in
          calls.append(Call(element: element, continuation: continuation))
          return calls.count
        }
        most.modify { $0 = max($0, running) }
        started.append(element)
      }
    } onCancel: {
      canceled.append(element)
    }
  }

  /// Waits until all elements of these calls have started, in any order.
  func waitForStarts(_ elements: [TestElement]) async throws {
    try await starts.wait { recorder in
      recorder.snapshot.sorted { $0.id < $1.id } == elements.sorted { $0.id < $1.id }
    }
  }

  func waitForCancellations(_ count: Int) async throws {
    try await cancellations.wait { $0.snapshot.count >= count }
  }

  /// Lets the first call for an element return, or throw an error.
  func finish(_ element: TestElement, throwing error: (any Error)? = nil) {
    let call = calls.modify { calls in
      calls.firstIndex { $0.element == element }.map { calls.remove(at: $0) }
    }
    if let error {
      call?.continuation.resume(throwing: error)
    } else {
      call?.continuation.resume(returning: TestElement(element.id, element.content + 100))
    }
  }

  /// Lets all calls return.
  func finishAll() {
    for call in calls.exchange([]) { call.continuation.resume(returning: call.element) }
  }

  /// The most calls that were running at once.
  var mostRunning: Int { most.value }
}

/// `mapAsync`. The thread that delivers a result may also deliver the next edit, so tests flush before they read.
@Suite(.timeLimit(.minutes(10))) struct MapAsyncTests {
  @Test func `results appear in the order of the source, whatever the order in which they come`()
    async throws
  {
    let (items, transform) = (Items([1, 2, 3]), HeldTransform())
    let list = items.mapAsync(concurrency: 5, transform: transform.run)
    let events = RecordingObserver(list)
    #expect(events.snapshot.array == [])
    try await transform.waitForStarts([1, 2, 3])
    transform.finish(3)
    try await events.wait(forContents: [TestElement(3, 100)])
    transform.finish(1)
    try await events.wait(forContents: [TestElement(1, 100), TestElement(3, 100)])
    items.move(from: 0, to: 2)
    await list.flush()
    #expect(list.snapshot.map(\.id) == [3, 1])
    transform.finish(2)
    try await events.wait(forContents: [2, 3, 1].map { TestElement($0, 100) })
    try events.check(against: list)
  }

  @Test func `a placeholder is shown until the result is there, as an update`() async throws {
    let (items, transform) = (Items([1, 2]), HeldTransform())
    let list = items.mapAsync(
      concurrency: 1, placeholder: { TestElement($0.id, $0.content - 1) }, transform: transform.run)
    let events = RecordingObserver(list)
    #expect(list.snapshot.array == [TestElement(1, -1), TestElement(2, -1)])
    try await transform.waitForStarts([1])
    transform.finish(1)
    try await events.wait(forContents: [TestElement(1, 100), TestElement(2, -1)])
    #expect(events.changes.map { $0.changeset.summary } == ["1 updated"])
    items.insert(3, at: 0)
    await list.flush()
    items[2].content = 7
    await list.flush()
    #expect(
      list.snapshot.array == [TestElement(3, -1), TestElement(1, 100), TestElement(2, 6)])
    transform.finishAll()
  }

  @Test func `jobs and errors keep their elements after a long list has become short`() async throws
  {
    let (items, transform) = (Items((0..<200).map { TestElement($0) }), HeldTransform())
    let list = items.mapAsync(concurrency: 200, transform: transform.run)
    let events = RecordingObserver(list)
    try await transform.waitForStarts((0..<200).map { TestElement($0) })
    transform.finish(150, throwing: SourceError(code: "test", message: "no image"))
    for await status in list.statuses() where !status.diagnostics.isEmpty { break }
    items.removeSubrange(1..<150)
    items.removeSubrange(2..<40)
    await list.flush()
    let rest = items.snapshot.map(\.id)
    for id in rest.reversed() where id != 150 { transform.finish(TestElement(id)) }
    try await events.wait(
      forContents: rest.filter { $0 != 150 }.map { TestElement($0, 100) })
    #expect(list.status.diagnostics.count == 1)
    items.remove(at: 1)
    await list.flush()
    #expect(list.status.diagnostics == [])
    transform.finishAll()
    try events.check(against: list)
  }

  @Test func `at most as many transforms run as may, also if some are canceled`() async throws {
    let (items, transform) = (Items((1...6).map { TestElement($0) }), HeldTransform())
    let list = items.mapAsync(concurrency: 2, transform: transform.run)
    let events = RecordingObserver(list)
    try await transform.waitForStarts([1, 2])
    // Their tasks are canceled, but have not returned.
    items.removeSubrange(0..<2)
    try await transform.waitForCancellations(2)
    #expect(transform.started.snapshot.count == 2)
    transform.finish(1)
    try await transform.waitForStarts([1, 2, 3])
    transform.finish(2)
    try await transform.waitForStarts([1, 2, 3, 4])
    transform.finish(3)
    transform.finish(4)
    try await transform.waitForStarts([1, 2, 3, 4, 5, 6])
    transform.finish(5)
    transform.finish(6)
    try await events.wait(forContents: (3...6).map { TestElement($0, 100) })
    #expect(transform.mostRunning == 2)
    try events.check(against: list)
  }

  @Test func `a deletion or an update cancels the task, and its result is dropped`() async throws {
    let (items, transform) = (Items([1, 2]), HeldTransform())
    let list = items.mapAsync(concurrency: 4, transform: transform.run)
    let events = RecordingObserver(list)
    try await transform.waitForStarts([1, 2])
    items[0].content = 5
    items.remove(at: 1)
    try await transform.waitForCancellations(2)
    try await transform.waitForStarts([1, TestElement(1, 5), 2])
    #expect(transform.canceled.snapshot.array == [1, 2])
    transform.finish(1)
    transform.finish(2)
    transform.finish(TestElement(1, 5))
    try await events.wait(forContents: [TestElement(1, 105)])
    #expect(events.changes.allSatisfy { $0.after.allSatisfy { $0 == TestElement(1, 105) } })
    // A move cancels nothing.
    items.append(3)
    try await transform.waitForStarts([1, TestElement(1, 5), 2, 3])
    items.move(from: 1, to: 0)
    transform.finish(3)
    try await events.wait(forContents: [TestElement(3, 100), TestElement(1, 105)])
    #expect(transform.canceled.snapshot.array == [1, 2])
  }

  @Test func `an element that is updated before its task starts is transformed once`() async throws
  {
    let (items, transform) = (Items([1, 2]), HeldTransform())
    let list = items.mapAsync(concurrency: 1, transform: transform.run)
    let events = RecordingObserver(list)
    try await transform.waitForStarts([1])
    items[1].content = 5
    items[1].content = 6
    transform.finish(1)
    try await transform.waitForStarts([1, TestElement(2, 6)])
    transform.finish(TestElement(2, 6))
    try await events.wait(forContents: [TestElement(1, 100), TestElement(2, 106)])
    #expect(transform.canceled.snapshot.array == [])
    #expect(transform.started.snapshot.count == 2)
  }

  @Test func `an error keeps the old value, is a diagnostic, and stops nothing else`() async throws
  {
    let (items, transform) = (Items([1, 2]), HeldTransform())
    let list = items.mapAsync(concurrency: 4, transform: transform.run)
    let events = RecordingObserver(list)
    let statuses = Property<[SourceStatus]>([])
    let observation = list.observeStatus { status in statuses.modify { $0.append(status) } }
    func waitForStatus(_ count: Int) async {
      for await all in statuses.values() where all.count >= count { return }
    }
    try await transform.waitForStarts([1, 2])
    transform.finish(1)
    transform.finish(2)
    try await events.wait(forContents: [TestElement(1, 100), TestElement(2, 100)])

    items[0].content = 5
    try await transform.waitForStarts([1, 2, TestElement(1, 5)])
    transform.finish(TestElement(1, 5), throwing: SourceError(code: "test", message: "no image"))
    await waitForStatus(2)
    let diagnostic = SourceStatus.Diagnostic(
      code: "failed-transform",
      message: "1 element could not be transformed. The latest error: no image")
    #expect(list.status == SourceStatus(.loaded, diagnostics: [diagnostic]))
    #expect(list.snapshot.array == [TestElement(1, 100), TestElement(2, 100)])

    items[1].content = 6
    try await transform.waitForStarts([1, 2, TestElement(1, 5), TestElement(2, 6)])
    transform.finish(TestElement(2, 6))
    try await events.wait(forContents: [TestElement(1, 100), TestElement(2, 106)])
    // The status of the source and the diagnostic go together.
    items.setStatus(.failed(SourceError(code: "test", message: "broken")))
    await list.flush()
    #expect(list.status.description.hasPrefix("failed: broken; 1 element could not"))
    items.setStatus(.loaded)
    items.remove(at: 0)
    await list.flush()
    #expect(list.status == .loaded)
    #expect(list.snapshot.array == [TestElement(2, 106)])
    try events.check(against: list)
    withExtendedLifetime(observation) {}
  }

  @Test func `after the latest error is gone, the diagnostic has the one before it`() async throws {
    let (items, transform) = (Items((0..<20).map { TestElement($0) }), HeldTransform())
    let list = items.mapAsync(concurrency: 20, transform: transform.run)
    let events = RecordingObserver(list)
    try await transform.waitForStarts((0..<20).map { TestElement($0) })
    func waitForLatest(_ text: String?) async {
      for await status in list.statuses() {
        if text == status.diagnostics.first.map({ String($0.message.suffix(2)) }) { return }
      }
    }
    for id in 0..<20 {
      let name = String(id + 10)
      transform.finish(TestElement(id), throwing: SourceError(code: "test", message: name))
      await waitForLatest(name)
    }
    // Errors in the middle are over without a trace.
    for id in [3, 18, 7] { items.remove(identifiedBy: id) }
    for id in (0..<20).reversed() where ![3, 18, 7].contains(id) {
      await waitForLatest(String(id + 10))
      items.remove(identifiedBy: id)
    }
    await waitForLatest(nil)
    try events.check(against: list)
  }

  @Test func `transforms that never end are named when they keep others waiting`() async throws {
    let (items, transform, clock) = (Items([1, 2, 3]), HeldTransform(), ManualClock())
    let list = items.mapAsync(concurrency: 2, clock: clock, transform: transform.run)
    let events = RecordingObserver(list)
    func waitForStall(_ message: String?) async {
      for await status in list.statuses() {
        let stall = status.diagnostics.first { $0.code == "stalled-transform" }?.message
        if message.map({ stall?.hasPrefix($0) == true }) ?? (stall == nil) { return }
      }
    }
    try await transform.waitForStarts([1, 2])
    clock.advance(by: .seconds(9))
    transform.finish(2)
    try await transform.waitForStarts([1, 2, 3])
    // Nothing waits.
    clock.advance(by: .seconds(100))
    await waitForStall(nil)
    items.append(4)
    items.append(5)
    await list.flush()
    // Canceled, but not over.
    items.remove(at: 0)
    await list.flush()
    clock.advance(by: .seconds(9))
    await waitForStall(nil)
    clock.advance(by: .seconds(1))
    await waitForStall(
      "2 elements wait, because no transform has returned for 10 seconds. "
        + "The first one transforms the element with the identity 1.")
    transform.finish(1)
    await waitForStall(nil)
    try await transform.waitForStarts([1, 2, 3, 4])
    clock.advance(by: .seconds(10))
    await waitForStall(
      "1 element waits, because no transform has returned for 10 seconds. "
        + "The first one transforms the element with the identity 3.")
    transform.finishAll()
    try await transform.waitForStarts([1, 2, 3, 4, 5])
    transform.finishAll()
    await waitForStall(nil)
    // The results come one by one.
    try await wait(for: "all results") { list.count == 4 }
    await list.flush()
    try events.check(against: list)
  }

  @Test func `an update that sets another identity drops the old value`() async throws {
    let (items, transform) = (Items([1]), HeldTransform())
    let list = items.mapAsync(concurrency: 1, transform: transform.run)
    let events = RecordingObserver(list)
    try await transform.waitForStarts([1])
    transform.finish(1)
    try await events.wait(forContents: [TestElement(1, 100)])
    items[0] = 2
    await list.flush()
    #expect(list.snapshot.array == [])
    try await transform.waitForStarts([1, 2])
    transform.finish(2)
    try await events.wait(forContents: [TestElement(2, 100)])
  }

  @Test func `nothing is transformed before the source has loaded`() async throws {
    let (items, transform) = (Items(status: .loading), HeldTransform())
    let list = items.mapAsync(concurrency: 1, transform: transform.run)
    let events = RecordingObserver(list)
    #expect(list.status == .loading)
    #expect(!list.state.hasLoaded)
    items.publish([1], status: .loaded)
    #expect(list.status == .loaded)
    try await transform.waitForStarts([1])
    transform.finish(1)
    try await events.wait(forContents: [TestElement(1, 100)])
  }

  @Test func `releasing the list cancels all tasks`() async throws {
    let (items, transform) = (Items((1...9).map { TestElement($0) }), HeldTransform())
    var leftovers = Leftovers()
    do {
      let list = items.mapAsync(concurrency: 3, transform: transform.run)
      leftovers.add(list, list.node)
      let events = RecordingObserver(list)
      try await transform.waitForStarts([1, 2, 3])
      withExtendedLifetime(events) {}
    }
    #expect(leftovers.count == 0)
    try await transform.waitForCancellations(3)
    transform.finishAll()
    items.append(10)
    #expect(transform.started.snapshot.count == 3)
  }

  @Test(.reaches(.changes), arguments: [1, 3, 100])
  func `after random edits, the results are those of the elements`(concurrency: Int) async throws {
    for seed in UInt64(0)..<20 {
      var editor = RandomEditor(
        seed: seed, size: seed % 5 == 0 ? 200 : 12, allowsDuplicates: seed.isMultiple(of: 2))
      let items = Items(editor.makeElements())
      let running = Shared((now: 0, most: 0))
      let transform: @Sendable (TestElement) async throws -> TestElement = { element in
        running.modify { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        for _ in 0..<element.id % 7 { await Task.yield() }
        running.modify { $0.now -= 1 }
        return TestElement(element.id, element.content + 100)
      }
      let list = items.mapAsync(concurrency: concurrency, transform: transform)
      let filled = items.mapAsync(
        concurrency: concurrency, placeholder: { TestElement($0.id, -1) }, transform: transform)
      let recorders = [RecordingObserver(list, seed: seed), RecordingObserver(filled, seed: seed)]
      for _ in 0..<40 {
        try editor.step(items)
        for _ in 0..<editor.random.below(4) { await Task.yield() }
        await filled.flush()
        #expect(filled.count == items.count)
      }
      let expected = items.snapshot.map { TestElement($0.id, $0.content + 100) }
      for (recorder, list) in zip(recorders, [list, filled]) {
        try await recorder.wait(forContents: expected)
        try recorder.check(against: list)
        Coverage.note(recorder)
      }
      #expect(running.value.most <= 2 * concurrency)
    }
  }
}
