import Diffing
import ObservableCollections
import SwappablePrimitives
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

  /// What the names of the files beside it end in.
  private static var newSuffix: String { ".swappable-new" }
  private static var lockSuffix: String { ".swappable-lock" }

  private var newName: String { name + Self.newSuffix }
  var lockName: String { name + Self.lockSuffix }

  init(_ name: String, in folder: Folder) throws(StoreError) {
    self.folder = folder
    self.name = name
    path = folder.path(of: name)
    for suffix in [Self.newSuffix, Self.lockSuffix] where name.hasSuffix(suffix) {
      throw StoreError(
        .inUse, "a name that ends in \(suffix) belongs to the store of another file", path: path,
        help: "give another path")
    }
    _ = try status()
  }

  /// What is there now; nil where nothing is.
  private func status() throws(StoreError) -> Folder.Status? {
    let found = try folder.status(name)
    if let found, !found.isRegular {
      throw StoreError(
        .notAFile, "this is not a plain file", path: path,
        help: "give the path of a file, or remove what is there")
    }
    return found
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
    let model = try status()
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
