/// Changes that follow one another and wait to be composed, as long as that is worth while.
package struct ChangesetAccumulator: Sendable {
  private var changes: [Changeset] = []

  /// The number of operations that wait.
  package private(set) var operationCount = 0

  /// Whether there were too many operations, so that nothing is known but that something changed.
  package private(set) var isExceeded = false

  /// Creates one in which nothing waits.
  package init() {}

  /// Adds a change behind all others.
  ///
  /// - Parameters:
  ///   - change: What leads on from where the one before led to.
  ///   - limit: How many operations may wait. Where there are more, all are dropped: the number of
  ///     elements before and after is a good limit, since then the two compare as fast.
  /// - Complexity: O(1) on average.
  package mutating func append(_ change: Changeset, limit: Int = .max) {
    guard !isExceeded else { return }
    operationCount += change.operationCount
    if operationCount > limit {
      changes = []
      operationCount = 0
      isExceeded = true
    } else if !change.isEmpty {
      changes.append(change)
    }
  }

  /// All changes as one, on offsets alone; `nil` where there were too many.
  ///
  /// - Complexity: O(*k* log *k*) for *k* operations in all changes.
  package func composed() -> Changeset? {
    isExceeded ? nil : Changeset.composed(of: changes)
  }
}
