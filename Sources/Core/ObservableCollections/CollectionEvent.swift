public import ChangeDescriptions
public import Diffing

/// An event that an observer of a collection receives: `initial` once and first, then only `change`.
public enum CollectionEvent<Element: Differentiable & Sendable>: Sendable {
  /// The collection when the observation begins, even if it is empty.
  case initial(Snapshot<Element>, revision: Int)
  /// The change since the previous event.
  case change(CollectionChange<Element>)

  /// The collection after this event.
  public var snapshot: Snapshot<Element> {
    switch self {
    case .initial(let snapshot, _): snapshot
    case .change(let change): change.after
    }
  }

  /// The collection's revision after this event.
  public var revision: Int {
    switch self {
    case .initial(_, let revision): revision
    case .change(let change): change.revision
    }
  }
}

/// A change of a collection: a changeset, and the snapshots before and after it. It is never empty.
public struct CollectionChange<Element: Differentiable & Sendable>: Sendable {
  // One reference, so passing the change to many observers costs little.
  @usableFromInline let update: CollectionUpdate<Element>

  @inlinable
  init(_ update: CollectionUpdate<Element>) {
    self.update = update
  }

  package init(
    before: Snapshot<Element>, after: Snapshot<Element>, revisionBefore: Int, revision: Int,
    changeset: Changeset
  ) {
    let state = CollectionState(after, revision: revision, status: .loaded, hasLoaded: true)
    update = CollectionUpdate(before, revisionBefore, changeset, StateBox(state), false, nil)
  }

  /// The collection before the change, which the previous event delivered.
  @inlinable public var before: Snapshot<Element> { update.before }
  /// The collection after the change.
  @inlinable public var after: Snapshot<Element> { update.after }
  /// The revision of the previous event.
  @inlinable public var revisionBefore: Int { update.revisionBefore }
  /// The revision after the change. If several changes were merged, it is higher by more than one.
  @inlinable public var revision: Int { update.box.state.revision }
  /// The difference, as offsets before and after the change.
  @inlinable public var changeset: Changeset { update.changeset }

  /// The change as single steps: removals, moves, insertions and updates.
  ///
  /// Each step has its element, and the offset at the moment of the step.
  ///
  /// - Complexity: O(k log k) for k operations.
  public var patch: Patch<Element> {
    Patch(changeset, from: before, to: after)
  }

  /// The change in stages, each of which a view can perform as one batch update.
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

  /// The elements that were moved, with their offsets before and after the change.
  public var moved: some Sequence<(from: Int, to: Int, element: Element)> {
    changeset.moves.lazy.map { [after] in (from: $0.from, to: $0.to, element: after[$0.to]) }
  }
}

extension CollectionChange {
  /// The change with its inserted, deleted and updated elements, which can be sent to another process.
  ///
  /// - Complexity: O(k) for k operations.
  public var record: ChangeRecord<Element> {
    ChangeRecord(changeset, from: before, to: after)
  }

  /// The change by identity, for a dictionary that has the elements of the list.
  ///
  /// ```swift
  /// let edits = change.byIdentity
  /// for todo in edits.deleted { titles[todo.id] = nil }
  /// for todo in edits.stored { titles[todo.id] = todo.title }
  /// ```
  ///
  /// An update at an offset may change the identity of its element, and two updates may exchange two identities.
  ///
  /// - Complexity: O(k) on average for k operations.
  public var byIdentity: ChangeRecord<Element>.ByIdentity { record.byIdentity }
}

extension CollectionChange: CustomStringConvertible {
  /// A description for people of the inserted, deleted, moved and updated elements, in at most 20 lines.
  ///
  /// For more lines, or colors, see `ChangeDescription`.
  public var description: String {
    ChangeDescription(self).description
  }
}

extension ChangeDescription {
  /// Describes a change of a collection.
  ///
  /// - Parameters:
  ///   - change: The change.
  ///   - style: The length and the form of the description.
  public init<Element>(_ change: CollectionChange<Element>, style: Style = Style()) {
    self.init(change.changeset, from: change.before, to: change.after, style: style)
  }
}
