import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// A source that falls back to others: what observers see, unusual sources, and lifetimes.
@Suite struct FallbackEdgeTests {
  private let clock = ManualClock()
  private let error = SourceError(code: "gone", message: "it is gone")

  @Test func `observers of the contents read the source that they come from`() {
    let (live, mirror) = (Items([1]), Items([2]))
    let fallback = FallbackSource([live, mirror], clock: clock)
    let log = Log<String>()
    let observation = fallback.observe { event in
      log.append("\(event.snapshot) of \(fallback.shown.value?.offset ?? -1)")
    }
    let choices = fallback.shown.observe { choice in
      log.append("\(choice?.offset ?? -1) shows \(fallback.snapshot)")
    }
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(
      Set(log.value.prefix(2)) == ["[1] of 0", "0 shows [1]"]
        && Set(log.value.dropFirst(2)) == ["[2] of 1", "1 shows [2]"])
    #expect(log.value.count == 4)
    observation.dispose()
    choices.dispose()
  }

  @Test func `a source with equal contents takes over without an event`() {
    let (live, mirror) = (Items([1]), Items([1]))
    let fallback = FallbackSource([live, mirror], clock: clock)
    let recorder = RecordingObserver(fallback)
    let offsets = Log<Int?>()
    let choices = fallback.shown.observe { offsets.append($0?.offset) }
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(recorder.eventCount == 1 && fallback.status == .loaded)
    #expect(offsets.value == [0, 1])
    mirror.append(2)
    #expect(recorder.events.last?.brief == "1-2:[1, 2]")
    choices.dispose()
  }

  @Test func `a source that fails during its swap is shown with its status`() throws {
    let mirror = ArrayDataSource<Meddler>(status: .loaded)
    let error = error
    let hasFailed = Shared(false)
    let meddle: @Sendable () -> Void = { [weak mirror] in
      let isFirst = hasFailed.modify { hasFailed in
        defer { hasFailed = true }
        return !hasFailed
      }
      if isFirst { mirror?.setStatus(.failed(error)) }
    }
    let live = ArrayDataSource([Meddler(id: 1)])
    mirror.publish([Meddler(id: 1, content: 1)], status: .loaded)
    let fallback = FallbackSource([live, mirror], clock: clock)
    let recorder = RecordingObserver(fallback)
    // From now on, the first comparison makes the mirror fail.
    live.publish([Meddler(id: 1, content: 2, meddle: meddle)], status: .loaded)
    hasFailed.value = false
    mirror.setStatus(.loaded)
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(hasFailed.value)
    // Its contents are good. The failure is a status, and counts from now on.
    #expect(fallback.snapshot.map(\.content) == [1] && fallback.status == .failed(error))
    #expect(fallback.shown.value?.offset == 1)
    live.setStatus(.loaded)
    clock.advance(by: .seconds(4))
    #expect(fallback.shown.value?.offset == 1)
    clock.advance(by: .seconds(1))
    #expect(fallback.shown.value?.offset == 0 && fallback.status == .loaded)
    try recorder.check(against: fallback)
  }

  @Test func `sources may fail and recover inside observers`() throws {
    let (live, mirror, cache) = (Items([1]), Items([2]), Items([3]))
    let fallback = FallbackSource([live, mirror, cache], fallingBackAfter: .zero, clock: clock)
    let error = error
    let contents = Log<[Int]>()
    let recorder = RecordingObserver(fallback)
    let observation = fallback.observe { event in
      contents.append(event.snapshot.map(\.id))
      if event.snapshot.first == 2 { mirror.setStatus(.failed(error)) }
      if event.snapshot.first == 3 {
        cache.setStatus(.failed(error))
        live.setStatus(.loaded)
      }
    }
    live.setStatus(.failed(error))
    #expect(contents.value == [[1], [2], [3], [1]])
    #expect(fallback.shown.value?.offset == 0 && fallback.status == .loaded)
    try recorder.check(against: fallback)
    observation.dispose()
  }

  @Test func `a report that changes nothing does not replace a choice that is due`() {
    let (live, mirror, cache) = (Items([1]), Items([2]), Items([3]))
    let fallback = FallbackSource([live, mirror, cache], fallingBackAfter: .zero, clock: clock)
    let error = error
    let observation = fallback.observe { event in
      guard event.snapshot.first == 2 else { return }
      mirror.setStatus(.failed(error))
      cache.setStatus(
        SourceStatus(.loaded, diagnostics: [.init(code: "old", message: "it is old")]))
    }
    live.setStatus(.failed(error))
    #expect(Array(fallback.snapshot) == [3] && fallback.shown.value?.offset == 2)
    observation.dispose()
  }

