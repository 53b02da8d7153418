import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import Testing

/// Transactions over several lists, and what is derived from them (T12).
@Suite struct TransactionScenarios {
  @Test func `a transaction over two lists is one event of a join, beside an edit and a subscription`() {
    explore(preemptions: 1) { scenario in
      let (one, two) = (ArrayDataSource<TestElement>([1]), ArrayDataSource<TestElement>([2]))
      let both = one.concatenated(with: two)
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      @Sendable func isWhole(_ elements: [TestElement]) -> Bool {
        elements.contains(3) == elements.contains(4)
      }
      for follower in [early, late] where follower === early {
        follower.follow(both) { scenario.expect(isWhole($0), "T12: half a transaction: \($0)") }
      }
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
      scenario.thread {
        withTransaction {
          one.append(3)
          two.append(4)
        }
      }
      scenario.thread {
        let both = one.concatenated(with: two)
        follower.follow(both) { elements in
          scenario.expect(
            elements.contains(3) == elements.contains(4), "T12: half a transaction: \(elements)")
        }
      }
      scenario.finally {}
    }
  }
}
