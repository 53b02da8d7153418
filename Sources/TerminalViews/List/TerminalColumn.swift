/// A column of a terminal list: a heading, and the text of each element.
///
/// ```swift
/// TerminalColumn<Package>("Size", alignment: .trailing) { "\($0.size)" }
/// ```
public struct TerminalColumn<Element>: Sendable {
  /// On which side the text stands where it does not fill the column.
  public enum Alignment: Sendable, Hashable {
    /// At the left, as words do.
    case leading
    /// At the right, as numbers do.
    case trailing
  }

  /// The heading.
  public var title: String
  /// On which side the text stands.
  public var alignment: Alignment
  /// How many columns of the terminal it never exceeds.
  public var maximumWidth: Int
  /// The text of an element. What is not printable in it is shown by signs.
  public var text: @Sendable (Element) -> String
  /// How the text looks; plain by default.
  public var style: @Sendable (Element) -> TerminalStyle

  /// Creates a column.
  ///
  /// - Parameters:
  ///   - title: The heading.
  ///   - alignment: On which side the text stands.
  ///   - maximumWidth: How many columns of the terminal it never exceeds, at least one.
  ///   - style: How the text of an element looks.
  ///   - text: The text of an element, asked for when it is shown.
  public init(
    _ title: String, alignment: Alignment = .leading, maximumWidth: Int = .max,
    style: @escaping @Sendable (Element) -> TerminalStyle = { _ in .plain },
    text: @escaping @Sendable (Element) -> String
  ) {
    self.title = title
    self.alignment = alignment
    self.maximumWidth = max(1, maximumWidth)
    self.style = style
    self.text = text
  }
}
