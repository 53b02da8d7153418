import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Rule G4, while threads edit the sources, make them fail and recover, and let time pass.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct FallbackConcurrencyTests {
  private let clock = ManualClock()
  private let error = SourceError(code: "gone", message: "it is gone")

  @Test func `good contents are never replaced by bad ones, whatever happens meanwhile`() throws {
    // Each source has its first element forever. Contents without one of them belong to no source that has loaded.
    let sources = (0..<3).map { _ in Items(status: .loading) }
    let fallback = FallbackSource(
      sources, fallingBackAfter: .seconds(2), returningAfter: .seconds(3), clock: clock)
    let recorder = RecordingObserver(fallback, replaysEvery: 10, keeps: 100)
    let statuses = StatusWatch(fallback, behind: recorder)
    let faults = Log<String>()
    let observation = fallback.observe { event in
      guard event.revision > 0 else { return }
      if event.snapshot.first.map({ $0.id < 3 }) != true { faults.append("\(event.snapshot)") }
      if fallback.shown.value == nil { faults.append("nothing is shown") }
    }
    let rounds = TestRun.rounds(1_000, long: 20_000)
    let editing = sources.enumerated().map { [error] offset, source in
      Worker {
        for round in 0..<rounds {
          let elements = [TestElement(offset)] + (0..<5).map { TestElement(10 + (round + $0) % 9) }
          source.publish(elements, status: .loaded)
          if (round + offset) % 3 == 0 { source.setStatus(.failed(error)) }
        }
      }
    }
    let passing = Worker { [clock] in
      for round in 0..<rounds { clock.advance(by: .milliseconds(round % 7 * 300)) }
    }
    let observing = Worker {
      for _ in 0..<rounds {
        fallback.observe { _ in }.dispose()
        _ = fallback.shown.observe { _ in }
      }
    }
    for worker in editing + [passing, observing] { try worker.join() }
    for source in sources { source.setStatus(.loaded) }
    clock.advance(by: .seconds(3))
    #expect(fallback.shown.value?.offset == 0)
    #expect(fallback.snapshot.elementsEqual(sources[0].snapshot) && fallback.status == .loaded)
    #expect(faults.value == [] && statuses.fault == nil)
    try recorder.check(against: fallback)
    observation.dispose()
  }

  @Test func `the latest decision wins, whichever thread carries it out`() throws {
    let sources = (0..<3).map { Items([TestElement($0)]) }
    let fallback = FallbackSource(
      sources, fallingBackAfter: .zero, returningAfter: .zero, clock: clock)
    let recorder = RecordingObserver(fallback, replaysEvery: 10, keeps: 100)
    var random = SeededGenerator(seed: TestRun.seed ?? 1)
    for round in 0..<TestRun.rounds(1_000, long: 50_000) {
      let steps = sources.map { _ in (0..<4).map { _ in Bool.random(using: &random) } }
      let workers = zip(sources, steps).map { [error] source, steps in
        Worker {
          for isHealthy in steps { source.setStatus(isHealthy ? .loaded : .failed(error)) }
        }
      }
      for worker in workers { try worker.join() }
      // Without limits, the first healthy source is shown.
      guard let first = steps.firstIndex(where: { $0.last == true }) else { continue }
      let shown = fallback.shown.value?.offset
      #expect(shown == first && fallback.snapshot.map(\.id) == [first], "round \(round)")
      if shown != first { return }
    }
    try recorder.check(against: fallback)
  }

  @Test func `fallback sources may be released while their sources change`() throws {
    let sources = [Items([0]), Items([1])]
    let isDone = Shared(false)
    let failing = Worker { [error] in
      while !isDone.value {
        sources[0].setStatus(.failed(error))
        sources[0].publish([0, 2], status: .loaded)
        sources[1].publish([1], status: .loaded)
      }
    }
    let passing = Worker { [clock] in
      while !isDone.value { clock.advance(by: .seconds(1)) }
    }
    for _ in 0..<TestRun.rounds(200, long: 10_000) {
      let fallback = FallbackSource(
        sources, fallingBackAfter: .seconds(1), returningAfter: .seconds(1), clock: clock)
      let recorder = RecordingObserver(fallback)
      for _ in 0..<10 { _ = fallback.shown.value }
      recorder.dispose()
      try recorder.check()
    }
    isDone.value = true
    try failing.join()
    try passing.join()
    #expect(!sources[0].collection.node.isFollowed && !sources[1].collection.node.isFollowed)
    #expect(clock.sleeperCount == 0)
  }
}
