#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
import SwappablePrimitives

/// A file descriptor of a terminal, open for reading or for writing.
final class TerminalFile: Sendable {
  /// The result of a read.
  enum Input {
    case bytes([UInt8])
    /// The timeout elapsed.
    case nothing
    /// The input ended, or the wake pipe ended the wait.
    case end
  }

  let descriptor: Int32
  private let isOwned: Bool
  /// The number of bytes to write at once. The write of a few bytes does not wait if the terminal is ready.
  private let maximumCount: Int

  /// Uses a standard descriptor if it is a terminal. Otherwise, opens the process's terminal.
  ///
  /// Output is not allowed to wait. The mode for this would concern all processes that share the standard
  /// descriptor, so the terminal is opened again.
  init(_ standard: Int32, _ flags: Int32) throws(TerminalError) {
    let isTerminal = isatty(standard) == 1
    let path = isTerminal ? terminalName(standard) : "/dev/tty"
    let isInput = flags == O_RDONLY
    let opened =
      isTerminal && isInput
      ? -1 : path.map { open($0, flags | O_NOCTTY | O_CLOEXEC | (isInput ? 0 : O_NONBLOCK)) } ?? -1
    isOwned = opened >= 0
    descriptor = isOwned || !isTerminal ? opened : standard
    maximumCount = isOwned ? .max : 256
    guard descriptor >= 0 else {
      let use = flags == O_RDONLY ? "read keys" : "show frames"
      throw TerminalError(
        "open /dev/tty to \(use)", advice: "run the program in a terminal; over ssh, use ssh -t")
    }
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  /// Writes bytes until the terminal accepts no more.
  ///
  /// - Parameters:
  ///   - bytes: The bytes.
  ///   - limit: The time to wait for the terminal each time that it accepts no more.
  /// - Returns: The bytes that the terminal has not accepted.
  func write(
    _ bytes: ArraySlice<UInt8>, waiting limit: Duration = .zero
  ) throws(TerminalError) -> ArraySlice<UInt8> {
    var rest = bytes
    while !rest.isEmpty {
      var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      let ready = poll(&request, 1, Int32(clamping: limit.milliseconds))
      if ready == 0 { return rest }
      if ready < 0, errno != EINTR { throw TerminalError("write to the terminal") }
      let count = rest.prefix(maximumCount).withUnsafeBytes {
        systemWrite(descriptor, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        return rest
      } else if errno != EINTR {
        throw TerminalError("write to the terminal")
      }
    }
    return rest
  }

  /// Discards the output that the terminal has accepted and not shown.
  func discardOutput() { tcflush(descriptor, TCOFLUSH) }

  /// Discards the input that was not read.
  func discardInput() { tcflush(descriptor, TCIFLUSH) }

  /// A Boolean value that indicates whether the process may use the terminal.
  ///
  /// A job in the background may not, unless its parent process decided otherwise: it ignores SIGTTOU.
  var isAvailable: Bool {
    let group = tcgetpgrp(descriptor)
    // A terminal that does not control the process has no foreground for it.
    return group < 0 || group == getpgrp() || signalAction(SIGTTOU).isIgnored
  }

  /// Waits until the process may use the terminal.
  ///
  /// Until it is in the foreground, its job is stopped, and the shell says so. If no shell can continue
  /// the job, the method throws an error.
  func waitForForeground() throws(TerminalError) {
    if isAvailable { return }
    let code = withDefaultSignal(SIGTTOU) { () -> Int32 in
      // In the background, this call stops the job. After it has continued, the call is repeated.
      while tcsetpgrp(descriptor, getpgrp()) != 0 {
        if errno != EINTR { return errno }
      }
      return 0
    }
    guard code == 0 else {
      throw TerminalError(
        "take the terminal in the background", code: code,
        advice: "run the program in the foreground")
    }
  }

  /// Waits for input.
  ///
  /// In the background of the terminal, a read stops the job if the thread does not block SIGTTIN.
  ///
  /// - Parameters:
  ///   - timeout: The maximum time to wait, or `nil` for no limit.
  ///   - wakePipe: A pipe that ends the wait.
  func read(timeout: Duration?, wakePipe: WakePipe) -> Input {
    while true {
      var requests = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wakePipe.readEnd, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&requests, 2, timeout.map { Int32(clamping: $0.milliseconds) } ?? -1)
      if ready < 0 {
        if errno == EINTR { continue }
        return .end
      }
      if requests[1].revents != 0 { return .end }
      if ready == 0 { return .nothing }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = systemRead(descriptor, &bytes, bytes.count)
      if count > 0 { return .bytes(Array(bytes[..<count])) }
      if count == 0 || errno != EINTR && errno != EAGAIN { return .end }
    }
  }
}

/// Returns the current action of a signal.
func signalAction(_ number: Int32) -> sigaction {
  var action = sigaction()
  _ = sigaction(number, nil, &action)
  return action
}

extension sigaction {
  #if canImport(Darwin)
    private var handler: sig_t? { __sigaction_u.__sa_handler }

