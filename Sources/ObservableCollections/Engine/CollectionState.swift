public import Diffing

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

/// What one round brings to a collection: a change, a status step, or both.
package struct CollectionUpdate<Element: Differentiable & Sendable>: Sendable {
  package let change: CollectionChange<Element>?
  /// The state after it.
  package let state: CollectionState<Element>
  package let isStatusStep: Bool

  package init(
    change: CollectionChange<Element>?, state: CollectionState<Element>, isStatusStep: Bool
  ) {
    self.change = change
    self.state = state
    self.isStatusStep = isStatusStep
  }
}

extension CollectionState {
  /// Moves on by a change and a status, and says what that brings.
  ///
  /// - Parameters:
  ///   - contents: The new contents with what differs; nil where nothing does.
  ///   - status: The new status.
  ///   - hasLoaded: Whether good contents are there now, whatever the status.
  /// - Returns: What to publish; nil where nothing changes.
  package mutating func advance(
    to contents: (snapshot: Snapshot<Element>, changeset: Changeset)?, status: SourceStatus,
    hasLoaded: Bool = false
  ) -> CollectionUpdate<Element>? {
    var change: CollectionChange<Element>?
    if let contents, !contents.changeset.isEmpty {
      change = CollectionChange(
        before: snapshot, after: contents.snapshot, revisionBefore: revision,
        revision: revision + 1, changeset: contents.changeset)
      snapshot = contents.snapshot
      revision += 1
    }
    let isStatusStep = self.status != status || (hasLoaded && !self.hasLoaded)
    if isStatusStep { set(status) }
    if hasLoaded { self.hasLoaded = true }
    guard change != nil || isStatusStep else { return nil }
    return CollectionUpdate(change: change, state: self, isStatusStep: isStatusStep)
  }
}
