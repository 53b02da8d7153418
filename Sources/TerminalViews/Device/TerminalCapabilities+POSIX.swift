#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension TerminalCapabilities {
  /// Those of standard output.
  ///
  /// There are none where it is no terminal, or where `TERM` is `dumb` or missing. Colours are left out
  /// where `NO_COLOR` is set and not empty, as https://no-color.org has it.
  public static var current: TerminalCapabilities {
    TerminalCapabilities(
      isTerminal: isatty(STDOUT_FILENO) == 1,
      environment: { name in getenv(name).map { String(cString: $0) } })
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