  @Test func `a source may occur twice`() {
    let (live, mirror) = (Items([1]), Items([2]))
    let fallback = FallbackSource([live, live, mirror], clock: clock)
    let recorder = RecordingObserver(fallback)
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(recorder.events.map(\.brief) == ["1:[1]", "1-2:[2]"])
    live.setStatus(.loaded)
    clock.advance(by: .seconds(30))
    #expect(recorder.events.last?.brief == "2-3:[1]" && fallback.shown.value?.offset == 0)
  }

  @Test func `one source is shown whatever happens`() throws {
    let live = LazySource()
    let fallback = FallbackSource([live], clock: clock)
    let recorder = RecordingObserver(fallback)
    live.contents.setStatus(.failed(error))
    #expect(fallback.status == .failed(error))
    live.load([1])
    live.contents.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    live.load([2])
    #expect(recorder.events.map(\.brief) == ["0:[]", "0-1:[1]", "1-2:[2]"])
    try recorder.check(against: fallback)
  }

  @Test func `a container among the sources cannot show what is made from the fallback source`() {
    let (live, inner) = (Items([1]), Container(Items([2])))
    let fallback = FallbackSource([live, inner], clock: clock)
    let recorder = RecordingObserver(fallback)
    #expect(inner.swap(to: fallback.filter { $0.id > 0 }).outcomeIfKnown == .cycle)
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(recorder.events.last?.brief == "1-2:[2]")
    #expect(inner.swap(to: Items([3])).outcomeIfKnown == .swapped)
    #expect(recorder.events.last?.brief == "2-3:[3]")
  }

  @Test func `a fallback source can be a source of another one`() {
    let (live, mirror, cache) = (Items([1]), Items([2]), Items([3]))
    let inner = FallbackSource([live, mirror], clock: clock)
    let outer = FallbackSource([inner, cache], clock: clock)
    let recorder = RecordingObserver(outer)
    live.setStatus(.failed(error))
    // The inner one comes back with the mirror at the moment when it would be given up.
    clock.advance(by: .seconds(5))
    mirror.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(recorder.snapshot.last == 3 && outer.shown.value?.offset == 1)
  }

  @Test(.reaches(.rearrangements)) func `random failures and changes keep the contract`() throws {
    let (live, mirror) = (Items(), Items([2]))
    let fallback = FallbackSource([live, mirror], clock: clock)
    let recorder = RecordingObserver(fallback)
    let statuses = StatusWatch(fallback, behind: recorder)
    var random = SeededGenerator(seed: 1)
    for round in 0..<200 {
      live.replace(with: (0..<5).map { _ in TestElement(.random(in: 0..<9, using: &random)) })
      mirror.replace(with: (0..<5).map { _ in TestElement(.random(in: 0..<9, using: &random)) })
      live.setStatus(round % 3 == 0 ? .failed(error) : .loaded)
      clock.advance(by: .seconds(round % 40))
    }
    #expect(statuses.fault == nil)
    try recorder.check(against: fallback)
    Coverage.note(recorder)
  }

  @Test func `a transaction over several sources is one event`() throws {
    let (live, mirror) = (Items([1]), Items([2]))
    let fallback = FallbackSource([live, mirror], clock: clock)
    let both = fallback.concatenated(with: mirror)
    let (recorder, joined) = (RecordingObserver(fallback), RecordingObserver(both))
    withTransaction {
      live.append(3)
      mirror.append(4)
    }
    #expect(recorder.events.last?.brief == "1-2:[1, 3]" && recorder.eventCount == 2)
    #expect(joined.snapshot.map(\.id) == [1, 3, 2, 4] && joined.eventCount == 2)
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    fallback.flushAndWait()
    #expect(joined.snapshot.map(\.id) == [2, 4, 2, 4] && joined.eventCount == 3)
    try recorder.check(against: fallback)
    try joined.check(against: both)
  }

