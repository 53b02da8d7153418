public import Diffing
import FileWatching
public import Foundation
public import ObservableCollections
package import SwappablePrimitives

/// A live collection of the values in a file of JSON Lines.
///
/// Each line is an element. A line that is appended to the file is appended to the collection.
///
/// ```swift
/// let log = JSONLinesDataSource<Entry>(path: "service.jsonl")
/// let observation = log.observe { print($0) }
/// ```
///
/// The source is idle until it is observed, or another list is made from it. Then it reads and watches the file on its
/// own queue:
///
/// | The file … | Result |
/// |---|---|
/// | grows by complete lines | insertions at the end, immediately |
/// | ends in a line without a newline | the line is inserted when its newline is written, or after a pause of 250 ms |
/// | is truncated or rewritten in place | one change with the differences, when its writer closes it, or after 0.1 seconds; what a slower writer adds then are insertions |
/// | is replaced by a rename, or is renamed and created again | one change with the differences: the lines of the new file replace the old ones |
/// | is touched, or written with the same contents | no event |
/// | has malformed lines | these lines are skipped; a diagnostic has their number, and the place and the reason of the latest one |
/// | is unreadable, or has a line that is too long, or is UTF-16 | status `failed`; the last valid contents stay |
/// | is missing for over 250 ms, or from the start | status `missing`; the last valid contents stay |
/// | is valid again | status `loaded`, and one change if the contents differ |
///
/// Lines end in a line feed, or in a carriage return and a line feed. Blank lines, and byte order
/// marks at the start of a line, are ignored. NUL bytes before a line, which a truncation or a power failure may leave,
/// are skipped, and the diagnostic `nul-bytes` has their number. A value is on one line of at most 256 MiB, in UTF-8. Its arrays
/// and objects are nested at most 512 levels deep. Diagnostics of the status report malformed lines, an
/// incomplete last line, duplicate identities, and a file system that must be polled.
///
/// A line is malformed if it is not one JSON value, or if the value lacks its key or cannot be decoded.
/// The lines after it are read as usual. The diagnostic `malformed-lines` counts the malformed lines of
/// the file as it is now:
///
/// - If lines are appended, the count continues.
/// - If the file is replaced or rewritten, the count begins again.
/// - If the file has no malformed line, there is no diagnostic.
///
/// A source whose `isStrict` is `true` does not skip lines. If a line is malformed for over 250 ms, the
/// status becomes `failed` with the number of the line, and the last valid contents stay. The lines after
/// it wait until the line is corrected or the file is replaced.
///
/// If a file has grown, the source compares its first 8 KiB and the 8 KiB before the last known newline.
/// If these bytes are the same, the file is read from that newline on. After any other change, it is
/// read from the start. The source misses a change in the middle of a file of over 16 KiB if all of the following are
/// true:
///
/// - The change leaves these bytes as they are.
/// - The change comes together with an appended line, or within the same tick of the file system's
///   clock as the previous read.
///
/// The source keeps its elements in memory, but not the text of the file.
public final class JSONLinesDataSource<Element: Differentiable & Sendable>: DataSource {
  /// The treatment of the lines of a log that rotates: another file takes its path, or it is truncated.
  public enum Rotation: Hashable, Sendable {
    /// The lines of the new file replace the old ones.
    case replace
    /// The newest lines of all files stay, up to a number of at least 1.
    ///
    /// An old file is read to its end, and followed until it has had no new line for a minute, or has no name any more. Its
    /// late lines are inserted behind its other lines. A last line counts when its newline is written, or when the file is
    /// closed. A file that begins with the lines already read is a saved copy, so they are not repeated.
    case keep(last: Int)
  }

  /// The absolute path of the file. A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  public let path: String
  private let reader: PolledDataSource<PolledFile<LinesFormat<Element>>>

