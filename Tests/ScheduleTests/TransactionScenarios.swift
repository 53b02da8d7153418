import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Transactions over several lists, and what is derived from them (T12).
@Suite struct TransactionScenarios {
  @Test func `a transaction over two lists is one event of a join, beside an edit`() {
    explore(preemptions: 1) { scenario in
      let (one, two) = (ArrayDataSource<TestElement>([1]), ArrayDataSource<TestElement>([2]))
      let both = one.concatenated(with: two)
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      @Sendable func isWhole(_ elements: [TestElement]) -> Bool {
        elements.contains(3) == elements.contains(4)
      }
      early.follow(both) { scenario.expect(isWhole($0), "T12: half a transaction: \($0)") }
      scenario.thread {
        withTransaction {
          one.append(3)
          two.append(4)
        }
      }
      scenario.thread { one.append(5) }
      scenario.thread {
        late.follow(both) { scenario.expect(isWhole($0), "T12: half a transaction: \($0)") }
      }
      scenario.finally {
        scenario.expect(both.snapshot.count == 5, "O1: an element is missing")
        try early.check(against: both)
        try late.check(against: both)
      }
    }
  }

  @Test func `an operator that is created beside a transaction over its inputs`() {
    explore(preemptions: 1) { scenario in
      let (one, two) = (ArrayDataSource<TestElement>([1]), ArrayDataSource<TestElement>([2]))
      let follower = Follower<TestElement>(scenario)
      let joined = Shared<LiveCollection<TestElement>?>(nil)
      scenario.thread {
        withTransaction {
          one.append(3)
          two.append(4)
        }
      }
      scenario.thread {
        let both = one.concatenated(with: two)
        joined.value = both
        follower.follow(both)
      }
      scenario.finally {
        guard let both = joined.value else { return }
        // It may begin with one part, or receive each part as an event, as the contract says. No part is lost.
        let parts = follower.seen.map { Set($0).subtracting([1, 2]) }
        for (part, next) in zip(parts, parts.dropFirst()) {
          scenario.expect(part.isStrictSubset(of: next), "T12: \(follower.seen)")
        }
        scenario.expect(Array(both.snapshot) == [1, 3, 2, 4], "O1: \(Array(both.snapshot))")
        try follower.check(against: both)
      }
    }
  }
}
