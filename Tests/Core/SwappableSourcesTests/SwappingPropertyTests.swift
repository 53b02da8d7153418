import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// The property that has the swap that waits.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SwappingPropertyTests {
  private let old = Source([1, 2, 3])
  private let container: Container
  private let waiting: Log<SwapHandle?>
  private let observation: Disposable

  init() {
    container = Container(old)
    let log = Log<SwapHandle?>([])
    observation = container.swapping.observe { log.append($0) }
    waiting = log
  }

  /// Whether each value was a swap, and not `nil`, without the first value.
  private var course: [Bool] { waiting.value.dropFirst().map { $0 != nil } }

  @Test func `a swap to a loaded source does not wait`() {
    container.swap(to: Source([2]))
    container.swap(to: container.map { $0 })
    container.swap(to: Source([2]))
    #expect(course == [] && waiting.value.count == 1)
  }

  @Test func `a swap waits until its source has loaded or failed`() {
    let slow = ControlledSource<TestElement>()
    let handle = container.swap(to: slow)
    #expect(waiting.value.last.flatMap(\.self) === handle && container.swapping.value === handle)
    old.append(4)
    slow.load([7])
    #expect(course == [true, false] && handle.outcomeIfKnown == .swapped)
    let failing = ControlledSource<TestElement>()
    let failed = container.swap(to: failing)
    failing.fail(SourceError(code: "gone", message: "it is gone"))
    #expect(course == [true, false, true, false] && failed.outcomeIfKnown != nil)
    container.swap(to: ControlledSource<TestElement>()).cancel()
    #expect(course.suffix(2) == [true, false])
    #expect(container.swapping.value == nil)
  }

  @Test func `a later swap takes its place in one step`() {
    let first = container.swap(to: ControlledSource<TestElement>())
    let second = container.swap(to: ControlledSource<TestElement>())
    #expect(waiting.value.suffix(2).elementsEqual([first, second]) { $0 === $1 })
    #expect(course == [true, true])
    container.swap(to: Source([5]))
    #expect(course == [true, true, false] && container.snapshot.map(\.id) == [5])
  }

  @Test func `a refused change waits, and its contents come together with the end`() throws {
    let handle = container.swap(to: Source([9]), guardedBy: .count(atLeast: 2))
    #expect(container.swapping.value === handle)
    old.append(4)
    old.append(5)
    // The guard was asked again, but the swap has waited all the time.
    #expect(course == [true])
    let states = Log<[Int]>([])
    let both = container.observe { [container] event in
      states.append(event.snapshot.map(\.id) + [container.swapping.value == nil ? 0 : 1])
    }
    try #require(container.pendingChange.value).accept()
    #expect(states.value == [[1, 2, 3, 4, 5, 1], [9, 0]] && course == [true, false])
    both.dispose()
  }

  @Test func `contents and the end of the wait are one event below both`() {
    let both = ReadOnlyProperty(combining: container.live.count, container.swapping) {
      "\($0) \($1 == nil ? "-" : "waits")"
    }
    let log = Log<String>([])
    let observation = both.observe { log.append($0) }
    let slow = ControlledSource<TestElement>()
    container.swap(to: slow)
    slow.load([TestElement(9, 0)])
    container.swap(to: Source([1, 2]), guardedBy: .count(atLeast: 3))
    container.pendingChange.value?.accept()
    #expect(log.value == ["3 -", "3 waits", "1 -", "1 waits", "2 -"])
    observation.dispose()
  }

  @Test func `the outcome of a swap that has failed is known when the wait ends`() {
    let failing = ControlledSource<TestElement>()
    let handle = container.swap(to: failing)
    let outcomes = Log<Bool>([])
    let observation = container.swapping.observe { [handle] waiting in
      if waiting == nil { outcomes.append(handle.outcomeIfKnown != nil) }
    }
    failing.fail(SourceError(code: "gone", message: "it is gone"))
    #expect(outcomes.value == [true])
    observation.dispose()
  }

  @Test func `the swaps of a group wait for the slowest one`() {
    let other = Container(Source([7]))
    let slow = ControlledSource<TestElement>()
    let handle = swapTogether([container.swapping(to: Source([2])), other.swapping(to: slow)])
    #expect(container.swapping.value === handle && other.swapping.value === handle)
    slow.load([8])
    #expect(container.swapping.value == nil && other.swapping.value == nil)
    #expect(container.snapshot.map(\.id) == [2] && other.snapshot.map(\.id) == [8])
  }

  @Test func `an observer of the property may swap, and its release ends nothing`() {
    let late = ControlledSource<TestElement>()
    let again = container.swapping.observe { [weak container, old] handle in
      if handle != nil { container?.swap(to: old) }
    }
    let handle = container.swap(to: late)
    #expect(handle.outcomeIfKnown == .superseded && container.source === old)
    again.dispose()
    var released: Container? = Container(old)
    weak let weakContainer = released
    let property = released?.swapping
    released?.swap(to: ControlledSource<TestElement>())
    #expect(property?.value != nil)
    released = nil
    #expect(weakContainer == nil && property?.value == nil)
  }
}
