import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals

/// One run of `checkDataSource`.
struct DataSourceCheck<Source: DataSource>: Sendable {
  typealias Element = Source.Element

  let seed: UInt64
  let steps: Int
  let timeout: Duration
  let makeSource: @Sendable () async throws -> Source
  let mutate: @Sendable (Source, inout SeededGenerator) async throws -> Void
  let expected: @Sendable (Source) async throws -> [Element]
  var random: SeededGenerator
  var step = 0

  init(
    seed: UInt64, steps: Int, timeout: Duration,
    makeSource: @escaping @Sendable () async throws -> Source,
    mutate: @escaping @Sendable (Source, inout SeededGenerator) async throws -> Void,
    expected: @escaping @Sendable (Source) async throws -> [Element]
  ) {
    self.seed = seed
    self.steps = steps
    self.timeout = timeout
    self.makeSource = makeSource
    self.mutate = mutate
    self.expected = expected
    random = SeededGenerator(seed: seed)
  }

  func violation(_ rule: String, _ message: String) -> ContractViolation {
    ContractViolation(rule: rule, message: message, seed: seed, step: step)
  }

  mutating func change(_ source: Source) async throws {
    step += 1
    try await mutate(source, &random)
  }

  /// Waits until the truth is told.
  func wait(
    for recorder: RecordingObserver<Element>, toShow source: Source, rule: String = "E4"
  ) async throws {
    let truth = Snapshot(try await expected(source))
    do {
      try await recorder.wait(timeout: timeout) { $0.snapshot.hasSameContents(as: truth) }
    } catch is WaitTimeout {
      throw violation(
        rule,
        "after \(timeout) it does not show the truth, but "
          + Contents.difference(of: recorder.snapshot, from: truth))
    }
  }

  // MARK: Events

  /// Early and late observers, over a run of changes.
  mutating func checkEvents() async throws {
    let source = try await makeSource()
    let before = source.state
    if !before.hasLoaded, !before.snapshot.isEmpty || before.revision != 0 {
      throw violation(
        "E7",
        "not loaded, it holds \(Contents.text(before.snapshot)) at revision \(before.revision)")
    }
    let first = RecordingObserver(source, seed: seed)
    try first.check()
    let statuses = StatusWatch(source, behind: first)
    let order = OrderWatch(source)
    try await load(source, first, statuses)

    var immediate = [first]
    var scheduled: [RecordingObserver<Element>] = []
    let queue = DispatchQueue(label: "checkDataSource", attributes: .concurrent)
    for _ in 0..<steps {
      try await change(source)
      switch random.below(4) {
      case 0: immediate.append(RecordingObserver(source, seed: seed))
      case 1:
        scheduled.append(
          RecordingObserver(
            source, on: .queue(queue), policy: random.oneIn(2) ? .coalesce : .everything, seed: seed
          ))
      default: try await wait(for: first, toShow: source)
      }
    }
    try await wait(for: first, toShow: source)
    await source.flush()
    for recorder in immediate { try compare(recorder, first, source) }
    for recorder in scheduled { try recorder.check(against: source) }
    guard await statuses.wait(timeout, until: { $0.status.state == .loaded }) else {
      throw violation("E6", "it shows the truth, and its status is \(source.status)")
    }
    if let fault = statuses.fault ?? order.fault { throw violation(fault.rule, fault.message) }
  }

  /// Waits for the first load.
  private func load(
    _ source: Source, _ first: RecordingObserver<Element>, _ statuses: StatusWatch<Element>
  ) async throws {
    let truth = try await expected(source)
    guard await statuses.wait(timeout, until: { $0.hasLoaded }) else {
      throw violation("E7", "after \(timeout) it has not loaded; its status is \(source.status)")
    }
    try await wait(for: first, toShow: source, rule: "E7")
    guard try await source.loaded().count == truth.count || source.revision > 1 else {
      throw violation("E7", "loaded() does not tell the first contents")
    }
  }

  /// Holds what a later observer was told against what the first was told.
  private func compare(
    _ recorder: RecordingObserver<Element>, _ first: RecordingObserver<Element>, _ source: Source
  ) throws {
    try recorder.check(against: source)
    let told = recorder.changes.map { ($0.revision, $0.changeset) }
    let expected = first.changes.suffix(told.count).map { ($0.revision, $0.changeset) }
    guard told.count == expected.count else {
      throw violation(
        "T3", "a later observer was told \(told.count) changes, the first one \(expected.count)")
    }
    for (told, expected) in zip(told, expected) where told != expected {
      throw violation(
        "T3",
        "a later observer was told \(Contents.text(told.1)) at revision \(told.0), the first one "
          + "\(Contents.text(expected.1)) at \(expected.0)")
    }
  }
}
