import DataSourceTesting
import Diffing
import ReactiveSignals
import SwappablePrimitives
import Synchronizers
import TestSupport

/// A processor that writes down what it is asked to do, and does then what the test wants.
final class TestProcessor: OneWayProcessor {
  typealias Item = TestElement
  typealias Hook = @Sendable (String) async throws -> Void

  let trace = Log<String>([])
  let source: Shared<[TestElement]>
  let local: Shared<Set<Int>>
  /// Run inside each call, with what is written down of it.
  let hook = Shared<Hook>({ _ in })
  /// What becomes of the items to download.
  let preparing = Shared<@Sendable ([TestElement]) -> [TestElement]>({ $0 })
  /// Whether an item is up to date.
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

  func fetchSourceList() async throws -> [TestElement] {
    try await call("fetch")
    return source.value
  }

  func localKeys() async throws -> Set<Int> {
    try await call("local")
    return local.value
  }

  func removeLocalItems(_ keys: Set<Int>) async throws {
    try await call("remove" + names(keys.sorted()))
  }

  func shouldUpdate(_ key: Int, _ item: TestElement) async throws -> Bool {
    try await call("update? \(key) \(item)")
    return !isCurrent.value(item)
  }

  func prepareDownload(_ items: [TestElement]) async throws -> [TestElement] {
    try await call("prepare" + names(items))
    return preparing.value(items)
  }

  func downloadPreview(_ item: TestElement) async throws { try await call("preview \(item)") }
  func downloadContent(_ item: TestElement) async throws { try await call("content \(item)") }
  func end() async throws { try await call("end") }
}

/// A synchroniser over a test's processor; status and answers are written down between its calls.
final class Subject: Sendable {
  typealias Answer = Result<OneWayOutcome, OneWayError>

  let processor: TestProcessor
  let synchronizer: OneWaySynchronizer<TestProcessor>
  let answers = Log<Answer>([])
  private let observation: Disposable

  init(
    source: [TestElement] = [1, TestElement(2, 5), 3], local: Set<Int> = [2, 4],
    options: OneWayOptions = OneWayOptions(concurrency: 1),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let processor = TestProcessor(source: source, local: local)
    self.processor = processor
    synchronizer = OneWaySynchronizer(processor: processor, options: options, clock: clock)
    observation = synchronizer.status.observe { processor.trace.append("\($0)") }
  }

  var trace: [String] { processor.trace.value }

  /// Asks for a run; the answer is written down by name.
  func ask(_ name: String = "A", then body: @escaping @Sendable () -> Void = {}) {
    synchronizer.sync { [processor, answers] answer in
      answers.append(answer)
      processor.trace.append("\(name) \(Subject.brief(answer))")
      body()
    }
  }

  static func brief(_ answer: Answer) -> String {
    switch answer {
    case .success: "ok"
    case .failure(let error): error.code.rawValue
    }
  }

  /// Asks for one run, and waits until it is idle again.
  @discardableResult
  func run() async throws -> [String] {
    ask()
    await waitUntilIdle()
    return trace
  }

  func waitUntilIdle() async {
    await synchronizer.status.wait { $0 == .idle }
    // The thread that publishes the status calls its observers after that.
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

  /// What a run without trouble does, with previews and contents.
  static let fullRun = [
    "begin", "fetch", "local", "remove 4", "update? 2 2.5", "prepare 1 2.5 3", "preview 1",
    "preview 2.5", "preview 3", "content 1", "content 2.5", "content 3", "end",
  ]

  /// What stage a call belongs to.
  static func stage(of call: String) -> OneWayStage {
    switch call.prefix(while: { $0 != " " }) {
    case "local": .localKeys
    case "update?": .shouldUpdate
    case let name: OneWayStage(rawValue: String(name)) ?? .end
    }
  }

  /// The trace of one run with one caller.
  static func trace(_ calls: some Sequence<String>, answer: String) -> [String] {
    ["idle", "running"] + calls + ["A \(answer)", "idle"]
  }
}

extension ReadOnlyProperty {
  /// Waits until it has a value of some kind, now or later.
  func wait(until condition: @escaping @Sendable (Value) -> Bool) async {
    let (values, continuation) = AsyncStream<Void>.makeStream()
    let observation = observe { if condition($0) { continuation.finish() } }
    for await _ in values {}
    observation.dispose()
  }
}

/// Holds tasks, cancelled or not, until it is opened.
final class Gate: Sendable {
  private let state = Locked(State())

  private struct State {
    var isOpen = false
    var arrived = 0
    var held: [CheckedContinuation<Void, Never>] = []
    var awaiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  /// Waits until it is open.
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

  /// Waits until so many have come to it.
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
