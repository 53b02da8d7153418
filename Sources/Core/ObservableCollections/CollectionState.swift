public import Diffing
public import ReactiveSignals

/// The contents, the revision and the status of a collection at one moment.
public struct CollectionState<Element: Differentiable & Sendable>: Sendable {
  /// The contents.
  public let snapshot: Snapshot<Element>
  /// The number of changes of the contents so far.
  public let revision: Int
  // One reference, because each change of the contents copies it.
  @usableFromInline let condition: SourceCondition

  /// The status of the source.
  public var status: SourceStatus { condition.status }
  /// A Boolean value that indicates whether the source has ever held good contents.
  ///
  /// If it has, an empty collection is really empty.
  public var hasLoaded: Bool { condition.hasLoaded }

  @usableFromInline
  package init(
    _ snapshot: Snapshot<Element>, revision: Int, status: SourceStatus, hasLoaded: Bool
  ) {
    self.init(snapshot, revision: revision, SourceCondition(status, hasLoaded: hasLoaded))
  }

  @inlinable
  init(_ snapshot: Snapshot<Element>, revision: Int, _ condition: SourceCondition) {
    self.snapshot = snapshot
    self.revision = revision
    self.condition = condition
  }

  /// Creates the state of a source that has not loaded.
  package init(unloaded status: SourceStatus) {
    self.init(Snapshot(), revision: 0, status: status, hasLoaded: status.state == .loaded)
  }

  /// Returns this state with other contents.
  @inlinable
  func with(_ snapshot: Snapshot<Element>, revision: Int) -> CollectionState {
    CollectionState(snapshot, revision: revision, condition)
  }
}

/// A status, and whether the source has ever held good contents.
@usableFromInline
final class SourceCondition: Sendable {
  @usableFromInline let status: SourceStatus
  @usableFromInline let hasLoaded: Bool

  init(_ status: SourceStatus, hasLoaded: Bool) {
    self.status = status
    self.hasLoaded = hasLoaded
  }

  /// Returns the condition after a status, or `nil` if it is the same.
  @usableFromInline
  func next(_ next: OperatorStatus) -> SourceCondition? {
    if next.status == status, hasLoaded || !next.hasLoaded { return nil }
    return SourceCondition(
      next.status, hasLoaded: hasLoaded || next.hasLoaded || next.status.state == .loaded)
  }
}

/// A state as an object, without the state before it.
@usableFromInline
package final class StateBox<Element: Differentiable & Sendable>: Sendable {
  @usableFromInline package let state: CollectionState<Element>

  @inlinable
  package init(_ state: CollectionState<Element>) {
    self.state = state
  }

  /// The state of a collection's node, with its type.
  // Inlined: a call that is not would look up the type of the class.
  @inlinable @inline(__always)
  package static func read(_ state: NodeState?) -> StateBox<Element> {
    guard let state else { preconditionFailure("the node of a collection has no state") }
    return unsafeDowncast(state, to: StateBox<Element>.self)
  }
}

