extension Changeset {
  /// How many operations there are: deletions, insertions, moves and updates.
  ///
  /// ```swift
  /// let animates = Changeset(from: old, to: new).changeCount < 100
  /// ```
  public var changeCount: Int {
    deletions.count + insertions.count + moves.count + updates.count
  }
}
