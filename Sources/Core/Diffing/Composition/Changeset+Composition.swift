extension Changeset {
  /// Returns the combined change of this changeset and the next one, by offsets alone.
  ///
  /// An element that this changeset inserts and the next one deletes does not occur. An element
  /// that this changeset deletes and the next one inserts is both, because offsets cannot identify
  /// it. To find such elements, use `composed(with:from:to:)`. An updated element stays an update,
  /// even if it has its first content again. The number of moves is minimal.
  ///
  /// ```swift
  /// let first = Changeset(insertions: [0])
  /// let second = Changeset(deletions: [0], updates: [.init(from: 3, to: 2)])
  /// first.composed(with: second)  // updates: [2->2]
  /// ```
  ///
  /// - Parameter next: A change of the version after this change.
  /// - Returns: The change from the version before this change to the version after the next
  ///   change.
  /// - Complexity: O(*k* log *k*) for *k* operations in both, or O(*k*) without moves. The number
  ///   of elements does not matter.
  public func composed(with next: Changeset) -> Changeset {
    if isEmpty { return next }
    if next.isEmpty { return self }
    return OffsetMap(self).followed(by: OffsetMap(next)).changeset()
  }

  /// Returns the combined change of this changeset and the next one, in normal form.
  ///
  /// Unlike the combination by offsets alone, the normal form keeps an element that is deleted and
  /// inserted again. It does not update an element that has its first content again. If several
  /// elements have the same identity, the first deletion is paired with the first insertion, and so
  /// on. A change combined with its inverse is empty.
  ///
  /// - Parameters:
  ///   - next: A change of the version after this change.
  ///   - old: The version before this change.
  ///   - new: The version after the next change.
  /// - Returns: The change from `old` to `new`.
  /// - Complexity: O(*k* log *k*) for *k* operations in both. Only deleted and inserted elements
  ///   are hashed. Only updated elements, and pairs of deleted and inserted elements, are compared.
  @inlinable
  public func composed<Element: Differentiable>(
    with next: Changeset, from old: some RandomAccessCollection<Element>,
    to new: some RandomAccessCollection<Element>
  ) -> Changeset {
    composed(with: next).normalForm(from: old, to: new)
  }

  /// Returns the combined change of consecutive changesets, by offsets alone.
  ///
  /// - Parameter changes: The changesets. Each one changes the version after the previous one.
  /// - Complexity: O(*k* log *k*) for *k* operations in all.
  package static func composed(of changes: [Changeset]) -> Changeset {
    switch changes.count {
    case 0: .empty
    case 1: changes[0]
    default: OffsetMap.composed(of: changes.lazy.map(OffsetMap.init)).changeset()
    }
  }

  /// Returns this change with some pairs of deletions and insertions replaced by kept elements.
  ///
  /// - Parameters:
  ///   - pairs: The pairs of deletions and insertions, by ascending insertion.
  ///   - isUpdated: A closure that indicates whether the content of a pair differs.
  /// - Complexity: O(*k* log *k*) in the *k* offsets.
  @usableFromInline
  func keeping(_ pairs: [Update], isUpdated: (Update) -> Bool) -> Changeset {
    OffsetMap(self).keeping(pairs, isUpdated: isUpdated).changeset()
  }
}

extension Changeset {
  /// This change with as few moves as possible.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets.
  @usableFromInline package var withLeastMoves: Changeset {
    if moves.isEmpty { return self }
    // One move is frequent, and needs no composition (`PipelineBenchmarks joined move`).
    if moves.count == 1, deletions.isEmpty, insertions.isEmpty {
      return moves[0].from == moves[0].to ? Changeset(updates: updates) : self
    }
    return OffsetMap(self).changeset()
  }

  /// Returns this change as a change of a larger collection, which has additional elements before
  /// it.
  ///
  /// - Parameters:
  ///   - oldBy: The number of additional elements in the old version.
  ///   - newBy: The number of additional elements in the new version.
  @usableFromInline
  package func shifted(oldBy: Int, newBy: Int) -> Changeset {
    if oldBy == 0 && newBy == 0 || isEmpty { return self }
    return Changeset(
      uncheckedDeletions: deletions.map { $0 + oldBy }, insertions: insertions.map { $0 + newBy },
      moves: moves.map { Move(from: $0.from + oldBy, to: $0.to + newBy) },
      updates: updates.map { Update(from: $0.from + oldBy, to: $0.to + newBy) })
  }

  /// Returns this change as a change of the same collection in the opposite order.
  ///
  /// - Parameters:
  ///   - oldCount: The number of elements in the old version.
  ///   - newCount: The number of elements in the new version.
  @usableFromInline
  package func mirrored(oldCount: Int, newCount: Int) -> Changeset {
    Changeset(
      uncheckedDeletions: deletions.reversed().map { oldCount - 1 - $0 },
      insertions: insertions.reversed().map { newCount - 1 - $0 },
      moves: moves.reversed().map { Move(from: oldCount - 1 - $0.from, to: newCount - 1 - $0.to) },
      updates: updates.reversed().map {
        Update(from: oldCount - 1 - $0.from, to: newCount - 1 - $0.to)
      })
  }

  /// Returns the new offset of the element at an old offset, or of the nearest kept element if it was deleted.
  ///
  /// - Parameters:
  ///   - old: The old offset.
  ///   - count: The number of elements in the old version.
  /// - Returns: The new offset, or `nil` if no element was kept.
  @usableFromInline
  package func nearestOffset(to old: Int, count: Int) -> Int? {
    OffsetMap(self).nearest(to: old, count: count)
  }

