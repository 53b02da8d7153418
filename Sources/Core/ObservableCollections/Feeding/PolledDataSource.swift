import Diffing
import SwappablePrimitives

/// A data source that reads, decides when to read again, and shows what it has read.
///
/// A ``PolledSource`` tells how to read. The data source does what all that is read has in common: it reads away from its
/// caller, once at a time, publishes contents and status in one step, tries again after a failure, and ends when it is
/// released, also during a read.
public final class PolledDataSource<Source: PolledSource>: DataSource {
  public typealias Element = Source.Element

  private let reader: PolledReader<Source>

  public var collection: LiveCollection<Element> { reader.writer.collection }

  /// Creates a data source that reads nothing before it is observed.
  ///
  /// - Parameters:
  ///   - source: What is read.
  ///   - location: The place that is read, for people: a path, a query, an address without passwords.
  ///   - clock: The clock that measures the pauses.
  public convenience init(
    _ source: Source, location: String? = nil, clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.init(
      source, writer: SourceWriter(of: PolledDataSource.self, location: location),
      loop: ReadLoop(clock: clock is ContinuousClock ? .continuous : AnyClock(clock)))
    collection.describe(as: Source.self)
  }

  package init(_ source: Source, writer: SourceWriter<Element>, loop: ReadLoop) {
    reader = PolledReader(source, writer, loop)
  }

  deinit { reader.end() }

  /// Begins to read, unless it has begun before.
  ///
  /// The first observation calls this method, and so does an operator or a container over this source.
  public func start() { _ = reader.start() }

  /// Reads now, and waits until the contents are delivered. A failure is tried again.
  ///
  /// When the method returns, immediate observers have been called, unless another thread is calling some at this moment.
  /// If the calling task is canceled, the method returns at once, and the read continues. A read of the source must not
  /// call this method, because it would wait for itself.
  public func refresh() async {
    await awaitCallback { callback in reader.refresh { callback(()) } }
  }

  /// Shows why a refresh cannot be awaited, and reads as soon as possible.
  package func refreshLater(showing state: SourceStatus.State) {
    start()
    reader.writer.show(state)
    reader.refresh {}
  }

  /// A Boolean value that indicates whether a requested read has not begun.
  package var isReadRequested: Bool { reader.loop.isRequested }
}

/// Reads for a ``PolledDataSource``, which ends it.
///
/// A report of a change takes this way: `report` → `PolledSource.readTime` → `ReadLoop` → `PolledSource.read` → `finish` →
/// `SourceWriter`.
private final class PolledReader<Source: PolledSource>: Sendable {
  private typealias Attempt = PolledDataSource<Source>.ReadAttempt
  private typealias Result = PolledDataSource<Source>.ReadResult

  private struct State: Sendable {
    /// The memory of the source. A read takes it.
    var memory: Source.Memory?
    /// The changes since the last read began.
    var unread: Source.Change?
    /// The changes before it, if it had no contents.
    var missed: Source.Change?
    var patience = ReadPatience()
    /// The closures that wait for the next read.
    var refreshes: [@Sendable () -> Void] = []
    /// The number of results that wait for other sources.
    var waitingResults = 0
    var hasEnded = false
  }

  private struct Reading {
    let attempt: Attempt
    var memory: Source.Memory?
    let refreshes: [@Sendable () -> Void]
    let start: ContinuousClock.Instant
  }

  private let source: Source
  let writer: SourceWriter<Source.Element>
  let loop: ReadLoop
  private let state = Locked(State())

  init(_ source: Source, _ writer: SourceWriter<Source.Element>, _ loop: ReadLoop) {
    (self.source, self.writer, self.loop) = (source, writer, loop)
  }

  /// - Returns: `false` if it has started before.
  func start() -> Bool {
    guard !loop.isStarted, writer.begin() else { return false }
    loop.start { [weak self] in await self?.read() }
    loop.request(.now)
    return true
  }

  /// Cancels the read that runs, and releases the memory.
  ///
  /// The memory goes here, and not with the last reference: a report may hold that, and wait for what ends the reports.
  func end() {
    let memory = state.withLock { state in
      state.hasEnded = true
      return state.memory.take()
    }
    loop.end()
    withExtendedLifetime(memory) {}
  }

  func refresh(then callback: @escaping @Sendable () -> Void) {
    state.withLock { $0.refreshes.append(callback) }
    if !start() { loop.request(.now) }
  }

  private func report(_ change: Source.Change) {
    let request = state.withLock { state -> ReadSchedule.Request? in
      let unread = merge(change, into: state.unread.take())
      state.unread = unread
      // During a read, the time depends on what it leaves in the memory.
      return state.memory.flatMap { source.readTime(of: unread, $0).request }
    }
    if let request { loop.request(request) }
  }

