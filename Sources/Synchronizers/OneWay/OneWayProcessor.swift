public import Diffing

/// What a ``OneWaySynchronizer`` does its work through: it knows the remote list and the local store.
///
/// All methods may be called from any thread; only the downloads of one stage run at the same time as each
/// other. Only the first three have no default.
public protocol OneWayProcessor<Item>: Sendable {
  /// What the source lists. Its key is its `differenceIdentifier`.
  associatedtype Item: Differentiable & Sendable
  /// What items are known by, here and there.
  typealias Key = Item.DifferenceIdentifier

  /// Called first in each run.
  func begin() async throws

  /// Fetches the list of what is to be here.
  func fetchSourceList() async throws -> [Item]

  /// The keys of what is here.
  func localKeys() async throws -> Set<Key>

  /// Removes what the source does not list any more. Not called with nothing. Default: does nothing.
  func removeLocalItems(_ keys: Set<Key>) async throws

  /// Whether an item that is on both sides is to be downloaded again. Default: yes.
  ///
  /// Called for one item after the other, in the order of the source.
  func shouldUpdate(_ key: Key, _ item: Item) async throws -> Bool

  /// Decides what is downloaded, and in which order.
  ///
  /// Called in each run, with nothing too. Default: all, in the order of the source.
  ///
  /// - Parameter items: What is new and what is to be updated, in the order of the source.
  func prepareDownload(_ items: [Item]) async throws -> [Item]

  /// Downloads what can be shown of an item at first. Default: does nothing.
  func downloadPreview(_ item: Item) async throws

  /// Downloads an item. Default: does nothing.
  func downloadContent(_ item: Item) async throws

  /// Called last in each run that has begun, exactly once, whether or not it has succeeded.
  ///
  /// Default: does nothing.
  func end() async throws
}

extension OneWayProcessor {
  public func removeLocalItems(_ keys: Set<Key>) async throws {}
  public func shouldUpdate(_ key: Key, _ item: Item) async throws -> Bool { true }
  public func prepareDownload(_ items: [Item]) async throws -> [Item] { items }
  public func downloadPreview(_ item: Item) async throws {}
  public func downloadContent(_ item: Item) async throws {}
  public func end() async throws {}
}
