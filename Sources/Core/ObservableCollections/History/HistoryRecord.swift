import Diffing
import SwappablePrimitives

/// The recorded revisions of a history.
final class HistoryRecord<Element: Differentiable & Sendable>: Sendable {
  /// A revision, and the contents that it has.
  struct Entry: Sendable {
    let revision: Int
    let snapshot: Snapshot<Element>
    /// The number of elements that the change to the revision affects.
    let changeCount: Int
    /// About how many bytes the contents before the change take in addition, or 0 if the bytes are not limited.
    let bytes: Int
    /// The time when the collection got the revision.
    let time: Duration
  }

  private struct State: Sendable {
    /// The revisions, from the oldest to the latest. The first `dropped` of them are forgotten.
    var entries: [Entry?] = []
    var dropped = 0
    /// The number of all revisions that have been forgotten so far.
    var forgotten = 0
    /// The changes that lead to the entries.
    var changes = ChangeForest()
    /// The number of elements that the changes affect, without regard to elements that change several times.
    var changeCount = 0
    /// The part of it that came after each element was counted once.
    var uncounted = 0
    /// The bytes of all entries but the oldest one.
    var bytes = 0

    var count: Int { entries.count - dropped }

    func entry(_ index: Int) -> Entry? { entries[dropped + index] }

    /// Returns the index of a revision among those that are not forgotten.
    func index(of revision: Int) -> Int? {
      let index = (0..<count).partitioningIndex { entry($0)?.revision ?? 0 >= revision }
      return index < count && entry(index)?.revision == revision ? index : nil
    }
  }

  /// The name of the history, 128 random bits. No two histories have the same one.
  let epoch = (0..<2).map { _ in String(UInt64.random(in: 0...(.max)), radix: 36) }.joined()
  private let retention: CollectionHistory<Element>.Retention
  private let clock: AnyClock
  private let state = Locked(State())

  init(_ retention: CollectionHistory<Element>.Retention, _ clock: AnyClock) {
    (self.retention, self.clock) = (retention, clock)
  }

  // MARK: Recording

  /// Records the first contents.
  func begin(_ first: CollectionState<Element>) {
    let entry = Entry(
      revision: first.revision, snapshot: first.snapshot, changeCount: 0, bytes: 0,
      time: clock.now.offset)
    state.withLock { $0.entries = [entry] }
  }

  /// Records a change. A status step is not recorded.
  func append(_ update: CollectionUpdate<Element>) {
    guard update.hasChange else { return }
    let entry = Entry(
      revision: update.box.state.revision, snapshot: update.after,
      changeCount: update.changeset.changeCount,
      bytes: retention.bytes == nil ? 0 : update.bytesOfEarlierContents, time: clock.now.offset)
    let limit = retention.changes ?? max(10_000, entry.snapshot.count)
    state.withLock { state in
      state.entries.append(entry)
      state.changes.append(update.changeset)
      state.changeCount += entry.changeCount
      state.uncounted += entry.changeCount
      state.bytes += entry.bytes
    }
    forget(first: excess(ofBytes: retention.bytes))
    let isLong = state.withLock { $0.changeCount > limit && $0.uncounted > limit / 8 }
    if isLong { forget(first: excess(over: limit)) }
  }

  /// Returns how many revisions to forget in all to keep at most a number of bytes.
  private func excess(ofBytes limit: Int?) -> Int {
    guard let limit else { return 0 }
    return state.withLock { state in
      var (excess, bytes) = (0, state.bytes)
      // Composed changes are released with the revisions, at about the same rate.
      let composed = Double(state.changes.composedBytes) / Double(state.count)
      while excess < state.count - 1,
        bytes + Int(composed * Double(state.count - excess)) > limit,
        let next = state.entry(excess + 1)
      {
        excess += 1
        bytes -= next.bytes
      }
      return state.forgotten + excess
    }
  }

