import Diffing
import SwappablePrimitives

/// Fills a local store from a remote list.
public final class StoreProcessor<Remote: OneWayRemote, Store: LocalStore>: OneWayProcessor
where Store.Item == Remote.Item, Store.Content == Remote.Content {
  public typealias Item = Remote.Item

  /// What is to be here.
  public let remote: Remote
  /// Where it is kept.
  public let store: Store
  /// What the remote lists in this run; nil until that is known.
  private let list = Locked<[Item]?>(nil)

  /// Makes a processor.
  ///
  /// - Parameters:
  ///   - remote: What is to be here.
  ///   - store: Where it is kept.
  public init(from remote: Remote, to store: Store) {
    self.remote = remote
    self.store = store
  }

  public func begin() async throws {}

  public func fetchSourceList() async throws -> [Item] {
    let items = try await remote.items()
    let list = ItemList(items).items
    self.list.withLock { $0 = list }
    return items
  }

  public func localKeys() async throws -> Set<Key> {
    try await store.keys()
  }

  public func removeLocalItems(_ keys: Set<Key>) async throws {
    try await store.remove(keys)
  }

  public func shouldUpdate(_ key: Key, _ item: Item) async throws -> Bool {
    try await store.isOutdated(item)
  }

  public func downloadPreview(_ item: Item) async throws {
    guard let preview = try await remote.preview(of: item) else { return }
    try await store.storePreview(preview, of: item)
  }

  public func downloadContent(_ item: Item) async throws {
    try await store.store(remote.content(of: item), of: item)
  }

  public func end() async throws {
    let list = list.withLock { list in
      defer { list = nil }
      return list
    }
    try await store.finish(list)
  }
}
