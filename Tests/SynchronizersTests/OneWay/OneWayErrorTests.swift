import DataSourceTesting
import Diffing
import ReactiveSignals
import Synchronizers
import TestSupport
import Testing

/// What becomes of a run in which something fails, and how that is told.
@Suite(.timeLimit(.minutes(2))) struct OneWayErrorTests {
  private func options(stopOnError: Bool, concurrency: Int = 1) -> OneWayOptions {
    OneWayOptions(concurrency: concurrency, downloadPreview: true, stopOnError: stopOnError)
  }

  @Test(arguments: Subject.fullRun.indices, [true, false])
  func anErrorAtEachCall(index: Int, stopOnError: Bool) async throws {
    let call = Subject.fullRun[index]
    let stage = Subject.stage(of: call)
    let subject = Subject(options: options(stopOnError: stopOnError))
    subject.processor.hook.value = { if $0 == call { throw Refusal() } }
    let stages = Log<OneWayStage>([])
    let observation = subject.synchronizer.progress.observe { progress in
      if let stage = progress.stage, stages.value.last != stage { stages.append(stage) }
    }
    let trace = try await subject.run()
    observation.dispose()
    let isDownload = stage == .preview || stage == .content
    let calls =
      stage == .end || isDownload && !stopOnError
      ? Subject.fullRun : Subject.fullRun[...index] + ["end"]
    #expect(trace == Subject.trace(calls, answer: "failed"))
    #expect(subject.error?.code == .failed && subject.error?.stage == stage)
    // No stage is begun in which nothing is done.
    #expect(Set(stages.value) == Set(calls.map { Subject.stage(of: $0) }))
    let isOfItem = isDownload || stage == .shouldUpdate
    let item = call.split(separator: " ").last.flatMap { $0.first.map(String.init) } ?? ""
    #expect(subject.failures == ["\(stage) \(isOfItem || stage == .remove ? item : "-")"])
    #expect(subject.error?.failures.first?.item is TestElement == isOfItem)
    #expect(subject.synchronizer.progress.value.failed == (isDownload ? 1 : 0))
  }

  @Test func withoutStoppingAllErrorsAreToldAndContentsOfFailedPreviewsAreTried() async throws {
    let subject = Subject(options: options(stopOnError: false))
    subject.processor.hook.value = { call in
      if call.hasSuffix(" 1") || call == "content 3" || call == "end" { throw Refusal() }
    }
    let trace = try await subject.run()
    #expect(trace == Subject.trace(Subject.fullRun, answer: "failed"))
    #expect(subject.failures == ["preview 1", "content 1", "content 3", "end -"])
    #expect(subject.synchronizer.progress.value.failed == 3)
  }

  @Test func anEndThatFailsIsToldBesideWhatFailedBefore() async throws {
    let subject = Subject(options: options(stopOnError: true))
    subject.processor.hook.value = { if $0 == "fetch" || $0 == "end" { throw Refusal() } }
    try await subject.run()
    #expect(subject.failures == ["fetch -", "end -"])
    #expect(subject.error?.stage == .fetch)
  }

  @Test func thoseUnderWayFinishAndTheirErrorsAreToldAsWell() async throws {
    let subject = Subject(
      source: [1, 2, 3, 4, 5], local: [], options: OneWayOptions(concurrency: 3))
    let (first, others) = (Gate(), Gate())
    subject.processor.hook.value = { call in
      switch call {
      case "content 1":
        await first.pass()
        throw Refusal()
      case "content 2": await others.pass()
      case "content 3":
        await others.pass()
        throw Refusal()
      default: break
      }
    }
    subject.ask()
    await first.waitForArrivals()
    await others.waitForArrivals(2)
    first.open()
    await subject.synchronizer.progress.wait { $0.failed == 1 }
    others.open()
    await subject.waitUntilIdle()
    #expect(
      Set(subject.trace.filter { $0.hasPrefix("content") }) == [
        "content 1", "content 2", "content 3",
      ])
    #expect(subject.failures == ["content 1", "content 3"])
  }

  @Test func thoseUnderWayAreCancelledAndThatIsNoFailure() async throws {
    let clock = ManualClock()
    let subject = Subject(
      source: [1, 2, 3], local: [], options: OneWayOptions(concurrency: 3))
    subject.processor.hook.value = { call in
      if call == "content 1" || call == "content 2" { try await clock.sleep(for: .seconds(1)) }
      if call == "content 3" {
        try await clock.waitForSleepers(2)
        throw Refusal()
      }
    }
    try await subject.run()
    #expect(subject.failures == ["content 3"])
    #expect(subject.trace.suffix(3) == ["end", "A failed", "idle"])
  }

  @Test func aCancellationOfTheProcessorsOwnIsAFailure() async throws {
    let subject = Subject(options: options(stopOnError: true))
    subject.processor.hook.value = { if $0 == "fetch" { throw CancellationError() } }
    try await subject.run()
    #expect(subject.error?.isCancelled == false)
    #expect(subject.failures == ["fetch - CancellationError()"])
  }

  @Test func aRunAfterAFailureStartsAfresh() async throws {
    let subject = Subject(options: options(stopOnError: true))
    subject.processor.hook.value = { if $0 == "preview 1" { throw Refusal() } }
    try await subject.run()
    subject.processor.hook.value = { _ in }
    subject.processor.trace.value = ["idle"]
    let trace = try await subject.run()
    #expect(trace == Subject.trace(Subject.fullRun, answer: "ok"))
    #expect(subject.synchronizer.progress.value.failed == 0)
  }

  // MARK: Descriptions

  private struct Trouble: Error, CustomStringConvertible {
    let description: String
  }

  private func failure(_ stage: OneWayStage, _ key: String?, _ cause: String) -> OneWayFailure {
    OneWayFailure(stage: stage, key: key, cause: Trouble(description: cause))
  }

  @Test(arguments: [
    (OneWayStage.begin, "the run could not begin: no"),
    (.fetch, "the source list could not be fetched: no"),
    (.localKeys, "the local keys could not be read: no"),
    (.remove, "\"a\", which the source does not list any more, could not be removed: no"),
    (.shouldUpdate, "it could not be told whether \"a\" is to be updated: no"),
    (.prepare, "the downloads could not be prepared: no"),
    (.preview, "the preview of \"a\" could not be downloaded: no"),
    (.content, "the content of \"a\" could not be downloaded: no"),
    (.end, "the run could not be ended: no"),
  ]) func aFailureSaysStageKeyAndCause(stage: OneWayStage, text: String) {
    #expect(failure(stage, "\"a\"", "no").description == text)
  }

  @Test func aCauseOfSeveralLinesIsToldOnOne() {
    let error = OneWayError(
      code: .failed, stage: .end,
      failures: [failure(.fetch, nil, "no\r\n  such\u{2028}list\n"), failure(.end, nil, "no")])
    #expect(
      error.description == "the synchronisation failed: the source list could not be fetched: no "
        + "  such list; the run could not be ended: no")
  }

  @Test func keysThatCannotBeRemovedAreCounted() async throws {
    let subject = Subject(source: [], local: [7, 8, 9])
    subject.processor.hook.value = { if $0.hasPrefix("remove") { throw Refusal() } }
    try await subject.run()
    #expect(
      subject.error?.description
        == "the synchronisation failed: 7 and 2 more, which the source does not list any more, "
        + "could not be removed: Refusal()")
  }

  @Test func anErrorTellsThreeFailuresAndCountsTheRest() {
    func text(_ count: Int) -> String {
      let failures = (0..<count).map { failure(.content, "\($0)", "no \($0)") }
      return OneWayError(code: .failed, stage: .content, failures: failures).description
    }
    let three =
      "the synchronisation failed: the content of 0 could not be downloaded: no 0; the content of "
      + "1 could not be downloaded: no 1; the content of 2 could not be downloaded: no 2"
    #expect(text(3) == three)
    #expect(text(4) == three + "; and 1 more failure")
    #expect(text(9) == three + "; and 6 more failures")
  }

  @Test(arguments: [
    ("plain", "\"plain\""), ("a\nb", "\"a\\nb\""), ("say \"no\"", "\"say \\\"no\\\"\""),
    ("a\0\u{1b}", "\"a\\0\\u{1B}\""), ("", "\"\""),
    (
      "e" + String(repeating: "\u{301}", count: 99),
      "\"e" + String(repeating: "\u{301}", count: 59) + "\"…"
    ),
    (String(repeating: "x", count: 10_000), "\"\(String(repeating: "x", count: 60))\"…"),
  ]) func aKeyThatIsTextIsQuotedAndNotLong(key: String, shown: String) async throws {
    #expect(try await shownKey(of: key) == shown)
    #expect(try await shownKey(of: ExactString(key)) == shown)
  }

  private func shownKey<Name: Hashable & Differentiable & Sendable>(
    of name: Name
  ) async throws -> String? where Name.DifferenceIdentifier == Name {
    let error = await #expect(throws: OneWayError.self) {
      try await OneWaySynchronizer(processor: NamedProcessor(name: name)).sync()
    }
    return error?.failures.first?.key
  }

  private struct NamedProcessor<Name: Hashable & Differentiable & Sendable>: OneWayProcessor
  where Name.DifferenceIdentifier == Name {
    let name: Name
    func begin() async throws {}
    func fetchSourceList() async throws -> [Name] { [name] }
    func localKeys() async throws -> Set<Name> { [] }
    func downloadContent(_ item: Name) async throws { throw Refusal() }
  }
}
