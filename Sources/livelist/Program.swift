import Foundation

/// What concerns the process as a whole.
enum Program {
  /// Ends at once; nothing is buffered that could be lost.
  static func end(_ status: Int32 = 0) -> Never {
    _exit(status)
  }

  static func end(with failure: Failure) -> Never {
    report(failure.message)
    end(failure.status)
  }

  /// Writes one line to standard error, whatever the message holds.
  static func report(_ message: String) {
    var line = "livelist: "
    for scalar in message.unicodeScalars {
      let isControl = scalar.properties.generalCategory == .control
      line.unicodeScalars.append(isControl || scalar == "\u{2028}" ? " " : scalar)
    }
    line += "\n"
    // Where standard error is closed, nobody wants to know.
    _ = Array(line.utf8).withUnsafeBytes { $0.writeAll(to: STDERR_FILENO) }
  }
}

/// Standard input, output and error, as they have to be before anything else is opened.
enum StandardDescriptors {
  /// A closed one would become the first file that is opened, and get what is written to it.
  ///
  /// - Returns: Whether standard output was open.
  static func prepare() -> Bool {
    signal(SIGPIPE, SIG_IGN)
    let isOutputOpen = fcntl(STDOUT_FILENO, F_GETFD) != -1
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest that is free is taken.
      _ = open("/dev/null", O_RDWR)
    }
    return isOutputOpen
  }
}
