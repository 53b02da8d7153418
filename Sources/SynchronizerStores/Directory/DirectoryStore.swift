public import Diffing
import Dispatch
import Foundation
public import ObservableCollections
import SwappablePrimitives
public import Synchronizers

/// Keeps what a remote lists in a folder: one file for each key, which holds the content.
///
///     let store = try DirectoryStore<Page>(path: "pages", stamp: { $0.entityTag })
///     let synchronizer = OneWaySynchronizer(from: remote, to: store)
///     try await synchronizer.sync()
///     let bytes = try store.contents(forKey: "index")
///
/// It is a data source too, of a ``DirectoryEntry`` for each file, in the order of the remote: a container,
/// a filter or sections over it just work. All that a run has stored and removed is one change, at the
/// run's end.
///
/// | what happens | what is there when the store is opened again |
/// |---|---|
/// | `store` has returned | the item |
/// | a crash before that | the item as it was, or it counts as missing and is downloaded again |
/// | a file was removed or changed its length | the item counts as missing |
/// | the index was damaged | what stands in its good lines |
///
/// Keys may be anything. A short key of lower-case letters, digits, `-`, `_` and inner dots is the name of
/// its file; all else is escaped, and what gets too long is cut and told apart by a hash, so that no two
/// keys share a file, also where the file system ignores case or Unicode normalisation, and nothing is
/// written outside of the folder. Symbolic links in the folder are never followed. Which keys are the
/// same says their type: use `ExactString` for keys that come from elsewhere, since to `String` texts
/// that differ in normalisation are equal.
///
/// The store's own files begin with `+`. What others have put into the folder is left alone. One store at
/// a time has a folder, in whatever process; it is locked for as long as the store lives.
public final class DirectoryStore<Item: Differentiable & Sendable>: LocalStore, DataSource
where Item.DifferenceIdentifier: Sendable {
  public typealias Content = [UInt8]
  public typealias Key = Item.DifferenceIdentifier
  public typealias Element = DirectoryEntry<Item.DifferenceIdentifier>

  /// The absolute path of the folder.
  public var path: String { folder.path }

  public var collection: LiveCollection<Element> { entries.collection }

  private typealias Contents = DirectoryContents<Key>

  private struct Waiting: Sendable {
    var arrival: Contents.Arrival
    var continuation: CheckedContinuation<Void, any Error>
  }

  // Sendable: `contents` is touched only on `queue`, which is serial.
  private final class Guarded: @unchecked Sendable {
    var contents: Contents
    /// Items whose bytes are written, and that wait to be taken in together.
    let waiting = Locked<[Waiting]>([])
    let newCount = Locked(0)

    init(_ contents: Contents) { self.contents = contents }

    /// Takes in all items that wait: one write of the index for as many as come at the same time.
    func takeWaiting() {
      let taken = waiting.withLock { waiting in
        let taken = waiting
        waiting = []
        return taken
      }
      guard !taken.isEmpty else { return }
      let errors = contents.take(taken.map(\.arrival))
      for (item, error) in zip(taken, errors) {
        if let error {
          item.continuation.resume(throwing: error)
        } else {
          item.continuation.resume()
        }
      }
    }
  }

  private let folder: Folder
  /// Not held by work on the queues, which may be let go of a moment after it is done.
  private let lock: Folder.Lock
  private let text: @Sendable (Key) -> String
  private let stamp: @Sendable (Item) -> String?
  private let entries: CollectionProperty<Element>
  private let guarded: Guarded
  private let queue = DispatchQueue(label: "DirectoryStore")
  private let writing = WorkQueue("DirectoryStore.writing", isSerial: false)

  /// Opens the folder, and reads what it holds.
  ///
  /// - Parameters:
  ///   - path: The path of the folder, which is made where it is not there.
  ///   - text: A key as text. Keys that differ must differ in the bytes of it.
  ///   - key: The key of such a text, after the store was opened again; nil where it is none.
  ///   - stamp: Which state of an item the remote lists, such as an entity tag or a date. What is kept
  ///     with another stamp is out of date; nil: always out of date.
  /// - Throws: A ``StoreError`` where there is no folder and none can be made, where another store has
  ///   it, and where its index is that of something else, or of a newer version.
  /// - Complexity: O(n).
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
        .inUse, "another store has this folder", path: folder.path,
        help: "end the other program, let go of the other store, or give another path")
    }
    self.lock = lock
    let contents = try Contents(in: folder, hash: hash, key: key)
    self.text = text
    self.stamp = stamp
    guarded = Guarded(contents)
    entries = CollectionProperty(Self.entries(of: contents))
  }

  private static func open(_ path: String, _ hook: FileHook?) throws(StoreError) -> Folder {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      // The system's words: Foundation's name the path three times.
      let cause = (error as? CocoaError)?.underlying as? POSIXError
      throw StoreError(cause?.code.rawValue ?? 0, cannot: "make the folder", path)
    }
    return try Folder(path: path, hook: hook)
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
  /// Opens the folder, and reads what it holds.
  ///
  /// - Parameters:
  ///   - path: The path of the folder, which is made where it is not there.
  ///   - stamp: Which state of an item the remote lists, such as an entity tag or a date. What is kept
  ///     with another stamp is out of date; nil: always out of date.
  /// - Throws: A ``StoreError`` where there is no folder and none can be made, where another store has
  ///   it, and where its index is that of something else, or of a newer version.
  /// - Complexity: O(n).
  public convenience init(
    path: String, stamp: @escaping @Sendable (Item) -> String?
  ) throws(StoreError) {
    try self.init(
      path: path, text: { $0.description }, key: { Key($0) }, stamp: stamp, hook: nil)
  }
}

