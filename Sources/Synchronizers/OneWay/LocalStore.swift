public import Diffing

/// Where what a ``OneWayRemote`` lists is kept.
public protocol LocalStore<Item, Content>: Sendable {
  /// What the remote lists.
  associatedtype Item: Differentiable & Sendable
  /// What is kept of an item.
  associatedtype Content: Sendable
  /// What items are known by.
  typealias Key = Item.DifferenceIdentifier

  /// The keys of what is kept.
  func keys() async throws -> Set<Key>

  /// Whether what is kept of an item is out of date.
  func isOutdated(_ item: Item) async throws -> Bool

  /// Removes what is kept under some keys.
  func remove(_ keys: Set<Key>) async throws

  /// Keeps what can be shown of an item at first. Default: does nothing.
  func storePreview(_ content: Content, of item: Item) async throws

  /// Keeps an item, in place of what was kept under its key. Called for several items at the same time.
  func store(_ content: Content, of item: Item) async throws

  /// Called at the end of a run, also of one that failed.
  ///
  /// - Parameter list: What the remote lists, in its order, each key once; nil where it was not fetched.
  func finish(_ list: [Item]?) async throws
}

extension LocalStore {
  public func storePreview(_ content: Content, of item: Item) async throws {}
}
