import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// A source that falls back to others (rule G4): each sentence of its documentation.
@Suite struct FallbackTests {
  private typealias Fallback = FallbackSource<TestElement>

  private let clock = ManualClock()
  private let live = Items(status: .loading)
  private let mirror = Items(status: .loading)
  private let cache = Items(status: .loading)
  private let error = SourceError(code: "gone", message: "it is gone")

  private func makeFallback() -> Fallback {
    FallbackSource([live, mirror, cache], clock: clock)
  }

  /// A fallback source that shows the first of three loaded sources.
  private func makeLoadedFallback() -> Fallback {
    live.publish([1], status: .loaded)
    mirror.publish([1, 2], status: .loaded)
    cache.publish([1, 2, 3], status: .loaded)
    let fallback = makeFallback()
    fallback.start()
    return fallback
  }

  private func fail(_ source: Items) { source.setStatus(.failed(error)) }

  // MARK: First contents

  @Test func `a source that has loaded is shown while a better one loads`() throws {
    let fallback = makeFallback()
    let recorder = RecordingObserver(fallback)
    #expect(fallback.shown.value == nil)
    cache.publish([3], status: .loaded)
    #expect(Array(fallback.snapshot) == [3] && fallback.shown.value?.offset == 2)
    #expect(fallback.status == .loaded && recorder.changes.count == 1)
    try recorder.check(against: fallback)
  }

  @Test func `a better source that loads for the first time takes over at once`() throws {
    let fallback = makeFallback()
    let recorder = RecordingObserver(fallback)
    cache.publish([3, 4], status: .loaded)
    mirror.publish([4, 2], status: .loaded)
    live.publish([1, 2], status: .loaded)
    #expect(recorder.events.map(\.brief) == ["0:[]", "0-1:[3, 4]", "1-2:[4, 2]", "2-3:[1, 2]"])
    #expect(fallback.shown.value?.offset == 0)
    // A worse one never does.
    mirror.append(9)
    #expect(recorder.eventCount == 4)
    try recorder.check(against: fallback)
  }

  @Test func `a better source that failed before it loaded must prove itself`() {
    let fallback = makeFallback()
    fallback.start()
    cache.publish([3], status: .loaded)
    fail(live)
    live.setStatus(.loading)
    live.publish([1], status: .loaded)
    #expect(fallback.shown.value?.offset == 2)
    clock.advance(by: .seconds(30))
    #expect(fallback.shown.value?.offset == 0)
  }

  @Test func `an empty list that has loaded is good contents`() {
    let fallback = makeFallback()
    fallback.start()
    cache.publish([3], status: .loaded)
    live.setStatus(.loaded)
    #expect(fallback.isEmpty && fallback.shown.value?.offset == 0)
  }

  @Test func `before a source has loaded, the status says so`() {
    let fallback = makeFallback()
    #expect(fallback.status == .idle)
    let log = Log<SourceStatus>()
    let observation = fallback.observeStatus { log.append($0) }
    fail(mirror)
    fail(live)
    #expect(log.value == [.loading])
    cache.setStatus(.missing(SourceError(code: "missing", message: "it is missing")))
    #expect(log.value == [.loading, .failed(error)])
    mirror.setStatus(.loading)
    #expect(log.value == [.loading, .failed(error), .loading])
    mirror.setStatus(.loaded)
    #expect(log.value.last == .loaded)
    observation.dispose()
  }

  @Test func `the status is the status of the shown source`() {
    let fallback = makeLoadedFallback()
    let polls = SourceStatus(.loaded, diagnostics: [.init(code: "polls", message: "it polls")])
    live.setStatus(polls)
    #expect(fallback.status == polls)
    fail(live)
    #expect(fallback.status == .failed(error))
    clock.advance(by: .seconds(5))
    #expect(fallback.status == .loaded)
  }

  @Test func `the sources are started by the first observer`() {
    let sources = [LazySource(), LazySource()]
    let fallback = FallbackSource(sources, clock: clock)
    #expect(sources.map(\.starts.value) == [0, 0])
    let observations = (0..<2).map { _ in fallback.observe { _ in } }
    #expect(sources.map(\.status) == [.loading, .loading])
    sources[1].load([2])
    #expect(Array(fallback.snapshot) == [2])
    for observation in observations { observation.dispose() }
  }

  // MARK: Falling back and returning