  /// Returns how many revisions to forget in all, so that at most a number of elements differ.
  private func excess(over limit: Int) -> Int {
    let (forest, count, forgotten) = state.withLock { ($0.changes, $0.count, $0.forgotten) }
    var excess = 0
    // An eighth of the revisions at a time, because each count composes their changes.
    while forest.composed(excess..<count - 1).elementCount > limit {
      excess += max(1, (count - excess) / 8)
    }
    state.withLock { $0.uncounted = 0 }
    return forgotten + excess
  }

  /// Forgets the oldest revisions up to a number in all, and those beyond the other limits.
  ///
  /// Another thread may have forgotten some of them already.
  private func forget(first total: Int = 0) {
    let now = retention.age == nil ? .zero : clock.now.offset
    let forgotten = state.withLock { state -> [Entry] in
      var count = max(0, total - state.forgotten, state.count - 1 - retention.revisions)
      if let age = retention.age {
        // A revision is as old as the one that replaced it.
        while count < state.count - 1, let next = state.entry(count + 1), now - next.time > age {
          count += 1
        }
      }
      if count <= 0 { return [] }
      let forgotten = (0..<count).compactMap { state.entry($0) }
      for index in 1...count {
        state.changeCount -= state.entry(index)?.changeCount ?? 0
        state.bytes -= state.entry(index)?.bytes ?? 0
      }
      for index in state.dropped..<state.dropped + count { state.entries[index] = nil }
      state.dropped += count
      state.forgotten += count
      state.changes.removeFirst(count)
      if state.dropped > state.entries.count / 2 {
        state.entries.removeFirst(state.dropped)
        state.dropped = 0
      }
      return forgotten
    }
    // Elements are released outside the lock.
    withExtendedLifetime(forgotten) {}
  }

  // MARK: Reading

  /// Returns the revision of a token, or `nil` if the token is not one of this history.
  func revision(of token: String) -> Int? {
    token.hasPrefix(epoch + "-") ? Int(token.dropFirst(epoch.count + 1)) : nil
  }

  var latest: Int { state.withLock { $0.entries.last??.revision ?? 0 } }

  /// The numbers of the oldest and the latest revision.
  var range: ClosedRange<Int> {
    if retention.age != nil { forget() }
    return state.withLock { state in
      (state.entry(0)?.revision ?? 0)...(state.entries.last??.revision ?? 0)
    }
  }

  func revisions() -> [CollectionHistory<Element>.Revision] {
    if retention.age != nil { forget() }
    let now = clock.now.offset
    let entries = state.withLock { state in (0..<state.count).compactMap { state.entry($0) } }
    return entries.map { .init(number: $0.revision, age: now - $0.time) }
  }

  func entry(at revision: Int) -> Entry? {
    if retention.age != nil { forget() }
    return state.withLock { state in state.index(of: revision).flatMap { state.entry($0) } }
  }

  /// The difference between the contents of two revisions.
  struct Difference {
    /// The change, or `nil` if the contents are equal.
    let change: CollectionChange<Element>?
  }

  /// Returns the difference between two revisions, or `nil` if the history does not have one of them.
  func difference(from start: Int, to end: Int) -> Difference? {
    if retention.age != nil { forget() }
    let (first, last) = (min(start, end), max(start, end))
    let found = state.withLock { state -> (Entry, Entry, ChangeForest, Range<Int>)? in
      guard let low = state.index(of: first), let high = state.index(of: last),
        let old = state.entry(low), let new = state.entry(high)
      else { return nil }
      return (old, new, state.changes, low..<high)
    }
    guard let (old, new, forest, range) = found else { return nil }
    let composed = forest.composed(range)
    // A change of more elements than there are is no smaller than the difference.
    let changeset =
      composed.changeCount > old.snapshot.count + new.snapshot.count
      ? old.snapshot.changeset(to: new.snapshot)
      : composed.normalForm(from: old.snapshot, to: new.snapshot)
    if changeset.hasNoEffect(from: old.snapshot, to: new.snapshot) {
      return Difference(change: nil)
    }
    if start > end {
      return Difference(
        change: CollectionChange(
          before: new.snapshot, after: old.snapshot, revisionBefore: new.revision,
          revision: old.revision, changeset: changeset.inverse))
    }
    return Difference(
      change: CollectionChange(
        before: old.snapshot, after: new.snapshot, revisionBefore: old.revision,
        revision: new.revision, changeset: changeset))
  }
}

