import DataSourceTesting
import ObservableCollections
import SwappableSources
import Testing

/// Containers whose source is swapped while others edit.
@Suite struct SwapScenarios {
  @Test func `a swap beside an edit of each source`() {
    explore(preemptions: 1) { scenario in
      let old = ArrayDataSource([TestElement(1, 0), TestElement(2, 0)])
      let new = ArrayDataSource([TestElement(2, 1), TestElement(3, 0)])
      let container = SwappableContainer(old)
      let follower = Follower<TestElement>(scenario)
      follower.follow(container)
      scenario.thread { container.swap(to: new) }
      scenario.thread { old.append(TestElement(4, 0)) }
      scenario.thread { new.append(TestElement(5, 0)) }
      scenario.finally {
        scenario.expect(
          Array(container.snapshot) == Array(new.snapshot), "S3: a change of the new source is lost")
        try follower.check(against: container)
      }
    }
  }
}
