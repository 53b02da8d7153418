public import Diffing
import Dispatch
import Foundation
public import ObservableCollections
import SwappablePrimitives
public import Synchronizers

/// A store that keeps the items of a remote list in a folder, one file for each key.
///
///     let store = try DirectoryStore<Page>(path: "pages", stamp: { $0.entityTag })
///     let synchronizer = OneWaySynchronizer(from: remote, to: store)
///     try await synchronizer.sync()
///     let bytes = try store.contents(forKey: "index")
///
/// The store is also a data source of a ``DirectoryEntry`` for each file, in the order of the remote.
/// You can put a container, a filter or sections over it. Observers receive one change at the end of
/// each run.
///
/// | event | state when the store is opened again |
/// |---|---|
/// | `store` has returned | The item is there. |
/// | a crash before `store` has returned | The old item is there, or the item is missing and the next run downloads it. |
/// | a file was removed, or its length changed | The item is missing. |
/// | the index was damaged | The items of all valid lines are there. |
///
/// Every key is valid. A short key of lower-case letters, digits, `-`, `_` and inner dots is the name
/// of its file. In other keys, the store escapes characters. It shortens long names and adds a hash.
/// Two keys never share a file, even if the file system ignores case or Unicode normalization. The
/// store never writes outside of the folder, and never follows symbolic links in it. Use
/// ``ExactString`` for keys from other systems, because `String` ignores Unicode normalization.
///
/// The store's own files begin with `+`. It does not touch files of other programs. Only one store at
/// a time can use a folder. It locks the folder as long as it lives. A synchronizer holds its store for
/// a moment after a run has ended.
public final class DirectoryStore<Item: Differentiable & Sendable>: OneWayStore, DataSource
where Item.DifferenceIdentifier: Sendable {
  public typealias Content = [UInt8]
  public typealias Key = Item.DifferenceIdentifier
  public typealias Element = DirectoryEntry<Item.DifferenceIdentifier>

  /// The absolute path of the folder.
  public var path: String { folder.path }

  public var collection: LiveCollection<Element> { entries.collection }

  private typealias Contents = DirectoryContents<Key>

  private struct PendingItem: Sendable {
    var arrival: Contents.Arrival
    var continuation: CheckedContinuation<Void, any Error>
  }

  // Sendable: `contents` is used only on `queue`, which is serial.
  private final class Guarded: @unchecked Sendable {
    var contents: Contents
    /// The items whose bytes are written, but which are not in `contents` yet.
    let pending = Locked<[PendingItem]>([])
    let newCount = Locked(0)

    init(_ contents: Contents) { self.contents = contents }

    /// Adds all pending items, with one write of the index.
    func addPendingItems() {
      let items = pending.exchange([])
      guard !items.isEmpty else { return }
      let errors = contents.add(items.map(\.arrival))
      for (item, error) in zip(items, errors) {
        if let error {
          item.continuation.resume(throwing: error)
        } else {
          item.continuation.resume()
        }
      }
    }
  }

  private let folder: Folder
  /// Work on the queues does not retain the lock, because the queues may release work late.
  private let lock: Folder.Lock
  private let text: @Sendable (Key) -> String
  private let stamp: @Sendable (Item) -> String?
  private let entries: ArrayDataSource<Element>
  private let guarded: Guarded
  private let queue = DispatchQueue(label: "DirectoryStore")
  private let writing = WorkQueue("DirectoryStore.writing", isSerial: false)

  /// Opens a folder and reads its index.
  ///
  /// - Parameters:
  ///   - path: The path of the folder. If it does not exist, it is created.
  ///   - text: Returns the text of a key. Different keys must have texts with different bytes.
  ///   - key: Returns the key of a text, or `nil` if the text is not valid.
  ///   - stamp: Returns the state of a listed item, such as an entity tag or a date. An item that is
  ///     stored with another stamp is outdated. An item without a stamp is always outdated.
  /// - Throws: ``StoreError`` if the folder cannot be created, another store uses it, or its index has
  ///   another format or a newer version.
  /// - Complexity: O(n) for n items.
  public convenience init(
    path: String, text: @escaping @Sendable (Key) -> String,
    key: @escaping @Sendable (String) -> Key?, stamp: @escaping @Sendable (Item) -> String?
  ) throws(StoreError) {
    try self.init(path: path, text: text, key: key, stamp: stamp, hook: nil)
  }

  package init(
    path: String, text: @escaping @Sendable (Key) -> String,
    key: @escaping @Sendable (String) -> Key?, stamp: @escaping @Sendable (Item) -> String?,
    hook: FileHook?, hash: @escaping @Sendable (String.UTF8View) -> UInt64 = { Checksum.of($0) }
  ) throws(StoreError) {
    folder = try Self.open(path, hook)
    guard let lock = try Folder.Lock(folder) else {
      throw StoreError(
        .inUse, "another store uses this folder", path: folder.path,
        help: "end the other program, release the other store, or use another path")
    }
    self.lock = lock
    let contents = try Contents(in: folder, hash: hash, key: key)
    self.text = text
    self.stamp = stamp
    guarded = Guarded(contents)
    entries = ArrayDataSource(Self.entries(of: contents))
  }

  private static func open(_ path: String, _ hook: FileHook?) throws(StoreError) -> Folder {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      // Report the error of the system. The text of Foundation repeats the path three times.
      let cause = (error as? CocoaError)?.underlying as? POSIXError
      throw StoreError(cause?.code.rawValue ?? 0, cannot: "create the folder", path)
    }
    return try Folder(path: ByteString(path), hook: hook)
  }

  private static func entries(of contents: Contents) -> [Element] {
    contents.order.compactMap { key in
      contents[key].map { file in
        DirectoryEntry(
          key: key, path: contents.folder.path(of: file.name), byteCount: file.size,
          stamp: file.stamp, digest: file.digest)
      }
    }
  }
}