  /// Creates a source of elements that a closure decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - isStrict: A Boolean value that indicates whether the status becomes `failed` at the first
  ///     malformed line. Otherwise, the source skips malformed lines and reports them by a diagnostic.
  ///   - rotation: The treatment of the lines when another file takes the path, or the file is truncated.
  ///   - decode: A closure that returns the element for a JSON value. The source calls it on its
  ///     queue. If the closure throws, the line is malformed.
  public convenience init(
    path: String, isStrict: Bool = false, rotation: Rotation = .replace,
    decode: @escaping @Sendable (JSONElement) throws -> Element
  ) {
    self.init(
      path: ByteString(path), key: nil, isStrict: isStrict, rotation: rotation,
      decoding: ElementDecoding(each: decode))
  }

  init(
    path: ByteString, key: String?, isStrict: Bool = false, rotation: Rotation = .replace,
    decoding: ElementDecoding<Element>,
    system: WatchSystem = .live, timing: FileTiming = FileTiming(), group: ReadGroup? = nil
  ) {
    let path = path.absolutePath
    self.path = path.description
    reader = PolledFile(
      path: path, system: system, timing: timing,
      format: LinesFormat(
        files: system.files, timing: timing,
        reader: LinesReader(
          path: path, form: .json, key: key, decoding: decoding, isStrict: isStrict),
        rotation: rotation),
      group: group
    ).dataSource(of: JSONLinesDataSource.self)
  }

  public func start() { reader.start() }

  public var collection: LiveCollection<Element> { reader.collection }
}

extension JSONLinesDataSource where Element: Decodable {
  /// Creates a source of elements that `JSONDecoder` decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - isStrict: A Boolean value that indicates whether the status becomes `failed` at the first
  ///     malformed line. Otherwise, the source skips malformed lines and reports them by a diagnostic.
  ///   - rotation: The treatment of the lines when another file takes the path, or the file is truncated.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time,
  ///     and the closure is called for each.
  public convenience init(
    path: String, isStrict: Bool = false, rotation: Rotation = .replace,
    configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) {
    self.init(
      path: ByteString(path), key: nil, isStrict: isStrict, rotation: rotation,
      decoding: ElementDecoding(configuring: configure))
  }

  /// Returns a live list of the elements of all files whose paths match a pattern, in the order of the paths.
  ///
  /// Apart from the format, it is the same as ``JSONFileDataSource/files(matching:configure:)``.
  ///
  /// - Parameters:
  ///   - pattern: A path with the wildcards `*`, `?` and `[…]` of a shell, absolute, or relative to the current working
  ///     directory. A wildcard matches no slash, and no dot at the start of a name.
  ///   - isStrict: A Boolean value that indicates whether the status becomes `failed` at the first malformed line.
  ///     Otherwise, malformed lines are skipped.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time, and the closure is called
  ///     for each.
  public static func files(
    matching pattern: String, isStrict: Bool = false,
    configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) -> LiveCollection<Element> {
    MatchingFiles.elements(of: PathPattern(pathOrPattern: ByteString(pattern)), shownAs: pattern) {
      JSONLinesDataSource(
        path: $0, key: nil, isStrict: isStrict, decoding: ElementDecoding(configuring: configure),
        group: $1)
    }
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
  ///   - isStrict: A Boolean value that indicates whether the status becomes `failed` at the first
  ///     malformed line. Otherwise, the source skips malformed lines and reports them by a diagnostic.
  ///   - rotation: The treatment of the lines when another file takes the path, or the file is truncated.
  public convenience init(
    path: String, key: String? = nil, isStrict: Bool = false, rotation: Rotation = .replace
  ) {
    self.init(path: ByteString(path), key: key, isStrict: isStrict, rotation: rotation)
  }

  /// Creates a source of the JSON elements themselves. The path need not be UTF-8.
  package convenience init(
    path: ByteString, key: String?, isStrict: Bool, rotation: Rotation = .replace,
    group: ReadGroup? = nil
  ) {
    self.init(
      path: path, key: key, isStrict: isStrict, rotation: rotation,
      decoding: ElementDecoding(each: { $0 }), group: group)
  }
}
