import DataSourceTesting
import ObservableCollections
import Observation
import SwappableSources
import TestSupport
import Testing

/// Rule T10, for containers.
@Suite struct ContainerTrackingTests {
  private let log = Log<String>([])

  private func track(_ name: String, _ read: () -> Void) {
    withObservationTracking(read) { [log] in log.append(name) }
  }

  @Test func `containers track swaps and the changes of their source`() {
    let (one, other) = (Items([1]), Items([1, 2]))
    let container = SwappableContainer<TestElement>(one)
    track("swap") { _ = container.snapshot }
    container.swap(to: other)
    #expect(log.value == ["swap"])
    track("edit") { _ = container.snapshot }
    one.append(5)
    #expect(log.value == ["swap"])
    other.append(3)
    #expect(log.value == ["swap", "edit"])
  }

  @Test func `a swap that changes nothing is not reported`() {
    let container = SwappableContainer<TestElement>(Items([1, 2]))
    let outer = SwappableContainer<TestElement>(container)
    track("container") { _ = container.state }
    track("outer") { _ = outer.state }
    container.swap(to: Items([1, 2]))
    outer.swap(to: container)
    outer.swap(to: Items([1, 2]))
    #expect(log.value == [])
  }

  @Test func `a swap to a loading source is reported when the source has loaded`() {
    let container = SwappableContainer<TestElement>(Items([1]))
    let late = Items([], status: .loading)
    let counts = Log<Int>([])
    withObservationTracking {
      _ = container.snapshot
    } onChange: {
      counts.append(container.snapshot.count)
    }
    container.swap(to: late)
    #expect(counts.value == [])
    late.publish([1, 2, 3], status: .loaded)
    #expect(counts.value == [3])
  }

  @Test func `collections derived from containers are tracked`() {
    let source = Items([1])
    let container = SwappableContainer<TestElement>(source)
    let outer = SwappableContainer<TestElement>(container)
    let even = outer.filter { $0.id % 2 == 0 }
    let both = container.concatenated(with: even)
    track("outer") { _ = outer.snapshot }
    track("even") { _ = even.snapshot }
    track("both") { _ = both.snapshot }
    track("status") { _ = both.status }
    source.append(3)
    #expect(log.value.sorted() == ["both", "outer"])
    source.append(4)
    #expect(log.value.sorted() == ["both", "even", "outer"])
    source.setStatus(.loading)
    #expect(log.value.last == "status")
  }
}
