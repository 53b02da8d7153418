public import Diffing
package import ObservableCollections

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
