import Dispatch
import SwappablePrimitives

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The terminal that a program is run in: its screen, its size, its keys.
///
/// ```swift
/// let terminal = try Terminal()
/// try terminal.enter()
/// defer { terminal.leave() }
/// try terminal.write(writer.bytes(for: frame))
/// for await key in terminal.keys() { … }
/// ```
///
/// It is safe to use from any thread.
public final class Terminal: Sendable {
  /// The alternate screen, no cursor, no automatic wrapping of lines, pastes told from keys.
  private static let beginning = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h"
  /// The reverse, with plain letters and without a scrolling region.
  private static let ending =
    "\u{1B}[m\u{1B}[r\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  private let input: TerminalFile
  private let output: TerminalFile
  private let savedModes: TerminalModes
  private let hasEntered = Locked(false)

  /// Opens the terminal and remembers its modes.
  ///
  /// Keys are read from standard input and frames are written to standard output where these are
  /// terminals, otherwise from and to the terminal that controls the process, `/dev/tty`.
  ///
  /// - Throws: Where there is none.
  public convenience init() throws(TerminalFailure) {
    try self.init(
      input: TerminalFile(STDIN_FILENO, O_RDONLY), output: TerminalFile(STDOUT_FILENO, O_WRONLY))
  }

  init(input: TerminalFile, output: TerminalFile) throws(TerminalFailure) {
    self.input = input
    self.output = output
    savedModes = try TerminalModes(of: input)
  }

  deinit {
    leave()
  }

  /// Takes the screen, which is cleared, and reads keys one by one from now on.
  ///
  /// May be called again where another program has meddled with that.
  ///
  /// - Throws: What the terminal refuses.
  public func enter() throws(TerminalFailure) {
    try savedModes.raw.set(on: input, TCSANOW)
    hasEntered.withLock { $0 = true }
    try output.write(Array(Terminal.beginning.utf8))
  }

  /// Gives the screen back as it was; does nothing where it was not taken.
  public func leave() {
    let wasEntered = hasEntered.withLock { hasEntered in
      defer { hasEntered = false }
      return hasEntered
    }
    guard wasEntered else { return }
    // Where the terminal is gone nothing is left to be restored.
    try? output.write(Array(Terminal.ending.utf8))
    // What was typed and not read was meant for this program.
    try? savedModes.set(on: input, TCSAFLUSH)
  }

  /// Gives the screen back, stops the job, and takes the screen again when it is continued.
  ///
  /// The job that the process belongs to is stopped as by Ctrl-Z where keys are not read one by one.
  /// Where nobody is there to continue it, the system does not stop it.
  ///
  /// - Throws: What the terminal refuses.
  public func suspend() throws(TerminalFailure) {
    leave()
    // The others of the job first, as nothing is done here any more once this process has stopped.
    let handler = signal(SIGTSTP, SIG_IGN)
    kill(0, SIGTSTP)
    signal(SIGTSTP, SIG_DFL)
    // Sent to this thread, it stops the process before the call returns; threads of queues block it.
    var (stop, mask) = (sigset_t(), sigset_t())
    sigemptyset(&stop)
    sigaddset(&stop, SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &stop, &mask)
    raise(SIGTSTP)
    pthread_sigmask(SIG_SETMASK, &mask, nil)
    signal(SIGTSTP, handler)
    try enter()
  }

  /// The size; 24 rows of 80 columns where the terminal does not know.
  public var size: TerminalSize {
    var size = winsize()
    guard ioctl(output.descriptor, numericCast(TIOCGWINSZ), &size) == 0, size.ws_row > 0,
      size.ws_col > 0
    else { return TerminalSize(rows: 24, columns: 80) }
    return TerminalSize(rows: Int(size.ws_row), columns: Int(size.ws_col))
  }

  /// Writes, and waits until the terminal has taken it all.
  ///
  /// - Throws: What the terminal refuses; `isReaderGone` tells whether it is gone.
  public func write(_ bytes: [UInt8]) throws(TerminalFailure) {
    try output.write(bytes)
  }

  /// The keys that are pressed from now on; the stream ends with the terminal's input.
  ///
  /// They are read until the stream is cancelled or let go, by one reader at a time.
  ///
  /// - Parameter patience: How long after an escape character its sequence may go on; over slow lines it
  ///   takes longer than over others.
  public func keys(patience: Duration = .milliseconds(50)) -> AsyncStream<TerminalKey> {
    let (keys, send) = AsyncStream<TerminalKey>.makeStream()
    guard let alarm = try? WakePipe() else {
      send.finish()
      return keys
    }
    send.onTermination = { _ in alarm.wake() }
    // Keys never wait for what other queues do.
    DispatchQueue(label: "TerminalViews.keys").async { [self] in
      var parser = TerminalKeyParser()
      while true {
        let found: [TerminalKey]
        switch input.read(patience: parser.isWaiting ? patience : nil, alarm: alarm) {
        case .bytes(let bytes): found = parser.parse(bytes)
        case .nothing: found = parser.flush()
        case .end: return send.finish()
        }
        for key in found { send.yield(key) }
      }
    }
    return keys
  }
}
