import DataSourceTesting
import ReactiveSignals
import Synchronizers
import TestSupport
import Testing

/// Tests of retries with a manual clock.
@Suite(.timeLimit(.minutes(10))) struct OneWayRetryTests {
  private let clock = ManualClock()

  private func makeSubject(
    source: [TestElement] = [1], retries: Int, concurrency: Int = 1, stopsOnError: Bool = true,
    isRetried: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) -> Subject {
    Subject(
      source: source, local: [],
      options: OneWaySynchronizer.Options(
        concurrency: concurrency, downloadsPreview: true, stopsOnError: stopsOnError,
        retry: RetryPolicy(retries: retries, isRetried: isRetried)),
      clock: clock)
  }

  /// Lets a call fail a number of times and then succeed.
  private func fail(_ call: String, times: Int, _ subject: Subject) {
    let left = Shared(times)
    subject.sides.hook.value = { name in
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
  func `retries follow after growing pauses`(call: String) async throws {
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

  @Test func `the run fails after the last retry`() async throws {
    let subject = makeSubject(retries: 1)
    fail("content 1", times: 2, subject)
    subject.ask()
    try await passPause(.seconds(0.5))
    await subject.waitUntilIdle()
    #expect(subject.failures == ["content 1"])
    #expect(subject.trace.count { $0 == "content 1" } == 2)
  }

  @Test(arguments: ["begin", "local", "prepare 1", "end"])
  func `only fetches and downloads are retried`(call: String) async throws {
    let subject = makeSubject(retries: 3)
    fail(call, times: 1, subject)
    let trace = try await subject.run()
    #expect(trace.count { $0 == call } == 1)
    #expect(subject.failures == ["\(Subject.stage(of: call)) -"])
  }

  @Test func `an error that the policy excludes is not retried`() async throws {
    let subject = makeSubject(retries: 3) { !($0 is Refusal) }
    fail("fetch", times: 1, subject)
    try await subject.run()
    #expect(subject.failures == ["fetch -"])
  }

  @Test(arguments: ["fetch", "preview 1", "content 1"])
  func `cancellation ends a pause at once`(call: String) async throws {
    let subject = makeSubject(retries: 3)
    fail(call, times: 9, subject)
    subject.ask()
    try await clock.waitForSleepers(1)
    subject.synchronizer.cancel()
    await subject.waitUntilIdle()
    #expect(subject.error?.isCancelled == true)
    // The error is the one from before the pause.
    #expect(subject.failures == ["\(Subject.stage(of: call)) \(call.hasSuffix("1") ? "1" : "-")"])
    #expect(subject.trace.count { $0 == call } == 1)
    #expect(clock.now.offset == .zero)
  }

  @Test func `another failed download ends a pause and both are reported`() async throws {
    let subject = makeSubject(source: [1, 2], retries: 1, concurrency: 2) { _ in true }
    struct Final: Error {}
    subject.synchronizer.options.retry.isRetried = { $0 is Refusal }
    subject.sides.hook.value = { [clock] call in
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
