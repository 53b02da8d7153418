public import Diffing
package import ReactiveSignals

/// What a collection holds and how it is doing, read together.
public struct CollectionState<Element: Differentiable & Sendable>: Sendable {
  /// The contents.
  public internal(set) var snapshot: Snapshot<Element>
  /// Grows by one with each change of the contents.
  public internal(set) var revision: Int
  /// How the source is doing.
  public internal(set) var status: SourceStatus
  /// Whether it has held good contents at any time: from then on, empty means empty.
  public internal(set) var hasLoaded: Bool

  package init(
    _ snapshot: Snapshot<Element>, revision: Int, status: SourceStatus, hasLoaded: Bool
  ) {
    self.snapshot = snapshot
    self.revision = revision
    self.status = status
    self.hasLoaded = hasLoaded
  }

  /// The state before anything was loaded.
  package init(unloaded status: SourceStatus) {
    self.init(Snapshot(), revision: 0, status: status, hasLoaded: status.state == .loaded)
  }

  package mutating func set(_ status: SourceStatus) {
    self.status = status
    if status.state == .loaded { hasLoaded = true }
  }
}

/// A state as an object of its own: what is published keeps nothing of what was before it.
package final class StateBox<Element: Differentiable & Sendable>: Sendable {
  package let state: CollectionState<Element>

  package init(_ state: CollectionState<Element>) {
    self.state = state
  }

  /// What joins a collection of such elements is given first.
  package static func read(_ event: Event) -> StateBox<Element> {
    unsafeDowncast(event, to: StateBox<Element>.self)
  }
}

/// What one round brings to a collection: a change, a status step, or both.
package final class CollectionUpdate<Element: Differentiable & Sendable>: Sendable {
  package let before: Snapshot<Element>
  package let revisionBefore: Int
  /// Empty where the contents stay.
  package let changeset: Changeset
  /// The state after it.
  package let box: StateBox<Element>
  package let isStatusStep: Bool

  package var state: CollectionState<Element> { box.state }

  package init(
    before: Snapshot<Element>, revisionBefore: Int, changeset: Changeset,
    state: CollectionState<Element>, isStatusStep: Bool
  ) {
    self.before = before
    self.revisionBefore = revisionBefore
    self.changeset = changeset
    box = StateBox(state)
    self.isStatusStep = isStatusStep
  }

  package var change: CollectionChange<Element>? {
    revisionBefore == box.state.revision ? nil : CollectionChange(self)
  }

  /// What observers of a collection of such elements are given.
  package static func read(_ event: Event) -> CollectionUpdate<Element> {
    unsafeDowncast(event, to: CollectionUpdate<Element>.self)
  }
}

extension CollectionState {
  /// What a change and a status bring to this state.
  ///
  /// - Parameters:
  ///   - contents: The new contents with what differs; nil where nothing does.
  ///   - status: The new status.
  ///   - hasLoaded: Whether good contents are there now, whatever the status.
  /// - Returns: What to publish; nil where nothing changes.
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
