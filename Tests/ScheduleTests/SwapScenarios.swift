import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Testing

/// Containers whose source is swapped while others edit.
@Suite struct SwapScenarios {
  typealias List = ArrayDataSource<TestElement>

  /// A container over two elements, of which the new source keeps one, and a follower.
  struct Swap {
    let old = List([TestElement(1, 0), TestElement(2, 0)])
    let new = List([TestElement(2, 1), TestElement(3, 0)])
    let container: SwappableContainer<TestElement>
    let follower: Follower<TestElement>

    init(_ scenario: Scenario) {
      container = SwappableContainer(old)
      follower = Follower(scenario)
      follower.follow(container)
    }

    /// Checks that the container shows a source, and that its events lead there.
    func check(shows source: List) throws {
      follower.scenario.expect(
        Array(container.snapshot) == Array(source.snapshot),
        "S3: shows \(Array(container.snapshot)) instead of \(Array(source.snapshot))")
      try follower.check(against: container)
    }
  }

  @Test func `a swap beside an edit of each source`() {
    explore(preemptions: 2) { scenario in
      let swap = Swap(scenario)
      scenario.thread { swap.container.swap(to: swap.new) }
      scenario.thread { swap.old.append(4) }
      scenario.thread { swap.new.append(5) }
      scenario.finally { try swap.check(shows: swap.new) }
    }
  }

  @Test func `of two swaps, the later one wins, and both have an outcome`() {
    explore(preemptions: 2) { scenario in
      let swap = Swap(scenario)
      let third = List([TestElement(1, 5)])
      let handles = Handles()
      scenario.thread { handles.add(swap.container.swap(to: swap.new)) }
      scenario.thread { handles.add(swap.container.swap(to: third)) }
      scenario.finally {
        let outcomes = handles.all.map(\.outcomeIfKnown)
        scenario.expect(outcomes.allSatisfy { $0 != nil }, "S5: an outcome is missing: \(outcomes)")
        try swap.check(shows: swap.container.source === third ? third : swap.new)
      }
    }
  }

  @Test func `a swap to a source that loads meanwhile`() {
    explore(preemptions: 2) { scenario in
      let swap = Swap(scenario)
      let loading = List(status: .loading)
      scenario.thread { swap.container.swap(to: loading) }
      scenario.thread { loading.publish([7], status: .loaded) }
      scenario.thread { swap.old.append(4) }
      scenario.finally { try swap.check(shows: loading) }
    }
  }

  @Test func `a swap to a source that fails meanwhile keeps the old one`() {
    explore(preemptions: 2) { scenario in
      let swap = Swap(scenario)
      let loading = List(status: .loading)
      let handles = Handles()
      scenario.thread { handles.add(swap.container.swap(to: loading)) }
      scenario.thread {
        loading.setStatus(.failed(SourceError(code: "gone", message: "it is gone")))
      }
      scenario.thread { swap.old.append(4) }
      scenario.finally {
        let outcome = handles.all[0].outcomeIfKnown
        if case .failed = outcome {} else { scenario.fail("S4: the outcome is \(outcome as Any)") }
        try swap.check(shows: swap.old)
      }
    }
  }

  @Test func `a swap is canceled at any moment`() {
    explore(preemptions: 2) { scenario in
      let swap = Swap(scenario)
      let loading = List(status: .loading)
      let handle = swap.container.swap(to: loading)
      scenario.thread { loading.publish([7], status: .loaded) }
      scenario.thread { handle.cancel() }
      scenario.thread { swap.old.append(4) }
      scenario.finally {
        switch handle.outcomeIfKnown {
        case .swapped: try swap.check(shows: loading)
        case .cancelled: try swap.check(shows: swap.old)
        case let outcome: scenario.fail("S5: the outcome is \(outcome as Any)")
        }
      }
    }
  }

  @Test func `an observer swaps, beside an edit`() {
    explore(preemptions: 2) { scenario in
      let swap = Swap(scenario)
      let swapping = swap.container.observe { [weak container = swap.container] event in
        if event.snapshot.count == 3 { container?.swap(to: swap.new) }
      }
      scenario.thread { swap.old.append(4) }
      scenario.thread { swap.new.append(5) }
      scenario.finally {
        // The new source has three elements, so a swap to it is one to the shown source.
        try swap.check(shows: swap.new)
        swapping.dispose()
      }
    }
  }

