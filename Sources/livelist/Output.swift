import FileSources
import Foundation
import SwappablePrimitives

/// Where lines are written, one whole line after the other.
final class Output: Sendable {
  let descriptor: Int32
  private let state = Locked(State())

  private struct State: Sendable {
    var isInLine = false
    var mustEnd = false
  }

  init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Whether a person looks at it, on a terminal that knows colours, and has not declined them by
  /// `NO_COLOR`.
  var isColouredTerminal: Bool {
    let environment = ProcessInfo.processInfo.environment
    return isatty(descriptor) == 1 && environment["NO_COLOR", default: ""].isEmpty
      && environment["TERM"] != "dumb"
  }

  /// Writes one line. Called by one thread at a time.
  ///
  /// - Parameter body: appends all of it, its end too.
  func line(_ body: (inout LineBuffer) -> Void) {
    state.withLock { $0.isInLine = true }
    var buffer = LineBuffer(descriptor: descriptor)
    body(&buffer)
    buffer.flush()
    let mustEnd = state.withLock { state in
      state.isInLine = false
      return state.mustEnd
    }
    if mustEnd { Program.end() }
  }

  /// Writes a JSON array, one element a line.
  func array(of elements: [JSONElement]) {
    line { line in
      line.append("[\n")
      for (offset, element) in elements.enumerated() {
        line.append(element.utf8)
        line.append(offset < elements.count - 1 ? ",\n" : "\n")
      }
      line.append("]\n")
    }
  }

  /// Ends the program: now, or after the line that is being written.
  func endProgram() {
    state.withLock { state in
      // While locked, so that no line is begun meanwhile.
      if !state.isInLine { Program.end() }
      state.mustEnd = true
    }
  }
}

/// Collects the bytes of a line and hands them on in large pieces.
struct LineBuffer {
  private static let pieceSize = 1 << 18

  private let descriptor: Int32
  private var bytes: [UInt8] = []

  init(descriptor: Int32) {
    self.descriptor = descriptor
    bytes.reserveCapacity(LineBuffer.pieceSize + LineBuffer.pieceSize / 4)
  }

  mutating func append(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(_ number: Int) {
    append(String(number))
  }

  mutating func append(_ more: [UInt8]) {
    bytes.append(contentsOf: more)
    if bytes.count >= LineBuffer.pieceSize { flush() }
  }

  /// Writes what is there. Ends the program where nobody reads it, or it cannot be written.
  mutating func flush() {
    let code = bytes.withUnsafeBytes { $0.writeAll(to: descriptor) }
    switch code {
    case 0: break
    case EPIPE, ECONNRESET: Program.end()
    default:
      Program.end(
        with: .input("cannot write to standard output: \(String(cString: strerror(code)))"))
    }
    bytes.removeAll(keepingCapacity: true)
  }
}

extension UnsafeRawBufferPointer {
  /// Writes all of it, however long that takes.
  ///
  /// - Returns: The number of the error where it cannot be written; 0 where it was.
  func writeAll(to descriptor: Int32) -> Int32 {
    var rest = self[...]
    while !rest.isEmpty {
      let count = write(
        descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: break
      case EAGAIN, EWOULDBLOCK:
        // Whoever shares the descriptor has set it so.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
      case let code: return code
      }
    }
    return 0
  }
}
