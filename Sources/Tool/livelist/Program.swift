import Foundation
import ObservableCollections
import SwappablePrimitives
import TerminalViews

/// Functions for the process as a whole.
enum Program {
  private struct End: Sendable {
    var isEnding = false
    /// The lowest exit status, because of a failure that has been reported.
    var status: Int32 = 0
    var action: (@Sendable () -> Void)?
  }

  private static let state = Locked(End())

  /// Sets a closure that is called before the program exits.
  static func atEnd(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.action = action }
  }

  /// Exits immediately. No buffered output is lost, because output is never buffered between calls.
  ///
  /// - Parameter status: The exit status, unless a failure has been reported with a higher one.
  static func end(_ status: Int32 = 0) -> Never {
    let (isFirst, action, status) = state.withLock { state in
      defer { state.isEnding = true }
      return (!state.isEnding, state.action, max(status, state.status))
    }
    guard isFirst else { waitForEnd() }
    action?()
    _exit(status)
  }

  /// Waits until another thread ends the program.
  static func waitForEnd() -> Never {
    while true { pause() }
  }

  static func end(with error: LivelistError) -> Never {
    report(error.message)
    end(error.status)
  }

  /// Reports a failure after which the program continues, and which its exit status tells.
  static func fail(_ message: String, status: Int32 = 1) {
    state.withLock { $0.status = max(status, $0.status) }
    report(message)
  }

  /// Writes one printable line to standard error.
  static func report(_ message: String) {
    let line = "livelist: \(message.printableLine)\n"
    // An error is ignored: if standard error is closed, there is no place to report it.
    _ = Array(line.utf8).withUnsafeBytes { $0.writeAll(to: STDERR_FILENO) }
  }
}

extension String {
  /// The text as one line that no terminal acts on. Line breaks and tabs become spaces.
  var printableLine: String {
    var line = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      let isBreak =
        scalar.properties.isWhitespace && scalar.properties.generalCategory != .spaceSeparator
      line.append(isBreak ? " " : scalar)
    }
    return TerminalText.printable(String(line))
  }
}

/// The setup of standard input, output and error before any other file is opened.
enum StandardDescriptors {
  /// Opens `/dev/null` in place of each closed descriptor.
  ///
  /// Otherwise, the next file that is opened would take the number of a closed standard descriptor,
  /// and receive its output.
  ///
  /// - Returns: A Boolean value that indicates whether standard output was open.
  static func prepare() -> Bool {
    signal(SIGPIPE, SIG_IGN)
    let isOutputOpen = fcntl(STDOUT_FILENO, F_GETFD) != -1
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      // The system assigns the lowest free descriptor.
      _ = open("/dev/null", O_RDWR)
    }
    return isOutputOpen
  }
}

/// An error that ends the program, with its exit status.
struct LivelistError: Error {
  let status: Int32
  /// A description of the error, the thing that it concerns, and the remedy.
  let message: String

  /// Creates an error for a command line that is not valid.
  static func usage(_ message: String) -> LivelistError {
    LivelistError(status: 2, message: message)
  }

  /// Creates an error for input or output that is not available or not valid.
  static func input(_ message: String) -> LivelistError {
    LivelistError(status: 1, message: message)
  }
}

/// An error of the operating system.
struct SystemError: Error {
  let message: String

  /// - Parameters:
  ///   - code: The number of the error.
  ///   - operation: The text before the reason.
  init(_ code: Int32, _ operation: String = "") {
    message = operation + String(cString: strerror(code))
  }
}

/// The end of the program because of a signal or a closed output. Lines are always completed.
enum Interruption {
  // SIGHUP: The terminal is gone. A program that ignores this signal, for example below `nohup`, never receives it.
  private static var signals: sigset_t { signalSet(SIGINT, SIGTERM, SIGHUP) }

  /// Blocks the signals, also in threads that start later. Then `watch` receives them.
  static func block() {
    var signals = signals
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Calls a closure on a thread of its own when a signal has come.
  static func onSignal(_ action: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
      var signals = signals
      var signal: Int32 = 0
      while sigwait(&signals, &signal) != 0 {}
      action()
    }
  }

  /// Blocks the signal of Ctrl-Z, and stops the program when it has come, without a lock or a transaction.
  ///
  /// Call this function before any other thread starts.
  static func handleStops() {
    var stop = signalSet(SIGTSTP)
    pthread_sigmask(SIG_BLOCK, &stop, nil)
    Thread.detachNewThread { [stop] in
      var stop = stop
      while true {
        var signal: Int32 = 0
        guard sigwait(&stop, &signal) == 0 else { continue }
        ReadPause.begin(within: stopLimit)
        Self.stop()
        ReadPause.end()
      }
    }
  }

  /// Stops the process with the default action of the signal of Ctrl-Z, and returns when it continues.
  static func stop() { withUnblockedSignal(SIGTSTP) { _ = raise(SIGTSTP) } }

  /// The longest time for which Ctrl-Z waits for reads.
  static let stopLimit = Duration.milliseconds(800)

  /// Ends the program after a signal, or when the reader of the output is gone.
  static func watch(_ output: Output) {
    onSignal { output.endProgram() }
    Thread.detachNewThread {
      // Without requested events, `poll` reports only errors and a closed reading end.
      var request = pollfd(fd: output.descriptor, events: 0, revents: 0)
      while poll(&request, 1, -1) <= 0 {}
      // An incomplete line has no reader.
      Program.end()
    }
  }
}
