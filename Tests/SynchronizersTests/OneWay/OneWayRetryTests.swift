import DataSourceTesting
import ReactiveSignals
import Synchronizers
import TestSupport
import Testing

/// Trying again, by a clock that is moved by hand.
@Suite(.timeLimit(.minutes(2))) struct OneWayRetryTests {
  private let clock = ManualClock()

  private func makeSubject(
    source: [TestElement] = [1], retries: Int, concurrency: Int = 1, stopOnError: Bool = true,
    isRetried: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) -> Subject {
    Subject(
      source: source, local: [],
      options: OneWayOptions(
        concurrency: concurrency, downloadPreview: true, stopOnError: stopOnError,
        retry: RetryPolicy(retries: retries, isRetried: isRetried)),
      clock: clock)
  }

  /// Has a call fail some times, and then succeed.
  private func fail(_ call: String, times: Int, _ subject: Subject) {
    let left = Shared(times)
    subject.processor.hook.value = { name in
      guard name == call else { return }
      let fails = left.modify { left in
        left -= 1
        return left >= 0
      }
      if fails { throw Refusal() }
    }
  }

  private func passPause(_ pause: Duration) async throws {
    try await clock.waitForSleepers(1)
    #expect(clock.nextDeadline?.offset == clock.now.offset + pause)
    clock.advanceToNextDeadline()
  }

  @Test(arguments: ["fetch", "preview 1", "content 1"])
  func itIsTriedAgainAfterGrowingPauses(call: String) async throws {
    let subject = makeSubject(retries: 3)
    fail(call, times: 3, subject)
    subject.ask()
    for pause in [Duration.seconds(0.5), .seconds(1), .seconds(2)] { try await passPause(pause) }
    await subject.waitUntilIdle()
    let run = ["begin", "fetch", "local", "prepare 1", "preview 1", "content 1", "end"]
    let calls = run.flatMap { Array(repeating: $0, count: $0 == call ? 4 : 1) }
    #expect(subject.trace == Subject.trace(calls, answer: "ok"))
    #expect(subject.synchronizer.progress.value.failed == 0)
  }

  @Test func itGivesUpAfterTheLastRetry() async throws {
    let subject = makeSubject(retries: 1)
    fail("content 1", times: 2, subject)
    subject.ask()
    try await passPause(.seconds(0.5))
    await subject.waitUntilIdle()
    #expect(subject.failures == ["content 1"])
    #expect(subject.trace.count { $0 == "content 1" } == 2)
  }

  @Test(arguments: ["begin", "local", "prepare 1", "end"])
  func nothingElseIsTriedAgain(call: String) async throws {
    let subject = makeSubject(retries: 3)
    fail(call, times: 1, subject)
    let trace = try await subject.run()
    #expect(trace.count { $0 == call } == 1)
    #expect(subject.failures == ["\(Subject.stage(of: call)) -"])
  }

  @Test func whatMayNotPassIsNotTriedAgain() async throws {
    let subject = makeSubject(retries: 3) { !($0 is Refusal) }
    fail("fetch", times: 1, subject)
    try await subject.run()
    #expect(subject.failures == ["fetch -"])
  }

  @Test(arguments: ["fetch", "preview 1", "content 1"])
  func cancelledInAPauseItEndsAtOnce(call: String) async throws {
    let subject = makeSubject(retries: 3)
    fail(call, times: 9, subject)
    subject.ask()
    try await clock.waitForSleepers(1)
    subject.synchronizer.cancel()
    await subject.waitUntilIdle()
    #expect(subject.error?.isCancelled == true)
    // What went wrong before the pause is told.
    #expect(subject.failures == ["\(Subject.stage(of: call)) \(call.hasSuffix("1") ? "1" : "-")"])
    #expect(subject.trace.count { $0 == call } == 1)
    #expect(clock.now.offset == .zero)
  }

  @Test func whereAnotherDownloadFailsThePauseEndsAtOnceAndBothAreTold() async throws {
    let subject = makeSubject(source: [1, 2], retries: 1, concurrency: 2) { _ in true }
    struct Final: Error {}
    subject.synchronizer.options.retry.isRetried = { $0 is Refusal }
    subject.processor.hook.value = { [clock] call in
      if call == "content 1" { throw Refusal() }
      if call == "content 2" {
        try await clock.waitForSleepers(1)
        throw Final()
      }
    }
    try await subject.run()
    #expect(subject.failures == ["content 2 Final()", "content 1"])
    #expect(clock.now.offset == .zero)
  }
}
