public import Diffing
import ObservableCollections
import SwappablePrimitives
public import Synchronizers

/// A store that keeps the state of a session in a JSON file.
///
///     let store = try FileSynchronizationStore<Task, Int>(path: "tasks.sync.json")
///     let session = try await SynchronizationSession(remote: remote, store: store)
///
/// Each save writes the whole state to a new file, waits until it is on the disk, and renames it.
/// After a crash, either the old or the new state is there. If the path is a symbolic link, the store
/// replaces the file that the link leads to when the store is created. The file keeps its
/// permissions. For a long collection with frequent saves, ``SQLiteSynchronizationStore`` writes less.
///
/// Only one store at a time can use the file. It locks a second file, whose name ends in
/// `.swappable-lock`, as long as it lives. The system releases the lock when the process ends.
///
/// The store does not overwrite a file that it could not load, because it is damaged, or has a newer version or another
/// format.
public final class FileSynchronizationStore<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: SynchronizationStore {
  /// The path of the file, without symbolic links.
  public let path: String

  private let file: StateFile<Element, Version>
  /// Work on the queue does not retain the lock, because the queue may release work late.
  private let lock: Folder.Lock
  private let queue = WorkQueue("FileSynchronizationStore", isSerial: true)

  /// Opens a store.
  ///
  /// - Parameter path: The path of the file. The file need not exist, but its folder must.
  /// - Throws: ``StoreError`` if the folder does not exist, the path leads to something other than a
  ///   file, or another store uses the file.
  public convenience init(path: String) throws(StoreError) {
    try self.init(path: path, hook: nil)
  }

  package init(path: String, hook: FileHook?) throws(StoreError) {
    let (parent, name) = try resolveFilePath(ByteString(path))
    let folder = try Folder(path: parent, hook: hook)
    file = try StateFile(name, in: folder)
    self.path = file.path
    guard let lock = try Folder.Lock(file.lockName, in: folder) else {
      throw StoreError(
        .inUse, "another store uses this file", path: file.path,
        help: "end the other program, release the other store, or use another path")
    }
    self.lock = lock
    try file.removeLeftover()
  }

  /// Returns the saved state, or `nil` if no state was saved yet.
  ///
  /// - Throws: ``StoreError`` if the file cannot be read. The file stays unchanged, and saves fail
  ///   until it is loaded or removed.
  /// - Complexity: O(n) for n elements.
  public func load() async throws -> SynchronizationState<Element, Version>? {
    try await queue.run { [file] in try file.load() }
  }

  /// Replaces the saved state atomically. Equal lists of the state are written once.
  ///
  /// - Throws: ``StoreError`` if the file exists but was not loaded, or if it cannot be written. The
  ///   previous state is still there.
  /// - Complexity: O(n) for n elements.
  public func save(_ state: SynchronizationState<Element, Version>) async throws {
    try await queue.run { [file] in try file.save(state) }
  }
}

/// The file of a ``FileSynchronizationStore``. One thread at a time may use it.
final class StateFile<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: Sendable {
  let path: String
  private let folder: Folder
  private let name: String
  /// A Boolean value that indicates whether a save may replace the file.
  ///
  /// It may if the file was loaded, or if it did not exist at the last attempt to load it.
  private let mayReplace = Locked(false)

  // The suffixes of the store's other files.
  private static var newSuffix: String { ".swappable-new" }
  private static var lockSuffix: String { ".swappable-lock" }

  private var newName: String { name + Self.newSuffix }
  var lockName: String { name + Self.lockSuffix }

  init(_ name: String, in folder: Folder) throws(StoreError) {
    (self.folder, self.name) = (folder, name)
    path = folder.path(of: name)
    for suffix in [Self.newSuffix, Self.lockSuffix] where name.hasSuffix(suffix) {
      throw StoreError(
        .inUse, "a file whose name ends in \(suffix) belongs to another store", path: path,
        help: "use another path")
    }
    _ = try status()
  }

  /// Returns the attributes of the file, or `nil` if it does not exist.
  private func status() throws(StoreError) -> Folder.Status? {
    let found = try folder.status(name)
    if let found, !found.isRegular {
      throw StoreError(
        .notAFile, "this is not a regular file", path: path,
        help: "use the path of a file, or remove the item at this path")
    }
    return found
  }

  /// Removes a new file that was not renamed because of a crash.
  func removeLeftover() throws(StoreError) {
    try folder.remove(newName)
  }

  func load() throws(StoreError) -> SynchronizationState<Element, Version>? {
    mayReplace.withLock { $0 = false }
    guard let bytes = try folder.read(name) else {
      mayReplace.withLock { $0 = true }
      return nil
    }
    guard let state = try StateDocument<Element, Version>(bytes, path: path).state else {
      throw StoreError(
        .damaged, "the file refers to a missing list", path: path, place: "line 2",
        help: "restore a copy of the file, or remove it to begin again")
    }
    mayReplace.withLock { $0 = true }
    return state
  }

  func save(_ state: SynchronizationState<Element, Version>) throws(StoreError) {
    let model = try status()
    guard model == nil || mayReplace.withLock({ $0 }) else {
      throw StoreError(
        .notLoaded, "saving would overwrite a file that was not loaded", path: path,
        help: "load it first; if it cannot be read, move it away or use another path")
    }
    let bytes = try StateDocument(state).encoded(path: path)
    try folder.remove(newName)
    try folder.create(newName, bytes, like: model)
    do throws(StoreError) {
      try folder.rename(newName, to: name)
    } catch {
      try? folder.remove(newName)
      throw error
    }
    mayReplace.withLock { $0 = true }
    try folder.sync()
  }
}
