import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Testing

/// Lists that several threads edit, observe and flush.
@Suite struct ListScenarios {
  @Test func `two threads edit a list while a third observes, reads and disposes`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0)])
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      early.follow(list)
      scenario.thread { list.append(TestElement(2, 0)) }
      scenario.thread { list.remove(at: 0) }
      scenario.thread {
        late.follow(list)
        _ = list.snapshot
        late.dispose()
      }
      scenario.finally {
        scenario.expect(Array(list.snapshot) == [TestElement(2, 0)], "T3: an edit is lost")
        try early.check(against: list)
        try late.check(against: list)
      }
    }
  }

  @Test func `observers edit their list and another, and dispose of themselves and of others`() {
    explore(preemptions: 2) { scenario in
      let (list, other) = (ArrayDataSource<TestElement>([1]), ArrayDataSource<TestElement>([]))
      let (first, second) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      let onOther = Follower<TestElement>(scenario)
      first.follow(list) { elements in
        guard elements.count == 2 else { return }
        list.append(3)
        other.append(1)
        second.dispose()
      }
      second.follow(list)
      onOther.follow(other) { elements in if elements.count == 2 { onOther.dispose() } }
      scenario.thread { list.append(2) }
      scenario.thread {
        other.append(2)
        other.append(3)
      }
      scenario.finally {
        scenario.expect(list.snapshot.count == 3, "T2: the edit of an observer is lost")
        scenario.expect(other.snapshot.count == 3, "T3: an edit is lost")
        for follower in [first, second] { try follower.check(against: list) }
        try onOther.check(against: other)
      }
    }
  }

  @Test func `a diamond is derived while two threads edit`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 1)])
      let even = list.filter { $0.content % 2 == 0 }
      let odd = list.filter { $0.content % 2 == 1 }
      let all = odd.concatenated(with: even)
      let (diamond, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      diamond.follow(all) { elements in
        scenario.expect(
          Set(elements.map(\.id)).count == elements.count, "T4: an element is in both halves")
      }
      scenario.thread { list.append(TestElement(3, 1)) }
      scenario.thread { list.update(identifiedBy: 1) { $0.content = 1 } }
      scenario.thread {
        let sorted = all.sorted { $0.content < $1.content }
        late.follow(sorted)
        late.dispose()
      }
      scenario.finally {
        scenario.expect(all.snapshot.map(\.id).sorted() == [1, 2, 3], "O1: wrong contents")
        try diamond.check(against: all)
        try late.check(against: all)
      }
    }
  }

  @Test func `flushes wait for commits of other threads and of observers`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let (follower, leaving) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      follower.follow(list) { elements in if elements.count == 2 { list.append(3) } }
      leaving.follow(list)
      scenario.thread { list.append(2) }
      scenario.thread {
        let committed = list.snapshot.count
        list.flushAndWait()
        scenario.expect(
          follower.seen.contains { $0.count >= committed },
          "T5: a flush returns before the observers have what was committed")
      }
      scenario.thread { leaving.disposeAndWait() }
      scenario.finally {
        try follower.check(against: list)
        try leaving.check(against: list)
      }
    }
  }

  @Test func `a flush waits for an observer that joins beside a commit`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let joining = Follower<TestElement>(scenario)
      scenario.thread { joining.follow(list) }
      scenario.thread {
        let hasJoined = !joining.seen.isEmpty
        list.append(2)
        list.flushAndWait()
        scenario.expect(
          !hasJoined || joining.seen.last == [1, 2],
          "T5: a flush returns before an observer that joins has what was committed")
      }
      scenario.finally { try joining.check(against: list) }
    }
  }

  @Test func `a flush of a join waits for the lists above it`() {
    explore(preemptions: 1) { scenario in
      let (one, two) = (ArrayDataSource<TestElement>([1]), ArrayDataSource<TestElement>([2]))
      let both = one.concatenated(with: two)
      let follower = Follower<TestElement>(scenario)
      follower.follow(both)
      scenario.thread { one.append(3) }
      scenario.thread {
        one.append(4)
        both.flushAndWait()
        scenario.expect(
          follower.seen.last?.contains(4) == true,
          "T5: a flush returns before the observers have what was committed above")
      }
      scenario.finally { try follower.check(against: both) }
    }
  }

  @Test func `a throwing transaction beside an edit changes nothing`() {
    explore(preemptions: 2) { scenario in
      let (one, two) = (ArrayDataSource<TestElement>([1]), ArrayDataSource<TestElement>([2]))
      let (first, second) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      first.follow(one)
      second.follow(two)
      scenario.thread {
        do {
          try withTransaction {
            one.append(3)
            two.remove(at: 0)
            throw CancellationError()
          }
        } catch {}
      }
      scenario.thread { one.append(4) }
      scenario.thread { two.append(5) }
      scenario.finally {
        scenario.expect(Array(one.snapshot) == [1, 4], "T1: \(Array(one.snapshot))")
        scenario.expect(Array(two.snapshot) == [2, 5], "T1: \(Array(two.snapshot))")
        try first.check(against: one)
        try second.check(against: two)
      }
    }
  }
}
