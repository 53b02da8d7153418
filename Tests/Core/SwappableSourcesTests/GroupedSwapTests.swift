import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// A source that loads or fails when a test asks for it.
final class ControlledSource<Element: Differentiable & Sendable>: DataSource {
  private let contents = ArrayDataSource<Element>(status: .loading)

  var collection: LiveCollection<Element> { contents.collection }

  func load(_ elements: [Element]) { contents.publish(elements, status: .loaded) }

  func fail(_ error: SourceError) { contents.setStatus(.failed(error)) }
}

/// Rule G3: containers that are swapped together change in one step or not at all.
@Suite(.timeLimit(.minutes(10))) struct GroupedSwapTests {
  private let oldNames = ArrayDataSource(["Ada", "Grace"])
  private let oldPrices = ArrayDataSource([1, 2])
  private let names: SwappableContainer<String>
  private let prices: SwappableContainer<Int>

  init() {
    (names, prices) = (SwappableContainer(oldNames), SwappableContainer(oldPrices))
  }

  @Test func `all containers have changed when the first observer is called`() throws {
    let seen = Log<String>([])
    let first = names.observe { [prices] event in
      seen.append("\(Array(event.snapshot)) \(Array(prices.snapshot))")
    }
    let second = prices.observe { [names] event in
      seen.append("\(Array(event.snapshot)) \(Array(names.snapshot))")
    }
    let handle = swapTogether([
      names.swapping(to: ArrayDataSource(["Edsger"])), prices.swapping(to: ArrayDataSource([3])),
    ])
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(
      seen.value == [
        #"["Ada", "Grace"] [1, 2]"#, #"[1, 2] ["Ada", "Grace"]"#, #"["Edsger"] [3]"#,
        #"[3] ["Edsger"]"#,
      ])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `an observer over several containers receives one event`() throws {
    let (left, right) = (
      SwappableContainer(ArrayDataSource([1, 2])), SwappableContainer(ArrayDataSource([3]))
    )
    let both = left.concatenated(with: right)
    let events = RecordingObserver(both)
    swapTogether([
      left.swapping(to: ArrayDataSource([2, 4])), right.swapping(to: ArrayDataSource([5, 3])),
    ])
    #expect(events.changes.map { Array($0.after) } == [[2, 4, 5, 3]])
    try events.check(against: both)
  }

  @Test func `nothing changes until the slowest source has loaded`() throws {
    let slow = ControlledSource<Int>()
    let (nameEvents, priceEvents) = (RecordingObserver(names), RecordingObserver(prices))
    let handle = swapTogether([
      names.swapping(to: ArrayDataSource(["Edsger"])), prices.swapping(to: slow),
    ])
    // The old sources are live meanwhile.
    oldNames.append("Barbara")
    #expect(handle.outcomeIfKnown == nil)
    #expect(Array(names.snapshot) == ["Ada", "Grace", "Barbara"])
    #expect(names.pendingChange.value == nil)
    slow.load([7])
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(Array(names.snapshot) == ["Edsger"])
    #expect(Array(prices.snapshot) == [7])
    #expect(nameEvents.changes.count == 2)
    #expect(priceEvents.changes.count == 1)
    try nameEvents.check(against: names)
    try priceEvents.check(against: prices)
  }

  @Test func `if one source fails, nothing changes`() throws {
    let failing = ControlledSource<Int>()
    let new = ArrayDataSource(["Edsger"])
    let events = RecordingObserver(names)
    let handle = swapTogether([names.swapping(to: new), prices.swapping(to: failing)])
    let error = SourceError(code: "gone", message: "the file is gone")
    failing.fail(error)
    #expect(handle.outcomeIfKnown == .failed(error))
    #expect(events.changes.isEmpty)
    #expect(names.source === oldNames)
    #expect(prices.source === oldPrices)
    oldNames.append("Barbara")
    new.append("nobody")
    #expect(events.changes.map { Array($0.after) } == [["Ada", "Grace", "Barbara"]])
  }

  @Test func `a canceled group changes nothing`() async throws {
    let slow = ControlledSource<Int>()
    let handle = swapTogether([
      names.swapping(to: ArrayDataSource(["Edsger"])), prices.swapping(to: slow),
    ])
    handle.cancel()
    #expect(await handle.outcome == .cancelled)
    slow.load([7])
    #expect(Array(names.snapshot) == ["Ada", "Grace"])
    #expect(Array(prices.snapshot) == [1, 2])
  }

  @Test func `a swap of one container supersedes the group`() throws {
    let slow = ControlledSource<Int>()
    let group = swapTogether([
      names.swapping(to: ArrayDataSource(["Edsger"])), prices.swapping(to: slow),
    ])
    let single = names.swap(to: ArrayDataSource(["Barbara"]))
    #expect(group.outcomeIfKnown == .superseded)
    #expect(single.outcomeIfKnown == .swapped)
    slow.load([7])
    #expect(Array(names.snapshot) == ["Barbara"])
    #expect(Array(prices.snapshot) == [1, 2])
  }

  @Test func `a group supersedes an open swap and an open group`() throws {
    let slow = ControlledSource<Int>()
    let single = prices.swap(to: slow)
    let first = swapTogether([
      names.swapping(to: ArrayDataSource(["Edsger"])), prices.swapping(to: slow),
    ])
    #expect(single.outcomeIfKnown == .superseded)
    let second = swapTogether([
      prices.swapping(to: slow), names.swapping(to: ArrayDataSource(["Barbara"])),
    ])
    #expect(first.outcomeIfKnown == .superseded)
    slow.load([7])
    #expect(second.outcomeIfKnown == .swapped)
    #expect(Array(names.snapshot) == ["Barbara"])
    #expect(Array(prices.snapshot) == [7])
  }

  @Test func `one refusal holds all, and a later state satisfies the guard`() throws {
    let new = ArrayDataSource<Int>([])
    let (nameEvents, priceEvents) = (RecordingObserver(names), RecordingObserver(prices))
    let handle = swapTogether([
      names.swapping(to: ArrayDataSource(["Edsger"])),
      prices.swapping(to: new, guardedBy: .count(atLeast: 1)),
    ])
    #expect(handle.outcomeIfKnown == nil)
    #expect(prices.pendingChange.value?.change.changeset.deletions.count == 2)
    #expect(names.pendingChange.value == nil)
    // The old sources are live.
    oldNames.append("Barbara")
    oldPrices.append(3)
    #expect(prices.pendingChange.value?.change.changeset.deletions.count == 3)
    new.append(9)
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(prices.pendingChange.value == nil)
    #expect(Array(names.snapshot) == ["Edsger"])
    #expect(Array(prices.snapshot) == [9])
    #expect(nameEvents.changes.count == 2)
    #expect(priceEvents.changes.count == 2)
    try nameEvents.check(against: names)
    try priceEvents.check(against: prices)
  }

  @Test func `accepting one change asks all guards again`() throws {
    let (newNames, newPrices) = (ArrayDataSource<String>([]), ArrayDataSource<Int>([]))
    let handle = swapTogether([
      names.swapping(to: newNames, guardedBy: .count(atLeast: 1)),
      prices.swapping(to: newPrices, guardedBy: .count(atLeast: 1)),
    ])
    try #require(names.pendingChange.value).accept()
    #expect(handle.outcomeIfKnown == nil)
    #expect(names.pendingChange.value == nil)
    #expect(Array(names.snapshot) == ["Ada", "Grace"])
    // A change of an accepted side is another change.
    oldNames.append("Barbara")
    #expect(names.pendingChange.value?.change.changeset.deletions.count == 3)
    try #require(prices.pendingChange.value).accept()
    #expect(handle.outcomeIfKnown == nil)
    try #require(names.pendingChange.value).accept()
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(names.isEmpty && prices.isEmpty)
  }

  @Test func `rejecting one change cancels all`() throws {
    let handle = swapTogether([
      names.swapping(to: ArrayDataSource(["Edsger"])),
      prices.swapping(to: ArrayDataSource([]), guardedBy: .count(atLeast: 1)),
    ])
    let pending = try #require(prices.pendingChange.value)
    pending.reject()
    #expect(handle.outcomeIfKnown == .cancelled)
    #expect(prices.pendingChange.value == nil)
    pending.accept()
    #expect(Array(names.snapshot) == ["Ada", "Grace"])
    #expect(names.source === oldNames)
  }

  @Test func `two containers exchange their sources`() throws {
    let (left, right) = (ArrayDataSource([1, 2]), ArrayDataSource([2, 3]))
    let (one, other) = (SwappableContainer(left), SwappableContainer(right))
    let both = one.concatenated(with: other)
    let events = RecordingObserver(both)
    #expect(
      swapTogether([one.swapping(to: right), other.swapping(to: left)]).outcomeIfKnown == .swapped)
    #expect(events.changes.map { Array($0.after) } == [[2, 3, 1, 2]])
    #expect(
      swapTogether([one.swapping(to: right), other.swapping(to: left)]).outcomeIfKnown == .unchanged
    )
    left.append(9)
    #expect(events.changes.last.map { Array($0.after) } == [2, 3, 1, 2, 9])
    try events.check(against: both)
  }

  @Test func `a group that cannot be is refused as a whole`() throws {
    let mapped = names.filter { $0 != "Ada" }
    let other = SwappableContainer(ArrayDataSource(["x"]))
    #expect(
      swapTogether([other.swapping(to: mapped), names.swapping(to: mapped)]).outcomeIfKnown
        == .cycle)
    #expect(Array(other.snapshot) == ["x"])
    // The first one was disconnected, so this is no cycle.
    #expect(names.swap(to: other.map { $0 + "!" }).outcomeIfKnown == .swapped)
    // Each is made from the other.
    let (one, two) = (
      SwappableContainer(ArrayDataSource([1])), SwappableContainer(ArrayDataSource([2]))
    )
    #expect(
      swapTogether([one.swapping(to: two.map { $0 + 1 }), two.swapping(to: one.map { $0 + 1 })])
        .outcomeIfKnown
        == .cycle)
    let twice = swapTogether([
      prices.swapping(to: ArrayDataSource([5])), prices.swapping(to: ArrayDataSource([6])),
    ])
    guard case .failed(let error) = twice.outcomeIfKnown else {
      Issue.record("the outcome is \(twice.outcomeIfKnown as Any)")
      return
    }
    #expect(error.code == "container-named-twice")
    #expect(Array(prices.snapshot) == [1, 2])
    #expect(swapTogether([]).outcomeIfKnown == .unchanged)
  }

  @Test func `empty containers take part`() throws {
    let (one, two) = (SwappableContainer<Int>(), SwappableContainer<Int>())
    let slow = ControlledSource<Int>()
    let handle = swapTogether([one.swapping(to: ArrayDataSource([1])), two.swapping(to: slow)])
    #expect(one.status == .idle)
    slow.load([2])
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(Array(one.snapshot) + Array(two.snapshot) == [1, 2])
    #expect(one.status == .loaded)
  }

  @Test func `releasing a container cancels its group`() throws {
    var short: SwappableContainer<Int>? = SwappableContainer(ArrayDataSource([1]))
    let slow = ControlledSource<Int>()
    weak var new: ArrayDataSource<String>?
    let handle: SwapHandle
    do {
      let source = ArrayDataSource(["Edsger"])
      new = source
      handle = swapTogether([names.swapping(to: source), try #require(short).swapping(to: slow)])
    }
    #expect(new != nil)
    short = nil
    #expect(handle.outcomeIfKnown == .cancelled)
    #expect(new == nil, "the new source of the other container is released")
    #expect(Array(names.snapshot) == ["Ada", "Grace"])
  }

  @Test func `observers may swap the containers again while a group is delivered`() throws {
    let outcomes = Log<SwapHandle>([])
    let once = Log<Bool>([])
    let observation = names.observe { [names, prices] event in
      guard case .change = event, once.value.isEmpty else { return }
      once.append(true)
      // The other container has changed already, so nothing is superseded.
      outcomes.append(prices.swap(to: ArrayDataSource([100])))
      outcomes.append(
        swapTogether([
          names.swapping(to: ArrayDataSource(["last"])),
          prices.swapping(to: ArrayDataSource([101])),
        ]))
    }
    let group = swapTogether([
      names.swapping(to: ArrayDataSource(["Edsger"])), prices.swapping(to: ArrayDataSource([3])),
    ])
    #expect(group.outcomeIfKnown == .swapped)
    #expect(outcomes.value.map(\.outcomeIfKnown) == [.swapped, .swapped])
    #expect(Array(names.snapshot) == ["last"])
    #expect(Array(prices.snapshot) == [101])
    withExtendedLifetime(observation) {}
  }

  @Test func `a guard may swap and cancel the group that asks it`() throws {
    for mustSwap in [false, true] {
      let (one, two) = (
        SwappableContainer(ArrayDataSource([1])), SwappableContainer(ArrayDataSource([2]))
      )
      let group = Log<SwapHandle>([])
      let slow = ControlledSource<Int>()
      let hostile = ChangeGuard<Int> { _ in
        if mustSwap {
          one.swap(to: ArrayDataSource([50]))
        } else {
          group.value.first?.cancel()
        }
        return nil
      }
      group.append(
        swapTogether([
          one.swapping(to: ArrayDataSource([5])), two.swapping(to: slow, guardedBy: hostile),
        ]))
      slow.load([6])
      #expect(group.value.first?.outcomeIfKnown == (mustSwap ? .superseded : .cancelled))
      #expect(Array(one.snapshot) == [mustSwap ? 50 : 1])
      #expect(Array(two.snapshot) == [2])
    }
  }

  @Test func `a source that fails before it has loaded ends a group that waits for another one`() {
    let error = SourceError(code: "gone", message: "it is gone")
    let shown = Items([1])
    let late = ControlledSource<TestElement>()
    let (one, two) = (Container(shown), Container(Source([2])))
    let slow = ControlledSource<TestElement>()
    // It is made from the shown source, and may be shown before it has loaded.
    let handle = swapTogether([one.swapping(to: shown.intersection(late)), two.swapping(to: slow)])
    late.fail(error)
    #expect(handle.outcomeIfKnown == .failed(error))
    slow.load([9])
    #expect(one.status == .loaded)
    #expect(two.snapshot.map(\.id) == [2])
  }

  @Test func `groups begin inside transactions and inside observers of a member`() throws {
    let (one, two) = (Container(Source([1])), Container(Source([2])))
    let both = one.concatenated(with: two)
    let recorder = RecordingObserver(both)
    let (x, y) = (Source([3]), Source([4]))
    withTransaction {
      x.append(30)
      y.append(40)
      #expect(swapTogether([one.swapping(to: x), two.swapping(to: y)]).outcomeIfKnown == .swapped)
      #expect(both.snapshot.map(\.id) == [3, 4])
    }
    #expect(both.snapshot.map(\.id) == [3, 30, 4, 40])
    #expect(recorder.eventCount == 3)
    let outcomes = Log<SwapHandle.Outcome?>()
    let observation = one.observe { event in
      guard case .change = event, event.snapshot.count < 5 else { return }
      let next = event.snapshot.map(\.id) + [100]
      let handle = swapTogether([
        two.swapping(to: Source(next.map { TestElement($0) })),
        one.swapping(to: Source(next.map { TestElement($0) })),
      ])
      outcomes.append(handle.outcomeIfKnown)
    }
    x.append(31)
    #expect(outcomes.value == [.swapped, .swapped])
    #expect(one.snapshot.map(\.id) == two.snapshot.map(\.id))
    try recorder.check(against: both)
    for change in recorder.changes.suffix(2) {
      let half = change.after.count / 2
      #expect(change.after.count % 2 == 0)
      #expect(Array(change.after.prefix(half)) == Array(change.after.suffix(half)))
    }
    observation.dispose()
  }

  @Test func `members that are made from each other change in one event`() throws {
    let one = Container(Source([1]))
    let two = Container(Source([TestElement(1)]))
    let both = one.leftJoined(with: two, on: \.id, equals: \.id)
    let seen = Log<[Bool]>()
    let observation = both.observe { event in seen.append(event.snapshot.map { $0.right != nil }) }
    for isReversed in [false, true] {
      let requests = [
        one.swapping(to: Source([TestElement(isReversed ? 8 : 5)])),
        two.swapping(to: one.filter { $0.id > 0 }),
      ]
      let handle = swapTogether(isReversed ? requests.reversed() : requests)
      #expect(handle.outcomeIfKnown == .swapped)
    }
    #expect(seen.value == [[true], [true], [true]])
    // The way back: the upper one no longer follows the lower one.
    #expect(
      swapTogether([one.swapping(to: Source([2])), two.swapping(to: Source([2]))]).outcomeIfKnown
        == .swapped)
    #expect(seen.value.last == [true] && seen.value.count == 4)
    observation.dispose()
  }

  @Test func `one source in two members is loaded and shown by both`() throws {
    let (one, two) = (Container(Source([1])), Container(Source([2])))
    let new = LazySource()
    let handle = swapTogether([one.swapping(to: new), two.swapping(to: new)])
    new.load([7])
    #expect(handle.outcomeIfKnown == .swapped)
    let both = one.concatenated(with: two)
    let recorder = RecordingObserver(both)
    new.contents.append(8)
    #expect(recorder.changes.map { $0.after.map(\.id) } == [[7, 8, 7, 8]])
    one.swap(to: Source([0]))
    new.contents.append(9)
    #expect(both.snapshot.map(\.id) == [0, 7, 8, 9])
  }
}
