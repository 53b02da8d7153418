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

  @Test func containersTrackSwapsAndWhatTheirSourceDoes() {
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
}
