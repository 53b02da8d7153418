public import Diffing

/// A changeset with the two snapshots that it leads from and to. It is never empty.
public struct CollectionChange<Element: Differentiable & Sendable>: Sendable {
  // One reference, so that it costs little to hand on to many observers.
  private let update: CollectionUpdate<Element>

  package init(_ update: CollectionUpdate<Element>) {
    self.update = update
  }

  package init(
    before: Snapshot<Element>, after: Snapshot<Element>, revisionBefore: Int, revision: Int,
    changeset: Changeset
  ) {
    update = CollectionUpdate(
      before: before, revisionBefore: revisionBefore, changeset: changeset,
      state: CollectionState(after, revision: revision, status: .loaded, hasLoaded: true),
      isStatusStep: false)
  }

  /// The collection before the change: that of the event before.
  public var before: Snapshot<Element> { update.before }
  /// The collection after the change.
  public var after: Snapshot<Element> { update.box.state.snapshot }
  /// The revision of the event before.
  public var revisionBefore: Int { update.revisionBefore }
  /// The revision after the change. It is higher by more than one where several changes were merged.
  public var revision: Int { update.box.state.revision }
  /// What differs, as simultaneous offsets.
  public var changeset: Changeset { update.changeset }

  /// The same change as single steps: removals, moves, insertions and updates.
  ///
  /// Each has its element, and its offset at that moment.
  ///
  /// - Complexity: O(k log k) for k operations.
  public var patch: Patch<Element> {
    Patch(changeset, from: before, to: after)
  }

  /// The same change in stages, each of which a batch-updating view may perform at once.
  ///
  /// - Complexity: O(n) for each of at most three stages.
  public var stages: StagedChangeset<Element, Changeset> {
    StagedChangeset(changeset, from: before.array, to: after.array)
  }

  /// The elements that were deleted, with their offsets before the change.
  public var deleted: some Sequence<(offset: Int, element: Element)> {
    changeset.deletions.lazy.map { [before] in (offset: $0, element: before[$0]) }
  }

  /// The elements that were inserted, with their offsets after the change.
  public var inserted: some Sequence<(offset: Int, element: Element)> {
    changeset.insertions.lazy.map { [after] in (offset: $0, element: after[$0]) }
  }

  /// The elements whose content differs, with their offsets before and after the change.
  public var updated: some Sequence<(from: Int, to: Int, old: Element, new: Element)> {
    changeset.updates.lazy.map { [before, after] in
      (from: $0.from, to: $0.to, old: before[$0.from], new: after[$0.to])
    }
  }

  /// The elements that left the order of the others, with their offsets before and after the change.
  public var moved: some Sequence<(from: Int, to: Int, element: Element)> {
    changeset.moves.lazy.map { [after] in (from: $0.from, to: $0.to, element: after[$0.to]) }
  }
}
