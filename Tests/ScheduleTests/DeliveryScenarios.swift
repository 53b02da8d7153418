import DataSourceTesting
import Diffing
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

  @Test func `an observer on a concurrent queue receives one change after the other`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let follower = Follower<TestElement>(scenario)
      follower.follow(list, on: scenario.queue(), scenario.queue(), policy: .everything)
      scenario.thread { list.append(2) }
      scenario.thread { list.remove(identifiedBy: 1) }
      scenario.finally { try follower.check(against: list) }
    }
  }

  @Test func `an observer on a queue is disposed of while merged changes are compared`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([ComparedElement(id: 1)])
      let follower = Follower<ComparedElement>(scenario)
      follower.follow(list, on: scenario.queue(), policy: .coalesce)
      scenario.thread {
        list.update(identifiedBy: 1) { $0.content = 1 }
        list.update(identifiedBy: 1) { $0.content = 2 }
      }
      scenario.thread { follower.dispose() }
      scenario.finally { try follower.check(against: list) }
    }
  }

  @Test func `an observer of a signal on a queue is disposed of while its values are on their way`()
  {
    explore(preemptions: 2) { scenario in
      let signal = SignalInput<Int>()
      let follower = ValueFollower<Int>(scenario)
      follower.follow(signal, on: scenario.queue())
      scenario.thread {
        signal.send(1)
        signal.send(2)
      }
      scenario.thread { follower.dispose() }
      scenario.finally {
        scenario.expect([1, 2].starts(with: follower.seen), "T9: the values are \(follower.seen)")
      }
    }
  }

  @Test func `disposal waits for calls of an observer that was disposed of before`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let (direct, queued) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      direct.follow(list)
      queued.follow(list, on: scenario.queue(), policy: .everything)
      scenario.thread { list.append(2) }
      scenario.thread {
        for follower in [direct, queued] {
          follower.dispose()
          follower.disposeAndWait()
        }
      }
      scenario.finally { for follower in [direct, queued] { try follower.check(against: list) } }
    }
  }

  @Test func `the end of a signal reaches observers of all kinds beside a value`() {
    explore(preemptions: 2) { scenario in
      let signal = SignalInput<Int>()
      let queue = scenario.queue()
      let (direct, queued) = (Values(), Values())
      direct.observation = signal.signal.observe { direct.add($0) }
      queued.observation = signal.signal.observe(
        on: DeliveryScheduler { queue.async($0) }, policy: .everything
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

/// An element whose comparison is a step.
private struct ComparedElement: Differentiable, Equatable, Sendable {
  let id: Int
  var content = 0
  var differenceIdentifier: Int { id }

  func isContentEqual(to source: ComparedElement) -> Bool {
    schedulePoint()
    return content == source.content
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
