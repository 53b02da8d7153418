import Hummingbird
import NIOConcurrencyHelpers
import NIOCore
import RemoteSources
import ServiceLifecycle

/// The lines of a feed as Server-Sent Events, for one client.
struct EventStream {
  private let list: ServedList
  private let token: String?
  private let writer: StalledWriteGuard
  /// The name of the source that the client knows.
  private var sourceName: String?

  init(list: ServedList, since token: String?, writer: StalledWriteGuard) {
    (self.list, self.token, self.writer) = (list, token, writer)
  }

  /// Writes events until the client closes the connection or the service stops.
  mutating func run(_ output: inout any ResponseBodyWriter) async throws {
    for await line in list.feed.lines(since: token).cancelOnGracefulShutdown() {
      // The name comes first, for pages that show it with the new contents.
      if let name = list.sourceName, name != sourceName {
        sourceName = name
        try await writer.write(Array("event: source\ndata: \"\(name)\"\n\n".utf8), to: &output)
      }
      let identifier = line.token.map { "id: \($0)\n" } ?? ""
      try await writer.write(Array("\(identifier)data: ".utf8), to: &output)
      // A line ends with a line break. An empty line ends the event.
      try await writer.write(line.bytes, to: &output)
      try await writer.write([UInt8(ascii: "\n")], to: &output)
    }
  }
}

/// A writer that closes the connection of a client that does not read.
struct StalledWriteGuard: Sendable {
  private static let chunkSize = 1 << 16

  let channel: any Channel
  let limit: TimeAmount

  /// Writes bytes in chunks. Each chunk waits until the client has room.
  ///
  /// Therefore, a slow client holds one chunk, and not a copy of a long line.
  func write(_ bytes: [UInt8], to output: inout any ResponseBodyWriter) async throws {
    var start = 0
    while start < bytes.count {
      let end = min(start + Self.chunkSize, bytes.count)
      let timer = channel.eventLoop.scheduleTask(in: limit) { [channel] in
        channel.close(promise: nil)
      }
      defer { timer.cancel() }
      try await output.write(ByteBuffer(bytes: bytes[start..<end]))
      start = end
    }
  }
}

/// The number of event streams that are open, and its limit.
final class StreamLimit: Sendable {
  /// An open stream. Release it to make room for another one.
  final class Slot: Sendable {
    private let owner: StreamLimit

    fileprivate init(_ owner: StreamLimit) { self.owner = owner }

    deinit { owner.count.withLockedValue { $0 -= 1 } }
  }

  let limit: Int
  private let count = NIOLockedValueBox(0)

  init(_ limit: Int) { self.limit = limit }

  /// Returns a slot for one more stream, or `nil` if there is no room.
  func claim() -> Slot? {
    let isFree = count.withLockedValue { count in
      guard count < limit else { return false }
      count += 1
      return true
    }
    return isFree ? Slot(self) : nil
  }
}
