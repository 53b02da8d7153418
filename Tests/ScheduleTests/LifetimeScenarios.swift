import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Testing

/// Work for each element, selections and properties of elements beside edits and swaps.
@Suite struct LifetimeScenarios {
  typealias List = ArrayDataSource<TestElement>

  /// The work that runs for elements, whose starts and ends are counted.
  private final class Work: @unchecked Sendable {
    // Sendable: of the threads of a scenario, one runs at a time.
    private let scenario: Scenario
    private var handle: Disposable?
    private var isDisposed = false
    private(set) var running: [Int: Int] = [:]
    private(set) var starts = 0
    private(set) var ends = 0

    init(_ scenario: Scenario) {
      self.scenario = scenario
      scenario.atEnd { self.handle = nil }
    }

    func begin(
      over source: any DataSource<TestElement>, inStart: @escaping @Sendable () -> Void = {}
    ) {
      handle = source.forEach(lifetime: { [self] element in
        starts += 1
        running[element.id, default: 0] += 1
        inStart()
        return Disposable { [self] in
          ends += 1
          running[element.id, default: 0] -= 1
        }
      })
      if isDisposed { handle?.dispose() }
    }

    func dispose() {
      isDisposed = true
      handle?.dispose()
    }

    func disposeAndWait() {
      isDisposed = true
      handle?.disposeAndWait()
      scenario.expect(starts == ends, "work runs after disposeAndWait has returned")
    }

    /// Checks that exactly the work for some elements runs, and that each start has one end.
    func check(_ elements: [Int]) {
      let active = running.filter { $0.value != 0 }
      scenario.expect(
        active == Dictionary(elements.map { ($0, 1) }, uniquingKeysWith: +)
          && starts - ends == elements.count,
        "work runs for \(active) instead of \(elements), after \(starts) starts and \(ends) ends")
    }
  }

  @Test func `work over a list that two threads edit`() {
    explore(preemptions: 2) { scenario in
      let list = List([TestElement(1, 0), TestElement(2, 0)])
      let work = Work(scenario)
      scenario.thread {
        list.append(TestElement(3, 0))
        list.update(identifiedBy: 2) { $0.content = 1 }
      }
      scenario.thread {
        work.begin(over: list)
        list.remove(at: 0)
      }
      scenario.finally { work.check(list.snapshot.map(\.id)) }
    }
  }

  @Test func `work is disposed of beside an edit`() {
    explore(preemptions: 2) { scenario in
      let list = List([TestElement(1, 0)])
      let work = Work(scenario)
      work.begin(over: list)
      scenario.thread {
        list.append(contentsOf: [TestElement(2, 0), TestElement(3, 0)])
        list.remove(at: 0)
      }
      scenario.thread { work.disposeAndWait() }
      scenario.finally { work.check([]) }
    }
  }

  @Test func `work is disposed of inside of a start beside an edit`() {
    explore(preemptions: 2) { scenario in
      let list = List([TestElement(1, 0)])
      let work = Work(scenario)
      scenario.thread {
        work.begin(over: list) { if work.starts == 2 { work.dispose() } }
      }
      scenario.thread {
        list.append(contentsOf: [TestElement(2, 0), TestElement(3, 0)])
      }
      scenario.finally { work.check([]) }
    }
  }

  @Test func `work over a container that is swapped beside an edit and a rollback`() {
    struct Stop: Error {}
    explore(preemptions: 2) { scenario in
      let (old, new) = (List([TestElement(1, 0)]), List([TestElement(2, 0), TestElement(1, 5)]))
      let container = SwappableContainer<TestElement>(old)
      let work = Work(scenario)
      work.begin(over: container)
      scenario.thread { container.swap(to: new) }
      scenario.thread {
        try? withTransaction {
          new.removeAll()
          throw Stop()
        }
        new.append(TestElement(3, 0))
      }
      scenario.finally { work.check(container.snapshot.map(\.id)) }
    }
  }

  @Test func `a selection beside an edit of its list`() {
    explore(preemptions: 2) { scenario in
      let list = List([TestElement(1, 0), TestElement(2, 0)])
      let selection = list.selection()
      let follower = Follower<TestElement>(scenario)
      follower.follow(selection.selected)
      scenario.thread {
        selection.select(2)
        selection.toggle(1)
      }
      scenario.thread {
        list.move(from: 1, to: 0)
        list.append(TestElement(3, 0))
      }
      scenario.finally {
        scenario.expect(
          selection.selected.snapshot.map(\.id) == [2, 1], "\(Array(selection.selected.snapshot))")
        try follower.check(against: selection.selected)
      }
    }
  }

  @Test func `a property of an element is set beside the insertion of another one`() {
    explore(preemptions: 2) { scenario in
      let list = List([TestElement(0, 0), TestElement(1, 0)])
      let levels = (0..<3).map { Property($0) }
      let rows = list.map(each: { levels[$0.id] }) { TestElement($0.id, $1) }
      let follower = Follower<TestElement>(scenario)
      follower.follow(rows)
      scenario.thread {
        levels[1].value = 7
        levels[2].value = 8
      }
      scenario.thread {
        list.append(TestElement(2, 0))
        list.remove(at: 0)
      }
      scenario.finally {
        scenario.expect(
          Array(rows.snapshot) == [TestElement(1, 7), TestElement(2, 8)], "\(Array(rows.snapshot))")
        try follower.check(against: rows)
      }
    }
  }

  @Test func `the swap that waits is shown beside its end`() {
    explore(preemptions: 2) { scenario in
      let (old, slow) = (List([TestElement(1, 0)]), List(status: .loading))
      let container = SwappableContainer<TestElement>(old)
      let property = container.swapping
      scenario.thread { container.swap(to: slow) }
      scenario.thread { slow.publish([TestElement(2, 0)], status: .loaded) }
      scenario.thread { old.append(TestElement(3, 0)) }
      scenario.finally {
        scenario.expect(property.value == nil, "a swap waits that is done")
        scenario.expect(container.snapshot.map(\.id) == [2], "\(Array(container.snapshot))")
      }
    }
  }
}
