import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import Synchronizers
import TestSupport
import Testing

/// Tests of the order of calls in a run.
@Suite(.timeLimit(.minutes(10))) struct OneWayTraceTests {
  private static let contentRun = Subject.fullRun.filter { !$0.hasPrefix("preview") }

  @Test func `a run downloads contents in the order of the list`() async throws {
    let subject = Subject()
    let trace = try await subject.run()
    #expect(trace == Subject.trace(Self.contentRun, answer: "ok"))
    let outcome = try subject.answers.value[0].get()
    #expect(
      outcome.counts == [3, 1, 2, 1, 0, 3] && outcome.diagnostics.isEmpty
    )
  }

  @Test func `all previews come before all contents`() async throws {
    let subject = Subject(
      options: OneWaySynchronizer.Options(concurrency: 1, downloadsPreview: true))
    let trace = try await subject.run()
    #expect(trace == Subject.trace(Subject.fullRun, answer: "ok"))
    #expect(try subject.answers.value[0].get().previews == 3)
  }

  @Test func `a run can download previews only`() async throws {
    let subject = Subject(
      options: OneWaySynchronizer.Options(
        concurrency: 1, downloadsPreview: true, downloadsContent: false))
    let trace = try await subject.run()
    #expect(
      trace == Subject.trace(Subject.fullRun.filter { !$0.hasPrefix("content") }, answer: "ok"))
  }

  @Test func `a run without downloads still prepares`() async throws {
    let subject = Subject(options: OneWaySynchronizer.Options(downloadsContent: false))
    let trace = try await subject.run()
    #expect(
      trace == Subject.trace(Subject.fullRun.prefix(6) + ["end"], answer: "ok"))
  }

  @Test func `an item that is up to date is not downloaded`() async throws {
    let subject = Subject()
    subject.sides.isCurrent.value = { $0.id == 2 }
    let trace = try await subject.run()
    #expect(
      trace
        == Subject.trace(
          [
            "begin", "fetch", "local", "remove 4", "update? 2 2.5", "prepare 1 3", "content 1",
            "content 3", "end",
          ], answer: "ok"))
    #expect(try subject.answers.value[0].get().outdated == 0)
  }

  @Test func `an empty list removes all items`() async throws {
    let subject = Subject(source: [])
    let trace = try await subject.run()
    #expect(
      trace
        == Subject.trace(["begin", "fetch", "local", "remove 2 4", "prepare", "end"], answer: "ok"))
  }

  @Test func `a run over two empty sides prepares`() async throws {
    let subject = Subject(source: [], local: [])
    let trace = try await subject.run()
    #expect(trace == Subject.trace(["begin", "fetch", "local", "prepare", "end"], answer: "ok"))
  }

  @Test func `items on both sides are compared in the order of the list`() async throws {
    let subject = Subject(source: [5, 3, 9, 1], local: [1, 3, 5])
    subject.sides.isCurrent.value = { $0.id != 3 }
    let trace = try await subject.run()
    #expect(
      trace
        == Subject.trace(
          [
            "begin", "fetch", "local", "update? 5 5", "update? 3 3", "update? 1 1", "prepare 3 9",
            "content 3", "content 9", "end",
          ], answer: "ok"))
  }

  @Test func `the first item of a key counts`() async throws {
    let subject = Subject(
      source: [1, TestElement(2, 5), TestElement(1, 7), TestElement(2, 8), TestElement(1, 9)],
      local: [2])
    let trace = try await subject.run()
    #expect(
      trace
        == Subject.trace(
          [
            "begin", "fetch", "local", "update? 2 2.5", "prepare 1 2.5", "content 1", "content 2.5",
            "end",
          ], answer: "ok"))
    let diagnostics = try subject.answers.value[0].get().diagnostics
    #expect(diagnostics.map(\.code) == ["duplicate-identity"])
    #expect(
      diagnostics.first?.message
        == "The remote lists the key 1 more than once. The first item of a key counts, and 3 others "
        + "are ignored.")
    #expect(subject.synchronizer.progress.value.diagnostics == diagnostics)

    subject.sides.source.value = [1]
    try await subject.run()
    #expect(try subject.answers.value[1].get().diagnostics.isEmpty)
    #expect(subject.synchronizer.progress.value.diagnostics.isEmpty)
  }

  @Test func `preparing can reorder and filter`() async throws {
    let subject = Subject()
    subject.sides.preparing.value = { [$0[2], $0[0]] }
    let trace = try await subject.run()
    #expect(trace.suffix(5) == ["content 3", "content 1", "end", "A ok", "idle"])
  }

  @Test func `an item that is prepared twice is downloaded once`() async throws {
    let subject = Subject()
    subject.sides.preparing.value = { [$0[2], TestElement(1, 9), $0[2], $0[0]] }
    let trace = try await subject.run()
    #expect(trace.suffix(5) == ["content 3", "content 1.9", "end", "A ok", "idle"])
    #expect(try subject.answers.value[0].get().diagnostics.isEmpty)
  }

  @Test func `preparing can add listed items but no others`() async throws {
    let subject = Subject()
    subject.sides.isCurrent.value = { _ in true }
    subject.sides.preparing.value = { [7, TestElement(2, 5)] + $0 + [4] }
    let trace = try await subject.run()
    #expect(
      trace.suffix(6) == ["content 2.5", "content 1", "content 3", "end", "A ok", "idle"])
    let diagnostics = try subject.answers.value[0].get().diagnostics
    #expect(diagnostics.map(\.code) == ["foreign-item"])
    #expect(diagnostics.first?.message.hasSuffix("2, beginning with 7.") == true)
  }

  // MARK: Several calls

  @Test func `requests during a run cause one more run, which answers all`() async throws {
    let subject = Subject()
    let held = Gate()
    subject.sides.hook.value = { if $0 == "begin" { await held.pass() } }
    subject.ask("A")
    subject.ask("B")
    subject.ask("C")
    held.open()
    await subject.waitUntilIdle()
    #expect(
      subject.trace
        == ["idle", "running"] + Self.contentRun + Self.contentRun
        + ["A ok", "B ok", "C ok", "idle"])
  }

  @Test func `each run can be requested again`() async throws {
    let subject = Subject(source: [], local: [])
    let run = ["begin", "fetch", "local", "prepare", "end"]
    let names = Log(["B", "C"])
    subject.sides.hook.value = { [weak subject] call in
      guard call == "local" else { return }
      if let name = names.modify({ $0.isEmpty ? nil : $0.removeFirst() }) { subject?.ask(name) }
    }
    subject.ask("A")
    await subject.waitUntilIdle()
    #expect(
      subject.trace == ["idle", "running"] + run + run + run + ["A ok", "B ok", "C ok", "idle"])
  }

  @Test func `all callers receive the result of the last run`() async throws {
    let subject = Subject(source: [], local: [])
    subject.sides.hook.value = { [weak subject] call in
      guard call == "fetch" else { return }
      if subject?.trace.contains("end") == false { subject?.ask("B") } else { throw Refusal() }
    }
    subject.ask("A")
    await subject.waitUntilIdle()
    #expect(subject.trace.suffix(3) == ["A failed", "B failed", "idle"])
  }

  @Test func `a request in a completion runs after the idle notification`() async throws {
    let subject = Subject()
    let over = Gate()
    subject.ask("A") { subject.ask("B") { over.open() } }
    await over.pass()
    await subject.waitUntilIdle()
    #expect(
      subject.trace
        == ["idle", "running"] + Self.contentRun + ["A ok", "idle", "running"] + Self.contentRun
        + ["B ok", "idle"])
  }

  @Test func `a request in the idle notification runs`() async throws {
    let subject = Subject(source: [], local: [])
    let run = ["begin", "fetch", "local", "prepare", "end"]
    let over = Gate()
    let observation = subject.synchronizer.status.observe { [weak subject] status in
      guard let subject, status == .idle else { return }
      if subject.answers.value.count == 1 { subject.ask("B") { over.open() } }
    }
    subject.ask("A")
    await over.pass()
    await subject.waitUntilIdle()
    #expect(
      subject.trace
        == ["idle", "running"] + run + ["A ok", "idle", "running"] + run + ["B ok", "idle"])
    observation.dispose()
  }

  @Test func `awaiting returns the outcome`() async throws {
    let subject = Subject()
    let outcome = try await subject.synchronizer.sync()
    #expect(outcome.contents == 3)
    subject.sides.hook.value = { if $0 == "local" { throw Refusal() } }
    let error = await #expect(throws: OneWayError.self) { try await subject.synchronizer.sync() }
    #expect(error?.stage == .localKeys)
  }

  // MARK: Options

  @Test func `a run reads the options when it begins`() async throws {
    let subject = Subject()
    subject.sides.hook.value = { [weak subject] call in
      guard call == "begin" else { return }
      subject?.synchronizer.options.downloadsPreview.toggle()
      subject?.synchronizer.options.downloadsContent.toggle()
    }
    try await subject.run()
    #expect(subject.trace == Subject.trace(Self.contentRun, answer: "ok"))
    subject.sides.trace.value = ["idle"]
    let trace = try await subject.run()
    #expect(
      trace == Subject.trace(Subject.fullRun.filter { !$0.hasPrefix("content") }, answer: "ok"))
  }

  @Test func `the default options are documented`() {
    let options = OneWaySynchronizer.Options()
    #expect(options.concurrency == 0 && !options.downloadsPreview && options.downloadsContent)
    #expect(options.stopsOnError && options.retry.retries == 0)
  }

  @Test func `a negative concurrency traps`() async {
    await #expect(processExitsWith: .failure) { _ = OneWaySynchronizer.Options(concurrency: -1) }
    await #expect(processExitsWith: .failure) {
      var options = OneWaySynchronizer.Options()
      options.concurrency = -1
    }
  }

  // MARK: Properties

  @Test func `progress counts within each stage`() async throws {
    let subject = Subject(
      options: OneWaySynchronizer.Options(concurrency: 1, downloadsPreview: true))
    let steps = Log<String>([])
    let observation = subject.synchronizer.progress.observe { progress in
      steps.append(
        "\(progress.stage.map { "\($0)" } ?? "-") \(progress.done)/\(progress.total)")
    }
    try await subject.run()
    observation.dispose()
    #expect(
      steps.value == [
        "- 0/0", "- 0/0", "begin 0/1", "begin 1/1", "fetch 0/1", "fetch 1/1", "localKeys 0/1",
        "localKeys 1/1", "remove 0/1", "remove 1/1", "shouldUpdate 0/1", "shouldUpdate 1/1",
        "prepare 0/1", "prepare 1/1", "preview 0/3", "preview 1/3", "preview 2/3", "preview 3/3",
        "content 0/3", "content 1/3", "content 2/3", "content 3/3", "end 0/1", "end 1/1",
      ])
  }

  @Test func `the outcome is set before callers are answered`() async throws {
    let subject = Subject()
    #expect(subject.synchronizer.lastOutcome.value == nil)
    let seen = Log<String>([])
    subject.synchronizer.sync { [weak subject] _ in
      guard let outcome = subject?.synchronizer.lastOutcome.value else { return }
      seen.append(Subject.brief(outcome))
    }
    await subject.waitUntilIdle()
    subject.sides.hook.value = { if $0 == "end" { throw Refusal() } }
    try await subject.run()
    if let outcome = subject.synchronizer.lastOutcome.value {
      seen.append(Subject.brief(outcome))
    }
    #expect(seen.value == ["ok", "failed"])
  }

  // MARK: Lifetime

  @Test func `a released synchronizer ends its run and answers`() async throws {
    let sides = TestSides(source: [1], local: [])
    let (held, answered) = (Gate(), Gate())
    sides.hook.value = { if $0 == "fetch" { await held.pass() } }
    var synchronizer: OneWaySynchronizer? = OneWaySynchronizer(from: sides, to: sides)
    weak let released = synchronizer
    synchronizer?.sync { answer in
      sides.trace.append(Subject.brief(answer))
      answered.open()
    }
    await held.waitForArrivals()
    synchronizer = nil
    #expect(released == nil)
    held.open()
    await answered.pass()
    #expect(
      sides.trace.value
        == ["begin", "fetch", "local", "prepare 1", "content 1", "end", "ok"])
  }
}