  /// Returns the change of a part of the collection.
  ///
  /// An element that is in both versions of the part is kept. One that is only in the old version leaves it, and
  /// one that is only in the new version enters.
  ///
  /// - Parameters:
  ///   - old: The offsets of the part in the old version.
  ///   - new: The offsets of the part in the new version.
  /// - Complexity: O(*k* log *k* + *w* log *k*) for *k* offsets and *w* elements that leave or enter.
  @usableFromInline
  package func clipped(from old: Range<Int>, to new: Range<Int>) -> Changeset {
    if isEmpty && old == new { return self }
    // One update or move inside the part is frequent, and only shifted (`PipelineBenchmarks prefix move`).
    if changeCount == 1, old == new {
      let start = -old.lowerBound
      if let update = updates.first {
        return old.contains(update.from) ? shifted(oldBy: start, newBy: start) : .empty
      }
      if let move = moves.first, old.contains(move.from), old.contains(move.to) {
        return shifted(oldBy: start, newBy: start)
      }
    }
    let (removals, arrivals) = (removals, arrivals)
    // Elements that are neither removed nor moved are in the same order in both versions. Number them.
    let oldStayed = removals.unlistedRanks(in: old)
    let newStayed = arrivals.unlistedRanks(in: new)
    let leaving = removals.offsets(ofUnlistedRanks: oldStayed, outside: newStayed)
    let entering = arrivals.offsets(ofUnlistedRanks: newStayed, outside: oldStayed)
    var deletions = deletions.listed(in: old) + leaving
    var insertions = insertions.listed(in: new) + entering
    var moves: [Move] = []
    for move in self.moves {
      switch (old.contains(move.from), new.contains(move.to)) {
      case (true, true):
        moves.append(Move(from: move.from - old.lowerBound, to: move.to - new.lowerBound))
      case (true, false): deletions.append(move.from)
      case (false, true): insertions.append(move.to)
      case (false, false): break
      }
    }
    deletions.sort()
    insertions.sort()
    for position in deletions.indices { deletions[position] -= old.lowerBound }
    for position in insertions.indices { insertions[position] -= new.lowerBound }
    var updates: [Update] = []
    for update in self.updates where old.contains(update.from) && new.contains(update.to) {
      updates.append(Update(from: update.from - old.lowerBound, to: update.to - new.lowerBound))
    }
    return Changeset(
      deletions: Array(deletions), insertions: Array(insertions), moves: moves, updates: updates
    ).withLeastMoves
  }

  /// Returns the change of two concatenated collections.
  ///
  /// - Parameters:
  ///   - first: The change of the first collection.
  ///   - oldCount: The number of elements in the old version of the first collection.
  ///   - newCount: The number of elements in the new version of the first collection.
  ///   - second: The change of the second collection, with its own offsets.
  package static func concatenated(
    _ first: Changeset, oldCount: Int, newCount: Int, _ second: Changeset
  ) -> Changeset {
    Changeset(concatenating: [first, second.shifted(oldBy: oldCount, newBy: newCount)])
  }

  /// Creates a changeset from the changes of consecutive parts of a collection.
  ///
  /// - Parameter parts: The changes in ascending order, with offsets in the whole collection.
  @usableFromInline
  package init(concatenating parts: [Changeset]) {
    let parts = parts.filter { !$0.isEmpty }
    if parts.count < 2 {
      self = parts.first ?? .empty
      return
    }
    self.init(
      uncheckedDeletions: parts.flatMap(\.deletions), insertions: parts.flatMap(\.insertions),
      moves: parts.flatMap(\.moves), updates: parts.flatMap(\.updates))
  }
}

extension Changeset {
  /// Creates a changeset with the same effect as the steps of a patch.
  ///
  /// Only the offsets of the steps are used. An element that one step removes and another step
  /// inserts is not recognized as the same element. An element that a step updates is an update.
  /// The number of moves is minimal.
  ///
  /// - Parameter patch: The steps. Each offset must be at least 0 and below 2⁶¹.
  /// - Complexity: O(*k* log *k*) for *k* steps.
  public init<Element>(_ patch: Patch<Element>) {
    self = Changeset.composed(of: patch.steps.compactMap(\.changeset))
  }
}

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

  /// The number of pending changes.
  package var count: Int { changes.count }

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
  ///   - limit: The maximum footprint, which counts as 1,000 if it is less. If it is exceeded, all
  ///     changes are dropped. The number of elements before and after the changes is a good limit:
  ///     larger changesets need more memory than the elements, and comparing the elements is
  ///     faster.
  /// - Returns: The dropped changes. A caller that holds a lock can release them later.
  /// - Complexity: O(1) on average.
  @discardableResult
  package mutating func append(_ change: Changeset, limit: Int = .max) -> [Changeset] {
    guard !isExceeded, !change.isEmpty else { return [] }
    footprint += change.footprint
    // A single change needs no composing, so it keeps its form (rule C9).
    if footprint > max(limit, 1_000), !changes.isEmpty { return exceed() }
    changes.append(change)
    return []
  }

  /// Appends the pending changes of another queue, which follow those of this one.
  ///
  /// - Complexity: O(m) for m pending changes of the other queue.
  package mutating func append(_ later: ChangesetAccumulator, limit: Int) {
    if later.isExceeded { exceed() }
    for change in later.changes { append(change, limit: limit) }
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
