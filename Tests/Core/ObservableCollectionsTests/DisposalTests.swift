import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import Synchronization
import TestSupport
import TestTags
import Testing

/// Rule T6.
@Suite(.tags(.concurrency)) struct DisposalConcurrencyTests {
  private let control = PauseControl()
  private let items: Items

  init() {
    items = ArrayDataSource([1], pauseHook: control.hook)
  }

  @Test func `an observer that disposes of itself is not called again`() {
    let count = Shared(0)
    let observation = Shared<Disposable?>(nil)
    observation.value = items.observe { _ in
      count.modify { $0 += 1 }
      observation.value?.dispose()
    }
    items.append(2)
    items.append(3)
    #expect(count.value == 2)
  }

  @Test func `disposeAndWait inside the observer itself returns immediately`() throws {
    let observation = Shared<Disposable?>(nil)
    let returned = Shared(false)
    observation.value = items.observe { _ in
      guard let mine = observation.value else { return }
      mine.disposeAndWait()
      returned.value = true
    }
    try Worker.run { [items] in items.append(2) }
    #expect(returned.value)
  }

  @Test func `an observer that an earlier one disposes of is not called in that pass`() {
    let log = Log<String>([])
    let later = Shared<Disposable?>(nil)
    let first = items.observe { _ in
      log.append("first")
      later.value?.dispose()
    }
    later.value = items.observe { _ in log.append("later") }
    log.value = []
    items.append(2)
    #expect(log.value == ["first"])
    first.dispose()
  }

  @Test func `of two observers that dispose of each other, the first wins`() {
    let log = Log<Int>([])
    let both = Log<Disposable>([])
    for number in 0..<2 {
      both.append(
        items.observe { _ in
          guard both.value.count == 2 else { return }
          log.append(number)
          both.value[1 - number].disposeAndWait()
        })
    }
    items.append(2)
    items.append(3)
    #expect(log.value == [0, 0])
  }

  @Test func `dispose never waits for a pass`() throws {
    let recorder = RecordingObserver(items)
    let held = control.arm(.published)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    try Worker.run { recorder.dispose() }
    held.release()
    try deliverer.join()
    #expect(recorder.eventCount == 1)
  }

  @Test func `disposeAndWait waits for the call in progress`() throws {
    let (inside, go) = (Signpost(), Signpost())
    let ended = Shared(false)
    let observation = items.observe { event in
      guard event.revision == 1 else { return }
      inside.open()
      go.pass()
      ended.value = true
    }
    let deliverer = Worker { [items] in items.append(2) }
    inside.pass()
    let seen = Shared<Bool?>(nil)
    let disposing = Worker {
      observation.disposeAndWait()
      seen.value = ended.value
    }
    #expect(seen.value == nil)
    go.open()
    try disposing.join()
    try deliverer.join()
    #expect(seen.value == true)
  }

  @Test func `disposeAndWait also waits if the observation is already disposed`() throws {
    let (inside, go) = (Signpost(), Signpost())
    let ended = Shared(false)
    let observation = items.observe { event in
      guard event.revision == 1 else { return }
      inside.open()
      go.pass()
      ended.value = true
    }
    let deliverer = Worker { [items] in items.append(2) }
    inside.pass()
    observation.dispose()
    let seen = Shared<Bool?>(nil)
    let began = Signpost()
    let disposing = Worker {
      began.open()
      observation.disposeAndWait()
      seen.value = ended.value
    }
    began.pass()
    go.open()
    try disposing.join()
    try deliverer.join()
    #expect(seen.value == true)
  }

  /// The threads signal their progress with relaxed memory order, so the thread
  /// sanitizer sees only the order that the engine itself establishes.
  @Test func `disposing while a pass of another thread ends does not race with it`() throws {
    final class Progress: Sendable {
      private let step = Atomic<Int>(0)
      func reach(_ number: Int) { step.store(number, ordering: .relaxed) }
      func wait(for number: Int) {
        let limit = DispatchTime.now() + 60
        while step.load(ordering: .relaxed) < number, .now() < limit { sched_yield() }
        #expect(step.load(ordering: .relaxed) >= number)
      }
    }
    let items = Items([1])
    let progress = Progress()
    let observation = items.observe { _ in }
    // It is released at the end of the pass, after the observers of the contents.
    let statusObservation = {
      let token = Token {
        progress.reach(3)
        progress.wait(for: 4)
      }
      return items.observeStatus { status in
        withExtendedLifetime(token) {}
        guard status == .loading else { return }
        progress.reach(1)
        progress.wait(for: 2)
      }
    }()
    let worker = Worker { items.publish([2], status: .loading) }
    progress.wait(for: 1)
    statusObservation.dispose()
    progress.reach(2)
    progress.wait(for: 3)
    observation.dispose()
    progress.reach(4)
    try worker.join()
  }

  @Test func `dispose releases the values that an observer captured`() {
    weak var leftover: Token?
    let observation: Disposable
    do {
      let token = Token()
      leftover = token
      observation = items.observe { _ in _ = token }
    }
    items.append(2)
    #expect(leftover != nil)
    observation.dispose()
    #expect(leftover == nil)
  }

  @Test func `values that an observer captured are released at the end of the pass`() throws {
    weak var leftover: Token?
    let observation: Disposable
    do {
      let token = Token()
      leftover = token
      observation = items.observe { _ in _ = token }
    }
    let held = control.arm(.published)
    let deliverer = Worker { [items] in items.append(2) }
    try held.waitUntilReached()
    observation.dispose()
    held.release()
    try deliverer.join()
    #expect(leftover == nil)
  }

  @Test func `dispose releases captures of a scheduled observer, even if its queue is suspended`() {
    weak var leftover: Token?
    let queue = DispatchQueue(label: "slow")
    queue.suspend()
    let observation: Disposable
    do {
      let token = Token()
      leftover = token
      observation = items.observe(on: .queue(queue)) { _ in _ = token }
    }
    items.append(2)
    observation.dispose()
    #expect(leftover == nil)
    queue.resume()
  }

  @Test func `a scheduled observer is not called after dispose`() async {
    let queue = DispatchQueue(label: "slow")
    queue.suspend()
    let count = Shared(0)
    let observation = items.observe(on: .queue(queue)) { _ in count.modify { $0 += 1 } }
    items.append(2)
    observation.dispose()
    queue.resume()
    queue.sync {}
    #expect(count.value == 0)
  }

  @Test func `disposeAndWait waits for a scheduled call in progress`() throws {
    let (inside, go) = (Signpost(), Signpost())
    let ended = Shared(false)
    let observation = items.observe(on: .queue(DispatchQueue(label: "own"))) { _ in
      inside.open()
      go.pass()
      ended.value = true
    }
    inside.pass()
    let seen = Shared<Bool?>(nil)
    let disposing = Worker {
      observation.disposeAndWait()
      seen.value = ended.value
    }
    go.open()
    try disposing.join()
    #expect(seen.value == true)
  }

  @Test
  func `disposeAndWait inside a scheduled observer returns immediately during a delivery`() throws {
    let observation = Shared<Disposable?>(nil)
    let (kept, returned) = (Signpost(), Signpost())
    observation.value = items.observe(on: .queue(DispatchQueue(label: "own"))) { event in
      guard event.revision == 1 else { return }
      kept.pass()
      observation.value?.disposeAndWait()
      returned.open()
    }
    let blocking = items.observe { event in
      // The pass cannot end before the scheduled observer has returned.
      if event.revision == 1 { returned.pass() }
    }
    let deliverer = Worker { [items] in items.append(2) }
    kept.open()
    try deliverer.join()
    blocking.dispose()
  }

  @Test func `a value that an observer captured may edit and observe when released`() throws {
    let log = Log<String>([])
    let observation = Shared<Disposable?>(nil)
    do {
      let token = Token { [items] in
        items.append(9)
        items.observe { log.append($0.brief) }.dispose()
      }
      observation.value = items.observe { event in
        if event.revision == 1 { observation.exchange(nil)?.dispose() }
        _ = token
      }
    }
    try Worker.run { [items] in items.append(2) }
    #expect(Array(items.snapshot) == [1, 2, 9])
    #expect(log.value.count == 1)
  }

  @Test func `releasing an observation disposes of it`() {
    let count = Shared(0)
    do {
      let observation = items.observe { _ in count.modify { $0 += 1 } }
      items.append(2)
      withExtendedLifetime(observation) {}
    }
    items.append(3)
    #expect(count.value == 2)
  }

  @Test func `releasing a bag disposes of its observations`() {
    let count = Shared(0)
    var bag: DisposeBag? = DisposeBag()
    for _ in 0..<100 {
      if let bag { items.observe { _ in count.modify { $0 += 1 } }.store(in: bag) }
    }
    items.append(2)
    bag = nil
    items.append(3)
    #expect(count.value == 200)
    #expect(bag == nil)
  }
}
