import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// Rule G3: guards and pending changes of containers that are swapped together.
@Suite(.timeLimit(.minutes(10))) struct GroupedSwapGuardTests {
  // MARK: Guards

  @Test func `changes of a member that was not refused do not ask the others again`() {
    let containers = (0..<100).map { Container(Source([TestElement($0)])) }
    let calls = Shared(0)
    let counting = ChangeGuard<TestElement> { _ in
      calls.modify { $0 += 1 }
      return nil
    }
    let news = (0..<100).map { Source([TestElement($0)]) }
    let refused = Source([TestElement]())
    let last = Container(Source([1]))
    var requests = zip(containers, news).map { $0.swapping(to: $1, guardedBy: counting) }
    requests.append(last.swapping(to: refused, guardedBy: .count(atLeast: 1)))
    let handle = swapTogether(requests)
    #expect(calls.value == 100)
    for n in 0..<10_000 { news[0].update(at: 0) { $0 = TestElement($0.id, n) } }
    #expect(calls.value == 100)
    refused.append(1)
    #expect(calls.value == 200 && handle.outcomeIfKnown == .swapped)
  }

  @Test func `a guard cannot be asked about a source that is made from another member`() throws {
    let (one, two) = (Container(Source([2])), Container(Source([3])))
    let asked = Shared(false)
    let watching = ChangeGuard<TestElement> { _ in
      asked.value = true
      return nil
    }
    for source: any DataSource<TestElement> in [one.filter { $0.id > 1 }, one] {
      let loading = Source(status: .loading)
      let handle = swapTogether([
        one.swapping(to: loading), two.swapping(to: source, guardedBy: watching),
      ])
      #expect(handle.outcomeIfKnown == nil)
      loading.publish([1], status: .loaded)
      guard case .failed(let error) = handle.outcomeIfKnown else {
        Issue.record("the group is not refused")
        continue
      }
      #expect(error.code == "guard-in-group")
      #expect(one.snapshot.map(\.id) == [2] && two.snapshot.map(\.id) == [3] && !asked.value)
    }
    let other = swapTogether([
      one.swapping(to: Source([1]), guardedBy: watching),
      two.swapping(to: one.filter { $0.id > 1 }),
    ])
    #expect(other.outcomeIfKnown == .swapped && asked.value)
    #expect(one.snapshot.map(\.id) == [1] && two.snapshot.isEmpty)
  }

  // MARK: Pending changes

  @Test func `an observer of the pending change may repair the refused source of a group`() throws {
    let (one, two) = (Container(Source([1])), Container(Source([2])))
    let new = Source([TestElement]())
    let observation = two.pendingChange.observe { change in
      if change != nil, new.isEmpty { new.append(6) }
    }
    let handle = swapTogether([
      one.swapping(to: Source([5])), two.swapping(to: new, guardedBy: .count(atLeast: 1)),
    ])
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(two.pendingChange.value == nil)
    #expect(two.snapshot.map(\.id) == [6])
    observation.dispose()
  }

  @Test func `the pending change of a group follows an edit that its observer makes`() throws {
    let (one, two) = (Container(Source([1])), Container(Source([2])))
    let new = Source([TestElement]())
    let observation = two.pendingChange.observe { change in
      if change != nil, new.count < 3 { new.append(TestElement(new.count)) }
    }
    let handle = swapTogether([
      one.swapping(to: Source([5])), two.swapping(to: new, guardedBy: .count(atLeast: 9)),
    ])
    #expect(handle.outcomeIfKnown == nil)
    #expect(two.pendingChange.value?.change.after.count == 3)
    observation.dispose()
  }

  @Test func `an observer of the pending change may accept, reject or supersede the group`() throws
  {
    for (action, outcome) in [
      ("accept", SwapHandle.Outcome.swapped), ("reject", .cancelled), ("swap", .superseded),
      ("group", .superseded), ("release", .cancelled),
    ] {
      let one = Container(Source([1]))
      let two = Shared<Container?>(Container(Source([2])))
      let new = Source([TestElement]())
      let observation = two.value?.pendingChange.observe { change in
        guard let change else { return }
        switch action {
        case "accept": change.accept()
        case "reject": change.reject()
        case "swap": one.swap(to: Source([8]))
        case "group":
          if let two = two.value {
            swapTogether([two.swapping(to: Source([7])), one.swapping(to: Source([7]))])
          }
        default: two.value = nil
        }
      }
      let handle: SwapHandle
      do {
        let requests = [
          one.swapping(to: Source([5])),
          try #require(two.value).swapping(to: new, guardedBy: .count(atLeast: 1)),
        ]
        handle = swapTogether(requests)
      }
      #expect(handle.outcomeIfKnown == outcome, "\(action)")
      #expect(two.value?.pendingChange.value == nil)
      let expected = ["accept": 5, "swap": 8, "group": 7][action] ?? 1
      #expect(one.snapshot.map(\.id) == [TestElement(expected).id], "\(action)")
      observation?.dispose()
    }
  }

  @Test func `an acceptance that came after the end changes nothing`() throws {
    let (one, two) = (Container(Source([1])), Container(Source([2])))
    let handle = swapTogether([
      one.swapping(to: Source([5])), two.swapping(to: Source([]), guardedBy: .count(atLeast: 1)),
    ])
    let stale = try #require(two.pendingChange.value)
    handle.cancel()
    let next = swapTogether([
      one.swapping(to: Source([5])), two.swapping(to: Source([]), guardedBy: .count(atLeast: 1)),
    ])
    stale.accept()
    stale.reject()
    #expect(next.outcomeIfKnown == nil && two.pendingChange.value != nil)
  }

  @Test func `a pending change observer that edits the source each time does not nest`() {
    let (container, other) = (Container(Source([1])), Container(Source([1])))
    for isGrouped in [false, true] {
      let new = Source([TestElement]())
      let observation = container.pendingChange.observe { change in
        if change != nil { new.append(TestElement(new.count)) }
      }
      let handle =
        isGrouped
        ? swapTogether([
          other.swapping(to: Source([2])),
          container.swapping(to: new, guardedBy: .count(atLeast: 2_000)),
        ])
        : container.swap(to: new, guardedBy: .count(atLeast: 2_000))
      #expect(handle.outcomeIfKnown == .swapped)
      #expect(container.count == 2_000)
      observation.dispose()
    }
  }
}
