public import Diffing

/// What an observer of a collection gets: `initial` once and first, then only `change`.
public enum CollectionEvent<Element: Differentiable & Sendable>: Sendable {
  /// The collection as it is when the observation begins, also when it is empty.
  case initial(Snapshot<Element>, revision: Int)
  /// What has changed since the event before.
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
