import FileWatching
import SwappablePrimitives
import Testing

/// A watch whose events a test awaits one by one.
final class EventLog: Sendable {
  let watch: FileWatch
  private let stream: AsyncStream<FileEvent>

  init(
    _ path: String, intervals: FileWatch.Intervals? = nil, system: WatchSystem = .live
  ) {
    let (stream, continuation) = AsyncStream.makeStream(of: FileEvent.self)
    self.stream = stream
    watch = FileWatch(path: ByteString(path), intervals: intervals, system: system) {
      continuation.yield($0)
    }
  }

  /// Waits for the next event of some kinds, and skips all others.
  @discardableResult
  func next(_ kinds: FileEvent.Kind...) async throws -> FileEvent {
    for await event in stream where kinds.contains(event.kind) { return event }
    throw EndOfEvents()
  }

  struct EndOfEvents: Error {}
}
