public import Diffing
package import ObservableCollections

/// A local store that a ``OneWaySynchronizer`` keeps equal to a remote list.
///
/// Only one run at a time uses the store. Within a run, the methods are called one after another,
/// except that several downloads call ``store(_:of:)`` or ``storePreview(_:of:)`` at the same time.
public protocol OneWayStore<Item, Content>: Sendable {
  /// The type of the listed items. The key of an item is its `differenceIdentifier`.
  associatedtype Item: Differentiable & Sendable
  /// The type of a download.
  associatedtype Content: Sendable
  /// The type of a key.
  typealias Key = Item.DifferenceIdentifier

  /// Prepares a run. It is called first in each run.
  ///
  /// The default implementation does nothing.
  func begin() async throws

  /// Returns the keys of the stored items.
  func keys() async throws -> Set<Key>

  /// Removes the items under some keys, which the remote no longer lists.
  ///
  /// It is not called with an empty set.
  func remove(_ keys: Set<Key>) async throws

  /// Returns a Boolean value that indicates whether a stored item must be downloaded again.
  ///
  /// It is called for one item after another, in the order of the remote list. The default
  /// implementation returns `true`.
  func isOutdated(_ item: Item) async throws -> Bool

  /// Returns the reason why an item cannot be stored, whatever its content is, or `nil`.
  ///
  /// It is called for each new or outdated item. A refused item is not downloaded. The default implementation returns
  /// `nil`. ``store(_:of:)`` can throw a refusal, too.
  func refusal(of item: Item) -> OneWaySynchronizer.Refusal?

  /// Stores a preview of an item.
  ///
  /// The default implementation does nothing.
  func storePreview(_ content: Content, of item: Item) async throws

  /// Stores the content of an item, and replaces the content that is stored under its key.
  func store(_ content: Content, of item: Item) async throws

  /// Completes a run. It is called exactly once for each run that began, even if the run failed.
  ///
  /// - Parameter list: The items in the order of the remote list, each key once. It is `nil` if the
  ///   list was not fetched, or the run was refused.
  func finish(_ list: [Item]?) async throws
}

extension OneWayStore {
  public func begin() async throws {}
  public func isOutdated(_ item: Item) async throws -> Bool { true }
  public func refusal(of item: Item) -> OneWaySynchronizer.Refusal? { nil }
  public func storePreview(_ content: Content, of item: Item) async throws {}
}

/// A remote list that a ``OneWaySynchronizer`` copies to a ``OneWayStore``.
///
/// Only one run at a time uses the remote, but several downloads of a run may be active at the same
/// time. One type may be both the remote and the store of a synchronizer.
public protocol OneWayRemote<Item, Content>: Sendable {
  /// The type of the listed items. The key of an item is its `differenceIdentifier`.
  associatedtype Item: Differentiable & Sendable
  /// The type of a download.
  associatedtype Content: Sendable

  /// Returns the list.
  func items() async throws -> [Item]

  /// Returns the items to download, in the order of their downloads.
  ///
  /// It is called in each run, even with an empty array. The default implementation returns all
  /// items in the order of the list.
  ///
  /// - Parameter items: The new and the outdated items, in the order of the list.
  func prepareDownloads(_ items: [Item]) async throws -> [Item]

  /// Returns the preview of an item, or `nil` if it has none.
  ///
  /// The default implementation returns `nil`.
  func preview(of item: Item) async throws -> Content?

  /// Returns the content of an item.
  ///
  /// If the type of the content is `Item`, the default implementation returns the listed item.
  func content(of item: Item) async throws -> Content
}

extension OneWayRemote {
  public func prepareDownloads(_ items: [Item]) async throws -> [Item] { items }
  public func preview(of item: Item) async throws -> Content? { nil }
}

extension OneWayRemote where Content == Item {
  /// Returns the listed item.
  public func content(of item: Item) async throws -> Item { item }
}

/// A remote that lists the elements of a data source.
package struct DataSourceRemote<Item: Differentiable & Sendable>: OneWayRemote {
  package typealias Content = Item

  private let source: any DataSource<Item>

  package init(_ source: any DataSource<Item>) {
    self.source = source
  }

  /// Waits until the source has loaded, and returns its contents.
  ///
  /// If a source that has loaded fails later, this method returns its last good contents.
  ///
  /// - Throws: `SourceError` if the source fails before it has loaded.
  package func items() async throws -> [Item] {
    Array(try await source.loaded())
  }
}
