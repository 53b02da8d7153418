import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct PolledDataSourceTests {
  /// A source whose reads wait until the test ends them.
  private final class Reads: PolledSource {
    typealias Element = Int

    struct Memory: Sendable {
      var count = 0
      let token: Token
    }

    private let (begun, beginning) = AsyncStream<ReadAttempt>.makeStream()
    private let (ends, ending) = AsyncStream<ReadResult?>.makeStream()
    private let report = Locked<(@Sendable (Set<Int>) -> Void)?>(nil)
    let token = Token()
    let canceled = Locked(0)

    func start(_ report: @escaping @Sendable (Set<Int>) -> Void) -> Memory {
      self.report.withLock { $0 = report }
      return Memory(token: token)
    }

    func merge(_ change: Set<Int>, into unread: inout Set<Int>) { unread.formUnion(change) }

    func readTime(of unread: Set<Int>, _ memory: Memory) -> ReadTime {
      // Changes below zero have time. The memory has counted the reads.
      unread.allSatisfy { $0 < 0 && memory.count > 0 } ? .later : .now
    }

    func read(
      _ attempt: ReadAttempt, _ memory: inout Memory
    ) async throws -> ReadResult {
      memory.count += 1
      beginning.yield(attempt)
      for await end in ends {
        guard let end else { throw Refusal() }
        return end
      }
      canceled.withLock { $0 += 1 }
      throw CancellationError()
    }

    struct Refusal: Error {}

    func change(_ number: Int) { report.withLock { $0 }?([number]) }

    /// Ends a read. Without a result, it throws an error.
    func end(_ result: ReadResult?) { ending.yield(result) }

    /// Waits for the beginning of the next read.
    func next() async throws -> ReadAttempt {
      for await attempt in begun { return attempt }
      throw Refusal()
    }
  }

  private final class Token: Sendable {}

  private let clock = ManualClock()
  private let reads = Reads()

  private func source() -> PolledDataSource<Reads> {
    PolledDataSource(reads, location: "somewhere", clock: clock)
  }

  /// Advances the clock to the moment for which the source waits, and returns the pause.
  private func pause() async throws -> Duration {
    try await wait(for: "the source to pause") { clock.nextDeadline != nil }
    let start = clock.now
    clock.advanceToNextDeadline()
    return start.duration(to: clock.now)
  }

  private func status(
    of source: some DataSource<Int>, _ isWanted: (SourceStatus) -> Bool
  ) async throws {
    try await wait(for: "the status") { isWanted(source.collection.current.state.status) }
  }

  @Test func `a source is read when it is observed, and after each pause`() async throws {
    let source = source()
    #expect(source.collection.current.state.status == .idle)
    let observation = source.observe { _ in }
    #expect(source.collection.current.state.status == .loading)
    for number in 1...3 {
      let attempt = try await reads.next()
      #expect(attempt.change == nil)
      #expect(Array(attempt.collection.snapshot) == (number == 1 ? [] : [number - 1]))
      reads.end(.contents(.whole([number]), again: .seconds(30)))
      #expect(try await pause() == .seconds(30))
      #expect(Array(source.collection.snapshot) == [number])
    }
    observation.dispose()
  }

  @Test func `changes during a read lead to one more, which has them all`() async throws {
    let source = source()
    source.start()
    source.start()
    _ = try await reads.next()
    for number in 1...5 { reads.change(number) }
    reads.end(.contents(.whole([1])))
    #expect(try await reads.next().change == [1, 2, 3, 4, 5])
    reads.end(.contents(.whole([2])))
    try await wait(for: "contents") { Array(source.collection.snapshot) == [2] }
    reads.change(6)
    #expect(try await reads.next().change == [6])
  }

  @Test func `changes that led to no contents stay unread`() async throws {
    let source = source()
    source.start()
    _ = try await reads.next()
    reads.change(1)
    reads.end(.nothing(for: .seconds(7)))
    #expect(try await reads.next().change == [1])
    reads.change(2)
    reads.end(.failure(.missing(SourceError(code: "a", message: "a")), again: .seconds(3)))
    let attempt = try await reads.next()
    #expect(attempt.change == [1, 2])
    #expect(attempt.failures == 1)
    reads.end(.contents(.whole([]), again: .seconds(9)))
    _ = try await pause()
    #expect(try await reads.next().change == nil)
    withExtendedLifetime(source) {}
  }

  @Test func `a change that has time is read with the next one`() async throws {
    let source = source()
    source.start()
    _ = try await reads.next()
    // The memory is away, so the time is decided when the read has ended.
    reads.change(-1)
    reads.end(.contents(.whole([1]), again: .seconds(9)))
    #expect(try await pause() == .seconds(9))
    #expect(try await reads.next().change == [-1])
    reads.end(.contents(.whole([2])))
    try await wait(for: "contents") { Array(source.collection.snapshot) == [2] }
    reads.change(-2)
    reads.change(3)
    #expect(try await reads.next().change == [-2, 3])
    withExtendedLifetime(source) {}
  }

  @Test func `an error is shown, and read again after growing pauses`() async throws {
    let source = source()
    source.start()
    for seconds in [0.5, 1, 2] {
      _ = try await reads.next()
      reads.end(nil)
      try await status(of: source) { $0.error?.code == "read-failed" }
      #expect(try await pause() == .seconds(seconds))
    }
    _ = try await reads.next()
    reads.end(.contents(.whole([1]), again: .seconds(60)))
    #expect(try await pause() == .seconds(60))
    #expect(source.collection.current.state.status == .loaded)
    #expect(try await reads.next().failures == 0)
  }

  @Test func `a short failure is not shown`() async throws {
    let source = source()
    source.start()
    _ = try await reads.next()
    reads.end(.contents(.whole([1])))
    let missing = SourceStatus.State.missing(SourceError(code: "a", message: "a"))
    try await status(of: source) { $0 == .loaded }
    reads.change(1)
    for waited in [0, 200] {
      #expect(try await reads.next().waited == .milliseconds(waited))
      reads.end(.failure(missing, shownAfter: .seconds(1), again: .milliseconds(200)))
      #expect(try await pause() == .milliseconds(200))
      #expect(source.collection.current.state.status == .loaded)
    }
    _ = try await reads.next()
    reads.end(.failure(missing, shownAfter: .seconds(1)))
    #expect(try await pause() == .milliseconds(600))
    _ = try await reads.next()
    reads.end(.failure(missing, shownAfter: .seconds(1)))
    try await status(of: source) { $0.state == missing }
    #expect(Array(source.collection.snapshot) == [1])
  }

  @Test func `a refresh waits for a read that begins after its call`() async throws {
    let source = source()
    source.start()
    _ = try await reads.next()
    async let refresh: Void = source.refresh()
    try await wait(for: "the request") { source.isReadRequested }
    reads.end(.contents(.whole([1])))
    let attempt = try await reads.next()
    #expect(attempt.isRefresh)
    reads.end(.contents(.whole([2]), again: .seconds(60)))
    await refresh
    #expect(Array(source.collection.snapshot) == [2])
    // It does not wait for the pause, either.
    async let again: Void = source.refresh()
    _ = try await reads.next()
    reads.end(nil)
    await again
    #expect(source.collection.current.state.status.error?.code == "read-failed")
  }

  @Test func `a refresh that is canceled returns at once`() async throws {
    let source = source()
    let refresh = Task { await source.refresh() }
    _ = try await reads.next()
    refresh.cancel()
    await refresh.value
    reads.end(.contents(.whole([1])))
    try await status(of: source) { $0 == .loaded }
  }

  @Test func `the release of a source cancels its read, and releases the memory`() async throws {
    weak let weakReads: Reads?
    weak let weakSource: PolledDataSource<Reads>?
    let canceled: () -> Int
    do {
      let reads = Reads()
      let source = PolledDataSource(reads, clock: clock)
      (weakReads, weakSource) = (reads, source)
      source.start()
      _ = try await reads.next()
      canceled = { [weak reads] in reads?.canceled.withLock { $0 } ?? 1 }
    }
    #expect(weakSource == nil)
    try await wait(for: "a canceled read") { canceled() == 1 && weakReads == nil }
  }

  @Test func `a pause that ends during a later read does not keep the release from canceling it`()
    async throws
  {
    for _ in 0..<50 {
      let (clock, reads) = (ManualClock(), Reads())
      var source: PolledDataSource<Reads>? = PolledDataSource(reads, clock: clock)
      source?.start()
      _ = try await reads.next()
      reads.end(.contents(.whole([1]), again: .seconds(9)))
      try await wait(for: "the source to pause") { clock.nextDeadline != nil }
      reads.change(1)
      #expect(try await reads.next().change == [1])
      if clock.nextDeadline != nil { clock.advanceToNextDeadline() }
      source = nil
      try await wait(for: "a canceled read") { reads.canceled.withLock { $0 > 0 } }
    }
  }
}
