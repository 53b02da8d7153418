/// How text fits into a terminal.
public enum TerminalText {
  /// The text with a sign for each character that would do more than show: controls, ends of lines,
  /// changes of direction.
  public static func printable(_ text: String) -> String {
    String(
      text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : Character($0) })
  }

  /// How many columns a printable text takes.
  public static func width(_ text: String) -> Int { text.count }

  /// As much of a printable text as fits into some columns; no character is cut.
  public static func clipped(_ text: String, to columns: Int) -> String {
    String(text.prefix(max(0, columns)))
  }
}
