#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A terminal's file, open for reading or for writing.
final class TerminalFile: Sendable {
  enum Input {
    case bytes([UInt8])
    /// Nothing came in time.
    case nothing
    /// No more will come, or no more is wanted.
    case end
  }

  let descriptor: Int32
  private let isOwned: Bool

  /// Takes a standard file where it is a terminal, and opens the one of the process otherwise.
  init(_ standard: Int32, _ flags: Int32) throws(TerminalFailure) {
    isOwned = isatty(standard) != 1
    descriptor = isOwned ? open("/dev/tty", flags | O_NOCTTY | O_CLOEXEC) : standard
    guard descriptor >= 0 else {
      let use = flags == O_RDONLY ? "read keys" : "show frames"
      throw TerminalFailure(
        "open /dev/tty to \(use)", advice: "run it in a terminal, such as ssh -t gives")
    }
  }

  /// Takes an open file that stays its owner's.
  init(descriptor: Int32) {
    self.descriptor = descriptor
    isOwned = false
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  func write(_ bytes: [UInt8]) throws(TerminalFailure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // Whoever shares the file does not wait; here it is waited.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&request, 1, -1)
      } else if errno != EINTR {
        throw TerminalFailure("write to the terminal")
      }
    }
  }

  /// Waits for what is typed.
  ///
  /// - Parameters:
  ///   - patience: How long it waits; nil for as long as it takes.
  ///   - alarm: What ends the wait at any time.
  func read(patience: Duration?, alarm: WakePipe) -> Input {
    let limit = patience.map { $0.components }.map { components in
      Int32(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
    while true {
      var requests = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: alarm.readEnd, events: Int16(POLLIN), revents: 0),
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

// Outside of the type, whose own functions of these names would be found first.

private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(file, bytes, count)
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(file, bytes, count)
}

/// Wakes a thread that waits for a file.
final class WakePipe: Sendable {
  let readEnd: Int32
  let writeEnd: Int32

  init() throws(TerminalFailure) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw TerminalFailure("open a pipe", advice: "close files, or raise the limit on open ones")
    }
    for end in ends {
      // Neither end may ever wait for the other.
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

extension TerminalFailure {
  init(_ action: String, code: Int32 = errno, advice: String? = nil) {
    self.init(
      code: code, action: action, reason: String(cString: strerror(code)), advice: advice,
      isReaderGone: code == EPIPE || code == EIO)
  }
}

/// How a terminal treats keys and output.
// Sendable: plain numbers, which the C library's declaration does not say.
struct TerminalModes: @unchecked Sendable {
  private var modes = termios()

  init(of file: TerminalFile) throws(TerminalFailure) {
    guard tcgetattr(file.descriptor, &modes) == 0 else {
      throw TerminalFailure("read the terminal's modes", advice: "run it in a terminal")
    }
  }

  /// The same with keys as they come, one by one and unseen.
  var raw: TerminalModes {
    var raw = self
    cfmakeraw(&raw.modes)
    return raw
  }

  func set(on file: TerminalFile, _ moment: Int32) throws(TerminalFailure) {
    var modes = modes
    while tcsetattr(file.descriptor, moment, &modes) != 0 {
      guard errno == EINTR else {
        throw TerminalFailure("set the terminal's modes", advice: "run it in a terminal")
      }
    }
  }
}
