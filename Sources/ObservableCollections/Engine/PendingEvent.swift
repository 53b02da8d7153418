package import Diffing
package import ReactiveSignals

/// An event on its way to an observer.
///
/// Merging keeps the ends only; what differs between them is computed by the receiver, outside of
/// any lock.
package enum PendingEvent<Element: Differentiable & Sendable>: Mergeable {
  /// An observed moment.
  package struct Moment: Sendable {
    let snapshot: Snapshot<Element>
    let revision: Int
  }

  case initial(Moment)
  case change(CollectionChange<Element>)
  case changes(from: Moment, to: Moment)

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
    case .changes(let start, _): start
    }
  }

  /// The moment that it leads to.
  package var end: Moment {
    switch self {
    case .initial(let moment): moment
    case .change(let change): Moment(snapshot: change.after, revision: change.revision)
    case .changes(_, let end): end
    }
  }

  package func merged(with later: PendingEvent<Element>) -> PendingEvent<Element> {
    guard let start else { return .initial(later.end) }
    return .changes(from: start, to: later.end)
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
    case .changes(let start, let end):
      let from = shown ?? start
      if from.snapshot.hasSameContents(as: end.snapshot) { return nil }
      return .change(
        CollectionChange(
          before: from.snapshot, after: end.snapshot, revisionBefore: from.revision,
          revision: end.revision,
          changeset: Changeset(from: from.snapshot, to: end.snapshot)))
    }
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
