import Dispatch
import Foundation

/// Reads lines from a descriptor, on a queue of its own where waiting blocks nobody.
final class LineReader: @unchecked Sendable {
  // Sendable: the variables are touched on the serial queue only.

  private static let pieceSize = 1 << 18

  private let descriptor: Int32
  private let queue = DispatchQueue(label: "livelist.input")
  private var bytes: [UInt8] = []
  /// Where the next line begins, and from where on no end of line was looked for.
  private var start = 0
  private var searched = 0
  private var isAtEnd = false

  init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// The next line without its end; nil after the last. A last line needs no end.
  func next() async -> [UInt8]? {
    await withCheckedContinuation { continuation in
      queue.async { [self] in continuation.resume(returning: readLine()) }
    }
  }

  private func readLine() -> [UInt8]? {
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
      readMore()
    }
  }

  private func readMore() {
    if start > 0 {
      bytes.removeSubrange(..<start)
      searched -= start
      start = 0
    }
    let count = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: LineReader.pieceSize))
    let read = bytes.withUnsafeMutableBytes { bytes in
      Foundation.read(descriptor, bytes.baseAddress.map { $0 + count }, LineReader.pieceSize)
    }
    let code = errno
    bytes.removeLast(LineReader.pieceSize - max(read, 0))
    if read == 0 {
      isAtEnd = true
    } else if read < 0 {
      switch code {
      case EINTR: return
      case EAGAIN, EWOULDBLOCK:
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, -1)
      default: isAtEnd = true
      }
    }
  }
}
