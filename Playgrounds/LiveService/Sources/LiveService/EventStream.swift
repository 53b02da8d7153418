import Foundation
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
        let data = String(decoding: try JSONEncoder().encode(name), as: UTF8.self)
        let event = Array("event: source\ndata: \(data)\n\n".utf8)
        try await writer.write([event], to: &output)
      }
      // The bytes of `line.serverSentEvent`, without a copy of a long line for each client. A line ends with a line
      // break. An empty line ends the event.
      let head = Array("\(line.token.map { "id: \($0)\n" } ?? "")data: ".utf8)
      try await writer.write([head, line.bytes, [UInt8(ascii: "\n")]], to: &output)
    }
  }
}

/// A writer that closes the connection of a client that does not read.
struct StalledWriteGuard: Sendable {
  private static let chunkSize = 8 << 10

  let channel: any Channel
  let limit: TimeAmount

  /// Writes parts of a body, in chunks. Each chunk waits until the client has room.
  ///
  /// Therefore, a slow client holds one chunk, and not a copy of a long line.
  func write(_ parts: [[UInt8]], to output: inout any ResponseBodyWriter) async throws {
    var chunk = ByteBuffer()
    for part in parts {
      var rest = part[...]
      while !rest.isEmpty {
        let room = Self.chunkSize - chunk.readableBytes
        chunk.writeBytes(rest.prefix(room))
        rest = rest.dropFirst(room)
        if chunk.readableBytes == Self.chunkSize {
          try await write(chunk, to: &output)
          chunk.clear()
        }
      }
    }
    if chunk.readableBytes > 0 { try await write(chunk, to: &output) }
  }

  private func write(_ chunk: ByteBuffer, to output: inout any ResponseBodyWriter) async throws {
    let timer = channel.eventLoop.scheduleTask(in: limit) { [channel] in
      channel.close(promise: nil)
    }
    defer { timer.cancel() }
    try await output.write(chunk)
    // Otherwise, the writer learns too late that the client does not read, and hands over most of a long line first.
    try await channel.eventLoop.submit {}.get()
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
