import DataSourceTesting
import Dispatch
import ReactiveSignals
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ReceiveTests {
  private let input = SignalInput<Int>()
  private let work = HeldWork()

  @Test(arguments: [
    (DeliveryPolicy.coalesce, [50, -1]), (.everything, [10, 20, 30, 40, 50, -1]),
    (.bounded(3), [10, 20, 50, -1]),
  ])
  func `values are sent on the scheduler by the policy`(policy: DeliveryPolicy, told: [Int]) {
    let log = Log<Int>()
    let observation = input.signal.receive(on: work.scheduler, policy: policy).map { $0 * 10 }
      .observe {
        log.append($0)
      } onCompletion: {
        log.append(-1)
      }
    for value in 1...5 { input.send(value) }
    input.finish()
    #expect(log.value == [])
    work.runAll()
    #expect(log.value == told)
    withExtendedLifetime(observation) {}
  }

  @Test func `a received property remembers the last value that was sent`() {
    let property = Property(1)
    let signal = property.signal.receive(on: work.scheduler)
    let log = Log<Int>()
    let early = signal.observe { log.append($0) }
    #expect(log.value == [])
    work.runAll()
    property.value = 2
    let late = signal.observe { log.append($0 * 10) }
    work.runAll()
    #expect(log.value == [1, 10, 2, 20])
    withExtendedLifetime([early, late]) {}
  }

  @Test func `operators of a signal on the main actor run there, too`() async {
    let signal = input.signal.receive(on: .mainActor, policy: .everything).map { value in
      MainActor.assumeIsolated { value * 10 }
    }
    var iterator = signal.values(policy: .everything).makeAsyncIterator()
    for value in 1...3 { input.send(value) }
    var values: [Int] = []
    while values.last != 30, let value = await iterator.next() { values.append(value) }
    #expect(values == [10, 20, 30])
  }

  @Test func `releasing the observation drops and releases pending values`() {
    weak var captured: Token?
    let log = Log<Int>()
    do {
      let token = Token()
      captured = token
      let observation = input.signal.receive(on: work.scheduler).map { value in
        withExtendedLifetime(token) {}
        return value
      }.observe { log.append($0) }
      input.send(1)
      withExtendedLifetime(observation) {}
    }
    #expect(captured == nil)
    work.runAll()
    #expect(log.value == [])
  }
}
