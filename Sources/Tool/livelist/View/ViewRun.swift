import Foundation
import SwappablePrimitives

/// A command of the user that runs, and the end of its output in bounded memory.
final class ViewRun: Sendable {
  private struct State {
    var output: [UInt8] = []
    /// A Boolean value that indicates whether the start of the output is left out.
    var isCut = false
    /// The number of changes of the state.
    var version = 0
    /// A Boolean value that indicates whether a change was announced, and not acknowledged yet.
    var isAnnounced = false
    var hasEnded = false
    var failure: String?

    mutating func append(_ bytes: ArraySlice<UInt8>) {
      output += bytes
      guard output.count > 2 * ViewRun.limit else { return }
      output.removeFirst(output.count - ViewRun.limit)
      isCut = true
    }
  }

  /// The number of bytes of the output that are kept.
  private static let limit = 256 << 10

  private let state = Locked(State())
  private let process: ShellProcess

  /// Starts a command.
  ///
  /// - Parameters:
  ///   - command: The command for the shell.
  ///   - input: The standard input of the command.
  ///   - variables: The variables in addition to those of the program.
  ///   - keepsOutput: A Boolean value that indicates whether standard output is kept, and not only standard error.
  ///   - onChange: A closure that is called on another thread when output has arrived, and at the end. It is
  ///     called again only after ``acknowledgeChange()``.
  init(
    _ command: ByteString, input: [UInt8], _ variables: [String: String], keepsOutput: Bool,
    onChange: @escaping @Sendable (ViewRun) -> Void
  ) throws(SystemError) {
    guard let ended = WakePipe(), let (output, writer) = WakePipe.makeEnds() else {
      throw SystemError(errno, "cannot make a pipe: ")
    }
    // The command waits as usual if it writes faster than it is read.
    _ = fcntl(writer, F_SETFL, 0)
    let nothing = open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer { for descriptor in [writer, nothing] { close(descriptor) } }
    do throws(SystemError) {
      // A file instead of a pipe: the command may read it late, in part or not at all.
      let file = try TemporaryInput(input)
      process = try ShellProcess(
        command, input: file.descriptor, output: keepsOutput ? writer : nothing, errors: writer,
        variables: variables)
    } catch {
      close(output)
      throw error
    }
    let status = Locked<Int32>(0)
    Thread.detachNewThread { [process] in
      let end = process.waitForExit()
      status.withLock { $0 = end }
      ended.wake()
    }
    Thread.detachNewThread { [self] in
      defer { close(output) }
      read(output, until: ended, onChange)
      change(onChange) { state in
        state.hasEnded = true
        state.failure = ShellProcess.failure(status.withLock { $0 })
      }
      // The processes that the command has left running would fail if nobody read their output.
      ViewRun.discardRest(of: output)
    }
  }

  /// Allows the next call of the closure for changes. Call this method before you read the state.
  func acknowledgeChange() { state.withLock { $0.isAnnounced = false } }

  /// Ends the processes of the command.
  func end() { process.signal(SIGTERM) }

  var version: Int { state.withLock { $0.version } }

  var isRunning: Bool { state.withLock { !$0.hasEnded } }

  /// The failure of the command, or `nil` if it runs or was successful.
  var failure: String? { state.withLock { $0.failure } }

  /// The lines of the output, or its last ones, without characters that move the cursor.
  var lines: [String] {
    let (bytes, isCut) = state.withLock { state in
      (state.output.suffix(ViewRun.limit), state.isCut || state.output.count > ViewRun.limit)
    }
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { line in ViewRun.text(of: line) }
    if lines.last == "" { lines.removeLast() }
    // The first line is a part of one.
    if isCut, !lines.isEmpty { lines[0] = "… the output before is left out" }
    return lines
  }

  /// The last line of the output that is not blank.
  var lastLine: String? { lines.last { !$0.allSatisfy(\.isWhitespace) } }

  /// Returns the text of a line with spaces instead of tabs. Of a line that was replaced, it is the last text.
  private static func text(of line: ArraySlice<UInt8>) -> String {
    let part = line.split(separator: UInt8(ascii: "\r")).last ?? []
    var text = ""
    for character in String(decoding: part, as: UTF8.self) {
      let space = String(repeating: " ", count: 8 - text.count % 8)
      text += character == "\t" ? space : String(character)
    }
    return text
  }

  // MARK: Reading

  /// Reads the output until the command has ended.
  private func read(_ output: Int32, until ended: WakePipe, _ onChange: (ViewRun) -> Void) {
    var requests = [
      pollfd(fd: output, events: Int16(POLLIN), revents: 0),
      pollfd(fd: ended.readEnd, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      guard poll(&requests, 2, -1) > 0 else { continue }
      let hasEnded = requests[1].revents != 0
      var bytes = [UInt8](repeating: 0, count: 65_536)
      var count = 0
      // More than a pipe can hold: a process that goes on may write without an end.
      for _ in 0..<16 {
        count = systemRead(output, &bytes, bytes.count)
        if count <= 0 { break }
        change(onChange) { $0.append(bytes[..<count]) }
      }
      if hasEnded { return }
      // At the end of the output, only the end of the process is awaited.
      if count == 0 { requests[0].fd = -1 }
    }
  }

  private func change(_ onChange: (ViewRun) -> Void, _ body: (inout State) -> Void) {
    let isFirst = state.withLock { state in
      body(&state)
      state.version += 1
      defer { state.isAnnounced = true }
      return !state.isAnnounced
    }
    if isFirst { onChange(self) }
  }

  private static func discardRest(of output: Int32) {
    _ = fcntl(output, F_SETFL, 0)
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while systemRead(output, &bytes, bytes.count) > 0 {}
  }
}

extension ViewRun: Equatable {
  static func == (left: ViewRun, right: ViewRun) -> Bool { left === right }
}

// Inside the type, the name would refer to its own method.
private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(file, bytes, count)
}
