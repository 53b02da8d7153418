import Diffing
import Dispatch
public import ObservableCollections
import ReactiveSignals

/// Checks that a data source follows the event contract.
///
///     try await checkDataSource(
///       makeSource: { JSONFileDataSource<Row>(path: path) },
///       mutate: { _, random in try write(randomRows(&random), to: path) },
///       expected: { _ in try readRows(path) })
///
/// The function checks the events of early and late observers, immediate and scheduled (E1 to E7,
/// C, T3). It swaps the source into a container and out of it (S), and checks its status (E6, E7).
/// It also checks that only observations keep the source alive (L1, L3).
///
/// - Parameters:
///   - seeds: The seeds. Each seed is one run.
///   - steps: The number of mutations in each part of a run.
///   - timeout: The maximum time until the source notices a mutation, and until it is released. A check
///     that fails may wait that long.
///   - makeSource: A closure that creates a source. Several sources may exist at a time. Do not
///     keep the result.
///   - mutate: A closure that changes the data behind a source at random.
///   - expected: A closure that returns the contents that the source must have in the end.
///   - damage: A closure that makes the data unreadable, or `nil` if this is not possible. It must do so
///     in one step and keep the data as they are. For example, it renames a directory instead of
///     deleting its files one by one, because the source may show each deletion.
///   - repair: A closure that makes the data readable again.
/// - Throws: A ``ContractError`` with the rule, the seed and the step, and the errors of the
///   closures.
public func checkDataSource<Source: DataSource>(
  seeds: some Sequence<UInt64> = 1...3, steps: Int = 12, timeout: Duration = .seconds(60),
  makeSource: @escaping @Sendable () async throws -> Source,
  mutate: @escaping @Sendable (Source, inout SeededGenerator) async throws -> Void,
  expected: @escaping @Sendable (Source) async throws -> [Source.Element],
  damage: (@Sendable (Source) async throws -> Void)? = nil,
  repair: (@Sendable (Source) async throws -> Void)? = nil
) async throws {
  for seed in seeds {
    var check = DataSourceCheck(
      seed: seed, steps: steps, timeout: timeout, makeSource: makeSource, mutate: mutate,
      expected: expected, random: SeededGenerator(seed: seed))
    try await check.checkEvents()
    try await check.checkSwapping()
    try await check.checkLifetime()
    if let damage, let repair { try await check.checkFailing(damage, repair) }
  }
}

/// A run of `checkDataSource`.
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

  func violation(_ rule: String, _ message: String) -> ContractError {
    ContractError(rule: rule, message: message, seed: seed, step: step)
  }

  mutating func change(_ source: Source) async throws {
    step += 1
    try await mutate(source, &random)
  }

  /// Waits until a recorder has the expected contents of a source.
  func wait(
    for recorder: RecordingObserver<Element>, toShow source: Source, rule: String = "E4"
  ) async throws {
    let truth = Snapshot(try await expected(source))
    do {
      try await recorder.wait(timeout: timeout) { $0.snapshot.hasSameContents(as: truth) }
    } catch is TimeoutError {
      throw violation(
        rule,
        "after \(timeout), the source does not have the expected contents, but "
          + Contents.difference(of: recorder.snapshot, from: truth))
    }
  }

  // MARK: Events

  /// Checks early and late observers during a series of changes.
  mutating func checkEvents() async throws {
    let source = try await makeSource()
    let before = source.state
    if !before.hasLoaded, !before.snapshot.isEmpty || before.revision != 0 {
      throw violation(
        "E7",
        "before it has loaded, the source has revision \(before.revision) and the contents "
          + Contents.text(before.snapshot))
    }
    let opening = StartWatch(starting: source)
    let first = RecordingObserver(source, seed: seed)
    try first.check()
    let statuses = StatusWatch(source, behind: first)
    let order = OrderWatch(source)
    try await load(source, first, statuses)
    if let fault = opening.fault { throw violation(fault.rule, fault.message) }

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
      throw violation(
        "E6", "the source has the expected contents, but its status is \(source.status)")
    }
    if let fault = statuses.fault ?? order.fault { throw violation(fault.rule, fault.message) }
    Coverage.note(first)
  }

  /// Waits until the source has loaded.
  private func load(
    _ source: Source, _ first: RecordingObserver<Element>, _ statuses: StatusWatch<Element>
  ) async throws {
    let truth = try await expected(source)
    guard await statuses.wait(timeout, until: { $0.hasLoaded }) else {
      throw violation(
        "E7", "after \(timeout), the source has not loaded; its status is \(source.status)")
    }
    try await wait(for: first, toShow: source, rule: "E7")
    guard try await source.loaded().count == truth.count || source.revision > 1 else {
      throw violation("E7", "loaded() does not return the first contents")
    }
  }

  /// Compares the events of a late observer with the events of the first observer.
  private func compare(
    _ recorder: RecordingObserver<Element>, _ first: RecordingObserver<Element>, _ source: Source
  ) throws {
    try recorder.check(against: source)
    let received = recorder.changes.map { ($0.revision, $0.changeset) }
    let expected = first.changes.suffix(received.count).map { ($0.revision, $0.changeset) }
    guard received.count == expected.count else {
      throw violation(
        "T3", "a later observer received \(received.count) changes, the first one \(expected.count)"
      )
    }
    for (received, expected) in zip(received, expected) where received != expected {
      throw violation(
        "T3",
        "a later observer received \(Contents.text(received.1)) at revision \(received.0), the first one "
          + "\(Contents.text(expected.1)) at \(expected.0)")
    }
  }
}