extension Changeset {
  /// The number of elements that are deleted, inserted, updated or moved, each counted once.
  fileprivate var elementCount: Int {
    let moved = Set(moves.map(\.to))
    return deletions.count + insertions.count + moves.count
      + updates.count { !moved.contains($0.to) }
  }
}

/// Consecutive changesets, of which any range can be composed of O(log *n*) parts.
///
/// The parts are trees. Each tree combines two of equal size, and composes its changes when they are needed.
struct ChangeForest: Sendable {
  /// The bytes of composed changes in all forests that share trees.
  private final class ByteTotal: Sendable {
    let value = Locked(0)
  }

  /// A changeset, or two trees one after the other.
  private final class Tree: Sendable {
    let count: Int
    let parts: (first: Tree, second: Tree)?
    private let changeset: Locked<Changeset?>
    /// The total that has the bytes of a composed change.
    private let total: ByteTotal?

    init(_ changeset: Changeset) {
      (count, parts, total) = (1, nil, nil)
      self.changeset = Locked(changeset)
    }

    init(_ first: Tree, _ second: Tree, _ total: ByteTotal) {
      (count, parts, self.total) = (first.count + second.count, (first, second), total)
      changeset = Locked(nil)
    }

    deinit {
      if let total, let bytes = changeset.withLock({ $0?.byteCount }) {
        total.value.withLock { $0 -= bytes }
      }
    }

    /// The composed change of the tree.
    func composed() -> Changeset {
      if let known = changeset.withLock({ $0 }) { return known }
      guard let parts else { return .empty }
      let new = parts.first.composed().composed(with: parts.second.composed())
      // Another thread may have composed it meanwhile.
      let before = changeset.withLock { changeset in
        defer { changeset = new }
        return changeset?.byteCount ?? 0
      }
      total?.value.withLock { $0 += new.byteCount - before }
      return new
    }
  }

  private var trees: [Tree] = []
  private let total = ByteTotal()

  /// About how many bytes the changes take that were composed and are kept.
  var composedBytes: Int { total.value.withLock { $0 } }

  mutating func append(_ changeset: Changeset) {
    trees.append(Tree(changeset))
    while trees.count > 1, trees[trees.count - 2].count == trees[trees.count - 1].count {
      let second = trees.removeLast()
      trees[trees.count - 1] = Tree(trees[trees.count - 1], second, total)
    }
  }

  /// Removes the first changesets.
  mutating func removeFirst(_ count: Int) {
    var (count, kept) = (count, trees[...])
    while count > 0, let first = kept.popFirst() {
      if first.count <= count {
        count -= first.count
      } else if let parts = first.parts {
        kept = [parts.first, parts.second] + kept
      }
    }
    trees = Array(kept)
  }

  func composed(_ range: Range<Int>) -> Changeset {
    var result = Changeset.empty
    func add(_ tree: Tree, _ start: Int) {
      if range.upperBound <= start || range.lowerBound >= start + tree.count { return }
      if range.lowerBound <= start && start + tree.count <= range.upperBound {
        result = result.composed(with: tree.composed())
      } else if let parts = tree.parts {
        add(parts.first, start)
        add(parts.second, start + parts.first.count)
      }
    }
    var start = 0
    for tree in trees {
      add(tree, start)
      start += tree.count
    }
    return result
  }
}
