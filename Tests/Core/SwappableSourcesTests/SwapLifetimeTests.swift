import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// A source with the collection of another source.
private final class View<Source: DataSource>: DataSource {
  private let source: Source
  init(_ source: Source) { self.source = source }
  var collection: LiveCollection<Source.Element> { source.collection }
}

/// Rules S3 and L for containers.
@Suite struct SwapLifetimeTests {
  private func hasFeeders(_ source: any DataSource<TestElement>) -> Bool {
    let node = source.collection.node
    return node.isFollowed
  }

  @Test func `a source that was left is released and no longer observed`() {
    weak var leftover: Source?
    let container: Container
    let kept = Items([1])
    do {
      let source = Source([1])
      leftover = source
      container = Container(source)
      #expect(hasFeeders(source))
    }
    #expect(leftover != nil)
    container.swap(to: kept)
    #expect(leftover == nil)
    #expect(hasFeeders(kept))
    container.swap(to: Source([2]))
    #expect(!hasFeeders(kept))
  }

  @Test func `a source that was left is released before observers are called`() {
    weak var leftover: Source?
    let container: Container
    do {
      let source = Source([1])
      leftover = source
      container = Container(source)
    }
    let isLeft = Shared<Bool?>(nil)
    let observation = container.observe { [weak leftover] event in
      if case .change = event { isLeft.value = leftover == nil }
    }
    container.swap(to: Source([2]))
    #expect(isLeft.value == true)
    observation.dispose()
  }

  @Test func `a source that was left for equal contents is released`() {
    weak var leftover: Source?
    let container: Container
    do {
      let source = Source([1])
      leftover = source
      container = Container(source)
    }
    container.swap(to: Source([1]))
    #expect(leftover == nil)
  }

  @Test func `a staged source is released when it is superseded or canceled`() {
    let container = Container(Source([1]))
    weak var superseded: LazySource?
    weak var cancelled: LazySource?
    var handles: [SwapHandle] = []
    do {
      let (first, second) = (LazySource(), LazySource())
      (superseded, cancelled) = (first, second)
      handles = [container.swap(to: first), container.swap(to: second)]
    }
    #expect(superseded == nil && cancelled != nil)
    handles[1].cancel()
    #expect(cancelled == nil)
  }

  @Test func `a source of a cycle is not kept`() {
    let container = Container(Source([1]))
    weak var leftover: LiveCollection<TestElement>?
    do {
      let derived = container.filter { _ in true }
      leftover = derived
      #expect(container.swap(to: derived).outcomeIfKnown == .cycle)
    }
    #expect(leftover == nil)
  }

  @Test func `a container is released with its shown and staged sources`() {
    weak var source: Source?
    weak var container: Container?
    weak var staged: LazySource?
    do {
      let (shown, outer, next) = (Source([1]), Container(), LazySource())
      outer.swap(to: Container(shown))
      outer.swap(to: next)
      (source, container, staged) = (shown, outer, next)
      let recorder = RecordingObserver(outer)
      #expect(recorder.eventCount == 1)
    }
    #expect(source == nil && container == nil && staged == nil)
  }

  @Test func `of sources with the same collection, the latest is kept`() {
    let items = Items([1])
    weak var first: View<Items>?
    weak var second: View<Items>?
    weak var third: View<LazySource>?
    let container = Container()
    do {
      let (one, other) = (View(items), View(items))
      (first, second) = (one, other)
      container.swap(to: one)
      #expect(container.swap(to: other).outcomeIfKnown == .unchanged)
    }
    #expect(first == nil && second != nil)
    #expect(container.source === second)
    items.append(2)
    #expect(Array(container.snapshot) == [1, 2])

    let lazy = LazySource()
    let staged = container.swap(to: lazy)
    do {
      let view = View(lazy)
      third = view
      container.swap(to: view)
    }
    #expect(third != nil && staged.outcomeIfKnown == nil)
    lazy.load([7])
    #expect(container.source === third && staged.outcomeIfKnown == .swapped)
    #expect(second == nil)
  }

  @Test func `a handle keeps nothing alive`() {
    weak var source: LazySource?
    weak var container: Container?
    let handle: SwapHandle
    do {
      let (shown, new) = (Container(Source([1])), LazySource())
      (container, source) = (shown, new)
      handle = shown.swap(to: new)
    }
    #expect(source == nil && container == nil)
    #expect(handle.outcomeIfKnown == .cancelled)
    handle.cancel()
  }

  @Test func `an observation keeps the container and its source alive`() {
    let source = Source([1])
    let recorder = RecordingObserver(Container(source))
    source.append(2)
    #expect(recorder.snapshot.map(\.id) == [1, 2])
    recorder.dispose()
    #expect(!hasFeeders(source))
  }

  @Test func `the collection of a container that nobody holds still follows the source`() {
    let source = Source([1])
    let collection = Container(source).collection
    let recorder = RecordingObserver(collection.filter { _ in true })
    source.append(2)
    #expect(Array(collection.snapshot) == [1, 2])
    #expect(recorder.snapshot.map(\.id) == [1, 2])
  }

  @Test func `a container over an operator over a container is released`() {
    weak var leftover: Container?
    let source = Source([1])
    do {
      let inner = Container(source)
      let outer = Container(inner.filter { _ in true }.concatenated(with: Source([2])))
      leftover = inner
      #expect(outer.snapshot.count == 2)
    }
    #expect(leftover == nil)
    #expect(!hasFeeders(source))
  }

  @Test func `a binding to a container ends with its disposable`() {
    let source = Source([1])
    let target = Items()
    weak var leftover: Container?
    do {
      let container = Container(source)
      leftover = container
      let binding = container.bind(to: target)
      source.append(2)
      container.swap(to: Source([5, 2]))
      #expect(Array(target.snapshot) == [5, 2])
      binding.dispose()
    }
    #expect(leftover == nil)
  }

  @Test(.timeLimit(.minutes(10)))
  func `an observer may release a member of the group that is being delivered`() throws {
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

  @Test(
    .timeLimit(.minutes(10)),
    arguments: ["swapped", "cancel", "fail", "supersede", "release", "reject"])
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
      if end == "fail" {
        new.fail(SourceError(code: "gone", message: "it is gone"))
      } else {
        new.load([3])
      }
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

  @Test(.timeLimit(.minutes(10))) func `a chain of pending groups is released`() {
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
    parking.swap(to: next, guardedBy: ChangeGuard { _ in "no" })
    next = Source()
    parking.pendingChange.value?.reject()
    #expect(handles.allSatisfy { $0.outcomeIfKnown == .cancelled })
  }
}

/// Rule T4 through containers.
@Suite struct SwapBoundaryTests {
  @Test func `a transaction over two sources is one event behind containers`() throws {
    let (one, other) = (Source([1]), Source([7]))
    let joined = Container(one).concatenated(with: Container(other))
    let recorder = RecordingObserver(joined)
    withTransaction {
      one.append(2)
      other.append(8)
    }
    #expect(recorder.events.map(\.brief) == ["0:[1, 7]", "0-1:[1, 2, 7, 8]"])
  }

  @Test
  func `a transaction is one event also if a container was swapped to a farther source`() throws {
    let (one, other) = (Source([1]), Source([7]))
    let container = Container(Source())
    let joined = container.concatenated(with: other)
    let recorder = RecordingObserver(joined)
    // The container is now downstream of two more domains than when it was joined.
    container.swap(to: Container(Container(one)))
    withTransaction {
      one.append(2)
      other.append(8)
    }
    #expect(recorder.events.last?.brief == "1-2:[1, 2, 7, 8]")
    try recorder.check(against: joined)
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
