extension Changeset {
  /// This change, of a collection that lies further to the right in a larger one.
  ///
  /// - Parameters:
  ///   - oldBy: How many elements of the old version stand before it.
  ///   - newBy: How many elements of the new version stand before it.
  /// - Returns: The change with all offsets counted in the larger collection.
  @usableFromInline
  package func shifted(oldBy: Int, newBy: Int) -> Changeset {
    if oldBy == 0 && newBy == 0 || isEmpty { return self }
    return Changeset(
      unchecked: (
        deletions: deletions.map { $0 + oldBy },
        insertions: insertions.map { $0 + newBy },
        moves: moves.map { Move(from: $0.from + oldBy, to: $0.to + newBy) },
        updates: updates.map { Update(from: $0.from + oldBy, to: $0.to + newBy) }
      ))
  }

  /// The change of two collections, one after the other.
  ///
  /// - Parameters:
  ///   - first: The first one's change.
  ///   - oldCount: The number of elements in the first one's old version.
  ///   - newCount: The number of elements in the first one's new version.
  ///   - second: The second one's change, counted from its own start.
  /// - Returns: The change of the whole.
  package static func concatenated(
    _ first: Changeset, oldCount: Int, newCount: Int, _ second: Changeset
  ) -> Changeset {
    let second = second.shifted(oldBy: oldCount, newBy: newCount)
    if first.isEmpty { return second }
    if second.isEmpty { return first }
    return Changeset(
      unchecked: (
        deletions: first.deletions + second.deletions,
        insertions: first.insertions + second.insertions,
        moves: first.moves + second.moves,
        updates: first.updates + second.updates
      ))
  }
}
