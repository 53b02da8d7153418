/// How text looks in a terminal.
///
/// ```swift
/// let warning = TerminalStyle(foreground: .yellow, isBold: true)
/// ```
public struct TerminalStyle: Sendable, Hashable {
  /// The colour of the letters; nil for the terminal's own.
  public var foreground: TerminalColor?
  /// The colour behind the letters; nil for the terminal's own.
  public var background: TerminalColor?
  /// Whether letters are bold.
  public var isBold: Bool
  /// Whether letters are faint.
  public var isFaint: Bool
  /// Whether letters are underlined.
  public var isUnderlined: Bool
  /// Whether the two colours are exchanged.
  public var isReversed: Bool

  /// As the terminal shows what nothing is said of.
  public static let plain = TerminalStyle()

  /// Creates a style.
  public init(
    foreground: TerminalColor? = nil, background: TerminalColor? = nil, isBold: Bool = false,
    isFaint: Bool = false, isUnderlined: Bool = false, isReversed: Bool = false
  ) {
    self.foreground = foreground
    self.background = background
    self.isBold = isBold
    self.isFaint = isFaint
    self.isUnderlined = isUnderlined
    self.isReversed = isReversed
  }

  /// The same without colours.
  public var withoutColors: TerminalStyle {
    var style = self
    (style.foreground, style.background) = (nil, nil)
    return style
  }
}