extension DirectoryStore where Item.DifferenceIdentifier: LosslessStringConvertible {
  /// Opens a folder and reads its index.
  ///
  /// - Parameters:
  ///   - path: The path of the folder. If it does not exist, it is created.
  ///   - stamp: Returns the state of a listed item, such as an entity tag or a date. An item that is
  ///     stored with another stamp is outdated. An item without a stamp is always outdated.
  /// - Throws: ``StoreError`` if the folder cannot be created, another store uses it, or its index has
  ///   another format or a newer version.
  /// - Complexity: O(n) for n items.
  public convenience init(
    path: String, stamp: @escaping @Sendable (Item) -> String?
  ) throws(StoreError) {
    try self.init(
      path: path, text: { $0.description }, key: { Key($0) }, stamp: stamp, hook: nil)
  }
}

// MARK: - Reading

extension DirectoryStore {
  /// Returns the content of a key, or `nil` if none is stored.
  ///
  /// - Throws: ``StoreError`` if the file cannot be read.
  public func contents(forKey key: Key) throws -> [UInt8]? {
    // On the queue, a name cannot pass to another key during the read.
    try queue.sync { try guarded.contents[key].flatMap { try folder.read($0.name) } }
  }

  /// Returns the preview of a key, or `nil` if none is stored.
  ///
  /// - Throws: ``StoreError`` if the file cannot be read.
  public func preview(forKey key: Key) throws -> [UInt8]? {
    try queue.sync {
      try guarded.contents.knownName(of: key).flatMap {
        try folder.read(Contents.previewName(of: $0))
      }
    }
  }
}

// MARK: - Synchronization

extension DirectoryStore {
  /// Returns the keys of the stored items. Keys with only a preview do not count.
  public func keys() async throws -> Set<Key> {
    try await run { contents in Set(contents.keys) }
  }

  /// Returns `true` if the item has another stamp or no stamp, or if its file is missing.
  public func isOutdated(_ item: Item) async throws -> Bool {
    let (key, stamp) = (item.differenceIdentifier, stamp(item))
    return try await run { contents in
      guard let stamp, let file = contents[key], let known = file.stamp,
        known.utf8.elementsEqual(stamp.utf8)
      else { return true }
      return try !contents.isThere(file)
    }
  }

  /// Removes the files and previews of keys.
  public func remove(_ keys: Set<Key>) async throws {
    try await run { contents in try contents.remove(keys) }
  }

  /// Stores a preview until its key is removed.
  ///
  /// If the key has no content when the store is released, the preview is removed the next time that
  /// the store is opened.
  public func storePreview(_ content: [UInt8], of item: Item) async throws {
    let newName = makeNewName()
    let key = item.differenceIdentifier
    let text = text(key)
    try await writing.run { [folder] in try folder.create(newName, content) }
    try await run { contents in try contents.addPreview(newName, of: key, text: text) }
  }

  /// Stores the content of an item. The content is on the disk when this method returns.
  public func store(_ content: [UInt8], of item: Item) async throws {
    let newName = makeNewName()
    let key = item.differenceIdentifier
    let digest = try await writing.run { [folder] in
      try folder.create(newName, content)
      return Checksum.of(content)
    }
    let arrival = Contents.Arrival(
      key: key, newName: newName,
      stored: Contents.Stored(
        text: text(key), name: "", size: content.count, digest: digest, stamp: stamp(item)))
    try await withCheckedThrowingContinuation { continuation in
      let item = PendingItem(arrival: arrival, continuation: continuation)
      guarded.pending.withLock { $0.append(item) }
      queue.async { [guarded] in guarded.addPendingItems() }
    }
  }

  /// Orders the entries, rewrites the index if necessary, and publishes the changes of the run.
  public func finish(_ list: [Item]?) async throws {
    let keys = list.map { list in list.map(\.differenceIdentifier) }
    let (entries, failure) = try await run { contents in
      var failure: StoreError?
      do throws(StoreError) {
        try contents.settle(keys)
      } catch {
        failure = error
      }
      return (Self.entries(of: contents), failure)
    }
    // Publish outside the queue, because observers may read files of the store.
    self.entries.transaction { $0.replace(with: entries) }
    if let failure { throw failure }
  }

  private func makeNewName() -> String {
    let number = guarded.newCount.withLock { count in
      count += 1
      return count
    }
    return Contents.newPrefix + String(number)
  }

  private func run<Result: Sendable>(
    _ body: @escaping @Sendable (inout DirectoryContents<Key>) throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [guarded] in
        continuation.resume(with: Swift.Result { try body(&guarded.contents) })
      }
    }
  }
}

/// A file of a ``DirectoryStore``.
///
/// The identity of an entry is its key. Two entries have equal contents if their other properties and
/// the checksums of their files are equal.
public struct DirectoryEntry<Key: Hashable & Sendable>: Hashable, Sendable {
  /// The key of the item.
  public let key: Key
  /// The absolute path of the file.
  public let path: String
  /// The size of the file in bytes.
  public let byteCount: Int
  /// The stamp of the stored state, or `nil` if the item has no stamp.
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
