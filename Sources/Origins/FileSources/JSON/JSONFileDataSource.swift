public import Diffing
import FileWatching
public import Foundation
public import ObservableCollections
package import SwappablePrimitives

/// A live collection of the elements of a JSON array in a file.
///
/// ```swift
/// let people = JSONFileDataSource<Person>(path: "people.json")
/// let observation = people.observe { print($0) }
/// ```
///
/// The source is idle until it is observed, or another list is made from it. Then it reads and watches the file on its
/// own queue.
/// Each save causes one change, which contains only the differences:
///
/// | The file is … | Result |
/// |---|---|
/// | written in place, at once or in parts | one change when its writer closes it or pauses |
/// | replaced by a rename, or by switching a symbolic link | one change, immediately |
/// | deleted and created again, or its directory is moved away and back | one change; the list is never empty in between |
/// | written with the same contents, or touched | no event |
/// | empty or malformed for over 250 ms, or unreadable | status `failed`; the last valid contents stay |
/// | missing for over 250 ms, or from the start | status `missing`; the last valid contents stay |
/// | valid again | status `loaded`, and one change if the contents differ |
///
/// Errors name the file, the line and column, and the element. Duplicate identities, and a file
/// system that must be polled, are reported as diagnostics of the status. Elements whose text has
/// not changed are not decoded again.
///
/// The file is UTF-8, with or without a byte order mark. Its arrays and objects are nested at most 512
/// levels deep. If an object has several members with the same name, the last one counts. However, if
/// `JSONDecoder` decodes the elements, it uses the first one.
///
/// For each save, the source compares the bytes with the previous bytes and decodes the elements whose
/// text is new. It keeps the text of the file in memory.
public final class JSONFileDataSource<Element: Differentiable & Sendable>: DataSource {
  public let collection: LiveCollection<Element>
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
    self.init(path: ByteString(path), key: nil, decoding: ElementDecoding(each: decode))
  }

  init(
    path: ByteString, key: String?, allowsSingleValue: Bool = false,
    decoding: ElementDecoding<Element>, system: WatchSystem = .live,
    timing: ReloadMachine.Timing = ReloadMachine.Timing()
  ) {
    let path = path.absolutePath
    let writer = SourceWriter(of: JSONFileDataSource.self, location: path.description)
    collection = writer.collection
    reloader = FileReloader(
      path: path, queueLabel: "swappable.json-file", system: system, timing: timing,
      writer: writer,
      loader: JSONFileLoader(
        path: path, files: system.files, key: key, allowsSingleValue: allowsSingleValue,
        decoding: decoding))
  }

  deinit { reloader.stop() }

  public func start() { reloader.start() }

  /// The absolute path of the file. A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  public var path: String { reloader.path.description }
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
    self.init(
      path: ByteString(path), key: nil, decoding: ElementDecoding(configuring: configure))
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
    self.init(path: ByteString(path), key: key, decoding: ElementDecoding())
  }

  /// Creates a source of the elements of an array, or of the only value in the file.
  package convenience init(path: ByteString, key: String?, allowsSingleValue: Bool) {
    self.init(
      path: path, key: key, allowsSingleValue: allowsSingleValue, decoding: ElementDecoding())
  }
}

/// Loads a file that contains one JSON array.
private final class JSONFileLoader<Element: Differentiable & Sendable>: FileLoader {
  private let path: ByteString
  private let files: FileAccess
  private let key: String?
  private let allowsSingleValue: Bool
  private let decoding: ElementDecoding<Element>
  /// The last version that was loaded. Its elements are only in the collection.
  private var document: JSONDocument?

  init(
    path: ByteString, files: FileAccess, key: String?, allowsSingleValue: Bool,
    decoding: ElementDecoding<Element>
  ) {
    self.path = path
    self.files = files
    self.key = key
    self.allowsSingleValue = allowsSingleValue
    self.decoding = decoding
  }

  func read(
    after old: Snapshot<Element>, isBeingWritten _: Bool, isGraceOver _: Bool
  ) -> ReadOutcome<Element> {
    do throws(FileError) {
      let difference = try FileDifference.read(path, comparingWith: document?.bytes, in: files)
      do throws(JSONElement.ParsingError) {
        return .loaded(try load(difference, after: old))
      } catch {
        return .failed(ReadFailure(error, path: path))
      }
    } catch {
      return .failed(ReadFailure(error))
    }
  }

  private func load(
    _ difference: FileDifference, after old: Snapshot<Element>
  ) throws(JSONElement.ParsingError) -> SourceWriter<Element>.Contents {
    if case .whole(let bytes) = difference, document == nil {
      let first = try JSONDocument.load(
        bytes, key: key, allowsSingleValue: allowsSingleValue, decoding: decoding)
      document = first.document
      return .whole(first.elements)
    }
    guard var change = try document?.update(for: difference, decoding: decoding) else {
      return .same
    }
    change.pairUpdates(of: old)
    return .changed(change.changeset, inserted: change.inserted, updated: change.updated)
  }
}