    mutating func setHandler(_ handler: @escaping @convention(c) (Int32) -> Void) {
      __sigaction_u.__sa_handler = handler
    }
  #else
    private var handler: __sighandler_t? { __sigaction_handler.sa_handler }

    mutating func setHandler(_ handler: @escaping @convention(c) (Int32) -> Void) {
      __sigaction_handler.sa_handler = handler
    }
  #endif

  var isDefault: Bool { has(SIG_DFL) }

  var isIgnored: Bool { has(SIG_IGN) }

  private func has(_ other: sig_t?) -> Bool {
    unsafeBitCast(handler, to: Int.self) == unsafeBitCast(other, to: Int.self)
  }
}

/// Performs work while a signal has its default action and this thread does not block it.
///
/// Threads of queues block all signals.
func withDefaultSignal<Result>(_ number: Int32, _ body: () -> Result) -> Result {
  let handler = signal(number, SIG_DFL)
  defer { signal(number, handler) }
  return withUnblockedSignal(number, body)
}

/// Performs work while this thread does not block a signal.
package func withUnblockedSignal<Result>(_ number: Int32, _ body: () -> Result) -> Result {
  var (signals, mask) = (signalSet(number), sigset_t())
  pthread_sigmask(SIG_UNBLOCK, &signals, &mask)
  defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
  return body()
}

/// Returns the path of the terminal of a descriptor, or `nil` if there is none, for example in a container.
private func terminalName(_ descriptor: Int32) -> String? {
  var name = [CChar](repeating: 0, count: Int(PATH_MAX))
  guard ttyname_r(descriptor, &name, name.count) == 0 else { return nil }
  let bytes = name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
  return String(decoding: bytes, as: UTF8.self)
}

// Inside the type, these names would refer to its own methods.

private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(file, bytes, count)
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(file, bytes, count)
}

extension TerminalError {
  init(_ action: String, code: Int32 = errno, advice: String? = nil) {
    self.init(
      code: code, action: action, reason: String(cString: strerror(code)), advice: advice,
      isReaderGone: code == EPIPE || code == EIO)
  }
}

/// The modes in which a terminal processes keys and output.
// Sendable: a structure of numbers. The C library's declaration does not say so.
struct TerminalModes: @unchecked Sendable {
  private(set) var value = termios()

  init(of file: TerminalFile) throws(TerminalError) {
    guard tcgetattr(file.descriptor, &value) == 0 else {
      throw TerminalError("read the terminal's modes", advice: "run the program in a terminal")
    }
  }

  /// These modes, changed to raw input: each key is available immediately and is not echoed.
  var raw: TerminalModes {
    var raw = self
    cfmakeraw(&raw.value)
    return raw
  }

  func set(on file: TerminalFile) throws(TerminalError) {
    var modes = value
    // The other actions wait for a terminal that does not read.
    while tcsetattr(file.descriptor, TCSANOW, &modes) != 0 {
      guard errno == EINTR else {
        throw TerminalError("set the terminal's modes", advice: "run the program in a terminal")
      }
    }
  }
}
