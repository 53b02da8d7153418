import DataSourceTesting
import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Rules S3 to S5: events at each point of a swap.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SwapConcurrencyTests {
  static let points = [PausePoint.swapAttached, .swapFrozen, .swapComputed]

  private let control = PauseControl()
  private let old = Source([1, 2, 3])
  private let new = Source([3, 4])
  private let container: Container
  private let recorder: RecordingObserver<TestElement>

  init() {
    container = SwappableContainer(old, pauseHook: control.hook)
    recorder = RecordingObserver(container)
  }

  /// Swaps on a new thread, holds it at a point, runs a closure, and lets the thread continue.
  private func hold(
    at point: PausePoint, swapping source: (any DataSource<TestElement>)? = nil,
    while body: (SwapProbe) throws -> Void
  ) throws -> SwapHandle.Outcome? {
    let probe = SwapProbe()
    let held = control.arm(point)
    let source = source ?? new
    let swapping = Worker { [container] in
      let handle = container.swap(to: source)
      probe.handle.value = handle
    }
    try held.waitUntilReached()
    try body(probe)
    held.release()
    try swapping.join()
    return probe.handle.value?.outcomeIfKnown
  }

  final class SwapProbe: Sendable {
    let handle = Shared<SwapHandle?>(nil)
  }

  private func checkEnd(_ source: any DataSource<TestElement>) throws {
    #expect(container.source === source)
    #expect(container.snapshot.hasSameContents(as: source.snapshot))
    for changed in [old, new] {
      let count = recorder.eventCount
      changed.append(99)
      #expect(recorder.eventCount == count + (changed === source ? 1 : 0))
    }
    try recorder.check(against: container)
  }

  @Test(arguments: points)
  func `changes of the new source during the swap are not lost`(point: PausePoint) throws {
    let outcome = try hold(at: point) { _ in
      new.append(5)
      new.remove(at: 0)
    }
    #expect(outcome == .swapped)
    #expect(Array(container.snapshot) == [4, 5])
    try checkEnd(new)
  }

  @Test(arguments: points)
  func `a status of the new source during the swap is not lost`(point: PausePoint) throws {
    let error = SourceError(code: "gone", message: "it is gone")
    let source = Items([7])
    let outcome = try hold(at: point, swapping: source) { _ in source.setStatus(.failed(error)) }
    #expect(outcome == .swapped)
    #expect(container.status == .failed(error))
    source.publish([7, 8], status: .loaded)
    #expect(Array(container.snapshot) == [7, 8] && container.status == .loaded)
    try recorder.check(against: container)
  }

  @Test func `the old source stays live until the difference begins`() throws {
    _ = try hold(at: .swapAttached) { _ in
      old.append(9)
      #expect(recorder.events.last?.brief == "0-1:[1, 2, 3, 9]")
    }
    #expect(recorder.events.last?.brief == "1-2:[3, 4]")
    try checkEnd(new)
  }

  @Test(arguments: [PausePoint.swapFrozen, .swapComputed])
  func `changes of the old source during the difference are ignored if the swap commits`(
    point: PausePoint
  ) throws {
    _ = try hold(at: point) { _ in
      old.append(9)
      old.remove(at: 0)
      #expect(recorder.eventCount == 1)
    }
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[3, 4]"])
    try checkEnd(new)
  }

  @Test(arguments: points)
  func `a swap that is superseded shows nothing`(point: PausePoint) throws {
    let third = Source([8])
    let outcome = try hold(at: point) { _ in
      #expect(container.swap(to: third).outcomeIfKnown == .swapped)
      #expect(Array(container.snapshot) == [8])
    }
    #expect(outcome == .superseded)
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[8]"])
    try checkEnd(third)
  }

  @Test(arguments: points)
  func `a swap superseded by one that loads leaves the old source live`(point: PausePoint) throws {
    let third = LazySource()
    let outcome = try hold(at: point) { _ in
      old.append(9)
      container.swap(to: third)
      // Updates that were pending during the difference are applied immediately.
      #expect(Array(container.snapshot) == [1, 2, 3, 9])
      old.append(10)
      #expect(Array(container.snapshot) == [1, 2, 3, 9, 10])
    }
    #expect(outcome == .superseded)
    third.load([8])
    #expect(Array(container.snapshot) == [8])
    try recorder.check(against: container)
    try checkEnd(third)
  }

  @Test(arguments: points)
  func `a swap back to the current source applies changes made during the difference`(
    point: PausePoint
  ) throws {
    let outcome = try hold(at: point) { _ in
      old.append(9)
      #expect(container.swap(to: old).outcomeIfKnown == .unchanged)
    }
    #expect(outcome == .superseded)
    #expect(Array(container.snapshot) == [1, 2, 3, 9])
    try checkEnd(old)
  }

  @Test(arguments: points) func `the same swap again shares the outcome`(point: PausePoint) throws {
    var shared: SwapHandle?
    let outcome = try hold(at: point) { _ in shared = container.swap(to: new) }
    #expect(outcome == .swapped)
    #expect(shared?.outcomeIfKnown == .swapped)
    try checkEnd(new)
  }

  @Test(arguments: points)
  func `a swap that is canceled while in progress leaves the old source`(point: PausePoint) throws {
    var shared: SwapHandle?
    let outcome = try hold(at: point) { _ in
      old.append(9)
      // A swap to the same source returns the handle of the open swap.
      shared = container.swap(to: new)
      shared?.cancel()
      old.append(10)
    }
    #expect(outcome == .cancelled && shared?.outcomeIfKnown == .cancelled)
    #expect(Array(container.snapshot) == [1, 2, 3, 9, 10])
    try checkEnd(old)
  }

  @Test func `a source that loads while it is attached is shown`() throws {
    let source = LazySource()
    let outcome = try hold(at: .swapAttached, swapping: source) { _ in source.load([7, 8]) }
    #expect(outcome == .swapped)
    #expect(Array(container.snapshot) == [7, 8])
    try recorder.check(against: container)
  }

  @Test func `a source that fails while it is attached is released`() throws {
    let error = SourceError(code: "gone", message: "it is gone")
    let source = LazySource()
    let outcome = try hold(at: .swapAttached, swapping: source) { _ in
      source.contents.setStatus(.missing(error))
    }
    #expect(outcome == .failed(error))
    try checkEnd(old)
  }

  @Test(arguments: points)
  func `a swap can be superseded while its source loads`(point: PausePoint) throws {
    if point == .swapAttached { return }
    let source = LazySource()
    let handle = container.swap(to: source)
    let held = control.arm(point)
    let loading = Worker { source.load([7]) }
    try held.waitUntilReached()
    old.append(9)
    let third = Source([8])
    container.swap(to: third)
    held.release()
    try loading.join()
    #expect(handle.outcomeIfKnown == .superseded)
    #expect(recorder.events.last?.brief.hasSuffix("[8]") == true)
    try checkEnd(third)
  }

  @Test func `an edit while a swap loads comes before the swap that supersedes it`() throws {
    let loading = container.swap(to: LazySource())
    old.append(9)
    let third = Source([8])
    container.swap(to: third)
    #expect(loading.outcomeIfKnown == .superseded)
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[1, 2, 3, 9]", "1-2:[8]"])
    try checkEnd(third)
  }

  @Test func `an edit of a source that arrives after another one is shown is ignored`() throws {
    let late = ArrayDataSource([1, 2, 3].map { TestElement($0) }, pauseHook: control.hook)
    container.swap(to: late)
    let held = control.arm(.published)
    let editing = Worker { late.append(TestElement(9)) }
    try held.waitUntilReached()
    let count = recorder.eventCount
    let third = Source([8])
    container.swap(to: third)
    held.release()
    try editing.join()
    #expect(recorder.events[count...].map { "\($0.brief)".suffix(3) } == ["[8]"])
    try checkEnd(third)
  }

  @Test func `a source made from an unloaded one takes effect, even if it fails meanwhile`()
    throws
  {
    let slow = LazySource()
    let container = SwappableContainer(slow, pauseHook: control.hook)
    let derived = slow.filter { _ in true }
    let held = control.arm(.swapAttached)
    let probe = SwapProbe()
    let swapping = Worker { probe.handle.value = container.swap(to: derived) }
    try held.waitUntilReached()
    slow.contents.setStatus(.failed(SourceError(code: "gone", message: "it is gone")))
    held.release()
    try swapping.join()
    #expect(probe.handle.value?.outcomeIfKnown == .unchanged)
    #expect(container.source === derived)
  }

  @Test(arguments: points)
  func `observers come and go, and operators are created, during a swap`(point: PausePoint) throws {
    var late: [RecordingObserver<TestElement>] = []
    var derived: LiveCollection<TestElement>?
    _ = try hold(at: point) { _ in
      late.append(RecordingObserver(container))
      container.observe { _ in }.disposeAndWait()
      derived = container.filter { $0.id != 3 }
      derived.map { late.append(RecordingObserver($0)) }
      old.append(9)
      new.append(5)
    }
    #expect(derived?.snapshot.map(\.id) == [4, 5])
    for recorder in late { try recorder.check() }
    #expect(late[1].snapshot.map(\.id) == [4, 5])
    try checkEnd(new)
  }

  @Test(arguments: points) func `a new source of a staged container is followed`(point: PausePoint)
    throws
  {
    let inner = Container(new)
    let outcome = try hold(at: point, swapping: inner) { _ in inner.swap(to: Source([6, 7])) }
    #expect(outcome == .swapped)
    #expect(Array(container.snapshot) == [6, 7])
    try recorder.check(against: container)
  }

  @Test(arguments: points) func `a source in a transaction does not hold up the swap`(
    point: PausePoint
  ) throws {
    let (inside, go) = (Signpost(), Signpost())
    let editing = Worker { [new] in
      new.transaction { draft in
        draft.append(5)
        inside.open()
        go.pass()
      }
    }
    inside.pass()
    _ = try hold(at: point) { _ in }
    #expect(Array(container.snapshot) == [3, 4])
    go.open()
    try editing.join()
    #expect(Array(container.snapshot) == [3, 4, 5])
    try checkEnd(new)
  }

  @Test(arguments: points, [false, true])
  func `a container released during its swap decides the outcome`(point: PausePoint, loads: Bool)
    throws
  {
    if loads && point == .swapAttached { return }
    let control = PauseControl()
    let handle = Shared<SwapHandle?>(nil)
    let source = LazySource()
    if !loads { source.load([7]) }
    weak var leftover: LiveCollection<TestElement>?
    let held: Pause
    let working: Worker
    do {
      let container = SwappableContainer<TestElement>(old, pauseHook: control.hook)
      leftover = container.collection
      if loads { handle.value = container.swap(to: source) }
      held = control.arm(point)
      working = Worker { [weak container] in
        if loads { source.load([7]) } else { handle.value = container?.swap(to: source) }
      }
      try held.waitUntilReached()
    }
    held.release()
    try working.join()
    #expect(leftover == nil)
    #expect(handle.value?.outcomeIfKnown != nil)
    #expect(!source.collection.node.isFollowed)
  }

  @Test func `releasing a container cancels its staged swap`() async {
    let source = LazySource()
    let handle: SwapHandle
    do {
      let container = Container(old)
      handle = container.swap(to: source)
    }
    #expect(await handle.outcome == .cancelled)
  }

  @Test func `swaps of two containers into each other make no cycle`() throws {
    for _ in 0..<200 {
      let (one, other) = (Container(old), Container(new))
      let handles = Log<SwapHandle.Outcome?>([])
      let workers = [
        Worker { handles.append(one.swap(to: other).outcomeIfKnown) },
        Worker { handles.append(other.swap(to: one.filter { _ in true }).outcomeIfKnown) },
      ]
      for worker in workers { try worker.join() }
      #expect(handles.value.count { $0 == .cycle } == 1)
      #expect(handles.value.count { $0 == .swapped } == 1)
    }
  }

  @Test func `a swap does not wait for a delivery of the container`() throws {
    let held = control.arm(.published)
    let editing = Worker { [old] in old.append(9) }
    try held.waitUntilReached()
    let outcome = Shared<SwapHandle.Outcome?>(nil)
    try Worker.run { [container, new] in
      outcome.value = container.swap(to: new).outcomeIfKnown
    }
    #expect(outcome.value == .swapped)
    #expect(Array(container.snapshot) == [3, 4])
    #expect(recorder.eventCount == 1)
    held.release()
    try editing.join()
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[1, 2, 3, 9]", "1-2:[3, 4]"])
    try checkEnd(new)
  }

  @Test(arguments: [PausePoint.swapFrozen, .swapComputed], [false, true])
  func `a flush waits for a difference that is being computed`(point: PausePoint, isCancelled: Bool)
    throws
  {
    let handle = Shared<SwapHandle?>(nil)
    let seen = Shared<String?>(nil)
    var flushing: Worker?
    let began = Signpost()
    _ = try hold(at: point) { _ in
      old.append(9)
      if isCancelled { handle.value = container.swap(to: new) }
      flushing = Worker { [container, recorder] in
        began.open()
        container.flushAndWait()
        seen.value = recorder.snapshot.description
      }
      began.pass()
      #expect(seen.value == nil)
      handle.value?.cancel()
    }
    try flushing?.join()
    #expect(seen.value == (isCancelled ? "[1, 2, 3, 9]" : "[3, 4]"))
  }

  @Test func `a flush inside a comparison of a swap traps`() async {
    await #expect(processExitsWith: .failure) {
      let container = Shared<SwappableContainer<Meddler>?>(nil)
      let meddle: @Sendable () -> Void = { container.value?.flushAndWait() }
      container.value = SwappableContainer(ArrayDataSource([Meddler(id: 1)]))
      container.value?.swap(to: ArrayDataSource([Meddler(id: 1, meddle: meddle)]))
    }
  }
}
