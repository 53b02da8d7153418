#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The kind of output that a terminal supports.
public enum TerminalCapabilities: Sendable, Hashable {
  /// Only plain lines: standard output is not a terminal, or the terminal is a dumb one.
  case none
  /// Frames without colors, as the user requested.
  case colorless
  /// Frames with colors.
  case colors

  /// The capabilities of standard output.
  ///
  /// The value is `none` if standard output is not a terminal, or if the environment variable
  /// `TERM` is `dumb` or missing. Colors are disabled if `NO_COLOR` is set and not empty, as
  /// https://no-color.org describes.
  public static var current: TerminalCapabilities {
    isatty(STDOUT_FILENO) == 1 ? ofTerminal : .none
  }

  /// The capabilities of the terminal that controls the process, whatever standard output is.
  package static var ofTerminal: TerminalCapabilities {
    TerminalCapabilities(
      isTerminal: true, environment: { name in getenv(name).map { String(cString: $0) } })
  }

  init(isTerminal: Bool, environment: (String) -> String?) {
    let kind = environment("TERM") ?? ""
    guard isTerminal, !kind.isEmpty, kind != "dumb" else {
      self = .none
      return
    }
    self = (environment("NO_COLOR") ?? "").isEmpty ? .colors : .colorless
  }
}