  @Test func `a failure that ends in time changes nothing`() {
    let fallback = makeLoadedFallback()
    let recorder = RecordingObserver(fallback)
    for _ in 0..<3 {
      fail(live)
      clock.advance(by: .milliseconds(4_999))
      live.setStatus(.loaded)
    }
    clock.advance(by: .seconds(100))
    #expect(
      recorder.eventCount == 1 && fallback.shown.value?.description == "source 0, since 0.0 seconds"
    )
  }

  @Test func `after a failure that lasts, the first healthy source takes over by one change`()
    throws
  {
    let fallback = makeLoadedFallback()
    let recorder = RecordingObserver(fallback)
    fail(live)
    fail(mirror)
    clock.advance(by: .milliseconds(4_999))
    #expect(recorder.eventCount == 1 && fallback.status == .failed(error))
    clock.advance(by: .milliseconds(1))
    #expect(recorder.events.last?.brief == "1-2:[1, 2, 3]" && recorder.eventCount == 2)
    #expect(recorder.changes.first?.changeset.insertions == [1, 2])
    #expect(fallback.shown.value?.offset == 2 && fallback.shown.value?.since == .seconds(5))
    #expect(fallback.shown.value?.description == "source 2, since 5.0 seconds")
    try recorder.check(against: fallback)
  }

  @Test func `a source that is missing has failed`() {
    let fallback = makeLoadedFallback()
    live.setStatus(.missing(error))
    clock.advance(by: .seconds(5))
    #expect(fallback.shown.value?.offset == 1)
  }

  @Test func `if no source is healthy, the contents stay until one is`() {
    let fallback = makeLoadedFallback()
    let recorder = RecordingObserver(fallback)
    for source in [live, mirror, cache] { fail(source) }
    clock.advance(by: .seconds(100))
    #expect(recorder.eventCount == 1 && Array(fallback.snapshot) == [1])
    #expect(fallback.status == .failed(error))
    cache.setStatus(.loaded)
    #expect(fallback.shown.value?.offset == 2 && recorder.eventCount == 2)
  }

  @Test func `a source that never loaded takes over only when it has loaded`() {
    live.publish([1], status: .loaded)
    let fallback = makeFallback()
    let recorder = RecordingObserver(fallback)
    fail(live)
    fail(mirror)
    clock.advance(by: .seconds(100))
    #expect(recorder.eventCount == 1 && Array(fallback.snapshot) == [1])
    cache.publish([3], status: .loaded)
    #expect(recorder.events.last?.brief == "1-2:[3]")
  }

  @Test func `a better source returns when it has been healthy without interruption`() {
    let fallback = makeLoadedFallback()
    fail(live)
    clock.advance(by: .seconds(5))
    live.setStatus(.loaded)
    clock.advance(by: .seconds(29))
    fail(live)
    live.setStatus(.loaded)
    clock.advance(by: .seconds(29))
    #expect(fallback.shown.value?.offset == 1)
    clock.advance(by: .seconds(1))
    #expect(fallback.shown.value?.offset == 0 && fallback.shown.value?.since == .seconds(64))
  }

  @Test func `a better source that has recovered counts when the shown one fails`() {
    let fallback = makeLoadedFallback()
    fail(live)
    clock.advance(by: .seconds(5))
    live.setStatus(.loaded)
    fail(mirror)
    clock.advance(by: .seconds(5))
    #expect(fallback.shown.value?.offset == 0)
  }

  @Test func `a better source returns although the shown one has just failed`() {
    let fallback = makeLoadedFallback()
    fail(live)
    clock.advance(by: .seconds(5))
    live.setStatus(.loaded)
    clock.advance(by: .seconds(28))
    fail(mirror)
    clock.advance(by: .seconds(2))
    #expect(fallback.shown.value?.offset == 0)
  }

  @Test func `loading again is neither a failure nor a recovery`() {
    let fallback = makeLoadedFallback()
    live.setStatus(.loading)
    clock.advance(by: .seconds(100))
    #expect(fallback.shown.value?.offset == 0 && fallback.status == .loading)
    fail(live)
    live.setStatus(.loading)
    clock.advance(by: .seconds(5))
    #expect(fallback.shown.value?.offset == 1)
    clock.advance(by: .seconds(30))
    #expect(fallback.shown.value?.offset == 1)
    live.setStatus(.loaded)
    clock.advance(by: .seconds(15))
    live.setStatus(.loading)
    clock.advance(by: .seconds(15))
    #expect(fallback.shown.value?.offset == 0)
  }

  @Test func `a source that loads again when it is first observed is healthy`() {
    live.publish([1], status: .loaded)
    live.setStatus(.loading)
    let fallback = makeFallback()
    fallback.start()
    #expect(Array(fallback.snapshot) == [1])
  }

  @Test func `limits of zero need no timer`() {
    live.publish([1], status: .loaded)
    mirror.publish([2], status: .loaded)
    let fallback = FallbackSource(
      [live, mirror], fallingBackAfter: .zero, returningAfter: .zero, clock: clock)
    fallback.start()
    fail(live)
    #expect(fallback.shown.value?.offset == 1)
    live.setStatus(.loaded)
    #expect(fallback.shown.value?.offset == 0 && clock.sleeperCount == 0)
  }

  @Test func `limits of any size are valid`() {
    live.publish([1], status: .loaded)
    mirror.publish([2], status: .loaded)
    let never = Duration.seconds(Int64.max)
    let fallback = FallbackSource(
      [live, mirror], fallingBackAfter: never, returningAfter: never, clock: clock)
    fallback.start()
    fail(live)
    clock.advance(by: .seconds(1_000_000))
    #expect(fallback.shown.value?.offset == 0 && clock.sleeperCount == 0)
  }

  @Test(.timeLimit(.minutes(10))) func `an endless time never ends`() {
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
}
