public import Diffing
package import ReactiveSignals

/// The contents, the revision and the status of a collection at one moment.
public struct CollectionState<Element: Differentiable & Sendable>: Sendable {
  /// The contents.
  public internal(set) var snapshot: Snapshot<Element>
  /// The number of changes of the contents so far.
  public internal(set) var revision: Int
  /// The status of the source.
  public internal(set) var status: SourceStatus
  /// A Boolean value that indicates whether the source has ever held good contents.
  ///
  /// If it has, an empty collection is really empty.
  public internal(set) var hasLoaded: Bool

  package init(
    _ snapshot: Snapshot<Element>, revision: Int, status: SourceStatus, hasLoaded: Bool
  ) {
    self.snapshot = snapshot
    self.revision = revision
    self.status = status
    self.hasLoaded = hasLoaded
  }

  /// Creates the state of a source that has not loaded.
  package init(unloaded status: SourceStatus) {
    self.init(Snapshot(), revision: 0, status: status, hasLoaded: status.state == .loaded)
  }

  package mutating func set(_ status: SourceStatus) {
    self.status = status
    if status.state == .loaded { hasLoaded = true }
  }
}

/// A state as an object, without the state before it.
package final class StateBox<Element: Differentiable & Sendable>: Sendable {
  package let state: CollectionState<Element>

  package init(_ state: CollectionState<Element>) {
    self.state = state
  }

  /// The state of a collection's node, with its type.
  // Inlined: a call that is not would look up the type of the class.
  @inline(__always)
  package static func read(_ state: Event?) -> StateBox<Element> {
    guard let state else { preconditionFailure("the node of a collection has no state") }
    return unsafeDowncast(state, to: StateBox<Element>.self)
  }
}

/// The update of a collection in one commit or pass: a change, a status step, or both.
package final class CollectionUpdate<Element: Differentiable & Sendable>: Update,
  @unchecked Sendable
{
  // Sendable: an update that has `recorded` was composed for one domain, whose lock guards it while the
  // update is pending. The delivering thread owns it from then on, and publishes no update that has it.
  // In all other updates, `recorded` is nil and is only read.

  package let before: Snapshot<Element>
  package let revisionBefore: Int
  /// Empty if the contents stay the same.
  package let changeset: Changeset
  /// The state after the update.
  package let box: StateBox<Element>
  package let hasChange: Bool
  package let isStatusStep: Bool
  /// The changesets of commits that became this update. They are composed by `resolved()`.
  private var recorded: ChangesetAccumulator?

  package var state: Event { box }
  /// The contents after the update.
  package var after: Snapshot<Element> { box.state.snapshot }
  package var size: (changes: Int, limit: Int) { (changeset.changeCount, after.count) }

  package convenience init(
    before: Snapshot<Element>, revisionBefore: Int, changeset: Changeset,
    state: CollectionState<Element>, isStatusStep: Bool
  ) {
    self.init(before, revisionBefore, changeset, StateBox(state), isStatusStep, nil)
  }

  private init(
    _ before: Snapshot<Element>, _ revisionBefore: Int, _ changeset: Changeset,
    _ box: StateBox<Element>, _ isStatusStep: Bool, _ recorded: ChangesetAccumulator?
  ) {
    self.before = before
    self.revisionBefore = revisionBefore
    self.changeset = changeset
    self.box = box
    self.isStatusStep = isStatusStep
    self.recorded = recorded
    hasChange = revisionBefore != box.state.revision
  }

  package var change: CollectionChange<Element>? {
    hasChange ? CollectionChange(self) : nil
  }

  /// An update on its way to observers, with its type.
  @inline(__always)
  package static func read(_ event: Event) -> CollectionUpdate<Element> {
    unsafeDowncast(event, to: CollectionUpdate<Element>.self)
  }

  // MARK: Composing pending updates

  /// A Boolean value that indicates whether `resolved()` has work to do.
  package var isComposed: Bool { recorded != nil }

  /// Composes this update with the next one, without comparing elements.
  ///
  /// Recorded changesets are dropped if they take more memory than the contents before and after.
  ///
  /// - Complexity: O(1) on average.
  package func composed(with next: any Update) -> any Update {
    let later = CollectionUpdate.read(next)
    let limit = before.count + later.after.count
    var changes = recorded ?? ChangesetAccumulator(changeset)
    // The array must not be copied. Without one, this update may be pending in several domains, whose
    // threads may only read it.
    if recorded != nil { recorded = nil }
    if later.recorded == nil {
      changes.append(later.changeset, limit: limit)
    } else {
      changes.exceed()
    }
    return CollectionUpdate(
      before, revisionBefore, .empty, later.box, isStatusStep || later.isStatusStep, changes)
  }

  /// Returns an equal update that continues from a state with the same contents.
  package func continued(from state: Event) -> any Update {
    let state = StateBox<Element>.read(state).state
    if revisionBefore == state.revision { return self }
    if hasChange {
      return CollectionUpdate(
        state.snapshot, state.revision, changeset, box, isStatusStep, recorded)
    }
    // Observers of the contents receive nothing, so their next event continues from this revision.
    var after = box.state
    (after.snapshot, after.revision) = (state.snapshot, state.revision)
    return CollectionUpdate(
      state.snapshot, state.revision, changeset, StateBox(after), isStatusStep, recorded)
  }

  /// Returns the update that observers receive, or `nil` if nothing has changed in the end.
  package func resolved() -> (any Update)? {
    guard let recorded else { return self }
    if hasChange, let changeset = recorded.normalForm(from: before, to: after) {
      return CollectionUpdate(before, revisionBefore, changeset, box, isStatusStep, nil)
    }
    guard isStatusStep else { return nil }
    var state = box.state
    (state.snapshot, state.revision) = (before, revisionBefore)
    return CollectionUpdate(before, revisionBefore, .empty, StateBox(state), true, nil)
  }
}

extension CollectionState {
  /// Returns the update that a change and a status bring to this state, or `nil` if nothing changes.
  ///
  /// - Parameters:
  ///   - contents: The new contents and their difference, or `nil` if they stay the same.
  ///   - status: The new status.
  ///   - hasLoaded: Whether the contents are good, whatever the status.
  package func advanced(
    to contents: (snapshot: Snapshot<Element>, changeset: Changeset)?, status: SourceStatus,
    hasLoaded: Bool = false
  ) -> CollectionUpdate<Element>? {
    var next = self
    var changeset = Changeset.empty
    if let contents, !contents.changeset.isEmpty {
      changeset = contents.changeset
      next.snapshot = contents.snapshot
      next.revision += 1
    }
    let isStatusStep = self.status != status || (hasLoaded && !self.hasLoaded)
    if isStatusStep { next.set(status) }
    if hasLoaded { next.hasLoaded = true }
    guard isStatusStep || next.revision > revision else { return nil }
    return CollectionUpdate(
      before: snapshot, revisionBefore: revision, changeset: changeset, state: next,
      isStatusStep: isStatusStep)
  }
}
