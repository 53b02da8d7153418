import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources
import Testing

@Suite struct CheckDataSourceTests {
  // MARK: What passes

  @Test func theArrayPasses() async throws {
    try await checkDataSource(
      makeSource: { ArrayDataSource<TestElement>([1, 2, 3]) },
      mutate: { source, random in
        var editor = RandomEditor<TestElement>(seed: random.next())
        try editor.step(source)
        source.append(TestElement(random.below(9)))
      },
      expected: { Array($0.snapshot) })
  }

  @Test func theContainerPasses() async throws {
    try await checkDataSource(
      makeSource: { SwappableContainer(ArrayDataSource<TestElement>([1, 2, 3])) },
      mutate: { container, random in
        let current = try #require(container.source as? ArrayDataSource<TestElement>)
        var editor = RandomEditor<TestElement>(seed: random.next())
        if random.oneIn(2) {
          container.swap(to: ArrayDataSource(editor.variation(of: Array(current.snapshot))))
        } else {
          try editor.step(current)
        }
      },
      expected: { container in
        let current = try #require(container.source as? ArrayDataSource<TestElement>)
        return Array(current.snapshot)
      })
  }

  @Test func anOperatorsResultPasses() async throws {
    let source = ArrayDataSource<TestElement>([1, 2, 3])
    try await checkDataSource(
      makeSource: { source.filter { $0.content > 0 }.sorted { $0.content < $1.content } },
      mutate: { _, random in
        var editor = RandomEditor<TestElement>(seed: random.next())
        try editor.step(source)
      },
      expected: { _ in
        source.snapshot.filter { $0.content == 1 } + source.snapshot.filter { $0.content == 2 }
      })
  }

  @Test func aSourceThatLoadsLateAndFailsPasses() async throws {
    try await checkDataSource(
      makeSource: { Faulty(.none) },
      mutate: { source, random in source.write(random.below(9)) },
      expected: { $0.truth.withLock { $0 } },
      spoil: { $0.spoil() }, repair: { $0.repair() })
  }

  // MARK: What does not

  /// The rule that a source with a fault is found to break.
  private func rule(_ fault: Faulty.Fault, releasedLate: Bool = false) async -> String? {
    let kept = Locked<[Faulty]>([])
    do {
      try await checkDataSource(
        seeds: [1], timeout: .milliseconds(300),
        makeSource: {
          let source = Faulty(fault)
          if releasedLate { kept.withLock { $0.append(source) } }
          return source
        },
        mutate: { source, random in source.write(random.below(9)) },
        expected: { $0.truth.withLock { $0 } },
        spoil: { $0.spoil() }, repair: { $0.repair() })
      return nil
    } catch {
      return (error as? ContractViolation)?.rule
    }
  }

  @Test func aSourceThatMissesChangesBreaksE4() async {
    #expect(await rule(.missesChanges) == "E4")
  }

  @Test func aSourceThatIsFullBeforeItHasLoadedBreaksE7() async {
    #expect(await rule(.isFullTooEarly) == "E7")
  }

  @Test func aSourceThatNeverLoadsBreaksE7() async {
    #expect(await rule(.neverLoads) == "E7")
  }

  @Test func aSourceThatShowsTheTruthWithAnErrorBreaksE6() async {
    #expect(await rule(.complains) == "E6")
  }

  @Test func aSourceThatEmptiesItselfWhenItFailsBreaksE6() async {
    #expect(await rule(.emptiesItself) == "E6")
  }

  @Test func aSourceThatHidesItsFailureBreaksE6() async {
    #expect(await rule(.hidesFailure) == "E6")
  }

  @Test func aSourceThatIsNotReleasedIsFound() async {
    #expect(await rule(.none, releasedLate: true) == "S3")
    let kept = ArrayDataSource<TestElement>([1])
    await #expect(throws: ContractViolation.self) {
      try await checkDataSource(
        seeds: [1], timeout: .milliseconds(300), makeSource: { kept },
        mutate: { source, random in source.append(TestElement(random.below(9))) },
        expected: { Array($0.snapshot) })
    }
  }

  @Test func aSourceThatFailsWhenItIsSwappedInBreaksS4() async {
    let made = Locked(0)
    let violation = await #expect(throws: ContractViolation.self) {
      try await checkDataSource(
        seeds: [1],
        makeSource: {
          let isFirst = made.withLock { made in
            made += 1
            return made == 1
          }
          return Faulty(isFirst ? .none : .failsAtOnce)
        },
        mutate: { source, random in source.write(random.below(9)) },
        expected: { $0.truth.withLock { $0 } })
    }
    #expect(violation?.rule == "S4")
  }
}

/// A source that loads when it is started, with a fault of choice.
private final class Faulty: DataSource {
  enum Fault {
    case none, missesChanges, isFullTooEarly, neverLoads, complains, emptiesItself, hidesFailure
    case failsAtOnce
  }

  let truth = Locked<[TestElement]>([1, 2, 3])
  private let fault: Fault
  private let hasStarted = Locked(false)
  private let contents = CollectionProperty<TestElement>(status: .idle)
  private let error = SourceError(code: "spoilt", message: "the truth is spoilt")

  var collection: LiveCollection<TestElement> { contents.collection }

  init(_ fault: Fault) {
    self.fault = fault
    if fault == .isFullTooEarly { contents.publish([1], status: .loading) }
  }

  func start() {
    let isFirst = hasStarted.withLock { hasStarted in
      defer { hasStarted = true }
      return !hasStarted
    }
    guard isFirst else { return }
    switch fault {
    case .neverLoads: contents.setStatus(.loading)
    case .failsAtOnce: contents.setStatus(.failed(error))
    default: publish()
    }
  }

  func write(_ id: Int) {
    truth.withLock { truth in
      truth.removeAll { $0.id == id }
      truth.insert(TestElement(id, truth.count), at: truth.count / 2)
    }
    if fault != .missesChanges { publish() }
  }

  func spoil() {
    switch fault {
    case .hidesFailure: break
    case .emptiesItself: contents.publish([], status: .failed(error))
    default: contents.setStatus(.missing(error))
    }
  }

  func repair() {
    publish()
  }

  private func publish() {
    let isFine = fault != .complains || contents.revision == 0
    contents.publish(truth.withLock { $0 }, status: isFine ? .loaded : .failed(error))
  }
}
