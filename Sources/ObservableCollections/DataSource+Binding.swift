import Diffing
public import ReactiveSignals
import Synchronization

extension DataSource {
  /// Makes another collection follow this one.
  ///
  /// The target is made equal at once, and then receives each change: moves stay moves, and updates stay
  /// updates. The target may be edited meanwhile. The next change of this collection makes it equal again.
  ///
  /// - Parameter target: The collection that follows. The binding does not keep it alive.
  /// - Returns: A handle that keeps the binding and this source alive. Releasing it ends the binding.
  public func bind(to target: some EditableDataSource<Element>) -> Disposable {
    let follower = Follower(target.property)
    return observe { follower.follow($0) }
  }
}

/// A collection that is written by a binding.
private final class Follower<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: one call of the observer at a time accesses `written`.

  private weak let target: CollectionProperty<Element>?
  /// The contents that the binding has written last.
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
