import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Synchronization
import TestSupport
import TestTags
import Testing

/// The parts of a stress test, and its counters.
private final class Stress: Sendable {
  let seed: UInt64
  let commits: Int
  let arrays: [Source]
  let containers: [Container]
  /// All collections that can be observed, most of which can be shown.
  let collections: [any DataSource<TestElement>]
  let violations = Log<ContractError>([])
  let counts = Shared<[String: Int]>([:])
  private let committed = Atomic<Int>(0)
  /// The number of times that observers may still call the engine.
  private let reentries: Atomic<Int>

  init(seed: UInt64, commits: Int) {
    self.seed = seed
    self.commits = commits
    reentries = Atomic(commits / 4)
    var random = SeededGenerator(seed: seed)
    let arrays = (0..<4).map { _ in
      Source((0..<8).map { TestElement($0 + random.below(4), random.below(3)) })
    }
    let inner = Container(arrays[0])
    let middle = Container(inner)
    let outer = Container(middle)
    let filtered = arrays[1].filter { $0.content != 1 }
    let joined = arrays[2].concatenated(with: arrays[3].sorted { $0.id < $1.id })
    let diamond = filtered.concatenated(with: arrays[1].map { $0 })
    self.arrays = arrays
    containers = [inner, middle, outer]
    collections =
      arrays + [
        inner, middle, outer, filtered, joined, diamond, inner.filter { $0.id > 3 },
        outer.concatenated(with: arrays[0]),
      ]
  }

  var isDone: Bool { committed.load(ordering: .relaxed) >= commits }

  func count(_ what: String) { counts.modify { $0[what, default: 0] += 1 } }

  // MARK: Actions of the threads

  func mutate(_ number: Int) {
    var editor = RandomEditor(seed: seed &+ UInt64(number))
    while committed.add(1, ordering: .relaxed).oldValue < commits {
      edit(&editor)
      // Otherwise, commits would run far ahead of their delivery.
      if editor.random.oneIn(16) {
        collections[editor.random.below(collections.count)].flushAndWait()
      }
    }
  }

  private func edit(_ editor: inout RandomEditor<TestElement>) {
    let first = editor.random.below(arrays.count)
    let array = arrays[first]
    switch editor.random.below(8) {
    case 0...3:
      do { try editor.step(array) } catch { violations.append(error) }
    case 4:
      array.append(editor.makeElement())
      array.remove(identifiedBy: editor.random.below(12))
    case 5: array.update(identifiedBy: editor.random.below(12)) { $0.content += 1 }
    case 6: array.replace(with: editor.variation(of: Array(array.snapshot)))
    default:
      // In the order of the arrays, because gates that are entered in opposite orders trap.
      let elements = (editor.makeElement(), editor.makeElement())
      withTransaction {
        array.append(elements.0)
        for later in arrays[(first + 1)...] { later.append(elements.1) }
        for later in arrays[first...] { later.transaction { if $0.count > 20 { $0.removeAll() } } }
      }
    }
  }

  func swap(_ number: Int) {
    var random = SeededGenerator(seed: seed &+ UInt64(100 + number))
    while !isDone {
      swap(&random)
      // As with commits: otherwise, the delivering thread could never catch up.
      containers[random.below(containers.count)].flushAndWait()
    }
  }

  private func swap(_ random: inout SeededGenerator) {
    let container = containers[random.below(containers.count)]
    let handle = container.swap(to: collections[random.below(collections.count)])
    if random.oneIn(10) { handle.cancel() }
    count(handle.outcomeIfKnown.map { "\($0)" } ?? "undecided")
  }

  func observe(_ number: Int, keeping limit: Int, _ leftovers: Leftovers) {
    var random = SeededGenerator(seed: seed &+ UInt64(200 + number))
    var kept: [(recorder: RecordingObserver<TestElement>, observation: Disposable?)] = []
    while !isDone || kept.count < limit {
      kept.append(makeObserver(&random))
      leftovers.add(kept[kept.count - 1].recorder)
      count("observers")
      if random.oneIn(4) { collections[random.below(collections.count)].flushAndWait() }
      if kept.count > limit { end(kept.remove(at: random.below(kept.count)), &random) }
    }
    for observer in kept { end(observer, &random) }
  }

  private func end(
    _ observer: (recorder: RecordingObserver<TestElement>, observation: Disposable?),
    _ random: inout SeededGenerator
  ) {
    if random.oneIn(3) { observer.observation?.disposeAndWait() }
    observer.observation?.dispose()
    observer.recorder.dispose()
    for violation in observer.recorder.violations { violations.append(violation) }
  }

