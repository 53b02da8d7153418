import Foundation

/// A client that receives lines.
final class Reader {
  private let path: String
  private let list: String
  private(set) var descriptor: Int32 = -1
  /// The bytes of the last line so far.
  private var bytes: [UInt8] = []
  private(set) var lineCount = 0
  private(set) var byteCount = 0

  init(_ path: String, _ list: String = "rows", since token: String? = nil) {
    (self.path, self.list) = (path, list)
    connect(since: token)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Connects, or connects again. Tries again while the server's queue is full.
  func connect(since token: String?) {
    if descriptor >= 0 { close(descriptor) }
    bytes = []
    repeat { descriptor = ClientSocket.connect(path) ?? -1 } while descriptor < 0
    ClientSocket.send(ClientSocket.request(list, since: token), to: descriptor)
  }

  /// Receives what has come.
  ///
  /// - Parameters:
  ///   - scratch: Memory to receive into.
  ///   - body: A closure that receives each line, without its line break.
  /// - Returns: A Boolean value that indicates whether the connection is open.
  func receive(_ scratch: UnsafeMutableRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void)
    -> Bool
  {
    while true {
      let count = read(descriptor, scratch.baseAddress, scratch.count)
      if count < 0 && errno == EAGAIN { return true }
      if count <= 0 { return false }
      byteCount += count
      split(UnsafeRawBufferPointer(rebasing: scratch[..<count]), body)
      if count < scratch.count { return true }
    }
  }

  private func split(_ part: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    var rest = part
    while let start = rest.baseAddress, let found = memchr(start, 10, rest.count) {
      let length = UnsafeRawPointer(found) - start
      let line = UnsafeRawBufferPointer(rebasing: rest[..<length])
      rest = UnsafeRawBufferPointer(rebasing: rest[(length + 1)...])
      lineCount += 1
      if bytes.isEmpty {
        body(line)
      } else {
        bytes += line
        bytes.withUnsafeBytes(body)
        bytes.removeAll(keepingCapacity: bytes.capacity < 1 << 16)
      }
    }
    bytes += rest
  }

  /// Waits for the next lines of this reader alone.
  ///
  /// - Returns: The lines.
  func lines() -> [String] {
    var lines: [String] = []
    Swarm.withScratch { scratch in
      while lines.isEmpty {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, 60_000)
        guard receive(scratch, { lines.append(String(decoding: $0, as: UTF8.self)) }) else {
          return
        }
      }
    }
    return lines
  }
}

/// Many readers that one thread serves.
final class Swarm {
  var readers: [Reader]
  private var requests: [pollfd] = []

  init(_ readers: [Reader]) {
    self.readers = readers
  }

  /// Receives what has come, or waits for it.
  ///
  /// - Parameters:
  ///   - milliseconds: The longest time to wait.
  ///   - body: A closure that receives the number of a reader and a line.
  /// - Returns: The numbers of the readers whose connection was closed.
  @discardableResult
  func receive(
    _ scratch: UnsafeMutableRawBufferPointer, milliseconds: Int32 = 1000,
    _ body: (Int, UnsafeRawBufferPointer) -> Void
  ) -> [Int] {
    requests.removeAll(keepingCapacity: true)
    for reader in readers {
      requests.append(pollfd(fd: reader.descriptor, events: Int16(POLLIN), revents: 0))
    }
    poll(&requests, nfds_t(requests.count), milliseconds)
    var closed: [Int] = []
    for index in readers.indices where requests[index].revents != 0 {
      if !readers[index].receive(scratch, { body(index, $0) }) { closed.append(index) }
    }
    return closed
  }

  /// Waits until all readers have received a number of further lines.
  func wait(forLines count: Int = 1) {
    var missing = Array(repeating: count, count: readers.count)
    var total = count * readers.count
    Self.withScratch { scratch in
      while total > 0 {
        let closed = receive(scratch) { index, _ in
          if missing[index] > 0 {
            missing[index] -= 1
            total -= 1
          }
        }
        if !closed.isEmpty { fatalError("the server closed a connection") }
      }
    }
  }

  static func withScratch<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { scratch.deallocate() }
    return body(scratch)
  }
}
