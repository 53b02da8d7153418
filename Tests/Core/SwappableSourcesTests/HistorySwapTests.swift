import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// Histories of containers: rule H2.
@Suite struct HistorySwapTests {
  @Test func `a history of a container goes on when its source is swapped`() {
    let list = SwappableContainer<TestElement>(
      ArrayDataSource([TestElement(1), TestElement(2)]))
    let history = list.history()
    let (token, revision) = (history.token, list.revision)
    list.swap(to: ArrayDataSource([TestElement(2, 5), TestElement(3)]))

    let events = Shared<[CollectionEvent<TestElement>]>([])
    let observation = history.observe(since: token) { events.value.append($0) }
    guard case .change(let change) = events.value.first else {
      Issue.record("the observer did not resume")
      return
    }
    #expect(change.revisionBefore == revision && change.revision == list.revision)
    #expect(
      change.changeset
        == Changeset(deletions: [0], insertions: [1], updates: [.init(from: 1, to: 0)]))
    #expect(history.snapshot(at: revision)?.map(\.id) == [1, 2])
    observation.dispose()
  }
}
