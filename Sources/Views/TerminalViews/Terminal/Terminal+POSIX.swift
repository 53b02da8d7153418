import Dispatch
import SwappablePrimitives

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The terminal that the program runs in: its screen, its size and its keys.
///
/// ```swift
/// let terminal = try Terminal()
/// try terminal.enter()
/// defer { terminal.leave() }
/// try terminal.send(writer.bytes(for: frame))
/// for await key in terminal.keys() { … }
/// ```
///
/// A terminal can be used from any thread. No method waits for a terminal that does not read, for example because
/// its connection hangs. Only ``leave()`` and ``suspend()`` wait for half a second.
final class Terminal: Sendable {
  /// Selects the alternate screen, hides the cursor, disables automatic wrapping of lines, and
  /// enables bracketed pastes.
  private static let enterSequence = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h"
  /// Undoes the enter sequence, and resets the style and the scrolling region.
  private static let leaveSequence: StaticString =
    "\u{1B}[m\u{1B}[r\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  /// The time to wait for the rest of a sequence after an escape character.
  private static let escapeTimeout = Duration.milliseconds(50)

  private let input: TerminalFile
  private let output: TerminalFile
  private let savedModes: TerminalModes
  private let state = Locked(State())

  private struct State {
    var hasEntered = false
    /// The bytes that the terminal has not accepted yet.
    var unsent: ArraySlice<UInt8> = []
  }

  /// Opens the terminal and saves its modes.
  ///
  /// In the background, the job stops until the user continues it in the foreground. Before, the modes are
  /// the modes of the shell.
  ///
  /// Keys are read from standard input, and frames are written to standard output. If one of them
  /// is not a terminal, the controlling terminal of the process, `/dev/tty`, is used instead.
  ///
  /// - Throws: An error if there is no terminal.
  init() throws(TerminalError) {
    input = try TerminalFile(STDIN_FILENO, O_RDONLY)
    output = try TerminalFile(STDOUT_FILENO, O_WRONLY)
    try input.waitForForeground()
    savedModes = try TerminalModes(of: input)
  }

  deinit {
    leave()
  }

  /// Switches to the alternate screen and to raw input, in which each key is available immediately.
  ///
  /// You can call this method again after another program has changed the modes.
  func enter() throws(TerminalError) {
    try savedModes.raw.set(on: input)
    state.withLock { $0.hasEntered = true }
    TerminalRescue.arm(input, output, savedModes, Terminal.leaveSequence)
    try send(Array(Terminal.enterSequence.utf8))
  }

  /// Restores the screen and the modes.
  ///
  /// This method has no effect without a previous call of ``enter()``.
  func leave() {
    let wasEntered = state.withLock { state in
      defer { state = State() }
      return state.hasEntered
    }
    guard wasEntered else { return }
    TerminalRescue.disarm()
    // An error means that the terminal is gone: there is nothing to restore.
    try? writeLeaveSequence()
    // In the background, the modes are those of another program.
    guard input.isAvailable else { return }
    try? savedModes.set(on: input)
    // The user typed it for this program.
    input.discardInput()
  }

  private func writeLeaveSequence() throws(TerminalError) {
    let sequence = Terminal.leaveSequence.withUTF8Buffer { Array($0)[...] }
    let rest = try output.write(sequence, waiting: .milliseconds(500))
    if rest.isEmpty { return }
    // The frames before it do not matter any more. Without them, the terminal can accept the sequence.
    output.discardOutput()
    _ = try output.write(sequence, waiting: .milliseconds(100))
  }

  /// Restores the screen, stops the job of the process, and waits until it continues in the foreground.
  ///
  /// This has the effect that Ctrl-Z has in a program without raw input. The system does not stop a
  /// process group that no shell can continue.
  func suspend() throws(TerminalError) {
    leave()
    // Stop the other processes of the job first: this process executes nothing after it has
    // stopped.
    let handler = signal(SIGTSTP, SIG_IGN)
    kill(0, SIGTSTP)
    signal(SIGTSTP, handler)
    // A signal to this thread stops the process before the call returns.
    withDefaultSignal(SIGTSTP) { _ = raise(SIGTSTP) }
    try waitForForeground()
  }

  /// A Boolean value that indicates whether the process may use the terminal.
  var isAvailable: Bool { input.isAvailable }

  /// Waits until the process may use the terminal. In the background, its job is stopped.
  func waitForForeground() throws(TerminalError) { try input.waitForForeground() }

  /// The size. It is 24 rows by 80 columns if the terminal does not report one.
  var size: TerminalSize {
    var size = winsize()
    guard ioctl(output.descriptor, numericCast(TIOCGWINSZ), &size) == 0, size.ws_row > 0,
      size.ws_col > 0
    else { return TerminalSize(rows: 24, columns: 80) }
    return TerminalSize(rows: Int(size.ws_row), columns: Int(size.ws_col))
  }

  /// Sends bytes as far as the terminal accepts them without waiting, after those that it has not accepted before.
  /// The others are kept for the next call.
  ///
  /// - Returns: A Boolean value that indicates whether the terminal has accepted all bytes.
  @discardableResult
  func send(_ bytes: [UInt8]) throws(TerminalError) -> Bool {
    try state.withLock { (state) throws(TerminalError) in
      state.unsent = try output.write(state.unsent + bytes)
      return state.unsent.isEmpty
    }
  }

  /// Returns a source that calls a closure on the main queue when the terminal accepts bytes again.
  func makeWriteSource(_ body: @escaping @Sendable () -> Void) -> any DispatchSourceWrite {
    let source = DispatchSource.makeWriteSource(fileDescriptor: output.descriptor, queue: .main)
    source.setEventHandler(handler: body)
    // The descriptor stays open until the source is canceled.
    source.setCancelHandler { withExtendedLifetime(self) {} }
    return source
  }

  /// Returns a stream of the keys that the user presses from now on.
  ///
  /// The stream ends at the end of the terminal's input. Keys are read until you cancel or release
  /// the stream. Use one stream at a time.
  func keys() -> AsyncStream<TerminalKey> {
    let (keys, send) = AsyncStream<TerminalKey>.makeStream()
    guard let wakePipe = WakePipe() else {
      send.finish()
      return keys
    }
    send.onTermination = { _ in wakePipe.wake() }
    // The thread blocks while it waits for input, so it gets a queue of its own.
    DispatchQueue(label: "TerminalViews.keys").async { [self] in
      // In the background, a read stops the job. If the signal were blocked, the read would fail.
      withUnblockedSignal(SIGTTIN) {
        var parser = TerminalKeyParser()
        while true {
          let found: [TerminalKey]
          let timeout = parser.isWaiting ? Terminal.escapeTimeout : nil
          switch input.read(timeout: timeout, wakePipe: wakePipe) {
          case .bytes(let bytes): found = parser.parse(bytes)
          case .nothing: found = parser.flush()
          case .end: return send.finish()
          }
          for key in found { send.yield(key) }
        }
      }
    }
    return keys
  }
}
