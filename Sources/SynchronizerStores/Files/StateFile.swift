import Diffing
import ObservableCollections
import ReactiveSignals
import Synchronizers

/// The file of a ``FileSynchronizationStore``. Called by one thread at a time.
final class StateFile<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: Sendable {
  let path: String
  private let folder: Folder
  private let name: String
  /// Whether the file may be replaced: it was loaded, or was not there when that was tried.
  private let mayReplace = Locked(false)

  private var newName: String { name + ".new" }

  init(_ name: String, in folder: Folder) {
    self.folder = folder
    self.name = name
    path = folder.path(of: name)
  }

  /// Removes what a crash has left: it was never renamed, and counts for nothing.
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
        .damaged, "the file names a list that it does not hold", path: path, place: "line 2",
        help: "put back a copy of the file, or remove it to begin anew")
    }
    mayReplace.withLock { $0 = true }
    return state
  }

  func save(_ state: SynchronizationState<Element, Version>) throws(StoreError) {
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
