import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// Timed operators over a container, whose source is swapped.
@Suite struct TimedOperatorSwapTests {
  private let clock = ManualClock()

  @Test func `a swap renews the time of new elements only`() throws {
    let container = Container(Source([1, 2]))
    let shown = container.expiring(after: .seconds(60), clock: clock)
    let events = RecordingObserver(shown)
    clock.advance(by: .seconds(30))
    container.swap(to: Source([3, 2]))
    #expect(shown.snapshot.map(\.id) == [3, 2])
    clock.advance(by: .seconds(30))
    #expect(shown.snapshot.map(\.id) == [3])
    clock.advance(by: .seconds(30))
    #expect(shown.isEmpty)
    try events.check(against: shown)
  }

  @Test func `a swap is shown like any other change`() throws {
    let container = Container(Source([1, 2]))
    let quiet = container.debounced(for: .seconds(1), clock: clock)
    let newest = container.latest(2)
    let events = RecordingObserver(quiet)
    container.swap(to: Source([3, 2]))
    #expect(quiet.snapshot.map(\.id) == [1, 2])
    #expect(newest.snapshot.map(\.id) == [3, 2])
    clock.advance(by: .seconds(1))
    #expect(quiet.snapshot.map(\.id) == [3, 2])
    #expect(events.eventCount == 2)
    try events.check(against: quiet)
  }

  @Test func `a swap cancels tasks of elements that leave`() async throws {
    let container = Container(Source([1, 2]))
    let counts = Shared([Int: Int]())
    let list = container.mapAsync(concurrency: 1) { element in
      counts.modify { $0[element.id, default: 0] += 1 }
      return element
    }
    let events = RecordingObserver(list)
    try await events.wait(forContents: [1, 2])
    container.swap(to: Source([3, 2]))
    try await events.wait(forContents: [3, 2])
    #expect(counts.value == [1: 1, 2: 1, 3: 1])
    try events.check(against: list)
  }

  @Test func `a container may show a timed list, and swap to it`() {
    let source = Source([1, 2])
    let container = Container(source)
    container.swap(to: source.expiring(after: .seconds(60), clock: clock))
    clock.advance(by: .seconds(60))
    #expect(container.isEmpty)
    #expect(source.count == 2)
  }
}
