/// What a screen should show: a value that can be compared, tested and drawn.
public struct TerminalFrame: Sendable, Hashable {
  /// A place on the screen, from zero at the top left.
  public struct Position: Sendable, Hashable {
    /// The line.
    public var row: Int
    /// The column.
    public var column: Int

    /// Creates a place.
    public init(row: Int, column: Int) {
      self.row = row
      self.column = column
    }
  }

  /// The size that it was made for.
  public let size: TerminalSize
  /// As many lines as the size has rows; a line that is wider than the screen is cut when it is drawn.
  public let lines: [TerminalLine]
  /// Where the cursor is shown; nil where it is hidden.
  public let cursor: Position?

  /// Creates a frame: lines too many are left out, empty ones fill the rest.
  public init(size: TerminalSize, lines: [TerminalLine], cursor: Position? = nil) {
    self.size = size
    let fitting = lines.prefix(size.rows)
    self.lines =
      Array(fitting) + repeatElement(TerminalLine(), count: max(0, size.rows - fitting.count))
    self.cursor = cursor
  }
}
