import DataSourceTesting
import Diffing
import ReactiveSignals
import SwappablePrimitives
import Synchronizers
import TestSupport

/// A remote and a store in one. It logs each call, and then runs the hook of the test.
final class TestSides: OneWayRemote, OneWayStore {
  typealias Item = TestElement
  typealias Content = TestElement
  typealias Hook = @Sendable (String) async throws -> Void

  let trace = Log<String>([])
  let source: Shared<[TestElement]>
  let local: Shared<Set<Int>>
  /// A closure that each call runs with its line of the log.
  let hook = Shared<Hook>({ _ in })
  /// Chooses the items to download.
  let preparing = Shared<@Sendable ([TestElement]) -> [TestElement]>({ $0 })
  /// Decides if an item is up to date.
  let isCurrent = Shared<@Sendable (TestElement) -> Bool>({ _ in false })

  init(source: [TestElement], local: Set<Int>) {
    self.source = Shared(source)
    self.local = Shared(local)
  }

  private func call(_ name: String) async throws {
    trace.append(name)
    try await hook.value(name)
  }

  private func names(_ values: some Sequence<some Any>) -> String {
    values.map { " \($0)" }.joined()
  }

  func begin() async throws { try await call("begin") }

  func items() async throws -> [TestElement] {
    try await call("fetch")
    return source.value
  }

  func keys() async throws -> Set<Int> {
    try await call("local")
    return local.value
  }

  func remove(_ keys: Set<Int>) async throws {
    try await call("remove" + names(keys.sorted()))
  }

  func isOutdated(_ item: TestElement) async throws -> Bool {
    try await call("update? \(item.id) \(item)")
    return !isCurrent.value(item)
  }

  func prepareDownloads(_ items: [TestElement]) async throws -> [TestElement] {
    try await call("prepare" + names(items))
    return preparing.value(items)
  }

  func preview(of item: TestElement) async throws -> TestElement? {
    try await call("preview \(item)")
    return nil
  }

  func content(of item: TestElement) async throws -> TestElement {
    try await call("content \(item)")
    return item
  }

  func store(_ content: TestElement, of item: TestElement) async throws {}
  func finish(_ list: [TestElement]?) async throws { try await call("end") }
}

/// A synchronizer over the sides of a test. The log has its status and answers between the calls.
final class Subject: Sendable {
  typealias Answer = Result<OneWaySynchronizer.Outcome, OneWayError>

  let sides: TestSides
  let synchronizer: OneWaySynchronizer
  let answers = Log<Answer>([])
  private let observation: Disposable

  init(
    source: [TestElement] = [1, TestElement(2, 5), 3], local: Set<Int> = [2, 4],
    options: OneWaySynchronizer.Options = OneWaySynchronizer.Options(concurrency: 1),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let sides = TestSides(source: source, local: local)
    self.sides = sides
    synchronizer = OneWaySynchronizer(from: sides, to: sides, options: options, clock: clock)
    observation = synchronizer.status.observe { sides.trace.append("\($0)") }
  }

  var trace: [String] { sides.trace.value }

  /// Requests a run. The log gets its answer with a name.
  func ask(_ name: String = "A", then body: @escaping @Sendable () -> Void = {}) {
    synchronizer.sync { [sides, answers] answer in
      answers.append(answer)
      sides.trace.append("\(name) \(Subject.brief(answer))")
      body()
    }
  }

  static func brief(_ answer: Answer) -> String {
    switch answer {
    case .success: "ok"
    case .failure(let error): error.code.rawValue
    }
  }

  /// Requests a run, and waits until the synchronizer has answered and is idle again.
  @discardableResult
  func run() async throws -> [String] {
    // The status may still be idle: a run that is requested while the previous one ends begins later.
    await withCheckedContinuation { continuation in ask { continuation.resume() } }
    await synchronizer.status.signal.node.domain.delivered()
    await waitUntilIdle()
    return trace
  }

  func waitUntilIdle() async {
    await synchronizer.status.wait { $0 == .idle }
    // The thread that publishes the status calls its observers later.
    await synchronizer.status.signal.node.domain.delivered()
  }

  /// The error of the latest answer.
  var error: OneWayError? {
    if case .failure(let error) = answers.value.last { error } else { nil }
  }

  /// Stage, key and whether the cause is a test's own, of all failures of the latest answer.
  var failures: [String] {
    (error?.failures ?? []).map { failure in
      "\(failure.stage) \(failure.key ?? "-")\(failure.cause is Refusal ? "" : " \(failure.cause)")"
    }
  }

  /// The calls of a successful run with previews and contents.
  static let fullRun = [
    "begin", "fetch", "local", "remove 4", "update? 2 2.5", "prepare 1 2.5 3", "preview 1",
    "preview 2.5", "preview 3", "content 1", "content 2.5", "content 3", "end",
  ]

  /// Returns the stage of a call.
  static func stage(of call: String) -> OneWaySynchronizer.Stage {
    switch call.prefix(while: { $0 != " " }) {
    case "local": .localKeys
    case "update?": .shouldUpdate
    case let name: OneWaySynchronizer.Stage(rawValue: String(name)) ?? .end
    }
  }

  /// Returns the log of one run with one caller.
  static func trace(_ calls: some Sequence<String>, answer: String) -> [String] {
    ["idle", "running"] + calls + ["A \(answer)", "idle"]
  }
}

extension OneWaySynchronizer.Outcome {
  /// All counts, in the order of the stages.
  var counts: [Int] { [listed, removed, new, outdated, previews, contents] }
}

extension ReadOnlyProperty {
  /// Waits until the value meets a condition.
  func wait(until condition: @escaping @Sendable (Value) -> Bool) async {
    let (values, continuation) = AsyncStream<Void>.makeStream()
    let observation = observe { if condition($0) { continuation.finish() } }
    for await _ in values {}
    observation.dispose()
  }
}

/// A gate that holds tasks, even canceled ones, until it opens.
final class Gate: Sendable {
  private let state = Locked(State())

  private struct State {
    var isOpen = false
    var arrived = 0
    var held: [CheckedContinuation<Void, Never>] = []
    var awaiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  /// Waits until the gate is open.
  func pass() async {
    await withCheckedContinuation { continuation in
      let (isOpen, reached) = state.withLock { state in
        state.arrived += 1
        let reached = state.awaiting.filter { $0.count <= state.arrived }
        state.awaiting.removeAll { $0.count <= state.arrived }
        if !state.isOpen { state.held.append(continuation) }
        return (state.isOpen, reached)
      }
      if isOpen { continuation.resume() }
      for awaiting in reached { awaiting.continuation.resume() }
    }
  }

  /// Waits until a number of tasks have arrived.
  func waitForArrivals(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if state.arrived < count { state.awaiting.append((count, continuation)) }
        return state.arrived >= count
      }
      if isReached { continuation.resume() }
    }
  }

  func open() {
    let held = state.withLock { state in
      state.isOpen = true
      let held = state.held
      state.held = []
      return held
    }
    for continuation in held { continuation.resume() }
  }
}
