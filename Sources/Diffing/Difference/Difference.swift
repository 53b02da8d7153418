extension Changeset {
  /// Finds what changed between two versions of a collection.
  ///
  /// Elements are recognised by identity. Where several have the same one, as many are kept as there are
  /// on both sides. No fewer elements could have moved.
  ///
  /// ```swift
  /// let change = Changeset(from: ["a", "b", "c"], to: ["c", "a", "d"])
  /// ```
  ///
  /// - Parameters:
  ///   - old: The earlier version.
  ///   - new: The later version.
  /// - Complexity: O(*n*) where kept elements are in order, otherwise O(*n* + *k* log *k*) for *k*
  ///   stretches in step; memory for the changes alone. Only what is out of step is hashed.
  @inlinable
  public init<Element: Differentiable>(
    from old: some Collection<Element>, to new: some Collection<Element>
  ) {
    self = withContiguousElements(of: old) { old in
      withContiguousElements(of: new) { new in
        Element.difference(from: UnsafeRawBufferPointer(old), to: UnsafeRawBufferPointer(new))
      }
    }
  }

  // Inlinable, with all that it calls for each element, so that the module of the elements gets it
  // specialised: 60,000 rows of which 2 % changed then take a quarter of the time.
  @inlinable
  init<Element: Differentiable>(
    between old: UnsafeBufferPointer<Element>, and new: UnsafeBufferPointer<Element>
  ) {
    guard let oldBase = old.baseAddress, let newBase = new.baseAddress else {
      self.init(
        unchecked: (
          deletions: Array(old.indices), insertions: Array(new.indices), moves: [], updates: []
        ))
      return
    }
    let walk = StepWalk(old: oldBase, count: old.count, new: newBase, count: new.count)
    if walk.oldRest.count == old.count, walk.newRest.count == new.count,
      let turnedRound = Changeset(turnedRound: old, new)
    {
      self = turnedRound
      return
    }
    let matching = Matching(old: oldBase, walk.oldRest, new: newBase, walk.newRest)
    if matching.matches.isEmpty {
      self.init(
        unchecked: (
          deletions: walk.oldRest.offsets, insertions: walk.newRest.offsets, moves: [],
          updates: walk.updates
        ))
    } else {
      self.init(
        oldRest: walk.oldRest, newRest: walk.newRest, matches: matching.matches,
        chainCount: old.count - walk.oldRest.count, updates: walk.updates,
        matchUpdates: matching.updates)
    }
  }
}