// MARK: - Reading

extension DirectoryStore {
  /// Reads what is kept under a key.
  ///
  /// - Returns: nil where nothing is.
  /// - Throws: A ``StoreError`` where the file cannot be read.
  public func contents(forKey key: Key) throws -> [UInt8]? {
    // On the queue, where no name changes its owner meanwhile.
    try queue.sync { try guarded.contents[key].flatMap { try folder.read($0.name) } }
  }

  /// Reads the preview that is kept under a key.
  ///
  /// - Returns: nil where none is.
  /// - Throws: A ``StoreError`` where the file cannot be read.
  public func preview(forKey key: Key) throws -> [UInt8]? {
    try queue.sync {
      try guarded.contents.knownName(of: key).flatMap {
        try folder.read(Contents.previewName(of: $0))
      }
    }
  }
}

// MARK: - Being synchronised

extension DirectoryStore {
  /// The keys of what is kept; previews do not count.
  public func keys() async throws -> Set<Key> {
    try await run { contents in Set(contents.keys) }
  }

  /// Whether the stamp differs, there is none, or the file is gone.
  public func isOutdated(_ item: Item) async throws -> Bool {
    let (key, stamp) = (item.differenceIdentifier, stamp(item))
    return try await run { contents in
      guard let stamp, let file = contents[key], let known = file.stamp,
        known.utf8.elementsEqual(stamp.utf8)
      else { return true }
      return try !contents.isThere(file)
    }
  }

  /// Removes files and previews.
  public func remove(_ keys: Set<Key>) async throws {
    try await run { contents in try contents.remove(keys) }
  }

  /// Keeps a preview, until its key is removed. Without a content it does not outlive the store.
  public func storePreview(_ content: [UInt8], of item: Item) async throws {
    let newName = makeNewName()
    let key = item.differenceIdentifier
    let text = text(key)
    try await writing.run { [folder] in try folder.create(newName, content) }
    try await run { contents in try contents.takePreview(newName, of: key, text: text) }
  }

  /// Keeps an item, in place of what was kept under its key. It is on the disk when this returns.
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
      let item = Waiting(arrival: arrival, continuation: continuation)
      guarded.waiting.withLock { $0.append(item) }
      queue.async { [guarded] in guarded.takeWaiting() }
    }
  }

  /// Puts the entries into the order of the remote, writes the index anew, and tells what has changed.
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
    // Not on the queue: observers may read what they are told of.
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
