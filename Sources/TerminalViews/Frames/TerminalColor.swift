/// One of the sixteen colours that every terminal with colours has; what they look like is the user's.
public enum TerminalColor: UInt8, Sendable, Hashable, CaseIterable {
  /// Black, number 0.
  case black
  /// Red, number 1.
  case red
  /// Green, number 2.
  case green
  /// Yellow, number 3.
  case yellow
  /// Blue, number 4.
  case blue
  /// Magenta, number 5.
  case magenta
  /// Cyan, number 6.
  case cyan
  /// White, number 7.
  case white
  /// Bright black, number 8.
  case brightBlack
  /// Bright red, number 9.
  case brightRed
  /// Bright green, number 10.
  case brightGreen
  /// Bright yellow, number 11.
  case brightYellow
  /// Bright blue, number 12.
  case brightBlue
  /// Bright magenta, number 13.
  case brightMagenta
  /// Bright cyan, number 14.
  case brightCyan
  /// Bright white, number 15.
  case brightWhite
}
