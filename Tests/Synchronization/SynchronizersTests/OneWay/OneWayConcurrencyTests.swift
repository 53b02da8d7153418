import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources
@testable import Synchronizers
import TestSupport
import TestTags
import Testing

/// Tests of many downloads and of tasks that request, cancel and set options concurrently.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct OneWayConcurrencyTests {
  /// Counts concurrent downloads.
  private final class Counter: Sendable {
    private let state = Locked((running: 0, most: 0, all: 0))

    var most: Int { state.withLock { $0.most } }
    var all: Int { state.withLock { $0.all } }

    func enter() {
      state.withLock { state in
        state.running += 1
        state.all += 1
        state.most = max(state.most, state.running)
      }
    }

    func leave() { state.withLock { $0.running -= 1 } }
  }

  /// Downloads items. The first ones wait for each other, which proves that they run concurrently.
  private func run(
    _ count: Int, options: OneWaySynchronizer.Options, waitingForEachOther width: Int,
    failing: @escaping @Sendable (Int) -> Bool = { _ in false }
  ) async throws -> (counter: Counter, subject: Subject) {
    let subject = Subject(
      source: (0..<count).map { TestElement($0) }, local: [], options: options)
    let counter = Counter()
    let together = Gate()
    subject.sides.hook.value = { [weak together] call in
      guard call.hasPrefix("content") || call.hasPrefix("preview") else { return }
      counter.enter()
      defer { counter.leave() }
      await together?.pass()
      await Task.yield()
      if failing(Int(call.dropFirst(8)) ?? 0) { throw Refusal() }
    }
    subject.ask()
    await together.waitForArrivals(width)
    together.open()
    await subject.waitUntilIdle()
    return (counter, subject)
  }

  @Test(arguments: [true, false])
  func `ten thousand items download ten at a time`(downloadsPreviews: Bool) async throws {
    let options = OneWaySynchronizer.Options(concurrency: 10, downloadsPreview: downloadsPreviews)
    let (counter, subject) = try await run(10_000, options: options, waitingForEachOther: 10)
    #expect(counter.most == 10)
    #expect(counter.all == (downloadsPreviews ? 20_000 : 10_000))
    let trace = subject.trace
    #expect(trace.count { $0 == "end" } == 1 && trace.suffix(3) == ["end", "A ok", "idle"])
    #expect(Set(trace.filter { $0.hasPrefix("content") }).count == 10_000)
    if downloadsPreviews {
      let firstContent = trace.firstIndex { $0.hasPrefix("content") }
      let lastPreview = trace.lastIndex { $0.hasPrefix("preview") }
      #expect(try #require(firstContent) > #require(lastPreview))
    }
    #expect(subject.synchronizer.progress.value.stage == .end)
  }

  @Test func `a third of ten thousand downloads may fail`() async throws {
    let options = OneWaySynchronizer.Options(concurrency: 10, stopsOnError: false)
    let (counter, subject) = try await run(10_000, options: options, waitingForEachOther: 10) {
      $0 % 3 == 0
    }
    #expect(counter.most == 10 && counter.all == 10_000)
    #expect(subject.trace.count { $0 == "end" } == 1)
    let keys = Set((subject.error?.failures ?? []).compactMap { $0.key.flatMap(Int.init) })
    #expect(keys == Set((0..<10_000).filter { $0 % 3 == 0 }))
    #expect(subject.error?.failures.count == 3334)
    #expect(subject.synchronizer.progress.value.failed == 3334)
  }

  @Test func `a concurrency of zero is the number of processors`() async throws {
    let width = processorCount()
    let (counter, _) = try await run(
      width * 20, options: OneWaySynchronizer.Options(), waitingForEachOther: width)
    #expect(counter.most == width)
  }

  @Test func `the progress of concurrent downloads grows by one`() async throws {
    let sides = TestSides(source: (0..<500).map { TestElement($0) }, local: [])
    let synchronizer = OneWaySynchronizer(
      from: sides, to: sides, options: OneWaySynchronizer.Options(concurrency: 8))
    let steps = Log<Int>([])
    let observation = synchronizer.progress.observe { progress in
      if progress.stage == .content { steps.append(progress.done) }
    }
    try await synchronizer.sync()
    observation.dispose()
    #expect(steps.value == Array(0...500))
  }

  @Test func `many tasks request, cancel and set options`() async throws {
    let sides = TestSides(source: [1, 2, 3, 4, 5, 6], local: [2, 9])
    let synchronizer = OneWaySynchronizer(from: sides, to: sides)
    sides.hook.value = { _ in await Task.yield() }
    let statuses = Log<OneWaySynchronizer.Status>([])
    let observation = synchronizer.status.observe { statuses.append($0) }
    let answered = Shared(0)
    let seed: UInt64 = 7
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          var random = SeededGenerator(seed: seed &+ UInt64(worker))
          for _ in 0..<60 {
            switch random.below(6) {
            case 0: synchronizer.cancel()
            case 1: synchronizer.options.concurrency = random.below(4)
            case 2: synchronizer.options.downloadsPreview = random.oneIn(2)
            case 3:
              answered.modify { $0 += 1 }
              synchronizer.sync { _ in answered.modify { $0 -= 1 } }
            case 4:
              let waiting = Task { try await synchronizer.sync() }
              if random.oneIn(2) { waiting.cancel() }
              _ = await waiting.result
            default:
              _ = try? await synchronizer.sync()
            }
          }
        }
      }
    }
    await synchronizer.status.wait { $0 == .idle }
    observation.dispose()
    #expect(answered.value == 0)
    // The statuses idle and running alternate.
    #expect(
      statuses.value == statuses.value.indices.map { $0.isMultiple(of: 2) ? .idle : .running })
    // Runs do not overlap, and each run that begins also ends.
    let marks = sides.trace.value.filter { $0 == "begin" || $0 == "end" }
    #expect(marks == marks.indices.map { $0.isMultiple(of: 2) ? "begin" : "end" })
    #expect(marks.count.isMultiple(of: 2))
  }

  @Test func `a store is edited and observed during runs`() async throws {
    let source = ArrayDataSource((0..<200).map { TestElement($0) })
    let store = CollectionStore<TestElement>()
    let recorder = RecordingObserver(store, seed: 11)
    let synchronizer = OneWaySynchronizer(
      from: source, to: store,
      options: OneWaySynchronizer.Options(concurrency: 4, removalLimit: .none))
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        var random = SeededGenerator(seed: 11)
        for step in 0..<100 {
          source[random.below(200)] = TestElement(random.below(200), step)
          await Task.yield()
        }
      }
      group.addTask {
        for step in 0..<100 {
          store.transaction { draft in
            if draft.isEmpty || step.isMultiple(of: 2) {
              draft.insert(TestElement(1000 + step), at: draft.count / 2)
            } else {
              draft.remove(at: draft.count / 2)
            }
          }
          await Task.yield()
        }
      }
      for _ in 0..<2 {
        group.addTask { for _ in 0..<20 { _ = try? await synchronizer.sync() } }
      }
      group.addTask {
        for _ in 0..<20 {
          synchronizer.cancel()
          await Task.yield()
        }
      }
    }
    source.replace(with: (0..<50).map { TestElement($0, 1) })
    try await synchronizer.sync()
    #expect(store.snapshot.hasSameContents(as: source.snapshot))
    try recorder.check(against: store)
  }
}