/// The update of a collection in one commit or pass: a change, a status step, or both.
@usableFromInline
package final class CollectionUpdate<Element: Differentiable & Sendable>: NodeUpdate,
  @unchecked Sendable
{
  // Sendable: an update that has `recorded` was composed for one domain, whose lock guards it while the
  // update is pending. The delivering thread owns it from then on, and publishes no update that has it.
  // In all other updates, `recorded` is nil and is only read. It is read and written whole, so access is not
  // checked for exclusivity at run time.

  @usableFromInline let before: Snapshot<Element>
  @usableFromInline let revisionBefore: Int
  /// Empty if the contents stay the same.
  @usableFromInline let changeset: Changeset
  /// The state after the update.
  @usableFromInline package let box: StateBox<Element>
  @usableFromInline package let hasChange: Bool
  @usableFromInline package let isStatusStep: Bool
  /// The changesets of commits that became this update. They are composed by `resolved()`.
  @exclusivity(unchecked) @usableFromInline var recorded: ChangesetAccumulator?

  @inlinable package var state: NodeState { box }
  /// The contents after the update.
  @inlinable var after: Snapshot<Element> { box.state.snapshot }
  @inlinable package var changeCount: Int { changeset.changeCount }
  @inlinable package var size: (changes: Int, limit: Int) { (changeset.changeCount, after.count) }

  @inlinable
  init(
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

  /// Creates the first update of a derived collection.
  @inlinable
  convenience init(first state: CollectionState<Element>) {
    self.init(Snapshot(), 0, .empty, StateBox(state), false, nil)
  }

  @inlinable package var change: CollectionChange<Element>? {
    hasChange ? CollectionChange(self) : nil
  }

  /// An update on its way to observers, with its type.
  @inlinable @inline(__always)
  package static func read(_ event: NodeState) -> CollectionUpdate<Element> {
    unsafeDowncast(event, to: CollectionUpdate<Element>.self)
  }

  // MARK: Composing pending updates

  /// A Boolean value that indicates whether `resolved()` has work to do.
  @inlinable package var isComposed: Bool { recorded != nil }

  /// Composes this update with the next one, without comparing elements.
  ///
  /// Recorded changesets are dropped if they take more memory than the contents before and after.
  ///
  /// - Complexity: O(1) on average, and O(m) if m commits became the next update.
  @usableFromInline
  package func composed(with next: any NodeUpdate) -> any NodeUpdate {
    let later = CollectionUpdate.read(next)
    let limit = before.count + later.after.count
    var changes = recorded ?? ChangesetAccumulator(changeset)
    // The array must not be copied. Without one, this update may be pending in several domains, whose
    // threads may only read it.
    if recorded != nil { recorded = nil }
    if let recorded = later.recorded {
      changes.append(recorded, limit: limit)
    } else {
      changes.append(later.changeset, limit: limit)
    }
    return CollectionUpdate(
      before, revisionBefore, .empty, later.box, isStatusStep || later.isStatusStep, changes)
  }

  @inlinable
  package func continues(_ state: NodeState) -> Bool {
    revisionBefore == StateBox<Element>.read(state).state.revision
  }

  /// Returns an equal update that continues from a state with the same contents.
  @usableFromInline
  package func continued(from state: NodeState) -> any NodeUpdate {
    let state = StateBox<Element>.read(state).state
    if hasChange {
      return CollectionUpdate(
        state.snapshot, state.revision, changeset, box, isStatusStep, recorded)
    }
    // Observers of the contents receive nothing, so their next event continues from this revision.
    let after = box.state.with(state.snapshot, revision: state.revision)
    return CollectionUpdate(
      state.snapshot, state.revision, changeset, StateBox(after), isStatusStep, recorded)
  }

  /// Returns the update that observers receive, or `nil` if nothing has changed in the end.
  @usableFromInline
  package func resolved() -> (any NodeUpdate)? {
    guard let recorded else { return self }
    if hasChange, let changeset = recorded.normalForm(from: before, to: after) {
      return CollectionUpdate(before, revisionBefore, changeset, box, isStatusStep, nil)
    }
    guard isStatusStep else { return nil }
    let state = box.state.with(before, revision: revisionBefore)
    return CollectionUpdate(before, revisionBefore, .empty, StateBox(state), true, nil)
  }
}

extension CollectionState {
  /// Returns the update that a change, a status or both bring to this state, or `nil` if nothing changes.
  ///
  /// - Parameters:
  ///   - contents: The new contents.
  ///   - changeset: Their difference, or `nil` if they stay the same.
  ///   - status: The new status, or `nil` if it stays the same, and whether the contents are good, whatever the status.
  @inlinable
  package func advanced(
    to contents: Snapshot<Element>, by changeset: consuming Changeset?, _ status: OperatorStatus?
  ) -> CollectionUpdate<Element>? {
    let next = status.flatMap(condition.next)
    let hasChange = changeset?.isEmpty == false
    if !hasChange, next == nil { return nil }
    let state = CollectionState(
      hasChange ? contents : snapshot, revision: hasChange ? revision + 1 : revision,
      next ?? condition)
    return CollectionUpdate(
      snapshot, revision, changeset ?? .empty, StateBox(state), next != nil, nil)
  }
}
