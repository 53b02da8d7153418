import Dispatch
import ReactiveSignals
import SwappablePrimitives
import Synchronization
import TestSupport
import TestTags
import Testing

/// An event of which only the latest is pending.
private struct Latest: Mergeable {
  typealias Released = Self

  let value: Int
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SchedulerTests {
  private let input = SignalInput<Int>()
  private let work = HeldWork()

  private func told(_ policy: DeliveryPolicy) -> Log<Int> {
    let log = Log<Int>()
    let observation = input.signal.observe(on: work.scheduler, policy: policy) { log.append($0) }
    for value in 1...5 { input.send(value) }
    #expect(log.value == [])
    work.runAll()
    withExtendedLifetime(observation) {}
    return log
  }

  @Test func `only the latest pending value is delivered by default`() {
    #expect(told(.coalesce).value == [5])
  }

  @Test func `the everything policy delivers each value`() {
    #expect(told(.everything).value == [1, 2, 3, 4, 5])
  }

  @Test func `the bounded policy keeps the oldest values and merges the rest`() {
    #expect(told(.bounded(3)).value == [1, 2, 5])
    #expect(told(.bounded(0)).value == [5])
  }

  @Test func `the scheduler has one piece of work at a time`() {
    let log = Log<Int>()
    let (input, work) = (input, work)
    let observation = input.signal.observe(on: work.scheduler) { value in
      log.append(value)
      if value == 2 {
        input.send(3)
        #expect(work.count == 0)
      }
    }
    input.send(1)
    input.send(2)
    #expect(work.count == 1)
    work.runAll()
    #expect(log.value == [2, 3])
    withExtendedLifetime(observation) {}
  }

  @Test func `dispose drops pending values`() {
    let log = Log<Int>()
    let observation = input.signal.observe(on: work.scheduler) { log.append($0) }
    input.send(1)
    observation.dispose()
    work.runAll()
    #expect(log.value == [])
  }

  @Test func `an observer that disposes of itself receives no more values in its turn`() {
    let log = Log<Int>()
    let slot = Locked<Disposable?>(nil)
    let observation = input.signal.observe(on: work.scheduler, policy: .everything) { value in
      log.append(value)
      if value == 2 { slot.withLock { $0 }?.dispose() }
    }
    slot.withLock { $0 = observation }
    for value in 1...4 { input.send(value) }
    work.runAll()
    #expect(log.value == [1, 2])
  }

  @Test func `a slow observer delays no other observer`() {
    let log = Log<Int>()
    let (isInside, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let slow = input.signal.observe(on: .queue(DispatchQueue(label: "slow"))) { _ in
      isInside.signal()
      mayGoOn.wait()
    }
    let fast = input.signal.observe { log.append($0) }
    input.send(1)
    wait(for: isInside)
    input.send(2)
    input.send(3)
    #expect(log.value == [1, 2, 3])
    slow.dispose()
    mayGoOn.signal()
    withExtendedLifetime(fast) {}
  }

  @Test func `calls on a concurrent queue are in order and do not overlap`() {
    let log = Log<Int>()
    let isInside = Atomic<Int>(0)
    let overlaps = Atomic<Int>(0)
    let isDone = DispatchSemaphore(value: 0)
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let observation = input.signal.observe(on: .queue(queue), policy: .everything) { value in
      if isInside.add(1, ordering: .relaxed).newValue != 1 { overlaps.add(1, ordering: .relaxed) }
      log.append(value)
      isInside.subtract(1, ordering: .relaxed)
      if value == 999 { isDone.signal() }
    }
    for value in 0..<1000 { input.send(value) }
    wait(for: isDone)
    #expect(log.value == Array(0..<1000))
    #expect(overlaps.load(ordering: .relaxed) == 0)
    withExtendedLifetime(observation) {}
  }

  @Test func `a scheduler may run work immediately, also reentrantly`() {
    let log = Log<Int>()
    let input = input
    let observation = input.signal.observe(on: DeliveryScheduler { $0() }, policy: .everything) {
      value in
      if value < 3 { input.send(value + 1) }
      log.append(value)
    }
    input.send(1)
    #expect(log.value == [1, 2, 3])
    withExtendedLifetime(observation) {}
  }

  @Test func `an observer on the main actor is called on the main actor`() async {
    let property = Property(1)
    let (values, feed) = AsyncStream<Int>.makeStream()
    let observation = property.observe(on: .mainActor, policy: .everything) { value in
      MainActor.assumeIsolated { _ = feed.yield(value) }
    }
    property.value = 2
    var told: [Int] = []
    for await value in values {
      told.append(value)
      if value == 2 { break }
    }
    #expect(told == [1, 2])
    withExtendedLifetime(observation) {}
  }

  @Test func `signals and properties are observed on the main actor`() async {
    let property = Property(1)
    let (values, feed) = AsyncStream<String>.makeStream()
    @MainActor func receive(_ name: String, _ value: Int) { feed.yield("\(name) \(value)") }
    let observations = [
      property.observeOnMainActor(policy: .everything) { receive("property", $0) },
      property.readOnly.observeOnMainActor { receive("view", $0) },
      property.projection(\.self).observeOnMainActor { receive("projection", $0) },
      property.signal.map { $0 * 10 }.observeOnMainActor { receive("signal", $0) },
    ]
    property.value = 2
    var missing: Set = ["property 1", "property 2", "view 2", "projection 2", "signal 20"]
    for await value in values {
      missing.remove(value)
      if missing.isEmpty { break }
    }
    #expect(missing.isEmpty)
    withExtendedLifetime(observations) {}
  }

  @Test func `an observation on the main actor keeps its property`() {
    weak var observed: Property<Int>?
    let observation: Disposable
    do {
      let property = Property(1)
      observed = property
      observation = property.observeOnMainActor { _ in }
    }
    #expect(observed != nil)
    observation.dispose()
    #expect(observed == nil)
  }

  @Test func `settled waits until pending values are delivered`() async {
    let (log, work) = (Log<Int>(), work)
    let mailbox = Mailbox<Latest>(
      on: { job in Task { job() } }, policy: .everything
    ) { latest, _ in log.append(latest.value) }
    for value in 0..<10 { mailbox.post(Latest(value: value)) }
    await mailbox.settled()
    #expect(log.value == Array(0..<10))
    let closed = Mailbox<Latest>(on: { _ in }, policy: .coalesce) { _, _ in }
    closed.post(Latest(value: 1))
    closed.close()
    await closed.settled()
    #expect(work.count == 0)
  }
}
