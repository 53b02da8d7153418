/// The size of a terminal, in characters.
public struct TerminalSize: Sendable, Hashable {
  /// How many lines there are.
  public var rows: Int
  /// How many narrow characters fit into a line.
  public var columns: Int

  /// Creates a size; negative numbers count as zero.
  public init(rows: Int, columns: Int) {
    self.rows = max(0, rows)
    self.columns = max(0, columns)
  }
}
