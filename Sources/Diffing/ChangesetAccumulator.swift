/// Changes that follow one another and wait to be composed, as long as that is worth while.
package struct ChangesetAccumulator: Sendable {
  private var changes: [Changeset] = []

  /// The number of operations that wait.
  package private(set) var operationCount = 0

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
  ///   - limit: How many operations may wait. Where there are more, all are dropped: the number of
  ///     elements before and after is a good limit, since from there on comparing them is faster.
  /// - Returns: What is dropped, for a caller that holds a lock and releases nothing large there.
  /// - Complexity: O(1) on average.
  @discardableResult
  package mutating func append(_ change: Changeset, limit: Int = .max) -> [Changeset] {
    guard !isExceeded, !change.isEmpty else { return [] }
    operationCount += change.operationCount
    if operationCount > limit { return exceed() }
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
    operationCount = 0
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
