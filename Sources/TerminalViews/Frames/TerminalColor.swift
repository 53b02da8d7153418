/// One of the sixteen colours that every terminal with colours has; what they look like is the user's.
public enum TerminalColor: UInt8, Sendable, Hashable, CaseIterable {
  case black
  case red
  case green
  case yellow
  case blue
  case magenta
  case cyan
  case white
  case brightBlack
  case brightRed
  case brightGreen
  case brightYellow
  case brightBlue
  case brightMagenta
  case brightCyan
  case brightWhite
}
