/// What the system tells a program that is shown in a terminal.
public enum TerminalSignal: Sendable, Hashable, CaseIterable {
  /// SIGINT: it is to end, as the user wishes.
  case interrupt
  /// SIGTERM: it is to end.
  case terminate
  /// SIGHUP: the terminal has gone.
  case hangup
  /// SIGWINCH: the terminal has another size.
  case resize
  /// SIGTSTP: it is to stop; see ``Terminal/suspend()``.
  case suspend
  /// SIGCONT: it was stopped and goes on, and the screen may show anything.
  case resume

  /// Whether the program is to end.
  public var isEnd: Bool {
    switch self {
    case .interrupt, .terminate, .hangup: true
    case .resize, .suspend, .resume: false
    }
  }
}
