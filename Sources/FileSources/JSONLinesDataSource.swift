public import Diffing
import FileWatching
public import Foundation
public import ObservableCollections
import SwappablePrimitives

/// A live collection of the values in a file of JSON Lines.
///
/// Each line is an element. A line that is appended to the file is appended to the collection.
///
/// ```swift
/// let log = JSONLinesDataSource<Entry>(path: "service.jsonl")
/// let observation = log.observe { print($0) }
/// ```
///
/// The source is idle until it is first observed. Then it reads and watches the file on its own queue:
///
/// | the file | what happens |
/// |---|---|
/// | grows by complete lines | insertions at the end, as soon as they are written |
/// | ends in a line without a newline | the line waits for its newline, or until the file has rested for 250 ms |
/// | is truncated, or written anew in place | one change with the differences, when its writer closes it or rests for 250 ms |
/// | is replaced by a rename; is renamed away, and a new one is created | one change with the differences: the new file's lines replace the old ones |
/// | is touched, or written with the same contents | no event |
/// | has a malformed line, or is unreadable, for over 250 ms | status `failed` with the number of the line; the last good contents stay |
/// | is missing for over 250 ms, or from the start | status `missing`; the last good contents stay |
/// | is good again | status `loaded`, and one change if something differs |
///
/// Lines end in a line feed, or in a carriage return and a line feed. Blank lines, and a byte order
/// mark at the start, are ignored. A value is on one line of at most 256 MiB, in UTF-8. Its arrays
/// and objects are nested at most 512 levels deep. Diagnostics of the status report a last line
/// that has no newline and is incomplete when the file rests, duplicate identities, and a file
/// system that must be polled.
///
/// If a file has grown, it is read from the last known newline on, provided that its first 8 KiB,
/// and the 8 KiB before that newline, are the same. After any other change, it is read from the
/// start. The source therefore misses a change in the middle of a file of over 16 KiB that leaves
/// these bytes as they are, if it comes together with an appended line, or within the same tick of
/// the file system's clock as the previous read.
///
/// The source keeps only its elements, and no other text of the file.
public final class JSONLinesDataSource<Element: Differentiable & Sendable>: DataSource {
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
      path: absolutePath(path), queueLabel: "swappable.json-lines", system: system, timing: timing,
      contents: contents, loader: JSONLinesLoader(key: key, decoding: decoding))
  }

  deinit { reloader.stop() }

  public var collection: LiveCollection<Element> { contents.collection }

  public func start() { reloader.start() }

  /// The absolute path of the file.
  public var path: String { reloader.path }
}

extension JSONLinesDataSource where Element: Decodable {
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

extension JSONLinesDataSource where Element == JSONElement {
  /// Creates a source of the JSON elements themselves.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - key: The name of the member that identifies an element. Without a key, the whole value
  ///     identifies it.
  public convenience init(path: String, key: String? = nil) {
    self.init(path: path, key: key, decoding: ElementDecoding(each: { $0 }))
  }
}
