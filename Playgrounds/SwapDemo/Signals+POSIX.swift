import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Takes signals, and hands them to the main actor.
///
/// A handler is in force when `signal` returns, whichever thread gets the signal, so that none is lost:
/// a dispatch source of signals begins a little later.
@MainActor
final class Signals {
  /// Those that ask for an end.
  static let ends: Set<Int32> = [SIGINT, SIGTERM, SIGHUP]

  private let readEnd: Int32
  private var source: (any DispatchSourceRead)?

  /// Begins to take those that ask for an end, and those that tell of the terminal; to be done once.
  init() throws(Terminal.Failure) {
    var pipeEnds: [Int32] = [-1, -1]
    guard pipe(&pipeEnds) == 0 else { throw Terminal.Failure("open a pipe for signals") }
    for end in pipeEnds {
      // Neither the handler nor the main actor may ever wait for the other.
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    readEnd = pipeEnds[0]
    signalPipe = pipeEnds[1]
    for number in Signals.ends.union([SIGWINCH, SIGCONT]) { signal(number, tell) }
    // A reader that goes away is an error of the next write.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Hands over each signal that has come, or comes.
  func deliver(to handler: @escaping @MainActor (Int32) -> Void) {
    let source = DispatchSource.makeReadSource(fileDescriptor: readEnd, queue: .main)
    source.setEventHandler { [readEnd] in
      let signals = Terminal.read(from: readEnd) ?? []
      MainActor.assumeIsolated { signals.forEach { handler(Int32($0)) } }
    }
    source.resume()
    self.source = source
  }

  /// Hands over no more. Signals go on to be kept from ending the program, which ends by itself.
  func cancel() {
    source?.cancel()
    source = nil
  }
}

/// Where the handler tells of a signal.
// Set once, before the first handler is in force, and only read afterwards. A constant at first, so
// that the handler runs no initialiser.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// Handles a signal: calls only what a handler may call.
private func tell(_ number: Int32) {
  let code = errno
  withUnsafeBytes(of: UInt8(truncatingIfNeeded: number)) { byte in
    _ = write(signalPipe, byte.baseAddress, 1)
  }
  errno = code
}
