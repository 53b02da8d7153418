/// Where text stands in the columns that it is given.
public enum TerminalAlignment: Sendable, Hashable, CaseIterable {
  /// At the left.
  case leading
  /// In the middle; an odd space goes to the right.
  case center
  /// At the right.
  case trailing
}
