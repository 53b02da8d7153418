public import Diffing

/// A file of a ``DirectoryStore``.
///
/// Its identity is the key; its content is the rest, and the bytes of the file, which it knows by a
/// checksum.
public struct DirectoryEntry<Key: Hashable & Sendable>: Hashable, Sendable {
  /// What the item is known by.
  public let key: Key
  /// The absolute path of the file.
  public let path: String
  /// How many bytes the file holds.
  public let byteCount: Int
  /// Which state of the item it holds; nil where items have no stamp.
  public let stamp: String?
  private let digest: UInt64

  init(key: Key, path: String, byteCount: Int, stamp: String?, digest: UInt64) {
    self.key = key
    self.path = path
    self.byteCount = byteCount
    self.stamp = stamp
    self.digest = digest
  }
}

extension DirectoryEntry: Identifiable {
  /// The key.
  public var id: Key { key }
}

extension DirectoryEntry: Differentiable {}
