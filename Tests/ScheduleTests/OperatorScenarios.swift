import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import Testing

/// Operators whose parameters, groups and timers change beside edits.
@Suite struct OperatorScenarios {
  // MARK: Parameters

  @Test func `a parameter is set beside an edit and a subscription`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 1)])
      let parity = Property(0)
      let shown = list.filter(by: parity) { $0.content % 2 == $1 }
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      for follower in [early, late] where follower === early { follower.follow(shown) }
      @Sendable func check(_ elements: [TestElement]) {
        scenario.expect(
          Set(elements.map { $0.content % 2 }).count < 2, "O6: two parameters: \(elements)")
      }
      scenario.thread { list.append(TestElement(3, 1)) }
      scenario.thread { parity.value = 1 }
      scenario.thread { late.follow(shown, then: check) }
      scenario.finally {
        scenario.expect(shown.snapshot.map(\.id) == [2, 3], "O6: \(Array(shown.snapshot))")
        early.seen.forEach(check)
        try early.check(against: shown)
        try late.check(against: shown)
      }
    }
  }

  @Test func `an operator with a parameter is created beside an edit and a new value`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 1)])
      let parity = Property(0)
      let follower = Follower<TestElement>(scenario)
      scenario.thread { list.append(TestElement(3, 1)) }
      scenario.thread { parity.value = 1 }
      scenario.thread { follower.follow(list.filter(by: parity) { $0.content % 2 == $1 }) }
      scenario.finally {
        scenario.expect(follower.seen.last?.map(\.id) == [2, 3], "O6: \(follower.seen)")
        try follower.check(against: list.filter { $0.content == 1 })
      }
    }
  }

  @Test func `a transaction over a list and a parameter is one event, beside an edit`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 1)])
      let parity = Property(0)
      let shown = list.filter(by: parity) { $0.content % 2 == $1 }
      let follower = Follower<TestElement>(scenario)
      follower.follow(shown)
      scenario.thread {
        withTransaction {
          list.append(TestElement(3, 1))
          parity.value = 1
        }
      }
      scenario.thread { list.append(TestElement(4, 1)) }
      scenario.finally {
        let orders = [[[1], [2, 3], [2, 3, 4]], [[1], [2, 4, 3]]]
        let seen = follower.seen.map { $0.map(\.id) }
        scenario.expect(orders.contains(seen), "T12: \(seen)")
        try follower.check(against: shown)
      }
    }
  }

  @Test func `a window that follows an element moves beside an insertion before it`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource<TestElement>([1, 2, 3, 4, 5])
      let anchor = Property<Int?>(2)
      let window = list.window(around: anchor, before: 1, after: 1)
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      early.follow(window)
      scenario.thread { list.insert(9, at: 1) }
      scenario.thread { anchor.value = 4 }
      scenario.thread {
        late.follow(window)
        late.dispose()
      }
      scenario.finally {
        let seen = early.seen.map { $0.map(\.id) }
        scenario.expect(
          [[[1, 2, 3], [9, 2, 3], [3, 4, 5]], [[1, 2, 3], [3, 4, 5]]].contains(seen), "O6: \(seen)")
        try early.check(against: window)
        try late.check(against: window)
      }
    }
  }

  @Test func `a window of offsets moves beside an insertion before it`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource<TestElement>([1, 2, 3, 4, 5])
      let range = Property(0..<2)
      let window = list.window(range)
      let follower = Follower<TestElement>(scenario)
      follower.follow(window)
      scenario.thread { list.insert(9, at: 0) }
      scenario.thread { range.value = 2..<4 }
      scenario.thread { list.remove(identifiedBy: 1) }
      scenario.finally {
        scenario.expect(window.snapshot.map(\.id) == [3, 4], "O6: \(Array(window.snapshot))")
        try follower.check(against: window)
      }
    }
  }

  // MARK: Groups

  @Test func `the first observer of a key comes beside the edit that empties it`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 1)])
      let index = list.indexed { $0.content }
      let follower = Follower<TestElement>(scenario)
      scenario.thread { list.remove(identifiedBy: 2) }
      scenario.thread { list.append(TestElement(3, 1)) }
      scenario.thread { follower.follow(index[1]) }
      scenario.finally {
        scenario.expect(index[1].snapshot.map(\.id) == [3], "X4: \(Array(index[1].snapshot))")
        try follower.check(against: index[1])
      }
    }
  }

  @Test func `a held collection of a key is emptied and filled again`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 1)])
      let index = list.indexed { $0.content }
      let held = index[1]
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      early.follow(held)
      scenario.thread {
        list.remove(identifiedBy: 2)
        list.append(TestElement(3, 1))
      }
      scenario.thread {
        let other = index[1]
        scenario.expect(other === held, "X4: two collections of one key")
        late.follow(other)
        late.dispose()
      }
      scenario.thread { list.update(identifiedBy: 1) { $0.content = 1 } }
      scenario.finally {
        scenario.expect(held.snapshot.map(\.id) == [1, 3], "X4: \(Array(held.snapshot))")
        try early.check(against: held)
        try late.check(against: held)
      }
    }
  }

  @Test func `two threads ask for the collection of a key while it is filled`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0)])
      let index = list.indexed { $0.content }
      let (one, two) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      final class Held: @unchecked Sendable { var collections: [LiveCollection<TestElement>] = [] }
      let held = Held()
      for follower in [one, two] {
        scenario.thread {
          let collection = index[1]
          held.collections.append(collection)
          follower.follow(collection)
        }
      }
      scenario.thread { list.append(TestElement(2, 1)) }
      scenario.finally {
        scenario.expect(
          held.collections[0] === held.collections[1], "X4: two collections of one key")
        for follower in [one, two] { try follower.check(against: held.collections[0]) }
        scenario.expect(held.collections[0].snapshot.map(\.id) == [2], "X4: an element is missing")
      }
    }
  }

  @Test func `a list of groups whose elements are observed beside edits`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 1)])
      let groups = list.grouped { $0.content }
      let elements = Follower<TestElement>(scenario)
      let group = groups[1]
      scenario.thread { list.remove(identifiedBy: 2) }
      scenario.thread { list.append(TestElement(3, 1)) }
      scenario.thread { elements.follow(group.elements) }
      scenario.finally {
        scenario.expect(
          groups.snapshot.map(\.key).sorted() == [0, 1], "X4: \(groups.snapshot.map(\.key))")
        try elements.check(against: group.elements)
      }
    }
  }

  // MARK: Timers

  @Test func `elements expire beside an update that renews`() {
    explore(preemptions: 2) { scenario in
      let clock = ScheduledClock()
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 0)])
      let shown = list.expiring(after: .seconds(5), renewsOnUpdate: true, clock: clock)
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      early.follow(shown)
      scenario.thread {
        clock.advance(by: .seconds(3))
        clock.advance(by: .seconds(2))
      }
      scenario.thread { list.update(identifiedBy: 1) { $0.content = 1 } }
      scenario.thread {
        late.follow(shown)
        late.dispose()
      }
      scenario.finally {
        scenario.expect(
          [[], [TestElement(1, 1)]].contains(Array(shown.snapshot)),
          "O10: an element has not expired: \(Array(shown.snapshot))")
        clock.advance(by: .seconds(5))
        scenario.expect(shown.isEmpty, "O10: an element never expires: \(Array(shown.snapshot))")
        scenario.expect(clock.callCount == 0, "O10: a timer is left")
        try early.check(against: shown)
        try late.check(against: shown)
      }
    }
  }

  @Test func `a list of elements that expire is created while time passes`() {
    explore(preemptions: 2) { scenario in
      let clock = ScheduledClock()
      let list = ArrayDataSource([TestElement(1, 0)])
      let follower = Follower<TestElement>(scenario)
      final class Held: @unchecked Sendable { var shown: LiveCollection<TestElement>? }
      let held = Held()
      scenario.thread { clock.advance(by: .seconds(5)) }
      scenario.thread { list.append(TestElement(2, 0)) }
      scenario.thread {
        let shown = list.expiring(after: .seconds(5), clock: clock)
        held.shown = shown
        follower.follow(shown)
      }
      scenario.finally {
        guard let shown = held.shown else { return }
        clock.advance(by: .seconds(5))
        scenario.expect(shown.isEmpty, "O10: an element never expires: \(Array(shown.snapshot))")
        try follower.check(against: shown)
      }
    }
  }

  @Test func `a list of elements that expire is released when its timer is due`() {
    explore(preemptions: 2) { scenario in
      let clock = ScheduledClock()
      let list = ArrayDataSource([TestElement(1, 0)])
      final class Held: @unchecked Sendable { var shown: LiveCollection<TestElement>? }
      let held = Held()
      held.shown = list.expiring(after: .seconds(5), clock: clock)
      scenario.thread { clock.advance(by: .seconds(5)) }
      scenario.thread { list.append(TestElement(2, 0)) }
      scenario.thread { held.shown = nil }
      scenario.finally {
        scenario.expect(clock.callCount == 0, "O10: a timer is left")
        scenario.expect(!list.collection.node.hasLiveChildren, "L2: a released list is still held")
      }
    }
  }

  @Test func `a throttled list shows a change that comes when its timer is due`() {
    explore(preemptions: 2) { scenario in
      let clock = ScheduledClock()
      let list = ArrayDataSource([TestElement(1, 0)])
      let shown = list.throttled(for: .seconds(1), clock: clock)
      let follower = Follower<TestElement>(scenario)
      follower.follow(shown)
      scenario.thread { clock.advance(by: .seconds(1)) }
      scenario.thread { list.append(TestElement(2, 0)) }
      scenario.thread { list.append(TestElement(3, 0)) }
      scenario.finally {
        clock.advance(by: .seconds(1))
        scenario.expect(
          Array(shown.snapshot) == Array(list.snapshot), "O10: \(Array(shown.snapshot))")
        try follower.check(against: shown)
      }
    }
  }

  @Test func `a debounced signal sends the latest value beside its timer`() {
    explore(preemptions: 2) { scenario in
      let clock = ScheduledClock()
      let input = SignalInput<Int>()
      let follower = ValueFollower<Int>(scenario)
      follower.follow(input.signal.debounced(for: .seconds(1), clock: clock), hasValue: false)
      input.send(0)
      scenario.thread { clock.advance(by: .seconds(1)) }
      scenario.thread { input.send(1) }
      scenario.finally {
        clock.advance(by: .seconds(1))
        scenario.expect(
          [[1], [0, 1]].contains(follower.seen), "the values are \(follower.seen)")
      }
    }
  }

  // MARK: Tasks

  @Test func `the results of tasks come beside the deletion of an element`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 0)])
      let results = ScheduledTasks.run(on: scenario.queue()) {
        list.mapAsync(concurrency: 2) { TestElement($0.id, $0.content + 10) }
      }
      let follower = Follower<TestElement>(scenario)
      follower.follow(results)
      scenario.thread { list.remove(identifiedBy: 1) }
      scenario.finally {
        scenario.expect(
          Array(results.snapshot) == [TestElement(2, 10)], "O10: \(Array(results.snapshot))")
        try follower.check(against: results)
      }
    }
  }

  @Test func `the results of tasks come beside an update and a subscription`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([TestElement(1, 0), TestElement(2, 0)])
      let results = ScheduledTasks.run(on: scenario.queue()) {
        list.mapAsync(concurrency: 1, placeholder: { $0 }) { element in
          await Task.yield()
          return TestElement(element.id, element.content + 10)
        }
      }
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      early.follow(results)
      scenario.thread { list.update(identifiedBy: 1) { $0.content = 1 } }
      scenario.thread {
        late.follow(results)
        late.dispose()
      }
      scenario.finally {
        scenario.expect(
          Array(results.snapshot) == [TestElement(1, 11), TestElement(2, 10)],
          "O10: \(Array(results.snapshot))")
        try early.check(against: results)
        try late.check(against: results)
      }
    }
  }

  @Test func `a list of results is released while its tasks run`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([TestElement(1, 0)])
      final class Held: @unchecked Sendable { var results: LiveCollection<TestElement>? }
      let held = Held()
      held.results = ScheduledTasks.run(on: scenario.queue()) {
        list.mapAsync(concurrency: 2) { element in
          await Task.yield()
          return TestElement(element.id, 10)
        }
      }
      scenario.thread { held.results = nil }
      scenario.thread { list.append(TestElement(2, 0)) }
      scenario.finally {
        scenario.expect(!list.collection.node.hasLiveChildren, "L2: a released list is still held")
      }
    }
  }
}
