/// A queue of consecutive changes that are pending until they are composed.
///
/// If the queue becomes larger than a limit, it drops all changes. Comparing the versions is then
/// cheaper.
@usableFromInline
package struct ChangesetAccumulator: Sendable {
  private var changes: [Changeset] = []

  /// The size of the pending changes, in words of memory.
  package private(set) var footprint = 0

  /// A Boolean value that indicates whether the limit was exceeded and all changes were dropped.
  package private(set) var isExceeded = false

  /// Creates an empty queue.
  package init() {}

  /// Creates a queue with one pending change.
  package init(_ change: Changeset) {
    append(change)
  }

  /// Appends a change.
  ///
  /// - Parameters:
  ///   - change: A change of the version after the last pending change.
  ///   - limit: The maximum footprint. If it is exceeded, all changes are dropped. The number of
  ///     elements before and after the changes is a good limit: larger changesets need more memory
  ///     than the elements, and comparing the elements is faster.
  /// - Returns: The dropped changes. A caller that holds a lock can release them later.
  /// - Complexity: O(1) on average.
  @discardableResult
  package mutating func append(_ change: Changeset, limit: Int = .max) -> [Changeset] {
    guard !isExceeded, !change.isEmpty else { return [] }
    footprint += change.footprint
    if footprint > limit { return exceed() }
    changes.append(change)
    return []
  }

  /// Drops all pending changes and all changes that follow.
  ///
  /// - Returns: The dropped changes.
  @discardableResult
  package mutating func exceed() -> [Changeset] {
    let dropped = changes
    changes = []
    footprint = 0
    isExceeded = true
    return dropped
  }

  /// Returns the combined pending change, by offsets alone, or `nil` if the limit was exceeded.
  ///
  /// - Complexity: O(*k* log *k*) for *k* operations in all changes.
  package func composed() -> Changeset? {
    isExceeded ? nil : Changeset.composed(of: changes)
  }
}

extension Changeset {
  /// The size of the changeset in words of memory, which is comparable to a number of elements.
  package var footprint: Int {
    // Four arrays, of offsets or of pairs of offsets.
    4 + deletions.count + insertions.count + 2 * (moves.count + updates.count)
  }
}
