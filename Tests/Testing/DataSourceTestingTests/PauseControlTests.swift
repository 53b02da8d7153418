import DataSourceTesting
import Dispatch
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct PauseControlTests {
  private let control = PauseControl()

  /// Runs something on a thread of its own.
  private func start(_ work: @escaping @Sendable () -> Void) -> DispatchSemaphore {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue(label: "PauseControlTests").async {
      work()
      done.signal()
    }
    return done
  }

  private func waitFor(_ done: DispatchSemaphore) {
    #expect(done.wait(timeout: .now() + 60) == .success)
  }

  @Test func `a committed change is held before it is delivered`() throws {
    let source = ArrayDataSource([1], pauseHook: control.hook)
    let recorder = RecordingObserver(source)
    let pause = control.arm(.committed)
    let done = start { source.append(2) }
    try pause.waitUntilReached()
    #expect(source.count == 2)
    #expect(recorder.eventCount == 1)
    // T7: the initial event has the last delivered contents, and the change follows.
    let late = RecordingObserver(source)
    #expect(late.snapshot.count == 1)
    pause.release()
    waitFor(done)
    try recorder.check(against: source)
    try late.check(against: source)
    #expect(late.eventCount == 2)
  }

  @Test func `the second arrival is held on request`() throws {
    let source = ArrayDataSource([1], pauseHook: control.hook)
    let pause = control.arm(.published, arrival: 2)
    let recorder = RecordingObserver(source)
    source.append(2)
    #expect(!pause.isReached)
    let done = start { source.append(3) }
    try pause.waitUntilReached()
    #expect(recorder.eventCount == 2)
    pause.release()
    waitFor(done)
    try recorder.check(against: source)
  }

  @Test func `only the given thread is held`() throws {
    let source = ArrayDataSource([1], pauseHook: control.hook)
    let other = Locked<Pause?>(nil)
    let isArmed = DispatchSemaphore(value: 0)
    let mayGoOn = DispatchSemaphore(value: 0)
    let done = start { [control] in
      let pause = control.arm(.committed, thread: .current)
      other.withLock { $0 = pause }
      isArmed.signal()
      mayGoOn.wait()
      source.append(3)
    }
    waitFor(isArmed)
    source.append(2)
    let pause = try #require(other.withLock { $0 })
    #expect(!pause.isReached)
    mayGoOn.signal()
    try pause.waitUntilReached()
    pause.release()
    waitFor(done)
    #expect(source.count == 3)
  }

  @Test func `a pause that is released beforehand holds no thread`() {
    let source = ArrayDataSource([1], pauseHook: control.hook)
    control.arm(.committed).release()
    _ = control.arm(.delivered)
    control.releaseAll()
    source.append(2)
    #expect(source.count == 2)
  }

  @Test func `waiting for a thread that does not arrive throws`() {
    let pause = control.arm(.swapFrozen)
    #expect(throws: TimeoutError.self) { try pause.waitUntilReached(timeout: .milliseconds(1)) }
  }
}
