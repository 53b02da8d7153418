public import Diffing
public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A local store in memory that can be observed.
///
/// It is a data source, so that a container, a filter or sections over it just work.
///
/// ```swift
/// let store = CollectionStore<Article>()
/// let synchronizer = OneWaySynchronizer(from: server, to: store)
/// let container = SwappableContainer(store)
/// ```
///
/// Each run is told as one change, at its end, also one that failed: with what was downloaded and
/// removed until then. The items stand in the order of the remote list. An item that the list does not
/// hold, since it was added meanwhile or could not be removed, stays behind the one before it. Of
/// several items of one key the first is kept in step, and the others stand behind it. A preview is an
/// item that stands until its content comes.
public final class CollectionStore<Item: Differentiable & Sendable>: LocalStore, EditableDataSource
{
  public typealias Element = Item
  public typealias Content = Item

  public let property: CollectionProperty<Item>
  private let isOutdated: @Sendable (Item, Item) -> Bool
  private let run = Locked(Run())

  /// What is to be told at the end of the run.
  private struct Run {
    var removed: [Item] = []
    var stored: [Item] = []
    var index: ItemIndex<Item>?
  }

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - items: What it holds at first.
  ///   - status: How it is doing at first; it is loaded after the first run that has fetched the list.
  ///     A container shows what is `.loading` when it has loaded.
  ///   - isOutdated: Whether an item here is to be downloaded again, told by the one here and the one
  ///     listed. Default: if their contents differ.
  public init(
    _ items: [Item] = [], status: SourceStatus = .loaded,
    isOutdated: (@Sendable (_ local: Item, _ listed: Item) -> Bool)? = nil
  ) {
    property = CollectionProperty(items, status: status)
    self.isOutdated = isOutdated ?? { !isSame($0, $1) }
  }

  public func keys() async -> Set<Key> {
    // A new run: what is asked about next is what is here now.
    exchangeIndex(nil)
    return Set(snapshot.lazy.map(\.differenceIdentifier))
  }

  public func isOutdated(_ item: Item) async -> Bool {
    let index = exchangeIndex(nil) ?? ItemIndex(snapshot)
    defer { exchangeIndex(index) }
    guard let local = index.items[item.differenceIdentifier] else { return true }
    return isOutdated(local, item)
  }

  public func remove(_ keys: Set<Key>) async {
    let removed = snapshot.filter { keys.contains($0.differenceIdentifier) }
    run.withLock { $0.removed += removed }
  }

  public func storePreview(_ content: Item, of item: Item) async throws {
    try await store(content, of: item)
  }

  /// Keeps an item, to be told at the end of the run.
  ///
  /// - Throws: `SourceError` where the content has another key than the item.
  public func store(_ content: Item, of item: Item) async throws {
    let (key, listed) = (content.differenceIdentifier, item.differenceIdentifier)
    guard sameIdentity(key, listed) else {
      throw SourceError(
        code: "other-item",
        message: "what was downloaded for \(shownKey(listed)) has the key \(shownKey(key)); a "
          + "remote gives each item under the key by which it lists it")
    }
    run.withLock { $0.stored.append(content) }
  }

  public func finish(_ list: [Item]?) async {
    let run = run.withLock { run in
      defer { run = Run() }
      return run
    }
    property.edit { draft in
      let merging = CollectionMerging(
        draft.snapshot, removed: run.removed, stored: run.stored, list: list)
      draft.replace(with: merging.items)
      if list != nil { draft.newStatus = .loaded }
    }
  }

  /// Puts back an index for the next call, and takes the one that is there.
  @discardableResult
  private func exchangeIndex(_ index: ItemIndex<Item>?) -> ItemIndex<Item>? {
    run.withLock { run in
      defer { run.index = index }
      return run.index
    }
  }
}

/// What is here, by key.
private struct ItemIndex<Item: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: nobody else has its keys, and it is handed from one user to the next, never shared.

  let items: [Item.DifferenceIdentifier: Item]

  init(_ snapshot: Snapshot<Item>) {
    items = Dictionary(
      snapshot.lazy.map { ($0.differenceIdentifier, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
