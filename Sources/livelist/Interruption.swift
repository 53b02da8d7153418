import Foundation

/// Signals and a closed output, which end the program at any moment but the middle of a line.
enum Interruption {
  private static var signals: sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    return signals
  }

  /// Keeps the signals for `watch`; threads that begin later take this over.
  static func block() {
    var signals = signals
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Ends the program when a signal comes or nobody can read the output any more.
  static func watch(_ output: Output) {
    Thread.detachNewThread {
      var signals = signals
      var signal: Int32 = 0
      while sigwait(&signals, &signal) != 0 {}
      output.endProgram()
    }
    Thread.detachNewThread {
      // Without an event asked for, only an error or the other end's closing are told.
      var request = pollfd(fd: output.descriptor, events: 0, revents: 0)
      while poll(&request, 1, -1) <= 0 {}
      // What is in the middle of a line has no reader.
      Program.end()
    }
  }
}
