import Diffing
public import ReactiveSignals
import Synchronization

extension DataSource {
  /// Makes another collection follow this one.
  ///
  /// The other one is made equal at once, and then gets each change as it is: what is moved or updated
  /// here is moved or updated there. Edits made to it otherwise are legal; the next change here makes
  /// it equal again.
  ///
  /// - Parameter target: What follows; it is not kept alive.
  /// - Returns: What keeps the binding and this source alive; letting it go ends it.
  public func bind(to target: some EditableDataSource<Element>) -> Disposable {
    let follower = Follower(target.property)
    return observe { follower.follow($0) }
  }
}

/// A collection that is written by a binding.
private final class Follower<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `written` is touched by one call at a time, as an observer is.

  private weak let target: CollectionProperty<Element>?
  /// What the binding has written last.
  private var written: Snapshot<Element>?

  init(_ target: CollectionProperty<Element>) {
    self.target = target
  }

  func follow(_ event: CollectionEvent<Element>) {
    target?.edit { draft in
      let start = draft.savepoint
      if case .change(let change) = event, let written,
        start.snapshot.hasSameContents(as: written)
      {
        draft.write(change.after.storage, over: start) { _ in change.changeset }
      } else {
        draft.replace(with: event.snapshot)
      }
    }
    written = event.snapshot
  }
}
