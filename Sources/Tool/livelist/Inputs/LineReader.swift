import Dispatch
import Foundation

/// A reader of the lines of standard input.
///
/// It reads on a queue of its own, because a read can block. Only one task at a time may ask for a line.
final class LineReader: @unchecked Sendable {
  // Sendable: only the task that asks for a line accesses the variables, and the queue while this task waits.

  private let queue = DispatchQueue(label: "livelist.input")
  private var bytes: [UInt8] = []
  /// The offset of the start of the next line.
  private var start = 0
  /// The offset up to which no line break was found.
  private var searched = 0
  private var isAtEnd = false

  /// Returns the next line without its line break, or `nil` after the last line.
  ///
  /// The last line needs no line break.
  func next() async -> [UInt8]? {
    while true {
      if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer {
          start = end + 1
          searched = start
        }
        return Array(bytes[start..<end])
      }
      searched = bytes.count
      if isAtEnd {
        defer { start = bytes.count }
        return start < bytes.count ? Array(bytes[start...]) : nil
      }
      await withCheckedContinuation { continuation in
        queue.async { [self] in
          readMore()
          continuation.resume()
        }
      }
    }
  }

  private func readMore() {
    if start > 0 {
      bytes.removeSubrange(..<start)
      searched -= start
      start = 0
    }
    // Standard input that cannot be read has no more lines.
    isAtEnd = (try? bytes.append(readingFrom: STDIN_FILENO)) != true
  }
}

extension [UInt8] {
  private static let chunkSize = 1 << 18

  /// Waits for bytes of a file descriptor, and appends them.
  ///
  /// - Returns: A Boolean value that indicates whether more bytes may follow.
  mutating func append(readingFrom descriptor: Int32) throws(SystemError) -> Bool {
    let old = count
    append(contentsOf: repeatElement(0, count: Self.chunkSize))
    let (read, code) = withUnsafeMutableBytes { bytes in
      let read = Foundation.read(descriptor, bytes.baseAddress.map { $0 + old }, Self.chunkSize)
      return (read, errno)
    }
    removeLast(Self.chunkSize - Swift.max(read, 0))
    if read >= 0 { return read > 0 }
    switch code {
    case EINTR: return true
    case EAGAIN, EWOULDBLOCK:
      waitForBytes(of: descriptor)
      return true
    case EIO where isInBackground(of: descriptor):
      // A job in the background receives no input of its terminal. The system does not say when the
      // user takes it to the foreground.
      waitForBytes(of: descriptor)
      usleep(100_000)
      return true
    default: throw SystemError(code)
    }
  }
}

private func waitForBytes(of descriptor: Int32) {
  var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  poll(&request, 1, -1)
}

/// Returns a Boolean value that indicates whether another job is in the foreground of a terminal.
func isInBackground(of descriptor: Int32) -> Bool {
  let group = tcgetpgrp(descriptor)
  return group > 0 && group != getpgrp()
}