  private func makeObserver(
    _ random: inout SeededGenerator
  ) -> (RecordingObserver<TestElement>, Disposable?) {
    let source = collections[random.below(collections.count)]
    switch random.below(8) {
    case 0:
      let policies: [DeliveryPolicy] = [.coalesce, .everything, .bounded(3)]
      return (
        RecordingObserver(
          source, on: .queue(.global()), policy: policies[random.below(3)],
          replaysEvery: 4, keeps: 1, seed: seed, expectsEveryRevision: false), nil
      )
    case 1, 2:
      let recorder = RecordingObserver<TestElement>(
        replaysEvery: 4, keeps: 1, seed: seed)
      let state = Shared(SeededGenerator(seed: random.next()))
      let observation = source.observe { [weak self] event in
        recorder.receive(event)
        self?.comeBack(state)
      }
      return (recorder, observation)
    default:
      return (
        RecordingObserver(
          source, replaysEvery: 4, keeps: 1, seed: seed, expectsEveryRevision: false), nil
      )
    }
  }

  /// The actions of an observer inside its call.
  private func comeBack(_ state: Shared<SeededGenerator>) {
    guard state.modify({ $0.oneIn(4) }),
      reentries.subtract(1, ordering: .relaxed).oldValue > 0
    else { return }
    var random = SeededGenerator(seed: state.modify { $0.next() })
    count("reentries")
    switch random.below(5) {
    case 0: arrays[random.below(arrays.count)].append(TestElement(random.below(12)))
    case 1: arrays[random.below(arrays.count)].removeAll { $0.id > 5 }
    case 2: swap(&random)
    case 3:
      let collection = collections[random.below(collections.count)]
      // Two observers that wait for the end of each other's passes would wait forever.
      collection.observe { _ in }.dispose()
    default:
      let derived = collections[random.below(collections.count)].map { $0 }
      let recorder = RecordingObserver(
        derived.concatenated(with: arrays[0]), seed: seed, expectsEveryRevision: false)
      arrays[0].append(TestElement(random.below(12)))
      recorder.dispose()
      for violation in recorder.violations { violations.append(violation) }
    }
  }
}

/// Weak references of many threads.
private final class Leftovers: Sendable {
  private final class Weak: @unchecked Sendable {
    // Sendable: set by the initializer only.
    private(set) weak var object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
  }
  private let all = Log<Weak>([])

  func add(_ object: AnyObject) { all.append(Weak(object)) }

  var count: Int { all.value.count { $0.object != nil } }
}

/// The number of open files of this process, or 0 if it is unknown.
private var openFiles: Int {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(TestRun.isLong ? 240 : 10)))
struct SwapStressConcurrencyTests {
  @Test(.reaches(.changes)) func `every replay is correct, and nothing leaks`() async throws {
    let commits = TestRun.rounds(10_000, long: 200_000)
    let seed = TestRun.seed ?? .random(in: 0...99_999)
    print("swap stress: SWAPPABLE_SEED=\(seed), \(commits) commits")
    let files = openFiles
    let leftovers = Leftovers()
    try await run(seed: seed, commits: commits, leftovers)
    // Work on a queue may hold the last reference.
    for _ in 0..<1000 where leftovers.count > 0 {
      await withCheckedContinuation { done in DispatchQueue.global().async { done.resume() } }
    }
    #expect(leftovers.count == 0, "seed \(seed)")
    // Other tests may have open files.
    #expect(openFiles <= files + 64)
  }

  private func run(seed: UInt64, commits: Int, _ leftovers: Leftovers) async throws {
    let stress = Stress(seed: seed, commits: commits)
    for collection in stress.collections { leftovers.add(collection) }
    let lasting = stress.collections.map {
      RecordingObserver(
        $0, replaysEvery: 8, keeps: 1, seed: seed, expectsEveryRevision: false)
    }
    let mirrors = stress.containers.map { container in
      let mirror = Items()
      return (mirror: mirror, binding: container.bind(to: mirror))
    }
    let group = DispatchGroup()
    func thread(_ body: @escaping @Sendable () -> Void) {
      group.enter()
      Thread.detachNewThread {
        body()
        group.leave()
      }
    }
    for number in 0..<8 { thread { stress.mutate(number) } }
    for number in 0..<2 { thread { stress.swap(number) } }
    for number in 0..<4 { thread { stress.observe(number, keeping: 25, leftovers) } }
    await withCheckedContinuation { done in
      group.notify(queue: .global()) { done.resume() }
    }
    for collection in stress.collections { await collection.flush() }

    print("swap stress: \(stress.counts.value.sorted { $0.key < $1.key })")
    #expect(stress.violations.value == [], "seed \(seed)")
    for (recorder, collection) in zip(lasting, stress.collections) {
      try recorder.check(against: collection)
      Coverage.note(recorder)
      recorder.dispose()
    }
    for (container, mirror) in zip(stress.containers, mirrors) {
      #expect(mirror.mirror.snapshot.hasSameContents(as: container.snapshot), "seed \(seed)")
      mirror.binding.dispose()
      let source = try #require(container.source)
      #expect(container.snapshot.hasSameContents(as: source.snapshot), "seed \(seed)")
    }
  }
}
