public import Diffing
import FileWatching
public import Foundation
public import ObservableCollections
import SwappablePrimitives

/// The elements of a JSON array in a file, live: whoever saves the file changes the collection.
///
/// ```swift
/// let people = JSONFileDataSource<Person>(path: "people.json")
/// let observation = people.observe { print($0) }
/// ```
///
/// It is idle until it is first attached to. Then it reads, and watches, on a queue of its own. Every
/// way to save gives one change with what differs:
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
/// Errors name the file, the line and column, and the element. Identities that occur twice, and
/// a file system that has to be polled, are diagnostics of the status. Elements whose text has not
/// changed are not decoded again.
///
/// The file is UTF-8, with or without a byte order mark, and arrays and objects in it are nested at
/// most 512 levels deep. Of several members of one name the last one counts; where `JSONDecoder` decodes,
/// the one that it takes, which is the first.
///
/// A save costs one pass over the bytes, which are compared with those before while they are read, and
/// the decoding of elements whose text is new. The file is kept in memory once, as text.
public final class JSONFileDataSource<Element: Differentiable & Sendable>: DataSource {
  private let contents: CollectionProperty<Element>
  private let reloader: JSONFileReloader<Element>

  /// Makes a source of elements that a closure decodes.
  ///
  /// - Parameters:
  ///   - path: The file, which may be missing; absolute, or relative to the working directory of this
  ///     moment.
  ///   - decode: Makes an element of its JSON; called on the source's queue. What it throws is told by
  ///     the status.
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
    reloader = JSONFileReloader(
      path: absolutePath(path), key: key, decoding: decoding, system: system, timing: timing,
      contents: contents)
  }

  deinit { reloader.stop() }

  public var collection: LiveCollection<Element> { contents.collection }

  public func start() { reloader.start() }

  /// The file, as an absolute path.
  public var path: String { reloader.path }
}

extension JSONFileDataSource where Element: Decodable {
  /// Makes a source of elements that `JSONDecoder` decodes.
  ///
  /// - Parameters:
  ///   - path: The file, which may be missing; absolute, or relative to the working directory of this
  ///     moment.
  ///   - configure: Sets up a decoder; called for each of several that work at the same time.
  public convenience init(
    path: String, configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) {
    self.init(path: path, key: nil, decoding: ElementDecoding(configuring: configure))
  }
}

extension JSONFileDataSource where Element == JSONElement {
  /// Makes a source of elements as they stand in the file.
  ///
  /// - Parameters:
  ///   - path: The file, which may be missing; absolute, or relative to the working directory of this
  ///     moment.
  ///   - key: The name of the member by which elements are known; without it, by all that they hold.
  public convenience init(path: String, key: String? = nil) {
    self.init(path: path, key: key, decoding: ElementDecoding())
  }
}
