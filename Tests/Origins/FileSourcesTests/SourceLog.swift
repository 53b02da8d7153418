import Diffing
import FileWatching
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// A log that retains a source and awaits its changes and statuses one by one.
final class SourceLog<Element: Differentiable & Sendable>: Sendable {
  let source: any DataSource<Element>
  private let changes: AsyncStream<CollectionChange<Element>>
  private let statuses: AsyncStream<SourceStatus>
  private let observations = DisposeBag()

  init(_ source: any DataSource<Element>) {
    self.source = source
    let (changes, change) = AsyncStream.makeStream(of: CollectionChange<Element>.self)
    let (statuses, status) = AsyncStream.makeStream(of: SourceStatus.self)
    self.changes = changes
    self.statuses = statuses
    source.observe { event in
      if case .change(let next) = event { change.yield(next) }
    }.store(in: observations)
    source.observeStatus { status.yield($0) }.store(in: observations)
  }

  /// Observes a source after it has loaded, so the log does not contain the change of the load.
  static func afterLoading(_ source: any DataSource<Element>) async throws -> SourceLog {
    try await source.loaded()
    return SourceLog(source)
  }

  /// Waits for the next change.
  func nextChange() async throws -> CollectionChange<Element> {
    for await change in changes { return change }
    throw EndOfLog()
  }

  /// Waits for the next change that satisfies a condition, and skips all others.
  func change(where isWanted: (CollectionChange<Element>) -> Bool) async throws {
    for await change in changes where isWanted(change) { return }
    throw EndOfLog()
  }

  /// Waits for the next status that satisfies a condition, and skips all others.
  @discardableResult
  func status(where isWanted: (SourceStatus) -> Bool) async throws -> SourceStatus {
    for await status in statuses where isWanted(status) { return status }
    throw EndOfLog()
  }

  func failure() async throws -> SourceError {
    let status = try await status {
      if case .failed = $0.state { true } else { false }
    }
    return try #require(status.error)
  }

  func missing() async throws -> SourceError {
    let status = try await status {
      if case .missing = $0.state { true } else { false }
    }
    return try #require(status.error)
  }

  func loaded() async throws {
    try await status { $0.state == .loaded }
  }
}

struct EndOfLog: Error {}

/// The real system, which reports each read of a file to a test.
final class ReadLog: Sendable {
  let system: WatchSystem
  private let reads: AsyncStream<Void>

  init(_ base: WatchSystem = .live) {
    let (reads, read) = AsyncStream.makeStream(of: Void.self)
    self.reads = reads
    var system = base
    system.files.open = { path in
      // The file has been read when it is released, or when it cannot be opened.
      let end = Token { read.yield() }
      return base.files.open(path).map { file in
        var file = file
        file.stamp = { [stamp = file.stamp] in
          withExtendedLifetime(end) { stamp() }
        }
        return file
      }
    }
    self.system = system
  }

  /// Waits for the next read of the file.
  func nextRead() async throws {
    for await _ in reads { return }
    throw EndOfLog()
  }
}
