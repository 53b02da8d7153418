import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Chains of many domains, on a thread with as little stack as secondary threads have on Apple platforms.
@Suite(.tags(.concurrency)) struct LongChainTests {
  @Test func `ten thousand lists that are joined one by one`() async {
    await #expect(processExitsWith: .success) {
      try Worker.run(stackSize: 512 << 10) {
        let lists = (0..<10_000).map { _ in ArrayDataSource<TestElement>() }
        let all = lists.dropFirst().reduce(lists[0].collection) { $0.concatenated(with: $1) }
        let events = RecordingObserver(all)
        lists[0].append(1)
        lists[9_999].append(2)
        lists[5_000].append(3)
        precondition(events.changes.count == 3 && all.snapshot.map(\.id) == [1, 3, 2])
        precondition(events.violations.isEmpty)
      }
    }
  }

  @Test func `ten thousand containers inside each other`() async {
    await #expect(processExitsWith: .success) {
      try Worker.run(stackSize: 512 << 10) {
        let items = ArrayDataSource<TestElement>([1])
        var last = SwappableContainer<TestElement>(items)
        for _ in 1..<10_000 { last = SwappableContainer(last) }
        let events = RecordingObserver(last)
        items.append(2)
        let (statuses, status) = (Log<SourceStatus.State>([]), SourceStatus.State.loading)
        let observation = last.observeStatus { statuses.append($0.state) }
        items.setStatus(.loading)
        precondition(events.changes.count == 1 && statuses.value == [.loaded, status])
        last.swap(to: ArrayDataSource<TestElement>([3]))
        precondition(events.changes.count == 2 && last.snapshot.map(\.id) == [3])
        withExtendedLifetime(observation) {}
      }
    }
  }

  @Test func `a transaction over both ends of a chain`() async {
    await #expect(processExitsWith: .success) {
      try Worker.run(stackSize: 512 << 10) {
        let (items, other) = (ArrayDataSource<TestElement>([1]), ArrayDataSource<TestElement>([]))
        var containers = SwappableContainer<TestElement>(items)
        for _ in 1..<1_000 { containers = SwappableContainer(containers) }
        var joins = items.concatenated(with: other)
        for _ in 1..<1_000 { joins = joins.concatenated(with: ArrayDataSource<TestElement>()) }
        let all = other.concatenated(with: containers, joins)
        let events = RecordingObserver(all)
        withTransaction {
          other.append(TestElement(3, 3))
          items.append(TestElement(2, 2))
        }
        precondition(events.changes.count == 1 && all.count == 6)
      }
    }
  }

  @Test func `observers of domains downstream are called first, one domain after another`() {
    let (items, log) = (ArrayDataSource<TestElement>([]), Log<String>([]))
    let one = SwappableContainer<TestElement>(items)
    let two = SwappableContainer<TestElement>(items)
    let below = SwappableContainer<TestElement>(one)
    let both = below.concatenated(with: two)
    let lists: [(String, any DataSource<TestElement>)] = [
      ("items", items), ("one", one), ("two", two), ("below", below), ("both", both),
    ]
    let observations = lists.map { name, list in
      list.observe { event in if case .change = event { log.append(name) } }
    }
    items.append(1)
    #expect(log.value == ["below", "one", "both", "two", "items"])
    withExtendedLifetime(observations) {}
  }
}
