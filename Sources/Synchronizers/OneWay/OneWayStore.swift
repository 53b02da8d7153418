public import Diffing

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

  /// Stores a preview of an item.
  ///
  /// The default implementation does nothing.
  func storePreview(_ content: Content, of item: Item) async throws

  /// Stores the content of an item, and replaces the content that is stored under its key.
  func store(_ content: Content, of item: Item) async throws

  /// Completes a run. It is called exactly once for each run that began, even if the run failed.
  ///
  /// - Parameter list: The items in the order of the remote list, each key once. It is `nil` if the
  ///   list was not fetched.
  func finish(_ list: [Item]?) async throws
}

extension OneWayStore {
  public func begin() async throws {}
  public func isOutdated(_ item: Item) async throws -> Bool { true }
  public func storePreview(_ content: Content, of item: Item) async throws {}
}
