public import Diffing
public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A local store in memory that is also a data source.
///
/// You can observe the store, and put a container, a filter or sections over it.
///
/// ```swift
/// let store = CollectionStore<Article>()
/// let synchronizer = OneWaySynchronizer(from: server, to: store)
/// let container = SwappableContainer(store)
/// ```
///
/// Observers receive one change at the end of each run. A failed run delivers the downloads and
/// removals that it completed. Items have the order of the remote list. An item that the list does
/// not contain follows its previous predecessor. The list lacks an item that you added during the
/// run, or that the run could not remove. If the store has several items of one key, the run updates
/// the first one, and the others follow it. A preview is an item that the content replaces.
public final class CollectionStore<Item: Differentiable & Sendable>: OneWayStore, EditableDataSource
{
  public typealias Element = Item
  public typealias Content = Item

  public let list: ArrayDataSource<Item>
  private let isOutdated: @Sendable (Item, Item) -> Bool
  private let run = Locked(Run())

  /// The changes of the active run, which `finish` publishes.
  private struct Run {
    var removed: [Item] = []
    var stored: [Item] = []
    var index: ItemIndex<Item>?
  }

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - items: The first contents.
  ///   - status: The first status. The status becomes `loaded` after a run that has fetched the list.
  ///     A container shows a store with the status `loading` when it has loaded.
  ///   - isOutdated: Decides if a stored item must be downloaded again. By default, it must be if the
  ///     contents of the stored and the listed item differ.
  public init(
    _ items: [Item] = [], status: SourceStatus = .loaded,
    isOutdated: (@Sendable (_ local: Item, _ listed: Item) -> Bool)? = nil
  ) {
    list = ArrayDataSource(items, status: status)
    self.isOutdated = isOutdated ?? { !$0.isSame(as: $1) }
  }

  public func keys() async -> Set<Key> {
    // A run calls this method once. Drop the index of the run before, which may be out of date.
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

  /// Keeps an item until the end of the run, which publishes it.
  ///
  /// - Throws: `SourceError` if the content has another key than the item.
  public func store(_ content: Item, of item: Item) async throws {
    let (key, listed) = (content.differenceIdentifier, item.differenceIdentifier)
    guard key.isSameIdentity(as: listed) else {
      throw SourceError(
        code: "other-item",
        message: "the download of \(shownKey(listed)) has the key \(shownKey(key)); a remote must "
          + "return each item under its listed key")
    }
    run.withLock { $0.stored.append(content) }
  }

  public func finish(_ list: [Item]?) async {
    let run = run.exchange(Run())
    self.list.edit { draft in
      draft.replace(
        with: merging(draft.snapshot, removed: run.removed, stored: run.stored, list: list))
      if list != nil { draft.newStatus = .loaded }
    }
  }

  /// Replaces the index, and returns the previous one.
  @discardableResult
  private func exchangeIndex(_ index: ItemIndex<Item>?) -> ItemIndex<Item>? {
    run.withLock { run in
      defer { run.index = index }
      return run.index
    }
  }
}

/// The stored items by key.
private struct ItemIndex<Item: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: the index is passed from one user to the next, and two threads never use it at once.

  let items: [Item.DifferenceIdentifier: Item]

  init(_ snapshot: Snapshot<Item>) {
    items = Dictionary(
      snapshot.lazy.map { ($0.differenceIdentifier, $0) }, uniquingKeysWith: { first, _ in first })
  }
}

/// Returns the contents of a store after a run.
///
/// - Parameters:
///   - current: The current contents, including edits that were made during the run.
///   - removed: The items that the run removed.
///   - stored: The items that the run downloaded. The last item of a key counts.
///   - list: The listed items, each key once, or `nil` if the list was not fetched.
/// - Complexity: O(n) for n stored and listed items.
private func merging<Item: Differentiable & Sendable>(
  _ current: Snapshot<Item>, removed: [Item], stored: [Item], list: [Item]?
) -> [Item] {
  typealias Key = Item.DifferenceIdentifier
  var items: [Item] = []
  let order = (list ?? []).map(\.differenceIdentifier)
  let listed = Set(order)
  let removed = Set(removed.map(\.differenceIdentifier))
  var new = Dictionary(
    stored.map { ($0.differenceIdentifier, $0) }, uniquingKeysWith: { $1 })

  // An item that is not listed follows the listed item before it, or comes first.
  var kept: [Key: Item] = [:]
  var followers: [Key: [Item]] = [:]
  var last: Key?
  for item in current {
    let key = item.differenceIdentifier
    if removed.contains(key) && new[key] == nil { continue }
    if listed.contains(key) {
      if kept[key] == nil {
        kept[key] = item
        last = key
      } else {
        // Keep the first item of a key in front, because the next run updates the first one, too.
        followers[key, default: []].append(item)
      }
      continue
    }
    let other = new.removeValue(forKey: key) ?? item
    if let last { followers[last, default: []].append(other) } else { items.append(other) }
  }
  for key in order {
    guard let item = new.removeValue(forKey: key) ?? kept[key] else { continue }
    items.append(item)
    items += followers[key] ?? []
  }
  items += stored.compactMap { new.removeValue(forKey: $0.differenceIdentifier) }
  return items
}