  @Test func `a container in a container, and both are swapped`() {
    explore(preemptions: 1) { scenario in
      let swap = Swap(scenario)
      let outer = SwappableContainer(swap.container)
      let follower = Follower<TestElement>(scenario)
      follower.follow(outer)
      let other = List([9])
      scenario.thread { swap.container.swap(to: swap.new) }
      scenario.thread {
        outer.swap(to: other)
        outer.swap(to: swap.container)
      }
      scenario.finally {
        try swap.check(shows: swap.new)
        scenario.expect(Array(outer.snapshot) == Array(swap.new.snapshot), "S3: the outer differs")
        try follower.check(against: outer)
      }
    }
  }

  @Test func `two containers are swapped together beside a swap of one`() {
    explore(preemptions: 1) { scenario in
      let (one, two) = (Swap(scenario), Swap(scenario))
      let both = one.container.concatenated(with: two.container)
      let follower = Follower<TestElement>(scenario)
      let third = List([9])
      follower.follow(both) { elements in
        // Both containers show the third element of their new sources, or neither. A single swap removes one of them.
        let threes = elements.count { $0.id == 3 }
        scenario.expect(threes != 1 || elements.contains(9), "G3: half a group: \(elements)")
      }
      let handles = Handles()
      scenario.thread {
        handles.add(
          swapTogether([one.container.swapping(to: one.new), two.container.swapping(to: two.new)]))
      }
      scenario.thread { one.container.swap(to: third) }
      scenario.finally {
        let outcome = handles.all[0].outcomeIfKnown
        let isSwapped = outcome == .swapped
        scenario.expect(isSwapped || outcome == .superseded, "G3: the outcome is \(outcome as Any)")
        // The single swap comes before the group, or supersedes it, or follows it.
        let isLast = one.container.source === third
        scenario.expect(isLast || isSwapped, "G3: neither the group nor the swap is shown")
        try one.check(shows: isLast ? third : one.new)
        try two.check(shows: isSwapped ? two.new : two.old)
        try follower.check(against: both)
      }
    }
  }

  @Test(arguments: [true, false])
  func `a held swap is accepted or rejected beside a change of the new source`(accepts: Bool) {
    explore(preemptions: 1, "a held swap, accepts: \(accepts)") { scenario in
      let swap = Swap(scenario)
      let handle = swap.container.swap(to: swap.new, guardedBy: .deletions(atMost: .elements(0)))
      swap.follower.scenario.expect(handle.outcomeIfKnown == nil, "G1: the swap is not held")
      scenario.thread {
        let pending = swap.container.pendingChange.value
        if accepts { pending?.accept() } else { pending?.reject() }
      }
      // Now nothing is deleted, so the guard lets the change pass.
      scenario.thread { swap.new.append(TestElement(1, 0)) }
      scenario.thread { swap.old.append(4) }
      scenario.finally {
        let isSwapped = handle.outcomeIfKnown == .swapped
        if accepts {
          scenario.expect(isSwapped, "G1: accepted, and \(handle.outcomeIfKnown as Any)")
        }
        try swap.check(shows: isSwapped ? swap.new : swap.old)
        scenario.expect(
          handle.outcomeIfKnown == nil || swap.container.pendingChange.value == nil,
          "G1: a change is pending after the outcome")
      }
    }
  }

  @Test func `a fallback source whose first choice fails and recovers, and is edited`() {
    explore(preemptions: 1) { scenario in
      let (first, second) = (List([1]), List([2]))
      let clock = ManualClock()
      let fallback = FallbackSource(
        [first, second], fallingBackAfter: .zero, returningAfter: .zero, clock: clock)
      let follower = Follower<TestElement>(scenario)
      follower.follow(fallback)
      scenario.thread {
        first.setStatus(.failed(SourceError(code: "gone", message: "it is gone")))
        first.setStatus(.loaded)
      }
      scenario.thread { first.append(3) }
      scenario.thread { second.append(4) }
      scenario.finally {
        clock.advance(by: .seconds(1))
        scenario.expect(
          Array(fallback.snapshot) == [1, 3], "G4: shows \(Array(fallback.snapshot))")
        try follower.check(against: fallback)
      }
    }
  }
}

/// The handles that threads of a scenario have received.
final class Handles: @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  private(set) var all: [SwapHandle] = []
  func add(_ handle: SwapHandle) { all.append(handle) }
}
