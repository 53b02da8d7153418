public import Diffing
import Dispatch
import Foundation
public import ObservableCollections
import SwappablePrimitives
import Synchronization
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
/// | a file was removed | The item is missing. |
/// | the length of a file changed | The item is outdated. |
/// | the index was damaged | The items of all valid lines are there. |
///
/// The text of a key is the path of its file: `readme`, `sub/x.txt`, `ä b.png`. Folders are created, and removed when
/// they become empty. An item is refused, with `OneWaySynchronizer.Refusal`, and the others go on, if
/// - its path is empty, is absolute, has `.` or `..` between slashes, or a control character,
/// - the file system does not take one of its names, or takes two of them for one,
/// - there is something that the store has not written: another file, a folder or a link. A file with the same bytes
///   becomes the file of the item.
///
/// The store never writes outside of the folder, and never follows symbolic links in it. Use ``ExactString`` for keys
/// from other systems, because `String` ignores Unicode normalization.
///
/// The store's own files, such as the index, lie in another folder. Only one store at a time can use a folder. It locks
/// both as long as it lives. A synchronizer holds its store for a moment after a run has ended.
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
    let newCount = Atomic(0)

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

  private let (folder, state): (Folder, Folder)
  /// Work on the queues does not retain the locks, because the queues may release work late.
  private let locks: [Folder.Lock]
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
  ///   - state: The path of the folder for the store's own files, on the same file system, or `nil` for `.NAME.store`
  ///     beside a folder `NAME`. If it does not exist, it is created.
  ///   - text: Returns the text of a key. Different keys must have texts with different bytes.
  ///   - key: Returns the key of a text, or `nil` if the text is not valid.
  ///   - stamp: Returns the state of a listed item, such as an entity tag or a date. An item that is
  ///     stored with another stamp is outdated. An item without a stamp is always outdated.
  /// - Throws: ``StoreError`` if a folder cannot be created, another store uses it, or the index has
  ///   another format or a newer version.
  /// - Complexity: O(n) for n items.
  public convenience init(
    path: String, state: String? = nil, text: @escaping @Sendable (Key) -> String,
    key: @escaping @Sendable (String) -> Key?, stamp: @escaping @Sendable (Item) -> String?
  ) throws(StoreError) {
    try self.init(path: path, state: state, text: text, key: key, stamp: stamp, hook: nil)
  }

  package init(
    path: String, state: String? = nil, text: @escaping @Sendable (Key) -> String,
    key: @escaping @Sendable (String) -> Key?, stamp: @escaping @Sendable (Item) -> String?,
    hook: FileHook?
  ) throws(StoreError) {
    let folder = try Self.open(ByteString(path), hook)
    let own = try Self.open(state.map { ByteString($0) } ?? folder.hiddenSibling(".store"), hook)
    if folder.contains(own) {
      throw StoreError(
        .foreign, "the store's own files would lie among the items", path: own.path,
        help: "use a state folder outside of \(folder.path)")
    }
    var locks: [Folder.Lock] = []
    for locked in [folder, own] {
      guard let lock = try Folder.Lock(locked) else {
        throw StoreError(
          .inUse, "another store uses this folder", path: locked.path,
          help: "end the other program, release the other store, or use another path")
      }
      locks.append(lock)
    }
    (self.folder, self.state, self.locks) = (folder, own, locks)
    let contents = try Contents(in: folder, state: own, key: key)
    (self.text, self.stamp) = (text, stamp)
    guarded = Guarded(contents)
    entries = ArrayDataSource(Self.entries(of: contents))
  }

  private static func open(_ path: ByteString, _ hook: FileHook?) throws(StoreError) -> Folder {
    do {
      try FileManager.default.createDirectory(
        atPath: path.description, withIntermediateDirectories: true)
    } catch {
      // Report the error of the system. The text of Foundation repeats the path three times.
      let cause = (error as? CocoaError)?.underlying as? POSIXError
      throw StoreError(cause?.code.rawValue ?? 0, cannot: "create the folder", path.description)
    }
    return try Folder(path: path, hook: hook)
  }

  private static func entries(of contents: Contents) -> [Element] {
    contents.order.compactMap { key in
      contents[key].map { file in
        DirectoryEntry(
          key: key, path: contents.folder.path(of: file.text), byteCount: file.size,
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
  ///   - state: The path of the folder for the store's own files, on the same file system, or `nil` for `.NAME.store`
  ///     beside a folder `NAME`. If it does not exist, it is created.
  ///   - stamp: Returns the state of a listed item, such as an entity tag or a date. An item that is
  ///     stored with another stamp is outdated. An item without a stamp is always outdated.
  /// - Throws: ``StoreError`` if a folder cannot be created, another store uses it, or the index has
  ///   another format or a newer version.
  /// - Complexity: O(n) for n items.
  public convenience init(
    path: String, state: String? = nil, stamp: @escaping @Sendable (Item) -> String?
  ) throws(StoreError) {
    try self.init(
      path: path, state: state, text: { $0.description }, key: { Key($0) }, stamp: stamp, hook: nil)
  }
}

// MARK: - Reading

extension DirectoryStore {
  /// Returns the content of a key, or `nil` if none is stored.
  ///
  /// - Throws: ``StoreError`` if the file cannot be read.
  public func contents(forKey key: Key) throws -> [UInt8]? {
    try queue.sync { try guarded.contents.content(of: key) }
  }

  /// Returns the preview of a key, or `nil` if none is stored.
  ///
  /// - Throws: ``StoreError`` if the file cannot be read.
  public func preview(forKey key: Key) throws -> [UInt8]? {
    try queue.sync { try guarded.contents.preview(of: key, text: text(key)) }
  }
}

// MARK: - Synchronization

extension DirectoryStore {
  /// Returns the keys of the stored items, also of changed files.
  ///
  /// Keys with only a preview do not count.
  public func keys() async throws -> Set<Key> {
    try await run { contents in contents.keys }
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

  /// Returns the reason why the key of an item cannot be the path of a file.
  public func refusal(of item: Item) -> OneWaySynchronizer.Refusal? {
    do {
      try Contents.names(in: text(item.differenceIdentifier))
      return nil
    } catch {
      return OneWaySynchronizer.Refusal(error)
    }
  }

  /// Stores a preview until its key is removed. It is not in the folder of the items.
  ///
  /// If the key has no content when the store is released, the preview is removed the next time that
  /// the store is opened.
  public func storePreview(_ content: [UInt8], of item: Item) async throws {
    if let refusal = refusal(of: item) { throw refusal }
    let (newName, key) = (makeNewName(), item.differenceIdentifier)
    // An equal key may be known with other bytes.
    let text = try await run { [text = text(key)] contents in contents.text(of: key, text) }
    try await writing.run { [state] in
      try state.create(newName, Contents.previewHead(of: text) + content)
    }
    try await run { contents in try contents.addPreview(newName, of: key, text: text) }
  }

  /// Stores the content of an item. The content is on the disk when this method returns.
  ///
  /// - Throws: `OneWaySynchronizer.Refusal` if the path of the item is not possible, or not free. ``StoreError`` if
  ///   writing fails.
  public func store(_ content: [UInt8], of item: Item) async throws {
    if let refusal = refusal(of: item) { throw refusal }
    let newName = makeNewName()
    let key = item.differenceIdentifier
    let digest = try await writing.run { [state] in
      try state.create(newName, content)
      return Checksum.of(content)
    }
    let arrival = Contents.Arrival(
      key: key, newName: newName,
      stored: Contents.Stored(
        text: text(key), size: content.count, digest: digest, stamp: stamp(item)))
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
    Contents.newPrefix + "\(guarded.newCount.wrappingAdd(1, ordering: .relaxed).newValue)"
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

extension StoreError {
  /// The error of one item, or a refusal with it, if it is about a name.
  var asRefusal: any Error {
    switch code {
    case .invalidName, .foreign, .notAFolder, .notAFile: OneWaySynchronizer.Refusal(self)
    default: self
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
  let digest: UInt64
}

extension DirectoryEntry: Identifiable {
  /// The key.
  public var id: Key { key }
}

extension DirectoryEntry: Differentiable {}
