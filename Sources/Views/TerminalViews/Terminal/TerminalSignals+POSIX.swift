import Dispatch
import SwappablePrimitives
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A stream of the signals that the process receives.
///
/// The signals that you choose no longer have their default actions, such as ending the process. The
/// handlers are installed before the initializer returns. From then on, no signal is lost.
///
/// While this object exists, SIGPIPE is ignored: a write to a closed output fails instead. Release
/// the object to restore the previous handlers.
public final class TerminalSignals: Sendable {
  /// A signal that concerns a program in a terminal.
  public enum Signal: Sendable, Hashable, CaseIterable {
    /// SIGINT: the user asks the program to exit.
    case interrupt
    /// SIGTERM: the program should exit.
    case terminate
    /// SIGHUP: the terminal is gone.
    case hangup
    /// SIGWINCH: the size of the terminal changed.
    case resize
    /// SIGQUIT: the user asks the program to exit at once.
    case quit
    /// SIGALRM: a timer of the program or of the one that started it has ended.
    case alarm
    /// SIGUSR1: another program asks for something.
    case user1
    /// SIGUSR2: another program asks for something.
    case user2
    /// Another signal whose default action ends the process.
    ///
    /// These are SIGXCPU, SIGXFSZ, SIGPROF and SIGVTALRM, and on Linux SIGIO, SIGPWR, SIGSTKFLT and the
    /// real-time signals. A signal that the program ignores or handles is not received.
    case other
    /// SIGTSTP: the program should stop. See ``TerminalScreen/suspend()``.
    case suspend
    /// SIGCONT: the program continues after a stop. The screen may show anything.
    case resume

    /// The number of the signal in the system.
    ///
    /// For ``other``, which has several numbers, it is the number of SIGXCPU.
    public var number: Int32 { numbers[0] }

    /// The numbers of the signals in the system.
    var numbers: [Int32] {
      switch self {
      case .interrupt: [SIGINT]
      case .terminate: [SIGTERM]
      case .hangup: [SIGHUP]
      case .quit: [SIGQUIT]
      case .alarm: [SIGALRM]
      case .user1: [SIGUSR1]
      case .user2: [SIGUSR2]
      case .other: Signal.otherNumbers
      case .resize: [SIGWINCH]
      case .suspend: [SIGTSTP]
      case .resume: [SIGCONT]
      }
    }

    private static var otherNumbers: [Int32] {
      let portable = [SIGXCPU, SIGXFSZ, SIGPROF, SIGVTALRM]
      #if canImport(Darwin)
        return portable
      #else
        let realTime = __libc_current_sigrtmin()...__libc_current_sigrtmax()
        return portable + [SIGIO, SIGPWR, SIGSTKFLT] + realTime
      #endif
    }

    init?(number: Int32) {
      let signal = Signal.allCases.first { $0.numbers.contains(number) }
      guard let signal else { return nil }
      self = signal
    }
  }

  /// The signals in the order of their arrival, for one reader.
  public let signals: AsyncStream<Signal>

  private let send: AsyncStream<Signal>.Continuation
  // Set once. Dispatch sources can be used from any thread; their declaration does not say so.
  nonisolated(unsafe) private let source: any DispatchSourceRead
  private let handlers: SignalHandlers

  /// Starts to receive signals.
  ///
  /// - Parameter kinds: The signals to receive. All other signals keep their actions. For example,
  ///   a program that shows no frames leaves `suspend` to the system.
  /// - Precondition: There is no other instance of this class.
  /// - Throws: A ``TerminalError`` if the process cannot open any more files.
  public init(_ kinds: Set<Signal> = Set(Signal.allCases)) throws(TerminalError) {
    let pipe = try pipeOfSignals.get()
    signalPipe.store(pipe.writeEnd, ordering: .sequentiallyConsistent)
    let wasTaken = areSignalsTaken.exchange(true, ordering: .sequentiallyConsistent)
    precondition(
      !wasTaken,
      "only one TerminalSignals or TerminalScreen can exist at a time; release the first one"
    )
    let (signals, send) = AsyncStream<Signal>.makeStream()
    (self.signals, self.send) = (signals, send)
    source = DispatchSource.makeReadSource(
      fileDescriptor: pipe.readEnd, queue: DispatchQueue(label: "TerminalViews.signals"))
    source.setEventHandler {
      var bytes = [UInt8](repeating: 0, count: 256)
      let count = read(pipe.readEnd, &bytes, bytes.count)
      for byte in bytes.prefix(max(0, count)) {
        if let signal = Signal(number: Int32(byte)) { send.yield(signal) }
      }
    }
    source.activate()
    handlers = SignalHandlers(kinds)
  }

  deinit {
    handlers.restore()
    source.cancel()
    send.finish()
    areSignalsTaken.store(false, ordering: .sequentiallyConsistent)
  }

  /// Performs work while the signals have their previous actions.
  package func withPreviousActions(_ body: () throws(TerminalError) -> Void) throws(TerminalError) {
    handlers.restore()
    defer { handlers.install() }
    try body()
  }
}

/// The actions of the signals, and their previous ones.
// Sendable: set once and then only read. The C library's declaration does not say so.
private struct SignalHandlers: @unchecked Sendable {
  private var actions: [(number: Int32, old: sigaction, new: sig_t?)] = []

  /// Installs handlers for signals.
  init(_ kinds: Set<TerminalSignals.Signal>) {
    for kind in kinds {
      for number in kind.numbers { add(number, writeToPipe, ifDefault: kind == .other) }
    }
    add(SIGPIPE, SIG_IGN)
    install()
  }

  private mutating func add(_ number: Int32, _ handler: sig_t?, ifDefault: Bool = false) {
    var old = sigaction()
    guard sigaction(number, nil, &old) == 0, !ifDefault || old.isDefault else { return }
    actions.append((number, old, handler))
  }

  func install() {
    for (number, _, handler) in actions { signal(number, handler) }
  }

  func restore() {
    for (number, action, _) in actions {
      var action = action
      _ = sigaction(number, &action, nil)
    }
  }
}

private let areSignalsTaken = Atomic(false)

/// The pipe from the signal handler to the reader of the signals.
///
/// The pipe is created once and never closed, because a handler of an earlier instance may still be
/// running when the next instance is created.
private let pipeOfSignals = Result<WakePipe, TerminalError> { () throws(TerminalError) in
  if let pipe = WakePipe() { return pipe }
  throw TerminalError("open a pipe", advice: "close files, or raise the limit with ulimit -n")
}

/// The descriptor that the signal handler writes to, or -1 if there is none.
private let signalPipe = Atomic<Int32>(-1)

/// Handles a signal. It calls only functions that are safe in a signal handler.
private func writeToPipe(_ number: Int32) {
  let code = errno
  withUnsafeBytes(of: UInt8(truncatingIfNeeded: number)) { byte in
    _ = write(signalPipe.load(ordering: .relaxed), byte.baseAddress, 1)
  }
  errno = code
}
