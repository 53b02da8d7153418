import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Explanations and traces while other threads edit.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct LiveGraphConcurrencyTests {
  @Test func `lists are explained, counted and traced while they change`() async throws {
    let (first, second) = (Items([1, 2, 3]), Items([4]))
    let end = first.filter { $0.id > 1 }.concatenated(with: second.map { $0 })
    let total = 500
    let steps = Shared(0)
    let tracing = Task {
      for await step in end.trace() { steps.modify { $0 += 1 + step.droppedCount } }
    }
    let editors = [first, second].map { items in
      Worker { for id in 10..<10 + total { items.append(TestElement(id)) } }
    }
    let explaining = Worker {
      for index in 0..<total {
        let work = end.countWork()
        let observation = end.labeled("\(index)").observe { _ in }
        #expect(end.explain().nodes.count == 5)
        withExtendedLifetime((work, observation)) {}
      }
    }
    for worker in editors + [explaining] { try worker.join() }
    tracing.cancel()
    await tracing.value
    #expect(end.explain().nodes.last?.elementCount == 2 * total + 3)
    #expect(end.explain().nodes.allSatisfy { $0.work == nil })
  }

  @Test func `a graph that changes can be explained`() throws {
    let parents = Items([])
    let child = Items([1])
    let end = parents.flatMap { _ -> Items in child }
    let work = end.countWork()
    let editor = Worker {
      for id in 0..<300 {
        parents.append(TestElement(id))
        child.append(TestElement(id))
        if id % 3 == 0 { parents.removeAll() }
      }
    }
    let explaining = Worker {
      for _ in 0..<300 { #expect((2...3).contains(end.explain().nodes.count)) }
    }
    try editor.join()
    try explaining.join()
    withExtendedLifetime(work) {}
  }
}
