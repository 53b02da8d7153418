import Foundation
import RemoteSources
import SwappablePrimitives

/// A client that writes and reads bytes, and waits at most a minute.
package final class RawClient {
  package struct Closed: Error {}
  package struct Silence: Error, CustomStringConvertible {
    package let description: String
  }

  package let descriptor: Int32
  private var bytes: [UInt8] = []
  /// The number of bytes that are known to have no line break.
  private var searched = 0

  package init(_ path: String) throws {
    descriptor = try UnixSocket.makeConnection(to: ByteString(path))
  }

  deinit { close(descriptor) }

  /// Sends bytes until all are sent, or the server closes the connection.
  ///
  /// - Returns: A Boolean value that indicates whether all bytes were sent.
  @discardableResult
  package func send(_ bytes: some Collection<UInt8>) throws -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      guard let count = rest.withUnsafeBytes({ UnixSocket.sendNow($0, to: descriptor) }) else {
        return false
      }
      rest = rest.dropFirst(count)
      if count == 0 { try wait(for: POLLOUT) }
    }
    return true
  }

  @discardableResult
  package func send(_ text: String) throws -> Bool { try send(Array(text.utf8)) }

  /// Receives a line, without its line break.
  package func line() throws -> String {
    while true {
      if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer {
          bytes.removeSubrange(...end)
          searched = 0
        }
        return String(decoding: bytes[..<end], as: UTF8.self)
      }
      searched = bytes.count
      guard try receive() else { throw Closed() }
    }
  }

  /// Waits until the server closes the connection, and returns what it has sent until then.
  package func rest() throws -> String {
    while try receive() {}
    defer { (bytes, searched) = ([], 0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func receive() throws -> Bool {
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let received = part.withUnsafeMutableBytes { UnixSocket.receive(into: $0, from: descriptor) }
      switch received {
      case .bytes(let count):
        bytes += part[..<count]
        return true
      case .end, .failed: return false
      case .nothing: try wait(for: POLLIN)
      }
    }
  }

  private func wait(for events: Int32) throws {
    var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    guard poll(&request, 1, 60_000) > 0 else {
      throw Silence(description: "the server was not ready for events \(events) within a minute")
    }
  }
}
