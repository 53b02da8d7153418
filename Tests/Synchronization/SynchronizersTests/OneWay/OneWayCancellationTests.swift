import DataSourceTesting
import ReactiveSignals
import Synchronizers
import TestSupport
import TestTags
import Testing

/// Tests of cancellation at each point of a run.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct OneWayCancellationTests {
  private static let options = OneWaySynchronizer.Options(concurrency: 1, downloadsPreview: true)

  /// The reaction of a call to cancellation.
  enum Manner: CaseIterable {
    case finishes, heeds, fails
  }

  private func isEnded(_ calls: some Sequence<String>) -> [String] {
    Array(calls) + (calls.contains("end") ? [] : ["end"])
  }

  @Test(arguments: Subject.fullRun.indices, Manner.allCases)
  func `after a canceled call, only the end follows`(index: Int, manner: Manner) async throws {
    let call = Subject.fullRun[index]
    let subject = Subject(options: Self.options)
    subject.sides.hook.value = { [weak subject] name in
      guard name == call else { return }
      subject?.synchronizer.cancel()
      switch manner {
      case .finishes: break
      case .heeds: try Task.checkCancellation()
      case .fails: throw Refusal()
      }
    }
    let trace = try await subject.run()
    #expect(
      trace == Subject.trace(isEnded(Subject.fullRun[...index]), answer: "cancelled"))
    let stage = Subject.stage(of: call)
    #expect(subject.error?.stage == stage)
    // The end stage does not see the cancellation.
    #expect(subject.error?.failures.count == (manner == .fails ? 1 : 0))
    #expect(subject.error?.failures.allSatisfy { $0.stage == stage && $0.cause is Refusal } == true)
    if case .failure(let error)? = subject.synchronizer.lastOutcome.value {
      #expect(error.isCancelled && error.stage == stage)
    } else {
      Issue.record("the last outcome is not a failure")
    }
    subject.sides.hook.value = { _ in }
    subject.sides.trace.value = ["idle"]
    let again = try await subject.run()
    #expect(again == Subject.trace(Subject.fullRun, answer: "ok"))
  }

  /// Cancels the run when its progress meets a condition.
  private func run(
    cancellingAt isMoment: @escaping @Sendable (OneWaySynchronizer.Progress) -> Bool
  ) async throws -> Subject {
    let subject = Subject(options: Self.options)
    let observation = subject.synchronizer.progress.observe { [weak subject] progress in
      if isMoment(progress) { subject?.synchronizer.cancel() }
    }
    try await subject.run()
    observation.dispose()
    return subject
  }

  @Test(arguments: OneWaySynchronizer.Stage.allCases)
  func `cancellation before a stage prevents it`(stage: OneWaySynchronizer.Stage) async throws {
    let subject = try await run { $0.stage == stage && $0.done == 0 }
    let before = Subject.fullRun.prefix { Subject.stage(of: $0) != stage }
    // A run that did not begin has no end.
    let calls = before.isEmpty ? [] : Array(before) + ["end"]
    #expect(subject.trace == Subject.trace(calls, answer: "cancelled"))
    #expect(subject.error?.stage == stage)
  }

  @Test(arguments: OneWaySynchronizer.Stage.allCases)
  func `cancellation after a stage ends the run`(stage: OneWaySynchronizer.Stage) async throws {
    let subject = try await run { $0.stage == stage && $0.total > 0 && $0.done == $0.total }
    let calls = Subject.fullRun.prefix { call in
      let order = OneWaySynchronizer.Stage.allCases
      let other = Subject.stage(of: call)
      return order.firstIndex(of: other) ?? 0 <= order.firstIndex(of: stage) ?? 0
    }
    #expect(subject.trace == Subject.trace(isEnded(calls), answer: "cancelled"))
    #expect(subject.error?.stage == stage && subject.error?.failures.isEmpty == true)
  }

  @Test func `cancellation between two downloads prevents the second`() async throws {
    let subject = try await run { $0.stage == .content && $0.done == 1 }
    let calls = Subject.fullRun.prefix { $0 != "content 2.5" }
    #expect(subject.trace == Subject.trace(isEnded(calls), answer: "cancelled"))
  }

  @Test func `cancellation in the running notification prevents the run`() async throws {
    let subject = Subject(options: Self.options)
    let observation = subject.synchronizer.status.observe { [weak subject] status in
      if status == .running { subject?.synchronizer.cancel() }
    }
    let trace = try await subject.run()
    observation.dispose()
    #expect(trace == ["idle", "running", "A cancelled", "idle"])
    #expect(subject.error?.stage == nil && subject.error?.failures.isEmpty == true)
    #expect(subject.error?.description == "the synchronization was canceled")
  }

  @Test func `canceling an idle synchronizer does nothing`() async throws {
    let subject = Subject(options: Self.options)
    subject.synchronizer.cancel()
    #expect(subject.trace == ["idle"])
    let trace = try await subject.run()
    subject.synchronizer.cancel()
    #expect(trace == Subject.trace(Subject.fullRun, answer: "ok"))
    #expect(subject.trace == trace)
    if case .success? = subject.synchronizer.lastOutcome.value {
    } else {
      Issue.record("the last outcome is not a success")
    }
  }

  @Test func `cancellation drops the queued run and answers all callers in order`() async throws {
    let subject = Subject(options: Self.options)
    subject.sides.hook.value = { [weak subject] call in
      guard call == "local", let subject else { return }
      subject.ask("B")
      subject.ask("C")
      subject.synchronizer.cancel()
    }
    subject.ask("A")
    await subject.waitUntilIdle()
    #expect(
      subject.trace == [
        "idle", "running", "begin", "fetch", "local", "end", "A cancelled", "B cancelled",
        "C cancelled", "idle",
      ])
  }

  @Test func `a request after cancellation runs`() async throws {
    let subject = Subject(source: [], local: [])
    let isFirst = Shared(true)
    subject.sides.hook.value = { [weak subject] call in
      guard call == "local", isFirst.exchange(false) else { return }
      subject?.synchronizer.cancel()
      subject?.ask("B")
      subject?.synchronizer.cancel()
      subject?.ask("C")
    }
    subject.ask("A")
    await subject.waitUntilIdle()
    #expect(
      subject.trace == [
        "idle", "running", "begin", "fetch", "local", "end", "A cancelled", "B cancelled", "begin",
        "fetch", "local", "prepare", "end", "C ok", "idle",
      ])
  }

  @Test func `a dropped run does not report the run before it`() async throws {
    let subject = Subject()
    subject.sides.hook.value = { if $0 == "content 1" { throw Refusal() } }
    subject.ask("A") {
      subject.ask("B")
      subject.synchronizer.cancel()
    }
    await subject.waitUntilIdle()
    #expect(subject.trace.suffix(4) == ["end", "A failed", "B cancelled", "idle"])
    #expect(subject.error?.stage == nil && subject.error?.failures.isEmpty == true)
    // The last run that ended belongs to A.
    if case .failure(let error)? = subject.synchronizer.lastOutcome.value {
      #expect(error.code == .failed)
    } else {
      Issue.record("the last outcome is not a failure")
    }
  }

  @Test func `active downloads finish or are canceled, and no other begins`() async throws {
    let clock = ManualClock()
    let stubborn = Gate()
    let subject = Subject(
      source: [1, 2, 3, 4, 5], local: [], options: OneWaySynchronizer.Options(concurrency: 3))
    subject.sides.hook.value = { call in
      switch call {
      case "content 1", "content 2": try await clock.sleep(for: .seconds(1))
      case "content 3": await stubborn.pass()
      default: break
      }
    }
    subject.ask()
    try await clock.waitForSleepers(2)
    await stubborn.waitForArrivals()
    subject.synchronizer.cancel()
    #expect(clock.sleeperCount == 0)
    stubborn.open()
    await subject.waitUntilIdle()
    #expect(
      Set(subject.trace.filter { $0.hasPrefix("content") }) == [
        "content 1", "content 2", "content 3",
      ])
    #expect(subject.trace.suffix(3) == ["end", "A cancelled", "idle"])
    #expect(subject.error?.failures.isEmpty == true)
  }

  @Test func `the end stage does not see the cancellation`() async throws {
    let subject = Subject()
    let felt = Shared(false)
    subject.sides.hook.value = { [weak subject] call in
      if call == "fetch" { subject?.synchronizer.cancel() }
      if call == "end" { felt.value = Task.isCancelled }
    }
    try await subject.run()
    #expect(!felt.value)
  }

  @Test func `a failed end stage is reported with the cancellation`() async throws {
    let subject = Subject()
    subject.sides.hook.value = { [weak subject] call in
      if call == "fetch" { subject?.synchronizer.cancel() }
      if call == "end" { throw Refusal() }
    }
    try await subject.run()
    #expect(subject.error?.isCancelled == true && subject.error?.stage == .fetch)
    #expect(subject.failures == ["end -"])
    #expect(
      subject.error?.description
        == "the synchronization was canceled in the stage fetch: cannot end the run: Refusal()")
  }

  // MARK: Waits

  @Test func `canceling a waiting task ends only its wait`() async throws {
    let subject = Subject(options: Self.options)
    let held = Gate()
    subject.sides.hook.value = { if $0 == "local" { await held.pass() } }
    subject.ask("A")
    let first = Task { try await subject.synchronizer.sync() }
    await held.waitForArrivals()
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(subject.synchronizer.status.value == .running)
    held.open()
    await subject.waitUntilIdle()
    // The result is the same if the task requested another run first.
    let runs = subject.trace.count { $0 == "begin" }
    let expected = Array(repeating: Subject.fullRun, count: runs).joined()
    #expect(subject.trace == Subject.trace(expected, answer: "ok"))
  }

  @Test func `a run without waiting callers continues`() async throws {
    let subject = Subject(options: Self.options)
    let held = Gate()
    subject.sides.hook.value = { if $0 == "local" { await held.pass() } }
    let waiting = Task { try await subject.synchronizer.sync() }
    await held.waitForArrivals()
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    held.open()
    await subject.waitUntilIdle()
    #expect(subject.trace == ["idle", "running"] + Subject.fullRun + ["idle"])
  }

  @Test func `a canceled task requests nothing`() async throws {
    let subject = Subject(options: Self.options)
    let held = Gate()
    let waiting = Task {
      await held.pass()
      return try await subject.synchronizer.sync()
    }
    waiting.cancel()
    held.open()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(subject.trace == ["idle"])
  }

  @Test func `a waiting task receives the cancellation error`() async throws {
    let subject = Subject(options: Self.options)
    subject.sides.hook.value = { [weak subject] call in
      if call == "local" { subject?.synchronizer.cancel() }
    }
    let error = await #expect(throws: OneWayError.self) { try await subject.synchronizer.sync() }
    #expect(error?.isCancelled == true)
  }
}
