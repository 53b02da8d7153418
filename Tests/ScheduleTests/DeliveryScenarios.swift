import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import Testing

/// Observers on a queue, and observers that are slow (T9, T11).
@Suite struct DeliveryScenarios {
  @Test(arguments: [DeliveryPolicy.coalesce, .everything, .bounded(2)])
  func `an observer on a queue receives what two threads commit`(policy: DeliveryPolicy) {
    explore(preemptions: 2, "an observer on a queue, \(policy)") { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let follower = Follower<TestElement>(scenario)
      follower.follow(list, on: scenario.queue(), policy: policy)
      scenario.thread { list.append(2) }
      scenario.thread { list.remove(identifiedBy: 1) }
      scenario.finally {
        try follower.check(against: list)
        if policy == .everything {
          scenario.expect(follower.seen.count == 3, "T9: \(follower.seen.count) events of 3")
        }
      }
    }
  }

  @Test(arguments: [false, true])
  func `an observer on a queue is disposed of while its events are on their way`(waits: Bool) {
    explore(preemptions: 2, "disposal of an observer on a queue, waits: \(waits)") { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let follower = Follower<TestElement>(scenario)
      follower.follow(list, on: scenario.queue(), policy: .everything)
      scenario.thread {
        list.append(2)
        list.append(3)
      }
      scenario.thread { if waits { follower.disposeAndWait() } else { follower.dispose() } }
      scenario.finally { try follower.check(against: list) }
    }
  }

  @Test func `the end of a signal reaches observers of all kinds beside a value`() {
    explore(preemptions: 2) { scenario in
      let signal = SignalInput<Int>()
      let queue = scenario.queue()
      let (direct, queued) = (Values(), Values())
      direct.observation = signal.signal.observe { direct.add($0) }
      queued.observation = signal.signal.observe(
        on: Scheduler { queue.async($0) }, policy: .everything
      ) {
        queued.add($0)
      }
      scenario.thread { signal.send(1) }
      scenario.thread { signal.finish() }
      scenario.finally {
        scenario.expect(direct.all == queued.all, "T9: \(direct.all) and \(queued.all)")
        scenario.expect(direct.all.allSatisfy { $0 == 1 } && direct.all.count < 2, "T3")
      }
    }
  }
}

/// The values that an observer of a signal has received.
final class Values: @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  private(set) var all: [Int] = []
  var observation: Disposable?
  func add(_ value: Int) {
    schedulePoint()
    all.append(value)
  }
}
