import DataSourceTesting
import ObservableCollections
import SwappablePrimitives
import Testing

/// A source that is read while others report changes, wait for it, and release it.
@Suite struct ReadingScenarios {
  /// A number that is read.
  private final class Number: PolledSource, @unchecked Sendable {
    // Sendable: of the threads of a scenario, one runs at a time.
    typealias Element = TestElement

    final class Token: Sendable {}
    struct Memory: Sendable {
      let token: Token
    }

    let scenario: Scenario
    var value = 0
    var readCount = 0
    private var isReading = false
    private var report: (@Sendable (Set<Int>) -> Void)?
    /// The changes that were reported, and those that a read with contents knew.
    private(set) var reported: Set<Int> = []
    private(set) var known: Set<Int> = []
    weak var token: Token?
    /// The number of the read that fails, if any.
    var failure = 0

    init(_ scenario: Scenario) { self.scenario = scenario }

    func start(_ report: @escaping @Sendable (Set<Int>) -> Void) -> Memory {
      scenario.expect(self.report == nil, "the source starts twice")
      self.report = report
      let token = Token()
      self.token = token
      return Memory(token: token)
    }

    func merge(_ change: Set<Int>, into unread: inout Set<Int>) { unread.formUnion(change) }

    func read(_ attempt: ReadAttempt, _ memory: inout Memory) async throws -> ReadResult {
      scenario.expect(!isReading, "two reads run at the same time")
      isReading = true
      schedulePoint()
      let value = value
      schedulePoint()
      isReading = false
      readCount += 1
      if readCount == failure { throw CancellationError() }
      known.formUnion(attempt.change ?? [])
      return .contents(.whole([TestElement(value, 0)]))
    }

    /// Changes the number, and reports that.
    func change(to value: Int) {
      schedulePoint()
      self.value = value
      guard let report else { return }
      reported.insert(value)
      report([value])
    }
  }

  private typealias Source = PolledDataSource<Number>

  private func makeSource(
    _ number: Number, threads: Int = 1, clock: ScheduledClock = ScheduledClock()
  ) -> Source {
    let executor = QueueExecutor((0..<threads).map { _ in number.scenario.queue() })
    return Source(
      number, writer: SourceWriter(of: Source.self),
      loop: ReadLoop(clock: AnyClock(clock), threads: executor))
  }

  private func check(_ source: Source, _ number: Number, readsAtMost count: Int) {
    let shown = source.snapshot.map(\.id)
    number.scenario.expect(shown == [number.value], "E4: shows \(shown), not \(number.value)")
    number.scenario.expect(number.readCount <= count, "\(number.readCount) reads")
    let forgotten = number.reported.subtracting(number.known)
    number.scenario.expect(forgotten.isEmpty, "no read knows of the changes \(forgotten)")
  }

  @Test func `a report during a read`() {
    explore(preemptions: 2) { scenario in
      let number = Number(scenario)
      let source = makeSource(number)
      let follower = Follower<TestElement>(scenario)
      scenario.thread { follower.follow(source) }
      scenario.thread { number.change(to: 1) }
      scenario.finally {
        self.check(source, number, readsAtMost: 2)
        try follower.check(against: source)
      }
    }
  }

  @Test func `two reports`() {
    explore(preemptions: 2) { scenario in
      let number = Number(scenario)
      let source = makeSource(number)
      source.start()
      scenario.thread { number.change(to: 1) }
      scenario.thread { number.change(to: 2) }
      scenario.finally { self.check(source, number, readsAtMost: 3) }
    }
  }

  @Test func `a report, with threads for two reads`() {
    explore(preemptions: 1) { scenario in
      let number = Number(scenario)
      let source = makeSource(number, threads: 2)
      source.start()
      scenario.thread { number.change(to: 1) }
      scenario.finally { self.check(source, number, readsAtMost: 2) }
    }
  }

  @Test func `a report beside a read that fails, and is repeated`() {
    explore(preemptions: 2) { scenario in
      let (number, clock) = (Number(scenario), ScheduledClock())
      number.failure = 2
      let source = makeSource(number, clock: clock)
      source.start()
      scenario.thread { number.change(to: 1) }
      scenario.thread { clock.advance(by: .seconds(1)) }
      scenario.finally {
        // If the clock was advanced too early, the read is not repeated yet.
        if number.readCount == 2 {
          scenario.expect(clock.callCount == 1, "a failed read is not repeated")
        } else {
          self.check(source, number, readsAtMost: 3)
        }
      }
    }
  }

