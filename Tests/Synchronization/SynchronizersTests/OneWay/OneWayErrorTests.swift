import DataSourceTesting
import Diffing
import ReactiveSignals
import Synchronizers
import TestSupport
import Testing

/// Tests of runs with failures, and of their errors.
@Suite(.timeLimit(.minutes(10))) struct OneWayErrorTests {
  private func options(stopsOnError: Bool, concurrency: Int = 1) -> OneWaySynchronizer.Options {
    OneWaySynchronizer.Options(
      concurrency: concurrency, downloadsPreview: true, stopsOnError: stopsOnError)
  }

  @Test(arguments: Subject.fullRun.indices, [true, false])
  func `an error at any call is reported`(index: Int, stopsOnError: Bool) async throws {
    let call = Subject.fullRun[index]
    let stage = Subject.stage(of: call)
    let subject = Subject(options: options(stopsOnError: stopsOnError))
    subject.sides.hook.value = { if $0 == call { throw Refusal() } }
    let stages = Log<OneWaySynchronizer.Stage>([])
    let observation = subject.synchronizer.progress.observe { progress in
      if let stage = progress.stage, stages.value.last != stage { stages.append(stage) }
    }
    let trace = try await subject.run()
    observation.dispose()
    let isDownload = stage == .preview || stage == .content
    let calls =
      stage == .end || isDownload && !stopsOnError
      ? Subject.fullRun : Subject.fullRun[...index] + ["end"]
    #expect(trace == Subject.trace(calls, answer: "failed"))
    #expect(subject.error?.code == .failed && subject.error?.stage == stage)
    // A stage without work does not begin.
    #expect(Set(stages.value) == Set(calls.map { Subject.stage(of: $0) }))
    let isOfItem = isDownload || stage == .shouldUpdate
    let item = call.split(separator: " ").last.flatMap { $0.first.map(String.init) } ?? ""
    #expect(subject.failures == ["\(stage) \(isOfItem || stage == .remove ? item : "-")"])
    #expect(subject.error?.failures.first?.item is TestElement == isOfItem)
    #expect(subject.synchronizer.progress.value.failed == (isDownload ? 1 : 0))
  }

  @Test func `without stopping, all errors are reported and all contents are tried`() async throws {
    let subject = Subject(options: options(stopsOnError: false))
    subject.sides.hook.value = { call in
      if call.hasSuffix(" 1") || call == "content 3" || call == "end" { throw Refusal() }
    }
    let trace = try await subject.run()
    #expect(trace == Subject.trace(Subject.fullRun, answer: "failed"))
    #expect(subject.failures == ["preview 1", "content 1", "content 3", "end -"])
    #expect(subject.synchronizer.progress.value.failed == 3)
  }

  @Test func `a failed end stage is reported beside earlier failures`() async throws {
    let subject = Subject(options: options(stopsOnError: true))
    subject.sides.hook.value = { if $0 == "fetch" || $0 == "end" { throw Refusal() } }
    try await subject.run()
    #expect(subject.failures == ["fetch -", "end -"])
    #expect(subject.error?.stage == .fetch)
  }

  @Test func `active downloads finish and their errors are reported`() async throws {
    let subject = Subject(
      source: [1, 2, 3, 4, 5], local: [], options: OneWaySynchronizer.Options(concurrency: 3))
    let (first, others) = (Gate(), Gate())
    subject.sides.hook.value = { call in
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

  @Test func `the cancellation of active downloads is not a failure`() async throws {
    let clock = ManualClock()
    let subject = Subject(
      source: [1, 2, 3], local: [], options: OneWaySynchronizer.Options(concurrency: 3))
    subject.sides.hook.value = { call in
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

  @Test func `a cancellation error of a remote is a failure`() async throws {
    let subject = Subject(options: options(stopsOnError: true))
    subject.sides.hook.value = { if $0 == "fetch" { throw CancellationError() } }
    try await subject.run()
    #expect(subject.error?.isCancelled == false)
    #expect(subject.failures == ["fetch - CancellationError()"])
  }

  @Test func `a run after a failure begins again`() async throws {
    let subject = Subject(options: options(stopsOnError: true))
    subject.sides.hook.value = { if $0 == "preview 1" { throw Refusal() } }
    try await subject.run()
    subject.sides.hook.value = { _ in }
    subject.sides.trace.value = ["idle"]
    let trace = try await subject.run()
    #expect(trace == Subject.trace(Subject.fullRun, answer: "ok"))
    #expect(subject.synchronizer.progress.value.failed == 0)
  }

  // MARK: Descriptions

  private struct Trouble: Error, CustomStringConvertible {
    let description: String
  }

  private func failure(_ stage: OneWaySynchronizer.Stage, _ key: String?, _ cause: String)
    -> OneWayError.Failure
  {
    OneWayError.Failure(stage: stage, key: key, cause: Trouble(description: cause))
  }

  @Test(arguments: [
    (OneWaySynchronizer.Stage.begin, "cannot begin the run: no"),
    (.fetch, "cannot fetch the remote list: no"),
    (.localKeys, "cannot read the local keys: no"),
    (.remove, "cannot remove \"a\" to match the remote list: no"),
    (.shouldUpdate, "cannot find out whether \"a\" must be downloaded again: no"),
    (.prepare, "cannot prepare the downloads: no"),
    (.preview, "cannot download the preview of \"a\": no"),
    (.content, "cannot download and store \"a\": no"),
    (.end, "cannot end the run: no"),
  ]) func `a failure names stage, key and cause`(stage: OneWaySynchronizer.Stage, text: String) {
    #expect(failure(stage, "\"a\"", "no").description == text)
  }

  @Test func `a cause of several lines becomes one line`() {
    let error = OneWayError(
      code: .failed, stage: .end,
      failures: [failure(.fetch, nil, "no\r\n  such\u{2028}list\n"), failure(.end, nil, "no")])
    #expect(
      error.description
        == "the synchronization failed: cannot fetch the remote list: no   such list; "
        + "cannot end the run: no")
  }

  @Test func `keys that cannot be removed are counted`() async throws {
    let subject = Subject(source: [], local: [7, 8, 9])
    subject.sides.hook.value = { if $0.hasPrefix("remove") { throw Refusal() } }
    try await subject.run()
    #expect(
      subject.error?.description
        == "the synchronization failed: cannot remove 7 and 2 more to match the remote list: "
        + "Refusal()")
  }

  @Test func `an error names three failures and counts the others`() {
    func text(_ count: Int) -> String {
      let failures = (0..<count).map { failure(.content, "\($0)", "no \($0)") }
      return OneWayError(code: .failed, stage: .content, failures: failures).description
    }
    let three =
      "the synchronization failed: cannot download and store 0: no 0; cannot download and "
      + "store 1: no 1; cannot download and store 2: no 2"
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
  ]) func `a text key is quoted and shortened`(key: String, shown: String) async throws {
    #expect(try await shownKey(of: key) == shown)
    #expect(try await shownKey(of: Title(stringLiteral: key)) == shown)
  }

  private func shownKey<Name: Hashable & Differentiable & Sendable>(
    of name: Name
  ) async throws -> String? where Name.DifferenceIdentifier == Name {
    let error = await #expect(throws: OneWayError.self) {
      try await OneWaySynchronizer(from: NamedRemote(name: name), to: CollectionStore<Name>())
        .sync()
    }
    return error?.failures.first?.key
  }

  private struct NamedRemote<Name: Hashable & Differentiable & Sendable>: OneWayRemote
  where Name.DifferenceIdentifier == Name {
    let name: Name
    func items() async throws -> [Name] { [name] }
    func content(of item: Name) async throws -> Name { throw Refusal() }
  }

  /// A key type that is expressible by a string literal.
  private struct Title: Hashable, Differentiable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
  {
    let description: String
    init(stringLiteral value: String) { description = value }
  }
}
