#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The terminal that the demo is shown in: its modes, its size, its keys.
final class Terminal {
  /// What a call to the system came to.
  struct Failure: Error, CustomStringConvertible {
    let action: String
    let code: Int32

    init(_ action: String, code: Int32 = errno) {
      self.action = action
      self.code = code
    }

    /// Whether whoever read the output, or the whole terminal, has gone.
    var isReaderGone: Bool { code == EPIPE || code == EIO }

    var description: String { "Cannot \(action): \(String(cString: strerror(code)))." }
  }

  /// The alternate screen, no cursor, no automatic wrapping of lines.
  private static let beginning = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
  /// The reverse, with plain letters.
  private static let ending = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  /// Where keys are read.
  let input: Int32
  private let savedModes: termios
  private var hasEntered = false

  /// Whether standard output is a terminal that can do more than print lines.
  static var isOutput: Bool {
    isatty(STDOUT_FILENO) == 1 && environment("TERM") != "dumb"
  }

  /// Whether colours are unwanted, as https://no-color.org has it.
  static var isColourless: Bool {
    environment("NO_COLOR").map { !$0.isEmpty } ?? false
  }

  /// Opens the terminal and remembers its modes.
  init() throws(Failure) {
    let isInput = isatty(STDIN_FILENO) == 1
    input = isInput ? STDIN_FILENO : open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
    guard input >= 0 else { throw Failure("open /dev/tty to read keys") }
    var modes = termios()
    guard tcgetattr(input, &modes) == 0 else { throw Failure("read the terminal's modes") }
    savedModes = modes
  }

  deinit {
    leave()
  }

  /// Takes the screen and reads keys one by one, also after another program has meddled with that.
  func enter() throws(Failure) {
    var modes = savedModes
    cfmakeraw(&modes)
    guard tcsetattr(input, TCSAFLUSH, &modes) == 0 else {
      throw Failure("set the terminal's modes")
    }
    hasEntered = true
    try Terminal.write(Terminal.beginning)
  }

  /// Gives the screen back as it was.
  func leave() {
    guard hasEntered else { return }
    hasEntered = false
    // Where the terminal is gone nothing is left to be restored.
    try? Terminal.write(Terminal.ending)
    var modes = savedModes
    _ = tcsetattr(input, TCSAFLUSH, &modes)
  }

  /// The size in characters; what is usual where the terminal does not know.
  var size: (rows: Int, columns: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, numericCast(TIOCGWINSZ), &size) == 0, size.ws_row > 0,
      size.ws_col > 0
    else { return (24, 80) }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// Waits for what is typed.
  ///
  /// - Returns: The bytes of a key, or of some; nil where no more will come.
  static func read(from input: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 256)
    while true {
      let count = systemRead(input, &bytes, bytes.count)
      if count > 0 { return Array(bytes[..<count]) }
      if count == 0 || errno != EINTR { return nil }
    }
  }

  /// Writes to standard output.
  static func write(_ text: String) throws(Failure) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { systemWrite(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno != EINTR { throw Failure("write to standard output") }
      bytes = bytes.dropFirst(max(0, count))
    }
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}

// Outside of the type, whose own functions of these names would be found first.

private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(file, bytes, count)
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(file, bytes, count)
}
