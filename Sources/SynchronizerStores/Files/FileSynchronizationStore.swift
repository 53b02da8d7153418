public import Diffing
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
/// ends in `.swappable-lock`, for as long as it lives. A process that ends, or crashes, lets go of it.
///
/// A file that is damaged, of a newer version, or something else is never written over.
public final class FileSynchronizationStore<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: SynchronizationStore {
  /// The path of the file itself, which no symbolic link stands at.
  public let path: String

  private let file: StateFile<Element, Version>
  /// Not held by work on the queue, which may be let go of a moment after it is done.
  private let lock: Folder.Lock
  private let queue = WorkQueue("FileSynchronizationStore", isSerial: true)

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
    let folder = try Folder(path: parent, hook: hook)
    file = try StateFile(name, in: folder)
    self.path = file.path
    guard let lock = try Folder.Lock(file.lockName, in: folder) else {
      throw StoreError(
        .inUse, "another store has this file", path: file.path,
        help: "end the other program, let go of the other store, or give another path")
    }
    self.lock = lock
    try file.removeLeftover()
  }

  /// Reads what was saved last.
  ///
  /// - Returns: nil where nothing was saved yet.
  /// - Throws: A ``StoreError`` where the file cannot be read. It is left as it is, and later saves are
  ///   refused until it could be loaded or is gone.
  /// - Complexity: O(n).
  public func load() async throws -> SynchronizationState<Element, Version>? {
    try await queue.run { [file] in try file.load() }
  }

  /// Saves a state in place of the one before, wholly or not at all.
  ///
  /// Lists of the state that are equal are written once.
  ///
  /// - Throws: A ``StoreError``: where a file is there that was not loaded, and where it cannot be
  ///   written. What was saved before is still there.
  /// - Complexity: O(n).
  public func save(_ state: SynchronizationState<Element, Version>) async throws {
    try await queue.run { [file] in try file.save(state) }
  }
}
