extension StagedChangeset where Change == Changeset, Item: Differentiable {
  /// Finds what changed between two versions of a collection, in stages.
  ///
  /// ```swift
  /// let stages = StagedChangeset(from: ["a", "b"], to: ["b", "c"])
  /// // deletions: [0], then insertions: [1]
  /// ```
  ///
  /// - Parameters:
  ///   - old: The earlier version.
  ///   - new: The later version.
  /// - Complexity: That of the difference, and O(*n*) for each stage but the last.
  // For sections the other initialiser is meant, unless the type says otherwise.
  @_disfavoredOverload
  @inlinable
  public init(from old: some Collection<Item>, to new: some Collection<Item>) {
    self.init(Changeset(from: old, to: new), from: old, to: new)
  }
}

extension StagedChangeset where Change == Changeset {
  /// Breaks a change of a collection into stages.
  ///
  /// ```swift
  /// let change = Changeset(from: old, to: new)
  /// let stages = StagedChangeset(change, from: old, to: new)
  /// ```
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version that the changeset was made from.
  ///   - new: The version that it leads to.
  /// - Precondition: The changeset fits the two in count.
  /// - Complexity: O(*n*) for each stage but the last, O(*k* log *k*) for *k* operations.
  @inlinable
  public init(
    _ changeset: Changeset, from old: some Collection<Item>, to new: some Collection<Item>
  ) {
    let new = Array(new)
    let changes = changeset.stages
    precondition(
      old.count + changeset.countChange == new.count,
      "A change from \(old.count) elements by \(changeset.countChange) does not lead to \(new.count)"
    )
    var renewed: [Item]?
    self.init(changes: changes, to: new, isEmpty: \.isEmpty) { stage in
      // What is kept has its new value from the first stage on.
      var data = renewed ?? Array(old)
      if renewed == nil {
        for (target, origin) in changeset.origins(oldCount: data.count).enumerated()
        where origin >= 0 {
          data[origin] = new[target]
        }
        renewed = data
      }
      return stage == 0 ? data : changeset.removing(changeset.deletions, from: data)
    }
  }
}

extension Changeset {
  /// What changes in each stage: updates; deletions; insertions and moves.
  @usableFromInline var stages: [Changeset] {
    [
      Changeset(
        updates: updates.map { Update(from: $0.from, to: $0.from) }.sorted { $0.to < $1.to }),
      Changeset(deletions: deletions),
      Changeset(
        insertions: insertions,
        moves: moves.map {
          Move(from: $0.from - deletions.ascendingCount(below: $0.from), to: $0.to)
        }),
    ]
  }
}
