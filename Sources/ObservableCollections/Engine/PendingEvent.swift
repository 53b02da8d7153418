package import Diffing
package import ReactiveSignals

/// An event on its way to an observer.
///
/// Merging keeps the ends and what was recorded between them; it is composed by the receiver, outside of
/// any lock.
package enum PendingEvent<Element: Differentiable & Sendable>: Mergeable {
  /// An observed moment.
  package struct Moment: Sendable {
    let snapshot: Snapshot<Element>
    let revision: Int
  }

  /// What is let go of by merging.
  package struct Released: Sendable {
    fileprivate let event: PendingEvent<Element>
    fileprivate let changesets: [Changeset]
  }

  case initial(Moment)
  case change(CollectionChange<Element>)
  case changes(from: Moment, to: Moment, ChangesetAccumulator)

  /// What is to be told first.
  package static func initial(_ event: Event) -> PendingEvent<Element> {
    let state = StateBox<Element>.read(event).state
    return .initial(Moment(snapshot: state.snapshot, revision: state.revision))
  }

  /// What a round has brought; nil where that is no change.
  package static func change(_ event: Event) -> PendingEvent<Element>? {
    CollectionUpdate<Element>.read(event).change.map { .change($0) }
  }

  private var start: Moment? {
    switch self {
    case .initial: nil
    case .change(let change): Moment(snapshot: change.before, revision: change.revisionBefore)
    case .changes(let start, _, _): start
    }
  }

  /// The moment that it leads to.
  package var end: Moment {
    switch self {
    case .initial(let moment): moment
    case .change(let change): Moment(snapshot: change.after, revision: change.revision)
    case .changes(_, let end, _): end
    }
  }

  /// How much waits in it besides two snapshots, in words.
  package var footprint: Int {
    switch self {
    case .initial: 0
    case .change(let change): change.changeset.footprint
    case .changes(_, _, let changes): changes.footprint
    }
  }

  /// Takes in the event after it.
  ///
  /// What was recorded is dropped where it takes more than the elements of both ends: so memory stays
  /// bounded however long the observer sleeps, and comparing these costs less than composing would.
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

  /// Takes what is recorded out, so that adding to it copies nothing.
  private mutating func takeChanges(from start: Moment) -> ChangesetAccumulator {
    switch self {
    case .initial: return ChangesetAccumulator()
    case .change(let change): return ChangesetAccumulator(change.changeset)
    case .changes(_, let end, let changes):
      self = .changes(from: start, to: end, ChangesetAccumulator())
      return changes
    }
  }

  /// The event as the observer gets it.
  ///
  /// - Parameter shown: What the observer was told last; nil before its first event. It differs from
  ///   where this event begins if merged changes in between came to nothing.
  /// - Returns: The event; nil where nothing has changed in the end.
  package func resolved(after shown: Moment?) -> CollectionEvent<Element>? {
    switch self {
    case .initial(let moment):
      return .initial(moment.snapshot, revision: moment.revision)
    case .change(let change):
      guard let shown, shown.revision != change.revisionBefore else { return .change(change) }
      // What was merged before it came to nothing: it goes on from equal contents.
      return .change(
        CollectionChange(
          before: shown.snapshot, after: change.after, revisionBefore: shown.revision,
          revision: change.revision, changeset: change.changeset))
    case .changes(let start, let end, let changes):
      // Where it differs from the start, contents are equal: what was recorded holds for it as well.
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
    // a smaller one if that costs no more than composing did.
    if 16 * (composed.moves.count + composed.updates.count) > old.count + new.count {
      let difference = old.changeset(to: new)
      if difference.changeCount < composed.changeCount { return difference }
    }
    return composed
  }
}

extension CollectionNode {
  /// Subscribes with events that can wait.
  package func observe(
    mailbox: (any MailboxFlushing)? = nil,
    _ post: @escaping @Sendable (PendingEvent<Element>) -> Void
  ) -> Observation {
    observers.join(
      { event in if let event = PendingEvent<Element>.change(event) { post(event) } },
      mailbox: mailbox, capture: { state in published(&state) }, first: { post(.initial($0)) })
  }
}

/// Turns pending events into those that an observer gets, one after the other.
package final class EventReceiver<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `shown` is touched by one call at a time; the mailbox hands it on under its lock.

  private var shown: PendingEvent<Element>.Moment?

  package init() {}

  package func receive(_ event: PendingEvent<Element>) -> CollectionEvent<Element>? {
    guard let resolved = event.resolved(after: shown) else { return nil }
    shown = PendingEvent.Moment(snapshot: resolved.snapshot, revision: resolved.revision)
    return resolved
  }
}
