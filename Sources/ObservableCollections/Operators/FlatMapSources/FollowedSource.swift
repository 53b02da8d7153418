public import Diffing
public import ReactiveSignals

/// A collection that a flat map follows: the list of the parents, or the children of one of them.
///
/// Its updates enter the domain of the flat map through one root, as ``FollowedUpdates``.
@usableFromInline
final class FollowedSource<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: the creator of the flat map, and its delivering thread from then on, own all variables. `node` is constant.

  /// The source. If several sources have this collection, it is the last one that was passed.
  @usableFromInline var source: any DataSource<Element>
  let node: Node
  /// The contents and the status that the flat map has followed so far.
  @usableFromInline var state = CollectionState<Element>(unloaded: .idle)
  /// The row of the parent, if these are the children of one, and `nil` after they were left.
  @usableFromInline var row: UInt32?
  private var observation: Disposable?

  @usableFromInline
  init(_ source: any DataSource<Element>, row: UInt32? = nil) {
    self.source = source
    self.row = row
    node = source.collection.node
  }

  /// Starts the source and observes it, unless it is made from the flat map.
  ///
  /// - Returns: `true` if the source is followed now.
  @usableFromInline
  func follow(through root: Node) -> Bool {
    guard DependencyGraph.connect(root, to: node) else { return false }
    source.start()
    let (first, observation) = node.observeAsBoundary { [weak self, weak root] event, tickets in
      guard let self, let root else { return }
      let update = CollectionUpdate<Element>.read(event)
      root.send(FollowedUpdates(of: self, update), tickets: tickets)
    }
    (state, self.observation) = (StateBox<Element>.read(first).state, observation)
    return true
  }

  /// Ends the observation. Updates that are pending are ignored.
  @usableFromInline
  func leave(_ root: Node) {
    row = nil
    observation?.dispose()
    observation = nil
    DependencyGraph.disconnect(root, from: node)
  }

  /// Returns whether a source has the same collection.
  @usableFromInline
  func follows(_ other: any DataSource<Element>) -> Bool { other.collection.node === node }

  /// Returns whether the source is shown at once instead of another one.
  ///
  /// It is not if it has not loaded. But if the other one has not loaded either, or this one is made from it, waiting
  /// would protect nothing.
  @usableFromInline
  func mayReplace(_ shown: FollowedSource?) -> Bool {
    guard !state.hasLoaded, let shown, shown.state.hasLoaded else { return true }
    return state.status.error == nil && DependencyGraph.isDerived(node, from: shown.node)
  }

  /// A Boolean value that indicates whether the source need not be waited for.
  @usableFromInline var isSettled: Bool { state.hasLoaded || state.status.error != nil }
}

/// The updates that the root of a flat map receives in one pass: at most one of each source.
@usableFromInline
final class FollowedUpdates: Update, @unchecked Sendable {
  // Sendable: only the root of one flat map has the object. The lock of its domain guards it while it is pending, and
  // the delivering thread owns it from then on.

  /// A source, and its update.
  @usableFromInline typealias Item = (source: any AnyObject & Sendable, update: any Update)

  /// The state of the root, which is never read.
  static let state: Event = StateBox(CollectionState<Int>(unloaded: .loaded))

  @usableFromInline private(set) var items: [Item]
  /// The position of the update of each source, if there are several.
  private var positions: [ObjectIdentifier: Int] = [:]
  private var changes: (count: Int, limit: Int)

  init(of source: any AnyObject & Sendable, _ update: any Update) {
    items = [(source, update)]
    let size = update.size
    changes = (size.changes, size.limit)
  }

  @usableFromInline var state: Event { Self.state }
  @usableFromInline var hasChange: Bool { true }
  /// Always `true`, because a new parent may bring another status.
  @usableFromInline var isStatusStep: Bool { true }
  @usableFromInline var changeCount: Int { changes.count }
  @usableFromInline var size: (changes: Int, limit: Int) { (changes.count, changes.limit) }
  @usableFromInline var isComposed: Bool { false }

  /// Adds the updates of another object.
  // In place: a transaction over many sources is one pass.
  @usableFromInline
  func composed(with next: any Update) -> any Update {
    let next = Self.read(next)
    if positions.isEmpty {
      for (position, item) in items.enumerated() {
        positions[ObjectIdentifier(item.source)] = position
      }
    }
    for item in next.items {
      if let position = positions[ObjectIdentifier(item.source)] {
        items[position].update = items[position].update.composed(with: item.update)
      } else {
        positions[ObjectIdentifier(item.source)] = items.count
        items.append(item)
      }
    }
    changes = (changes.count + next.changes.count, changes.limit + next.changes.limit)
    return self
  }

  @usableFromInline
  func resolved() -> (any Update)? { self }

  @usableFromInline
  func continued(from state: Event) -> any Update { self }

  /// An update of the root of a flat map, with its type.
  @usableFromInline
  static func read(_ update: any Update) -> FollowedUpdates {
    unsafeDowncast(update, to: FollowedUpdates.self)
  }
}
