/// Changes that follow one another and wait to be composed, as long as that is worth while.
package struct ChangesetAccumulator: Sendable {
  private var changes: [Changeset] = []

  /// How much waits, see `Changeset.footprint`.
  package private(set) var footprint = 0

  /// Whether there were too many operations, so that nothing is known but that something changed.
  package private(set) var isExceeded = false

  /// Creates one in which nothing waits.
  package init() {}

  /// Creates one in which a change waits.
  package init(_ change: Changeset) {
    append(change)
  }

  /// Adds a change behind all others.
  ///
  /// - Parameters:
  ///   - change: What leads on from where the one before led to.
  ///   - limit: How much may wait. Where it is more, all is dropped: the number of elements before and
  ///     after is a good limit, since from there on it takes more memory than they do, and comparing
  ///     them is faster.
  /// - Returns: What is dropped, for a caller that holds a lock and releases nothing large there.
  /// - Complexity: O(1) on average.
  @discardableResult
  package mutating func append(_ change: Changeset, limit: Int = .max) -> [Changeset] {
    guard !isExceeded, !change.isEmpty else { return [] }
    footprint += change.footprint
    if footprint > limit { return exceed() }
    changes.append(change)
    return []
  }

  /// Drops all changes, and from now on those that are added.
  ///
  /// - Returns: What is dropped.
  @discardableResult
  package mutating func exceed() -> [Changeset] {
    let dropped = changes
    changes = []
    footprint = 0
    isExceeded = true
    return dropped
  }

  /// All changes as one, on offsets alone; `nil` where there were too many.
  ///
  /// - Complexity: O(*k* log *k*) for *k* operations in all changes.
  package func composed() -> Changeset? {
    isExceeded ? nil : Changeset.composed(of: changes)
  }
}

extension Changeset {
  /// How many words of memory it takes, to be compared with a number of elements.
  package var footprint: Int {
    // Four arrays of offsets or pairs of them.
    4 + deletions.count + insertions.count + 2 * (moves.count + updates.count)
  }
}