  @Test func `a refresh beside a report`() {
    explore(preemptions: 2) { scenario in
      let number = Number(scenario)
      let source = makeSource(number)
      source.start()
      final class Progress: @unchecked Sendable { var isOver = false }
      let progress = Progress()
      ScheduledTasks.run(on: scenario.queue()) {
        Task {
          let value = number.value
          await source.refresh()
          let shown = source.snapshot.first?.id ?? -1
          scenario.expect(shown >= value, "a refresh shows \(shown), and not \(value)")
          progress.isOver = true
        }
      }
      scenario.thread { number.change(to: 1) }
      scenario.finally {
        scenario.expect(progress.isOver, "a refresh does not end")
        self.check(source, number, readsAtMost: 3)
      }
    }
  }

  @Test func `a release during a read, beside a report`() {
    explore(preemptions: 2) { scenario in
      final class Held: @unchecked Sendable { var source: Source? }
      let (number, held) = (Number(scenario), Held())
      held.source = makeSource(number)
      held.source?.start()
      weak let source = held.source
      scenario.thread { held.source = nil }
      scenario.thread { number.change(to: 1) }
      scenario.finally {
        scenario.expect(source == nil, "L1: a released source is still held")
        scenario.expect(number.token == nil, "L1: the memory of a released source is still held")
      }
    }
  }

  // MARK: A group

  /// The version of all files behind a link.
  private final class Link: @unchecked Sendable {
    // Sendable: of the threads of a scenario, one runs at a time.
    var version = 0
    /// A Boolean value that indicates whether all files were shown before the link was switched.
    var isJudged = false
  }

  /// A file behind a link.
  private final class Linked: PolledSource, @unchecked Sendable {
    // Sendable: of the threads of a scenario, one runs at a time.
    typealias Element = TestElement

    let (link, group, id): (Link, ReadGroup, Int)
    private var seen = 0
    private var report: (@Sendable (Bool) -> Void)?

    init(_ link: Link, _ group: ReadGroup, _ id: Int) {
      (self.link, self.group, self.id) = (link, group, id)
    }

    func start(_ report: @escaping @Sendable (Bool) -> Void) {
      self.report = report
      group.add { [weak self] in
        self?.look()
        return self != nil
      }
    }

    func merge(_ change: Bool, into unread: inout Bool) { unread = unread || change }

    /// Reports that the link was switched, unless it is known.
    func look() {
      schedulePoint()
      if link.version != seen { report?(true) }
    }

    /// Reports a save of this file alone.
    func save() { report?(false) }

    func read(_ attempt: ReadAttempt, _: inout Void) async -> ReadResult {
      let known = seen
      schedulePoint()
      let version = link.version
      seen = version
      schedulePoint()
      var result = ReadResult.contents(.whole([TestElement(id, version)]))
      if link.version != version { report?(true) }
      result.hasCommonCause = attempt.change == true || known != link.version
      return result
    }
  }

  private func exploreLink(_ threads: @escaping (Scenario, [Linked]) -> Void) {
    explore(preemptions: 1) { scenario in
      let (link, group) = (Link(), ReadGroup())
      let files = [Linked(link, group, 1), Linked(link, group, 2)]
      let sources = files.map { file in
        PolledDataSource<Linked>(
          file, writer: SourceWriter(of: PolledDataSource<Linked>.self),
          loop: ReadLoop(
            clock: AnyClock(ScheduledClock()),
            threads: QueueExecutor([scenario.queue()]), group: group))
      }
      let list = sources[0].concatenated(with: sources[1])
      let follower = Follower<TestElement>(scenario)
      follower.follow(list) { contents in
        let versions = Set(contents.map(\.content))
        scenario.expect(
          versions.count <= 1 || !link.isJudged, "shows the versions \(contents) together")
      }
      scenario.thread {
        link.isJudged = list.snapshot.count == 2
        link.version = 1
        for file in files { file.look() }
      }
      threads(scenario, files)
      scenario.finally {
        let shown = list.snapshot.map(\.content)
        scenario.expect(shown == [1, 1], "E4: shows the versions \(shown)")
        try follower.check(against: list)
        withExtendedLifetime(sources) {}
      }
    }
  }

  @Test func `a link to two files that is switched`() { exploreLink { _, _ in } }

  @Test func `a link to two files that is switched, beside a save of one of them`() {
    exploreLink { scenario, files in scenario.thread { files[1].save() } }
  }
}
