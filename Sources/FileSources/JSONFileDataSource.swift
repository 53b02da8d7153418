public import Diffing
import FileWatching
public import Foundation
public import ObservableCollections
import SwappablePrimitives

/// A live collection of the elements of a JSON array in a file.
///
/// ```swift
/// let people = JSONFileDataSource<Person>(path: "people.json")
/// let observation = people.observe { print($0) }
/// ```
///
/// The source is idle until it is first observed. Then it reads and watches the file on its own queue.
/// Each save causes one change, which contains only the differences:
///
/// | the file | what happens |
/// |---|---|
/// | written in place, at once or in parts | one change when its writer closes it, or rests |
/// | replaced by a rename, or by switching a symbolic link | one change at once |
/// | deleted and created again, its directory moved away and back | one change, never empty between |
/// | written with the same contents, touched | no event |
/// | empty or malformed for over 250 ms, or unreadable | status `failed`; the last good contents stay |
/// | missing for over 250 ms, or from the start | status `missing`; the last good contents stay |
/// | good again | status `loaded`, and one change if something differs |
///
/// Errors name the file, the line and column, and the element. Duplicate identities, and a file
/// system that must be polled, are reported as diagnostics of the status. Elements whose text has
/// not changed are not decoded again.
///
/// The file is UTF-8, with or without a byte order mark. Arrays and objects in it are nested at
/// most 512 levels deep. If an object has several members of one name, the last one counts.
/// `JSONDecoder`, if it decodes the elements, uses the first one.
///
/// A save costs one pass over the bytes, which are compared with the previous bytes while they are
/// read, and the decoding of elements whose text is new. The file is kept in memory once, as text.
public final class JSONFileDataSource<Element: Differentiable & Sendable>: DataSource {
  private let contents: CollectionProperty<Element>
  private let reloader: FileReloader<Element>

  /// Creates a source of elements that a closure decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - decode: A closure that returns the element for a JSON value. The source calls it on its
  ///     queue. If the closure throws, the status becomes `failed`.
  public convenience init(
    path: String, decode: @escaping @Sendable (JSONElement) throws -> Element
  ) {
    self.init(path: path, key: nil, decoding: ElementDecoding(each: decode))
  }

  init(
    path: String, key: String?, decoding: ElementDecoding<Element>, system: WatchSystem = .live,
    timing: ReloadMachine.Timing = ReloadMachine.Timing()
  ) {
    contents = CollectionProperty(status: .idle)
    reloader = FileReloader(
      path: absolutePath(path), queueLabel: "swappable.json-file", system: system, timing: timing,
      contents: contents, loader: JSONFileLoader(key: key, decoding: decoding))
  }

  deinit { reloader.stop() }

  public var collection: LiveCollection<Element> { contents.collection }

  public func start() { reloader.start() }

  /// The absolute path of the file.
  public var path: String { reloader.path }
}

extension JSONFileDataSource where Element: Decodable {
  /// Creates a source of elements that `JSONDecoder` decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time,
  ///     and the closure is called for each.
  public convenience init(
    path: String, configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) {
    self.init(path: path, key: nil, decoding: ElementDecoding(configuring: configure))
  }
}

extension JSONFileDataSource where Element == JSONElement {
  /// Creates a source of the JSON elements themselves.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - key: The name of the member that identifies an element. Without a key, the whole value
  ///     identifies it.
  public convenience init(path: String, key: String? = nil) {
    self.init(path: path, key: key, decoding: ElementDecoding())
  }
}

/// Loads a file that contains one JSON array.
private final class JSONFileLoader<Element: Differentiable & Sendable>: FileLoader {
  private let key: String?
  private let decoding: ElementDecoding<Element>
  /// The last version that was loaded. Its elements are only in the collection.
  private var document: JSONDocument?

  init(key: String?, decoding: ElementDecoding<Element>) {
    self.key = key
    self.decoding = decoding
  }

  func read(for reloader: FileReloader<Element>) -> [ReloadMachine.Action] {
    let path = reloader.path
    switch reloader.system.files.read(path, comparingWith: document?.bytes) {
    case .failure(let failure):
      return reloader.machine.readFailed(failure.trouble(path: path))
    case .success(let file):
      do throws(JSONError) {
        try load(file.bytes, reloader)
        return []
      } catch {
        return reloader.machine.readFailed(error.trouble(path: path))
      }
    }
  }

  private func load(
    _ bytes: FileDifference.Bytes, _ reloader: FileReloader<Element>
  ) throws(JSONError) {
    if case .whole(let bytes) = bytes, document == nil {
      let first = try JSONDocument(bytes, key: key)
      let elements = try first.elements(decoding)
      document = first
      reloader.identities.update(removed: [], added: elements)
      return publish(reloader) { $0.replace(with: elements) }
    }
    guard var change = try document?.update(for: bytes, decoding: decoding) else {
      return publish(reloader, nil)
    }
    let old = reloader.contents.collection.snapshot
    change.pairUpdates(of: old)
    reloader.identities.update(
      removed: change.changeset.deletions.map { old[$0] }, added: change.inserted)
    publish(reloader) {
      $0.apply(change.changeset, inserted: change.inserted, updated: change.updated)
    }
  }

  /// Ends a successful read.
  ///
  /// - Parameter edit: A closure that changes the contents, or `nil` if only the status changes.
  private func publish(
    _ reloader: FileReloader<Element>, _ edit: ((CollectionDraft<Element>) -> Void)?
  ) {
    reloader.machine.readSucceeded()
    // The source may have been released during the read.
    if reloader.hasStopped { return }
    guard let edit else { return reloader.contents.setStatus(reloader.status(.loaded)) }
    reloader.contents.edit { draft in
      edit(draft)
      reloader.duplicate = reloader.identities.diagnostic(for: draft.snapshot)
      draft.newStatus = reloader.status(.loaded)
    }
  }
}
