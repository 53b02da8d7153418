import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

private typealias Guard = ChangeGuard<TestElement>

/// Hostile uses of guards, previews, groups of swaps and guarded sources, on one thread.
@Suite(.timeLimit(.minutes(10))) struct SwapControlBreakingTests {
  private let error = SourceError(code: "gone", message: "it is gone")

  // MARK: Groups

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

  @Test func `a source that fails before it has loaded ends a group that waits for another one`() {
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

  @Test func `a held source that fails before it has loaded ends the swap`() {
    let shown = Items([1])
    let late = ControlledSource<TestElement>()
    let container = Container(shown)
    let handle = container.swap(
      to: shown.intersection(late),
      guardedBy: ChangeGuard { _ in "not yet" })
    late.fail(error)
    #expect(handle.outcomeIfKnown == .failed(error))
    #expect(container.pendingChange.value == nil)
    #expect(container.source === shown)
  }

  @Test func `a released container has no pending change`() throws {
    var container: Container? = Container(Source([1]))
    let property = try #require(container?.pendingChange)
    let log = Log<Bool>()
    let observation = property.observe { log.append($0 != nil) }
    container?.swap(to: Source([9]), guardedBy: .count(atLeast: 2))
    container = nil
    #expect(property.value == nil)
    #expect(log.value == [false, true, false])
    observation.dispose()
  }

  @Test func `a released container releases the elements of its pending change`() throws {
    weak var token: Token?
    var container: SwappableContainer<Meddler>? = SwappableContainer(
      ArrayDataSource([Meddler(id: 1)]))
    let property = try #require(container?.pendingChange)
    do {
      let new = Token()
      token = new
      container?.swap(
        to: ArrayDataSource([Meddler(id: 2, token: new)]), guardedBy: ChangeGuard { _ in "no" })
    }
    #expect(token != nil)
    container = nil
    #expect(token == nil)
    withExtendedLifetime(property) {}
  }

  @Test func `an observer may release a member of the group that is being delivered`() throws {
    let one = Shared<Container?>(Container(Source([1])))
    let two = Shared<Container?>(Container(Source([2])))
    weak let left = two.value
    let observation = one.value?.observe { event in
      if case .change = event { two.value = nil }
    }
    let handle = swapTogether([
      try #require(one.value).swapping(to: Source([5])),
      try #require(two.value).swapping(to: Source([6])),
    ])
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(left == nil)
    observation?.dispose()
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

  @Test(arguments: ["swapped", "cancel", "fail", "supersede", "release", "reject"])
  func `nothing is kept after the end of a group`(end: String) throws {
    weak var oldSource: ControlledSource<TestElement>?
    weak var newSource: ControlledSource<TestElement>?
    weak var held: Source?
    weak var weakHandle: SwapHandle?
    weak var weakTwo: Container?
    let one = Container(Source([1]))
    do {
      let (old, new, heldSource) = (
        ControlledSource<TestElement>(), ControlledSource<TestElement>(), Source([TestElement]())
      )
      (oldSource, newSource, held) = (old, new, heldSource)
      var two: Container? = Container(old)
      old.load([2])
      weakTwo = two
      let handle: SwapHandle
      do {
        handle = swapTogether([
          one.swapping(to: heldSource, guardedBy: .count(atLeast: 1)),
          try #require(two).swapping(to: new),
        ])
      }
      weakHandle = handle
      if end == "fail" { new.fail(error) } else { new.load([3]) }
      switch end {
      case "swapped": heldSource.append(1)
      case "cancel": handle.cancel()
      case "supersede": one.swap(to: Source([4]))
      case "release": two = nil
      case "reject": one.pendingChange.value?.reject()
      default: break
      }
      #expect(handle.outcomeIfKnown != nil)
      withExtendedLifetime(two) {}
    }
    // The source that is shown keeps its handle.
    #expect((weakHandle == nil) == (end != "swapped"))
    #expect(weakTwo == nil && oldSource == nil && newSource == nil)
    #expect((held == nil) == (end != "swapped"))
    #expect(one.pendingChange.value == nil)
  }

  @Test func `changes of a member that was not refused do not ask the others again`() {
    let containers = (0..<100).map { Container(Source([TestElement($0)])) }
    let calls = Shared(0)
    let counting = Guard { _ in
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

  @Test func `a guard that edits the new source until it is content does not nest`() {
    let container = Container(Source([1]))
    let new = Source([TestElement]())
    let handle = container.swap(
      to: new,
      guardedBy: Guard { change in
        if change.after.count >= 2_000 { return nil }
        new.append(TestElement(change.after.count))
        return "more"
      })
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(container.count == 2_000)
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

  @Test func `a chain of pending groups is released`() {
    // Each group is the only owner of the container of the next one.
    let parking = Container(Source([0]))
    var next: any DataSource<TestElement> = ControlledSource<TestElement>()
    var handles: [SwapHandle] = []
    for _ in 0..<1_000 {
      let (container, other) = (Container(Source([1])), Container(Source([1])))
      handles.append(
        swapTogether([container.swapping(to: next), other.swapping(to: ControlledSource())]))
      next = Holder(container, other)
    }
    parking.swap(to: next, guardedBy: Guard { _ in "no" })
    next = Source()
    parking.pendingChange.value?.reject()
    #expect(handles.allSatisfy { $0.outcomeIfKnown == .cancelled })
  }

  @Test(arguments: ["loads", "is held", "is in a group"])
  func `a transaction that completes a swap is one event`(kind: String) throws {
    let container = Container(Source([1]))
    let other = Source([2])
    let both = container.concatenated(with: other)
    let recorder = RecordingObserver(both)
    let new = Items(status: kind == "is held" ? .loaded : .loading)
    let handle =
      kind == "is in a group"
      ? swapTogether([container.swapping(to: new)])
      : container.swap(to: new, guardedBy: kind == "loads" ? nil : .count(atLeast: 1))
    withTransaction {
      new.publish([5], status: .loaded)
      other[0] = 6
    }
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(recorder.changes.map { $0.after.map(\.id) } == [[5, 6]])
    try recorder.check(against: both)
  }

  @Test func `a guard of a member is asked about the state that is shown`() throws {
    let (one, two) = (Container(Source([2])), Container(Source([3])))
    let refused = Shared(false)
    let observation = two.observe { event in
      if event.snapshot.isEmpty { refused.value = true }
    }
    swapTogether([
      one.swapping(to: Source([1])),
      two.swapping(to: one.filter { $0.id > 1 }, guardedBy: .count(atLeast: 1)),
    ])
    withKnownIssue("the guard is asked before the other members have changed") {
      #expect(!refused.value)
    }
    observation.dispose()
  }

  @Test func `the pending change of a guarded source goes with its contents`() throws {
    let source = Source([1, 2])
    let property = source.guarded(by: .count(atLeast: 2)).pendingChange
    source.remove(at: 0)
    try #require(property.value).accept()
    #expect(property.value == nil)
    let guarded = source.guarded(by: .count(atLeast: 1))
    let log = Log<String>()
    let contents = guarded.observe { [pending = guarded.pendingChange] event in
      log.append("\(event.snapshot.count) \(pending.value != nil)")
    }
    let observation = guarded.pendingChange.observe { [guarded] change in
      log.append("\(guarded.count) \(change != nil)")
    }
    source.remove(at: 0)
    guarded.pendingChange.value?.accept()
    #expect(Set(log.value) == ["1 false", "1 true", "0 false"])
    contents.dispose()
    observation.dispose()
  }

  // MARK: Guarded sources

  @Test func `an earlier pending change does not accept a later one`() throws {
    let source = Source([1, 2, 3, 4])
    let guarded = source.guarded(by: .count(atLeast: 2))
    let recorder = RecordingObserver(guarded)
    source.replace(with: [1])
    let stale = try #require(guarded.pendingChange.value)
    source.replace(with: [1, 2, 3, 4])
    #expect(guarded.pendingChange.value == nil)
    source.replace(with: [])
    stale.reject()
    #expect(guarded.pendingChange.value != nil)
    stale.accept()
    #expect(recorder.eventCount == 1)
    try #require(guarded.pendingChange.value).accept()
    #expect(guarded.isEmpty)
  }

  @Test func `inside an observer, the first of two decisions counts`() throws {
    for isAccepted in [false, true] {
      let source = Source([1, 2])
      let guarded = source.guarded(by: .count(atLeast: 2))
      source.remove(at: 0)
      let pending = try #require(guarded.pendingChange.value)
      let observation = guarded.observe { event in
        guard case .initial = event else { return }
      }
      let deciding = source.observe { event in
        guard case .change = event else { return }
        if isAccepted { pending.accept() }
        pending.reject()
        if !isAccepted { pending.accept() }
      }
      source.update(at: 0) { $0 = TestElement($0.id, 1) }
      #expect(guarded.count == (isAccepted ? 1 : 2))
      #expect(guarded.pendingChange.value == nil)
      observation.dispose()
      deciding.dispose()
    }
  }

  @Test func `a refused source that fails keeps its contents and its pending change`() throws {
    let source = Items([1, 2, 3, 4])
    let guarded = source.guarded(by: .count(atLeast: 2))
    let recorder = RecordingObserver(guarded)
    let statuses = StatusWatch(guarded, behind: recorder)
    source.publish([1], status: .loading)
    source.setStatus(.failed(error))
    #expect(guarded.status == .failed(error) && guarded.count == 4)
    #expect(guarded.pendingChange.value?.change.after.count == 1)
    source.publish([5], status: .loaded)
    #expect(guarded.status == .loaded && guarded.count == 4)
    let container = Container(guarded)
    #expect(container.snapshot.count == 4)
    guarded.pendingChange.value?.accept()
    #expect(container.snapshot.map(\.id) == [5])
    #expect(statuses.fault == nil)
    try recorder.check(against: guarded)
  }

  @Test func `observers that come and go do not release what is refused`() throws {
    let source = Source([1, 2])
    let guarded = source.guarded(by: .count(atLeast: 2))
    guarded.observe { _ in }.dispose()
    source.remove(at: 0)
    guarded.observe { _ in }.dispose()
    #expect(guarded.count == 2 && guarded.pendingChange.value != nil)
    let later = guarded.filter { _ in true }
    #expect(later.count == 2)
    source.update(at: 0) { $0 = TestElement($0.id, 7) }
    #expect(later.count == 2)
    #expect(guarded.pendingChange.value?.change.after.map(\.content) == [7])
  }

  @Test func `a transaction over a refused and another source shows the other one`() throws {
    let (source, other) = (Source([1, 2]), Source([3]))
    let guarded = source.guarded(by: .count(atLeast: 2))
    let both = guarded.concatenated(with: other)
    let recorder = RecordingObserver(both)
    withTransaction {
      source.remove(at: 0)
      other.append(4)
    }
    #expect(both.snapshot.map(\.id) == [1, 2, 3, 4] && recorder.eventCount == 2)
    withTransaction {
      guarded.pendingChange.value?.accept()
      other.append(5)
    }
    #expect(both.snapshot.map(\.id) == [2, 3, 4, 5])
    try recorder.check(against: both)
  }

  @Test func `a guard may accept and reject while it is asked`() {
    let source = Source([1, 2])
    let property = Shared<ReadOnlyProperty<Guard.PendingChange?>?>(nil)
    let guarded = source.guarded(
      by: Guard { change in
        property.value?.value?.accept()
        return change.after.count < 2 ? "too few" : nil
      })
    property.value = guarded.pendingChange
    source.remove(at: 0)
    #expect(guarded.count == 2)
    source.update(at: 0) { $0 = TestElement($0.id, 1) }
    #expect(guarded.count == 1 && guarded.pendingChange.value == nil)
    property.value = nil
  }

  // MARK: Fallback sources

  @Test func `an endless time never ends`() {
    let (live, mirror) = (Items([1]), Items([2]))
    let fallback = FallbackSource(
      [live, mirror], fallingBackAfter: .zero, returningAfter: .seconds(Int64.max))
    let recorder = RecordingObserver(fallback)
    live.setStatus(.failed(error))
    live.setStatus(.loaded)
    #expect(recorder.snapshot.map(\.id) == [2])
    mirror.setStatus(.failed(error))
    #expect(recorder.snapshot.map(\.id) == [1])
  }

  @Test func `an observer may release the fallback source that is changing over`() {
    let (live, mirror) = (Items([1]), Items([2]))
    weak var released: FallbackSource<TestElement>?
    let kept = Shared<(FallbackSource<TestElement>?, Disposable?)>((nil, nil))
    do {
      let fallback = FallbackSource([live, mirror], fallingBackAfter: .zero)
      released = fallback
      kept.value = (fallback, nil)
      let observation = fallback.observe { event in
        if event.snapshot.first == 2 {
          kept.value.1?.dispose()
          kept.value = (nil, nil)
        }
      }
      kept.value.1 = observation
    }
    live.setStatus(.failed(error))
    #expect(released == nil)
  }
}

/// A source that is the only owner of two containers.
private final class Holder: DataSource {
  private let contents = ControlledSource<TestElement>()
  private let containers: (Container, Container)

  init(_ one: Container, _ two: Container) {
    containers = (one, two)
    contents.load([1])
  }

  var collection: LiveCollection<TestElement> { contents.collection }
}
