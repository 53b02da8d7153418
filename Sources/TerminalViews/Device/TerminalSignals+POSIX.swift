import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Takes the signals that a program in a terminal has to heed, until it is let go.
///
/// They are in force when it is made, whichever thread gets them, so that none is lost. A reader of the
/// output that goes away is no signal (SIGPIPE) meanwhile, but an error of the next write.
public final class TerminalSignals: Sendable {
  /// The signals as they come, for one reader.
  public let signals: AsyncStream<TerminalSignal>

  private let send: AsyncStream<TerminalSignal>.Continuation
  // Set once; sources may be used from any thread, which their declaration does not say.
  nonisolated(unsafe) private let source: any DispatchSourceRead
  private let handlers: SignalHandlers

  /// Begins to take signals.
  ///
  /// - Parameter kinds: Those that are taken. The others go on to do what they did: a program that shows
  ///   no frames does well to be stopped by the system.
  /// - Precondition: There is no other one.
  /// - Throws: Where the system is out of files.
  public init(
    _ kinds: Set<TerminalSignal> = Set(TerminalSignal.allCases)
  ) throws(TerminalFailure) {
    let pipe = try pipeOfSignals.get()
    signalPipe.store(pipe.writeEnd, ordering: .sequentiallyConsistent)
    let wasTaken = areSignalsTaken.exchange(true, ordering: .sequentiallyConsistent)
    precondition(!wasTaken, "two TerminalSignals at a time")
    let (signals, send) = AsyncStream<TerminalSignal>.makeStream()
    (self.signals, self.send) = (signals, send)
    source = DispatchSource.makeReadSource(
      fileDescriptor: pipe.readEnd, queue: DispatchQueue(label: "TerminalViews.signals"))
    source.setEventHandler {
      var bytes = [UInt8](repeating: 0, count: 256)
      let count = read(pipe.readEnd, &bytes, bytes.count)
      for byte in bytes.prefix(max(0, count)) {
        if let signal = TerminalSignal(number: Int32(byte)) { send.yield(signal) }
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
}

extension TerminalSignal {
  /// The system's number.
  public var number: Int32 {
    switch self {
    case .interrupt: SIGINT
    case .terminate: SIGTERM
    case .hangup: SIGHUP
    case .resize: SIGWINCH
    case .suspend: SIGTSTP
    case .resume: SIGCONT
    }
  }

  init?(number: Int32) {
    guard let signal = TerminalSignal.allCases.first(where: { $0.number == number }) else {
      return nil
    }
    self = signal
  }
}

/// What was done with the signals before.
// Sendable: set once and then only read; the C library's declaration does not say so.
private struct SignalHandlers: @unchecked Sendable {
  private var saved: [(number: Int32, action: sigaction)] = []

  /// Takes the signals over.
  init(_ kinds: Set<TerminalSignal>) {
    for kind in kinds { replace(kind.number, by: tell) }
    replace(SIGPIPE, by: SIG_IGN)
  }

  private mutating func replace(_ number: Int32, by handler: sig_t?) {
    var old = sigaction()
    guard sigaction(number, nil, &old) == 0 else { return }
    saved.append((number, old))
    signal(number, handler)
  }

  func restore() {
    for (number, action) in saved {
      var action = action
      _ = sigaction(number, &action, nil)
    }
  }
}

private let areSignalsTaken = Atomic(false)

/// Made once and never closed: a handler may still be about to write when the next ones are in force.
private let pipeOfSignals = Result<WakePipe, TerminalFailure> { () throws(TerminalFailure) in
  try WakePipe()
}

/// Where the handler tells of a signal; -1 for nowhere.
private let signalPipe = Atomic<Int32>(-1)

/// Handles a signal: calls only what a handler may call.
private func tell(_ number: Int32) {
  let code = errno
  withUnsafeBytes(of: UInt8(truncatingIfNeeded: number)) { byte in
    _ = write(signalPipe.load(ordering: .relaxed), byte.baseAddress, 1)
  }
  errno = code
}