  private func merge(
    _ change: Source.Change, into old: consuming Source.Change?
  ) -> Source.Change {
    guard var merged = old else { return change }
    source.merge(change, into: &merged)
    return merged
  }

  // MARK: - A read

  private func read() async -> Duration? {
    // A release may come just before the read, and the memory with it.
    guard var reading = begin() else { return nil }
    // It is not copied, so a large memory is changed in place.
    var memory = reading.memory.take() ?? source.start { [weak self] in self?.report($0) }
    let result: Result
    do {
      result = try await source.read(reading.attempt, &memory)
    } catch {
      result = .failure(
        .failed(SourceError(reading: error)),
        again: Backoff().pause(after: reading.attempt.failures + 1))
    }
    return finish(reading, result, memory)
  }

  private func begin() -> Reading? {
    let now = loop.clock.now
    return state.withLock { state in
      if state.hasEnded { return nil }
      let (refreshes, missed) = (state.refreshes, state.missed.take())
      state.refreshes = []
      return Reading(
        attempt: Attempt(
          change: state.unread.take().map { merge($0, into: missed) } ?? missed,
          collection: writer.collection,
          isRefresh: !refreshes.isEmpty, waited: state.patience.waited(at: now),
          failures: state.patience.failures, isListBehind: state.waitingResults > 0),
        memory: state.memory.take(), refreshes: refreshes, start: .now)
    }
  }

  /// Publishes a result.
  ///
  /// - Returns: The pause before the next read.
  private func finish(
    _ reading: Reading, _ result: Result, _ memory: Source.Memory
  ) -> Duration? {
    if !result.hasContents, Task.isCancelled, readAgain(reading, memory) { return nil }
    let (now, shown) = (loop.clock.now, writer.collection.current.state.status.state)
    let (isShown, pause, request, hasEnded) = state.withLock { state in
      let (isShown, pause) = state.patience.handle(result, shown: shown, at: now)
      if !result.hasContents { state.missed = reading.attempt.change }
      if !state.hasEnded { state.memory = memory }
      let request = state.unread.flatMap { source.readTime(of: $0, memory).request }
      return (isShown, pause, request, state.hasEnded)
    }
    show(result, isShown: isShown, hasEnded: hasEnded, of: reading)
    if let request { loop.request(request) }
    return pause
  }

  /// Asks for another read, if a pause of the program has interrupted this one.
  ///
  /// - Returns: `false` if the source was released.
  private func readAgain(_ reading: Reading, _ memory: Source.Memory) -> Bool {
    let hasEnded = state.withLock { state in
      guard !state.hasEnded else { return true }
      (state.memory, state.missed) = (memory, reading.attempt.change)
      state.refreshes = reading.refreshes + state.refreshes
      return false
    }
    if !hasEnded { loop.request(.now) }
    return !hasEnded
  }

  /// Publishes a result now, or together with the results of its group.
  private func show(_ result: Result, isShown: Bool, hasEnded: Bool, of reading: Reading) {
    let publish: @Sendable () -> Void = { [self, start = reading.start] in
      if !hasEnded { self.publish(result, isShown: isShown, startedAt: start) }
    }
    let finish: @Sendable () -> Void = { [self, refreshes = reading.refreshes] in
      state.withLock { $0.waitingResults -= 1 }
      for refresh in refreshes { refresh() }
    }
    let isBehind = state.withLock { state in
      state.waitingResults += 1
      return state.waitingResults > 1
    }
    let isFirst = reading.attempt.isFirst
    if let group = loop.group, !isFirst || isBehind || result.hasCommonCause {
      group.publish(
        ReadGroup.Publication(isFirst: isFirst, publish: publish, finish: finish),
        hasCommonCause: result.hasCommonCause)
    } else {
      publish()
      finish()
    }
  }

  private func publish(
    _ result: Result, isShown: Bool, startedAt start: ContinuousClock.Instant
  ) {
    if let mode = result.mode { writer.setMode(mode.name, reason: mode.reason) }
    switch result.outcome {
    case .contents(let new, _):
      writer.publish(
        new, result.state, diagnostics: result.diagnostics,
        startedAt: result.hasRead ? start : nil, areIdentitiesUnique: result.areIdentitiesUnique)
    case .failure(let state, _):
      if isShown { writer.show(state, diagnostics: result.diagnostics) }
    case .nothing: break
    }
  }
}

extension SourceError {
  fileprivate init(reading error: any Error) {
    self =
      error as? SourceError
      ?? SourceError(code: "read-failed", message: "\(error)", underlying: error)
  }
}
