import ChangeDescriptions
import Diffing
import FileSources
import Foundation
import RemoteSources
import SwappablePrimitives
import TerminalViews

/// The standard output, to which complete lines are written.
final class Output: Sendable {
  let descriptor = STDOUT_FILENO
  private let state = Locked(State())

  private struct State: Sendable {
    var isInLine = false
    var mustEnd = false
  }

  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Returns the style of text for people. Another program receives whole values, because it may look for them.
  func textStyle(_ colors: ColorChoice) -> ChangeDescription.Style {
    var style = isTerminal ? ChangeDescription.Style(lineLimit: nil) : .whole
    style.isColored =
      switch colors {
      case .always: true
      case .never: false
      case .auto: isTerminal && TerminalCapabilities.current == .colors
      }
    return style
  }

  /// Writes lines of text. Only one thread may call this method at a time.
  ///
  /// Text that comes from outside of the program must be printable.
  ///
  /// - Parameter body: A closure that appends whole lines, including their line breaks.
  func line(_ body: (inout LineBuffer) -> Void) { write(body, to: write) }

  /// Writes lines of JSON. Only one thread may call this method at a time.
  ///
  /// On a terminal, characters that act on it are escaped.
  ///
  /// - Parameter body: A closure that appends whole lines, including their line breaks.
  func json(_ body: (inout LineBuffer) -> Void) {
    guard isTerminal else { return line(body) }
    write(body) { self.write(TerminalText.escaped(json: $0)) }
  }

  private func write(_ body: (inout LineBuffer) -> Void, to write: @escaping ([UInt8]) -> Void) {
    state.withLock { $0.isInLine = true }
    var buffer = LineBuffer(write: write)
    body(&buffer)
    buffer.flush()
    let mustEnd = state.withLock { state in
      state.isInLine = false
      return state.mustEnd
    }
    if mustEnd { Program.end() }
  }

  /// Writes bytes. Ends the program if they cannot be written.
  private func write(_ bytes: [UInt8]) {
    // A terminal may stop jobs in the background that write (`stty tostop`). The threads of queues block the signal.
    let code = withUnblockedSignal(SIGTTOU) {
      bytes.withUnsafeBytes { $0.writeAll(to: descriptor) }
    }
    switch code {
    case 0: break
    case EPIPE, ECONNRESET: Program.end()
    default:
      Program.end(with: .input(SystemError(code, "cannot write to standard output: ").message))
    }
  }

  /// Writes a JSON array with one element a line.
  func array(of elements: some Collection<JSONElement>) {
    json { line in
      line.append("[\n")
      for (offset, element) in elements.enumerated() {
        line.append(element.utf8)
        line.append(offset < elements.count - 1 ? ",\n" : "\n")
      }
      line.append("]\n")
    }
  }

  /// Ends the program immediately, or after the line that is being written.
  func endProgram() {
    state.withLock { state in
      // Exit while the state is locked: no other thread can start a line.
      if !state.isInLine { Program.end() }
      state.mustEnd = true
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Writes all bytes, and waits as long as necessary.
  ///
  /// - Returns: The error code of the system, or 0 on success.
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
        // A process that shares the descriptor has made it nonblocking.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
      case let code: return code
      }
    }
    return 0
  }
}

extension ChangeDescription.Style {
  /// The style in which nothing is shortened.
  static let whole = ChangeDescription.Style(lineLimit: nil, valueLength: .max, fieldLimit: .max)
}
