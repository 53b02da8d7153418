/// The contents of a whole screen, as a value that you can compare, test and draw.
public struct TerminalFrame: Sendable, Hashable {
  /// A position on the screen. The top left is row 0, column 0.
  public struct Position: Sendable, Hashable {
    /// The row.
    public var row: Int
    /// The column.
    public var column: Int

    /// Creates a position.
    public init(row: Int, column: Int) {
      self.row = row
      self.column = column
    }
  }

  /// The size of the screen that the frame is for.
  public let size: TerminalSize
  /// The lines, one for each row. A line that is wider than the screen is clipped when it is drawn.
  public let lines: [TerminalLine]
  /// The position of the cursor, or `nil` if the cursor is hidden.
  public let cursor: Position?

  /// Creates a frame.
  ///
  /// - Parameters:
  ///   - size: The size of the screen.
  ///   - lines: The lines from the top. Lines beyond the last row are omitted; empty lines fill the
  ///     rest.
  ///   - cursor: The position of the cursor, or `nil` to hide it.
  public init(size: TerminalSize, lines: [TerminalLine], cursor: Position? = nil) {
    self.size = size
    let fitting = lines.prefix(size.rows)
    self.lines =
      Array(fitting) + repeatElement(TerminalLine(), count: max(0, size.rows - fitting.count))
    self.cursor = cursor
  }
}

/// The size of a terminal or of a part of it, in characters.
public struct TerminalSize: Sendable, Hashable {
  /// The number of lines.
  public var rows: Int
  /// The number of narrow characters that fit into a line.
  public var columns: Int

  /// Creates a size. A negative number counts as zero.
  public init(rows: Int, columns: Int) {
    self.rows = max(0, rows)
    self.columns = max(0, columns)
  }
}
