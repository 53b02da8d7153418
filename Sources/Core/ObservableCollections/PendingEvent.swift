package import Diffing
package import ReactiveSignals

/// An event on its way to an observer.
///
/// Merging keeps the contents at both ends and the changesets between them. The receiver composes
/// the changesets outside of any lock.
package enum PendingEvent<Element: Differentiable & Sendable>: Mergeable {
  /// The contents at one revision.
  package struct Moment: Sendable {
    let snapshot: Snapshot<Element>
    let revision: Int
  }

  /// Objects that merging drops. They are released outside of the lock.
  package struct Released: Sendable {
    fileprivate let event: PendingEvent<Element>
    fileprivate let changesets: [Changeset]
  }

  case initial(Moment)
  case change(CollectionChange<Element>)
  case changes(from: Moment, to: Moment, ChangesetAccumulator)

  /// Returns the first event of an observer.
  static func initial(_ event: NodeState) -> PendingEvent<Element> {
    let state = StateBox<Element>.read(event).state
    return .initial(Moment(snapshot: state.snapshot, revision: state.revision))
  }

  /// Returns the event for the update of a pass, or `nil` if the contents stay the same.
  static func change(_ event: NodeState) -> PendingEvent<Element>? {
    CollectionUpdate<Element>.read(event).change.map { .change($0) }
  }

  private var start: Moment? {
    switch self {
    case .initial: nil
    case .change(let change): Moment(snapshot: change.before, revision: change.revisionBefore)
    case .changes(let start, _, _): start
    }
  }

  /// The contents after the event.
  var end: Moment {
    switch self {
    case .initial(let moment): moment
    case .change(let change): Moment(snapshot: change.after, revision: change.revision)
    case .changes(_, let end, _): end
    }
  }

  /// The memory that the recorded changesets take, in words.
  package var footprint: Int {
    switch self {
    case .initial: 0
    case .change(let change): change.changeset.footprint
    case .changes(_, _, let changes): changes.footprint
    }
  }

  /// Merges the next event into this one.
  ///
  /// Recorded changesets are dropped if they take more memory than the elements at both ends.
  /// Memory stays bounded however slow the observer is, and comparing the ends then costs less than
  /// composing would.
  package mutating func merge(with later: PendingEvent<Element>) -> Released {
    let end = later.end
    guard let start else {
      defer { self = .initial(end) }
      return Released(event: self, changesets: [])
    }
    let limit = start.snapshot.count + end.snapshot.count
    var changes = takeChanges(from: start)
    var dropped: [Changeset] = []
    if case .change(let change) = later {
      dropped = changes.append(change.changeset, limit: limit)
    } else {
      dropped = changes.exceed()
    }
    defer { self = .changes(from: start, to: end, changes) }
    return Released(event: self, changesets: dropped)
  }

  /// Removes the recorded changesets and returns them, because appending to a shared array would
  /// copy it.
  private mutating func takeChanges(from start: Moment) -> ChangesetAccumulator {
    switch self {
    case .initial: return ChangesetAccumulator()
    case .change(let change): return ChangesetAccumulator(change.changeset)
    case .changes(_, let end, let changes):
      self = .changes(from: start, to: end, ChangesetAccumulator())
      return changes
    }
  }

  /// Returns the event that the observer receives, or `nil` if nothing has changed in the end.
  ///
  /// - Parameter shown: The contents after the last event that the observer has received, or `nil`
  ///   before its first event. If merged changes had no net effect, their revision is older than
  ///   the start of this event.
  func resolved(after shown: Moment?) -> CollectionEvent<Element>? {
    switch self {
    case .initial(let moment):
      return .initial(moment.snapshot, revision: moment.revision)
    case .change(let change):
      guard let shown, shown.revision != change.revisionBefore else { return .change(change) }
      // Merged changes before this one had no net effect, so the contents shown are equal to its
      // start.
      return .change(
        CollectionChange(
          before: shown.snapshot, after: change.after, revisionBefore: shown.revision,
          revision: change.revision, changeset: change.changeset))
    case .changes(let start, let end, let changes):
      // If `shown` is not the start, its contents are equal, so the recorded changesets fit it as
      // well.
      let from = shown ?? start
      guard let changeset = changes.normalForm(from: from.snapshot, to: end.snapshot) else {
        return nil
      }
      return .change(
        CollectionChange(
          before: from.snapshot, after: end.snapshot, revisionBefore: from.revision,
          revision: end.revision, changeset: changeset))
    }
  }
}

extension ChangesetAccumulator {
  /// Returns the net change of all recorded changesets, or `nil` if the contents are equal in the end.
  ///
  /// - Complexity: O(*k* log *k*) for *k* operations. O(*n*) more for *n* elements if the recorded
  ///   changesets were dropped, or if many elements were moved or updated.
  func normalForm<Element: Differentiable>(
    from old: Snapshot<Element>, to new: Snapshot<Element>
  ) -> Changeset? {
    guard let composed = composed()?.normalForm(from: old, to: new) else {
      return old.hasSameContents(as: new) ? nil : old.changeset(to: new)
    }
    if composed.hasNoEffect(from: old, to: new) { return nil }
    // With duplicate identities, the composed changeset may move and update more than necessary. Look for
    // a smaller one if that costs no more than composing did. A difference has no updates that change an identity.
    if count > 1, 16 * (composed.moves.count + composed.updates.count) > old.count + new.count,
      composed.updates.allSatisfy({
        old[$0.from].hasSameIdentity(as: new[$0.to])
      })
    {
      let difference = old.changeset(to: new)
      if difference.changeCount < composed.changeCount { return difference }
    }
    return composed
  }
}

extension ChangesetAccumulator? {
  /// Appends a change. If all changes take more memory than the elements, they are dropped.
  mutating func append<Element>(_ change: CollectionChange<Element>) {
    // The array of changes must not be copied.
    var changes = take() ?? ChangesetAccumulator()
    changes.append(change.changeset, limit: change.before.count + change.after.count)
    self = changes
  }
}

extension LiveCollection {
  /// Observes the collection with events that can be merged.
  package func observePending(
    mailbox: (any MailboxFlushing)? = nil,
    _ post: @escaping @Sendable (PendingEvent<Element>) -> Void
  ) -> Observation {
    node.observers.subscribe(
      { event in if let event = PendingEvent<Element>.change(event) { post(event) } },
      mailbox: mailbox, capture: { [node] _ in node.published }, first: { post(.initial($0)) })
  }
}

/// Converts pending events into the events that an observer receives, one after the other.
package final class PendingEventResolver<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: one call at a time accesses `shown`. The mailbox passes it on under its lock.

  private var shown: PendingEvent<Element>.Moment?

  package init() {}

  package func resolve(_ event: PendingEvent<Element>) -> CollectionEvent<Element>? {
    guard let resolved = event.resolved(after: shown) else { return nil }
    shown = PendingEvent.Moment(snapshot: resolved.snapshot, revision: resolved.revision)
    return resolved
  }
}
