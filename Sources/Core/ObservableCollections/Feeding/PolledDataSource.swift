import Diffing
import SwappablePrimitives

/// A data source that reads, decides when to read again, and shows what it has read.
///
/// A ``PolledSource`` tells how to read. The data source does what all that is read has in common: it reads away from its
/// caller, once at a time, publishes contents and status in one step, tries again after a failure, and ends when it is
/// released, also during a read.
///
/// A report of a change takes this way: `report` → `PolledSource.readTime` → `ReadLoop` → `PolledSource.read` → `finish` →
/// `SourceWriter`.
public final class PolledDataSource<Source: PolledSource>: DataSource {
  public typealias Element = Source.Element

  private struct State: Sendable {
    /// What the source keeps. A read takes it.
    var memory: Source.Memory?
    /// The changes since the last read began.
    var unread: Source.Change?
    /// The changes before it, if it had no contents.
    var missed: Source.Change?
    var patience = ReadPatience()
    /// The closures that wait for the next read.
    var refreshes: [@Sendable () -> Void] = []
  }

  private struct Reading {
    let attempt: ReadAttempt
    let memory: Source.Memory?
    let refreshes: [@Sendable () -> Void]
    let start: ContinuousClock.Instant
  }

  private let source: Source
  private let writer: SourceWriter<Element>
  private let loop: ReadLoop
  private let state = Locked(State())

  public var collection: LiveCollection<Element> { writer.collection }

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
    (self.source, self.writer, self.loop) = (source, writer, loop)
  }

  /// Begins to read, unless it has begun before.
  ///
  /// The first observation calls this method, and so does an operator or a container over this source.
  public func start() {
    // While the source is read, the loop does not keep it alive.
    let owner: @Sendable () -> PolledDataSource? = { [weak self] in self }
    guard loop.start({ await PolledDataSource.read(owner) }) else { return }
    writer.show(.loading)
    loop.request(.now)
  }

  /// Reads now, and waits until the contents are delivered. A failure is tried again.
  ///
  /// When the method returns, immediate observers have been called. If the calling task is canceled, the method returns at
  /// once, and the read continues.
  public func refresh() async {
    start()
    await awaitCallback { callback in requestRefresh { callback(()) } }
  }

  /// Shows why a refresh cannot be awaited, and reads as soon as possible.
  package func refreshLater(showing state: SourceStatus.State) {
    start()
    writer.show(state)
    requestRefresh {}
  }

  private func requestRefresh(then callback: @escaping @Sendable () -> Void) {
    state.withLock { $0.refreshes.append(callback) }
    loop.request(.now)
  }

  /// A Boolean value that indicates whether a requested read has not begun.
  package var isReadRequested: Bool { loop.isRequested }

  private func report(_ change: Source.Change) {
    let request = state.withLock { state -> ReadSchedule.Request? in
      let unread = merge(change, into: state.unread)
      state.unread = unread
      // During a read, the time depends on what it leaves in the memory.
      return state.memory.flatMap { source.readTime(of: unread, $0).request }
    }
    if let request { loop.request(request) }
  }

  private func merge(_ change: Source.Change, into old: Source.Change?) -> Source.Change {
    guard var merged = old else { return change }
    source.merge(change, into: &merged)
    return merged
  }

  // MARK: - A read

  private static func read(_ owner: @escaping @Sendable () -> PolledDataSource?) async -> Duration?
  {
    guard let (source, reading) = owner().map({ ($0.source, $0.begin()) }) else { return nil }
    var memory = reading.memory ?? source.start { owner()?.report($0) }
    let result: ReadResult
    do {
      result = try await source.read(reading.attempt, &memory)
    } catch {
      result = .failure(
        .failed(SourceError(reading: error)),
        again: Backoff().pause(after: reading.attempt.failures + 1))
    }
    return owner()?.finish(reading, result, memory)
  }

  private func begin() -> Reading {
    let now = loop.clock.now
    return state.withLock { state in
      let (refreshes, missed) = (state.refreshes, state.missed.take())
      state.refreshes = []
      return Reading(
        attempt: ReadAttempt(
          change: state.unread.take().map { merge($0, into: missed) } ?? missed,
          collection: writer.collection,
          isRefresh: !refreshes.isEmpty, waited: state.patience.waited(at: now),
          failures: state.patience.failures),
        memory: state.memory.take(), refreshes: refreshes, start: .now)
    }
  }

  /// Publishes a result.
  ///
  /// - Returns: The pause before the next read.
  private func finish(
    _ reading: Reading, _ result: ReadResult, _ memory: Source.Memory
  ) -> Duration? {
    let now = loop.clock.now
    let (isShown, pause, request) = state.withLock { state in
      let (isShown, pause) = state.patience.handle(result, at: now)
      if !result.hasContents { state.missed = reading.attempt.change }
      state.memory = memory
      return (isShown, pause, state.unread.flatMap { source.readTime(of: $0, memory).request })
    }
    if let mode = result.mode { writer.setMode(mode.name, reason: mode.reason) }
    switch result.outcome {
    case .contents(let new, _):
      writer.publish(
        new, result.state, diagnostics: result.diagnostics,
        startedAt: result.hasRead ? reading.start : nil,
        areIdentitiesUnique: result.areIdentitiesUnique)
    case .failure(let state, _):
      if isShown { writer.show(state, diagnostics: result.diagnostics) }
    case .nothing: break
    }
    if let request { loop.request(request) }
    for refresh in reading.refreshes { refresh() }
    return pause
  }
}

extension SourceError {
  fileprivate init(reading error: any Error) {
    self =
      error as? SourceError
      ?? SourceError(code: "read-failed", message: "\(error)", underlying: error)
  }
}
