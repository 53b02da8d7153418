import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources
import Testing

@Suite struct CheckDataSourceTests {
  // MARK: What passes

  @Test func `the array passes`() async throws {
    try await checkDataSource(
      makeSource: { ArrayDataSource<TestElement>([1, 2, 3]) },
      mutate: { source, random in
        var editor = RandomEditor<TestElement>(seed: random.next())
        try editor.step(source)
        source.append(TestElement(random.below(9)))
      },
      expected: { Array($0.snapshot) })
  }

  @Test func `the container passes`() async throws {
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

  @Test func `the result of an operator passes`() async throws {
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

  @Test func `a source that loads late and fails passes`() async throws {
    try await checkDataSource(
      makeSource: { Faulty(.none) },
      mutate: { source, random in source.write(random.below(9)) },
      expected: { $0.truth.withLock { $0 } },
      damage: { $0.damage() }, repair: { $0.repair() })
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
        expected: { source in
          source.loadIfIdle()
          return source.truth.withLock { $0 }
        },
        damage: { $0.damage() }, repair: { $0.repair() })
      return nil
    } catch {
      return (error as? ContractError)?.rule
    }
  }

  @Test func `a source that misses changes breaks E4`() async {
    #expect(await rule(.missesChanges) == "E4")
  }

  @Test func `a source that has contents before it has loaded breaks E7`() async {
    #expect(await rule(.isFullTooEarly) == "E7")
  }

  @Test func `a source that never loads breaks E7`() async {
    #expect(await rule(.neverLoads) == "E7")
  }

  @Test func `a source that stays idle until it has loaded breaks E7`() async {
    #expect(await rule(.staysIdle) == "E7")
  }

  @Test func `a source that has the expected contents with an error breaks E6`() async {
    #expect(await rule(.complains) == "E6")
  }

  @Test func `a source that empties itself when it fails breaks E6`() async {
    #expect(await rule(.emptiesItself) == "E6")
  }

  @Test func `a source that hides its failure breaks E6`() async {
    #expect(await rule(.hidesFailure) == "E6")
  }

  @Test func `a source that is not released is found`() async {
    #expect(await rule(.none, releasedLate: true) == "S3")
    let kept = ArrayDataSource<TestElement>([1])
    await #expect(throws: ContractError.self) {
      try await checkDataSource(
        seeds: [1], timeout: .milliseconds(300), makeSource: { kept },
        mutate: { source, random in source.append(TestElement(random.below(9))) },
        expected: { Array($0.snapshot) })
    }
  }

  @Test func `a source that fails when it is swapped in breaks S4`() async {
    let made = Locked(0)
    let violation = await #expect(throws: ContractError.self) {
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
    case failsAtOnce, staysIdle
  }

  let truth = Locked<[TestElement]>([1, 2, 3])
  private let fault: Fault
  private let hasStarted = Locked(false)
  private let contents = ArrayDataSource<TestElement>(status: .idle)
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
    case .staysIdle: break
    case .failsAtOnce: contents.setStatus(.failed(error))
    default: publish()
    }
  }

  /// Loads a source that `start()` has left idle.
  func loadIfIdle() {
    if fault == .staysIdle, contents.revision == 0 { publish() }
  }

  func write(_ id: Int) {
    truth.withLock { truth in
      truth.removeAll { $0.id == id }
      truth.insert(TestElement(id, truth.count), at: truth.count / 2)
    }
    if fault != .missesChanges { publish() }
  }

  func damage() {
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
