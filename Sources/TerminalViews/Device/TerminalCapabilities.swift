/// What a program may send to its terminal.
public enum TerminalCapabilities: Sendable, Hashable {
  /// Lines only: there is no terminal, or it is a dumb one.
  case none
  /// Frames, but no colours: the user asked for that.
  case colorless
  /// Frames with colours.
  case colors
}
