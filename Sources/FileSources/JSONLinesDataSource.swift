public import Diffing
import FileWatching
public import Foundation
public import ObservableCollections
import SwappablePrimitives

/// A live collection of the values in a file of JSON Lines.
///
/// Each line is an element, and whoever appends to the file appends to the collection.
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
/// | is truncated, or written anew in place | one change with what differs, when its writer closes it or rests for 250 ms |
/// | is replaced by a rename; is renamed away, and a new one is created | one change with what differs: the new file's lines replace the old ones |
/// | is touched, or written with the same contents | no event |
/// | has a malformed line, or is unreadable, for over 250 ms | status `failed` with the number of the line; the last good contents stay |
/// | is missing for over 250 ms, or from the start | status `missing`; the last good contents stay |
/// | is good again | status `loaded`, and one change if something differs |
///
/// Lines end in a line feed, or in a carriage return and a line feed. Blank lines, and a byte order mark
/// at the start, hold nothing. A value stands on one line of at most 256 MiB, in UTF-8, its arrays and
/// objects nested at most 512 levels deep. A last line without a newline that is no complete value when
/// the file rests is a diagnostic of the status, as are identities that occur twice and a file system
/// that has to be polled.
///
/// A file that has grown is read from the last newline on, if it still begins and ends, up to there, with
/// the same 8 KiB; any other change reads it from the start. So what escapes notice is a change in
/// the middle of a file of over 16 KiB that leaves these bytes where they are, and that comes together
/// with an appended line, or within the same tick of the file system's clock as the read before it.
///
/// Of the file's text nothing is kept but what the elements hold.
public final class JSONLinesDataSource<Element: Differentiable & Sendable>: DataSource {
  private let contents: CollectionProperty<Element>
  private let reloader: FileReloader<Element>

  /// Creates a source of elements that a closure decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - decode: Returns the element for a JSON value. The source calls it on its queue. An error
  ///     becomes the status `failed`.
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
  ///   - configure: Configures a decoder. Several decoders work at the same time; the closure is called
  ///     for each.
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
