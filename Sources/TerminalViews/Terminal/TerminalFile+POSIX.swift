#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

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

  /// Uses a standard descriptor if it is a terminal. Otherwise, opens the process's terminal.
  init(_ standard: Int32, _ flags: Int32) throws(TerminalError) {
    isOwned = isatty(standard) != 1
    descriptor = isOwned ? open("/dev/tty", flags | O_NOCTTY | O_CLOEXEC) : standard
    guard descriptor >= 0 else {
      let use = flags == O_RDONLY ? "read keys" : "show frames"
      throw TerminalError(
        "open /dev/tty to \(use)", advice: "run the program in a terminal; over ssh, use ssh -t")
    }
  }

  /// Uses an open descriptor without closing it later.
  init(descriptor: Int32) {
    self.descriptor = descriptor
    isOwned = false
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  func write(_ bytes: [UInt8]) throws(TerminalError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // A process that shares the file has made it nonblocking: wait here.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&request, 1, -1)
      } else if errno != EINTR {
        throw TerminalError("write to the terminal")
      }
    }
  }

  /// Waits for input.
  ///
  /// - Parameters:
  ///   - timeout: The maximum time to wait, or `nil` for no limit.
  ///   - wakePipe: A pipe that ends the wait.
  func read(timeout: Duration?, wakePipe: WakePipe) -> Input {
    let limit = timeout.map { $0.components }.map { components in
      Int32(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
    while true {
      var requests = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wakePipe.readEnd, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&requests, 2, limit ?? -1)
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

// Inside the type, these names would refer to its own methods.

private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(file, bytes, count)
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(file, bytes, count)
}

/// A pipe that ends a thread's wait for a file.
final class WakePipe: Sendable {
  let readEnd: Int32
  let writeEnd: Int32

  init() throws(TerminalError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw TerminalError("open a pipe", advice: "close files, or raise the limit with ulimit -n")
    }
    for end in ends {
      // A full or empty pipe must not block either end.
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  deinit {
    close(readEnd)
    close(writeEnd)
  }

  func wake() {
    withUnsafeBytes(of: UInt8(0)) { byte in _ = systemWrite(writeEnd, byte.baseAddress, 1) }
  }
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
  private var modes = termios()

  init(of file: TerminalFile) throws(TerminalError) {
    guard tcgetattr(file.descriptor, &modes) == 0 else {
      throw TerminalError("read the terminal's modes", advice: "run the program in a terminal")
    }
  }

  /// These modes, changed to raw input: each key is available immediately and is not echoed.
  var raw: TerminalModes {
    var raw = self
    cfmakeraw(&raw.modes)
    return raw
  }

  func set(on file: TerminalFile, _ actions: Int32) throws(TerminalError) {
    var modes = modes
    while tcsetattr(file.descriptor, actions, &modes) != 0 {
      guard errno == EINTR else {
        throw TerminalError("set the terminal's modes", advice: "run the program in a terminal")
      }
    }
  }
}