  @Test func `a transaction may be open when the sources are started`() {
    let (live, mirror) = (Items(status: .loading), Items(status: .loading))
    let fallback = FallbackSource([live, mirror], clock: clock)
    let error = error
    withTransaction {
      fallback.start()
      live.setStatus(.failed(error))
      mirror.publish([2], status: .loaded)
    }
    #expect(fallback.snapshot.map(\.id) == [2] && fallback.shown.value?.offset == 1)
  }

  @Test func `the clock of the system ends the times`() async throws {
    let (live, mirror) = (Items([1]), Items([2]))
    let fallback = FallbackSource(
      [live, mirror], fallingBackAfter: .milliseconds(1), returningAfter: .milliseconds(1))
    let recorder = RecordingObserver(fallback)
    live.setStatus(.failed(error))
    try await recorder.wait(forContents: [2])
    live.setStatus(.loaded)
    try await recorder.wait(forContents: [1])
    try recorder.check(against: fallback)
  }

  @Test func `a fallback source passes the check of data sources`() async throws {
    // Each fallback source of the check shows the same two sources.
    let (live, mirror) = (Items([1]), Items([2]))
    let (clock, error) = (clock, error)
    try await checkDataSource(
      makeSource: {
        FallbackSource(
          [live, mirror], fallingBackAfter: .zero, returningAfter: .zero, clock: clock)
      },
      mutate: { _, random in
        let edited = Bool.random(using: &random) ? live : mirror
        edited.replace(with: (0..<4).map { _ in TestElement(.random(in: 0..<9, using: &random)) })
        live.setStatus(Bool.random(using: &random) ? .loaded : .failed(error))
      },
      expected: { _ in Array(live.status == .loaded ? live.snapshot : mirror.snapshot) },
      damage: { _ in
        // The shown source last. Otherwise, the other one would take over.
        mirror.setStatus(.failed(error))
        live.setStatus(.failed(error))
      },
      repair: { _ in
        live.setStatus(.loaded)
        mirror.setStatus(.loaded)
      })
  }

  // MARK: Lifetimes

  @Test func `releasing the fallback source releases its sources and its timer`() {
    weak var live: Items?
    weak var mirror: Items?
    weak var released: FallbackSource<TestElement>?
    do {
      let sources = [Items([1]), Items([2])]
      (live, mirror) = (sources[0], sources[1])
      let fallback = FallbackSource(sources, clock: clock)
      released = fallback
      let observation = fallback.observe { _ in }
      sources[0].setStatus(.failed(error))
      #expect(clock.sleeperCount == 1)
      observation.dispose()
    }
    #expect(live == nil && mirror == nil && released == nil && clock.sleeperCount == 0)
  }

  @Test func `an observation keeps the fallback source alive`() {
    weak var fallback: FallbackSource<TestElement>?
    let (live, mirror) = (Items([1]), Items([2]))
    let contents = Log<[Int]>()
    let observation: Disposable
    do {
      let kept = FallbackSource([live, mirror], clock: clock)
      fallback = kept
      observation = kept.observe { contents.append($0.snapshot.map(\.id)) }
    }
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(fallback != nil && contents.value == [[1], [2]])
    observation.dispose()
    #expect(fallback == nil)
  }

  @Test func `the collection follows the sources on its own`() {
    let (live, mirror) = (Items([1]), Items([2]))
    var fallback: FallbackSource<TestElement>? = FallbackSource([live, mirror], clock: clock)
    fallback?.start()
    let collection = fallback?.collection
    fallback = nil
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(collection?.snapshot.map(\.id) == [2])
  }

  @Test func `the shown source follows on its own`() {
    let (live, mirror) = (Items([1]), Items([2]))
    var fallback: FallbackSource<TestElement>? = FallbackSource([live, mirror], clock: clock)
    fallback?.start()
    let shown = fallback?.shown
    fallback = nil
    live.setStatus(.failed(error))
    clock.advance(by: .seconds(5))
    #expect(shown?.value?.offset == 1)
  }

  @Test(.timeLimit(.minutes(10)))
  func `an observer may release the fallback source that is changing over`() {
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

  // MARK: Bad input

  @Test func `no sources and negative limits are refused`() async {
    await #expect(processExitsWith: .failure) { _ = FallbackSource<TestElement>([]) }
    await #expect(processExitsWith: .failure) {
      _ = FallbackSource([Items()], fallingBackAfter: .seconds(-1))
    }
    await #expect(processExitsWith: .failure) {
      _ = FallbackSource([Items()], returningAfter: .seconds(-1))
    }
  }
}
