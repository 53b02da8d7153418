/// The appearance of text in a terminal.
///
/// ```swift
/// let warning = TerminalStyle(foreground: .yellow, isBold: true)
/// ```
public struct TerminalStyle: Sendable, Hashable {
  /// The color of the text, or `nil` for the terminal's default.
  public var foreground: TerminalColor?
  /// The color behind the text, or `nil` for the terminal's default.
  public var background: TerminalColor?
  /// A Boolean value that indicates whether the text is bold.
  public var isBold: Bool
  /// A Boolean value that indicates whether the text is faint.
  public var isFaint: Bool
  /// A Boolean value that indicates whether the text is underlined.
  public var isUnderlined: Bool
  /// A Boolean value that indicates whether the foreground and background colors are exchanged.
  public var isReversed: Bool

  /// The terminal's default appearance.
  public static let plain = TerminalStyle()

  /// Creates a style.
  public init(
    foreground: TerminalColor? = nil, background: TerminalColor? = nil, isBold: Bool = false,
    isFaint: Bool = false, isUnderlined: Bool = false, isReversed: Bool = false
  ) {
    (self.foreground, self.background, self.isBold) = (foreground, background, isBold)
    (self.isFaint, self.isUnderlined, self.isReversed) = (isFaint, isUnderlined, isReversed)
  }

  /// The same style without colors.
  package var withoutColors: TerminalStyle {
    var style = self
    (style.foreground, style.background) = (nil, nil)
    return style
  }
}

/// One of the sixteen standard colors of a terminal.
///
/// The user's settings of the terminal determine the actual color.
public enum TerminalColor: UInt8, Sendable, Hashable, CaseIterable {
  /// Black, color 0.
  case black
  /// Red, color 1.
  case red
  /// Green, color 2.
  case green
  /// Yellow, color 3.
  case yellow
  /// Blue, color 4.
  case blue
  /// Magenta, color 5.
  case magenta
  /// Cyan, color 6.
  case cyan
  /// White, color 7.
  case white
  /// Bright black, color 8.
  case brightBlack
  /// Bright red, color 9.
  case brightRed
  /// Bright green, color 10.
  case brightGreen
  /// Bright yellow, color 11.
  case brightYellow
  /// Bright blue, color 12.
  case brightBlue
  /// Bright magenta, color 13.
  case brightMagenta
  /// Bright cyan, color 14.
  case brightCyan
  /// Bright white, color 15.
  case brightWhite
}
