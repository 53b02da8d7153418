public import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
public import Synchronizers

/// Keeps what a session must know after a restart in one JSON file.
///
///     let store = try FileSynchronizationStore<Task, Int>(path: "tasks.sync.json")
///     let session = try await SynchronizationSession(remote: remote, store: store)
///
/// Each save writes the whole state to a file beside it, brings that to the disk, and renames it over the
/// file: whatever happens meanwhile, one of the two states is there, wholly. Where the path is a symbolic
/// link, the file that it leads to when the store is made is replaced, and keeps its permissions. For a
/// long collection that is saved often ``SQLiteSynchronizationStore`` writes less.
///
/// One store at a time has the file, in whatever process: it holds a lock on a file beside it, whose name
/// ends in `.lock`, for as long as it lives. A process that ends, or crashes, lets go of it.
///
/// A file that is damaged, of a newer version, or something else is never written over.
public final class FileSynchronizationStore<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: SynchronizationStore {
  /// The path of the file itself, which no symbolic link stands at.
  public let path: String

  private let folder: Folder
  private let name: String
  private let lock: Folder.Lock
  private let queue = WorkQueue("FileSynchronizationStore", isSerial: true)
  /// Whether the file may be replaced: it was loaded, or was not there when that was tried.
  private let mayReplace = Locked(false)

  private var newName: String { name + ".new" }

  /// Opens a store. The file need not be there; its folder must.
  ///
  /// - Parameter path: The path of the file.
  /// - Throws: A ``StoreError`` where the folder is not there, where something else than a file is at
  ///   the path, and where another store has the file.
  public convenience init(path: String) throws(StoreError) {
    try self.init(path: path, hook: nil)
  }

  package init(path: String, hook: FileHook?) throws(StoreError) {
    let (parent, name) = try FilePath.resolve(path)
    folder = try Folder(path: parent, hook: hook)
    self.name = name
    self.path = folder.path(of: name)
    if let found = try folder.status(name), !found.isRegular {
      throw StoreError(
        .notAFile, "this is not a plain file", path: self.path, help: "give the path of a file")
    }
    guard let lock = try Folder.Lock(name + ".lock", in: folder) else {
      throw StoreError(
        .inUse, "another store has this file", path: self.path,
        help: "end the other program, let go of the other store, or give another path")
    }
    self.lock = lock
    // What a crash has left: it was never renamed, and counts for nothing.
    try folder.remove(newName)
  }

  /// Reads what was saved last.
  ///
  /// - Returns: nil where nothing was saved yet.
  /// - Throws: A ``StoreError`` where the file cannot be read. It is left as it is, and later saves are
  ///   refused until it could be loaded or is gone.
  /// - Complexity: O(n).
  public func load() async throws -> SynchronizationState<Element, Version>? {
    try await queue.run { [self] in try loadNow() }
  }

  /// Saves a state in place of the one before, wholly or not at all.
  ///
  /// Lists of the state that are equal are written once.
  ///
  /// - Throws: A ``StoreError``: where a file is there that was not loaded, and where it cannot be
  ///   written. What was saved before is still there.
  /// - Complexity: O(n).
  public func save(_ state: SynchronizationState<Element, Version>) async throws {
    try await queue.run { [self] in try saveNow(state) }
  }

  private func loadNow() throws(StoreError) -> SynchronizationState<Element, Version>? {
    mayReplace.withLock { $0 = false }
    guard let bytes = try folder.read(name) else {
      mayReplace.withLock { $0 = true }
      return nil
    }
    guard let state = try StateDocument<Element, Version>(bytes, path: path).state else {
      throw StoreError(
        .damaged, "the file names a list that it does not hold", path: path, place: "line 2",
        help: "put back a copy of the file, or remove it to begin anew")
    }
    mayReplace.withLock { $0 = true }
    return state
  }

  private func saveNow(_ state: SynchronizationState<Element, Version>) throws(StoreError) {
    let model = try folder.status(name)
    guard model == nil || mayReplace.withLock({ $0 }) else {
      throw StoreError(
        .notLoaded, "there is a file that was not loaded, and would be lost", path: path,
        help: "load it first; if it cannot be read, move it away or give another path")
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
