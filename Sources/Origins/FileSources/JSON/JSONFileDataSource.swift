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
  /// The absolute path of the file. A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  public let path: String
  private let reader: PolledDataSource<PolledFile<JSONFileFormat<Element>>>

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
    path: ByteString, key: String?, allowsSingleValue: Bool = false, at pointer: JSONPointer? = nil,
    spreadingMembers: Bool = false, decoding: ElementDecoding<Element>,
    system: WatchSystem = .live, timing: FileTiming = FileTiming(), group: ReadGroup? = nil
  ) {
    let path = path.absolutePath
    self.path = path.description
    reader = PolledFile(
      path: path, system: system, timing: timing,
      format: JSONFileFormat(
        path: path, files: system.files, key: key, allowsSingleValue: allowsSingleValue,
        decoding: decoding, pointer: pointer, spreadsMembers: spreadingMembers),
      group: group
    ).dataSource(of: JSONFileDataSource.self)
  }

  public func start() { reader.start() }

  public var collection: LiveCollection<Element> { reader.collection }
}

extension JSONFileDataSource where Element: Decodable {
  /// Creates a source of elements that `JSONDecoder` decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file
  ///     may be missing.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time,
  ///     and the closure is called for each.
  ///   - pointer: The place of the array in the document, as a JSON pointer (RFC 6901), such as `/items`. The members of an
  ///     object at this place are elements `{"key": …, "value": …}`. By default, the document is the array.
  public convenience init(
    path: String, at pointer: String = "",
    configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) {
    self.init(
      path: ByteString(path), key: nil, at: .checked(pointer),
      decoding: ElementDecoding(configuring: configure))
  }

  /// Returns a live list of the elements of all files whose paths match a pattern, in the order of the paths.
  ///
  ///     let services = JSONFileDataSource<Service>.files(matching: "conf.d/*.json")
  ///
  /// The list reads at once. Files may come and go. A new file is shown when it has been read; a file that was created, not renamed, is shown
  /// after 250 ms, because it may be the temporary file of a save. If files change because a link is switched or a
  /// directory is exchanged, the list shows all of them in one change. Otherwise, each file is followed by itself.
  ///
  /// - Parameters:
  ///   - pattern: A path with the wildcards `*`, `?` and `[…]` of a shell, absolute, or relative to the current working
  ///     directory. A wildcard matches no slash, and no dot at the start of a name.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time, and the closure is called
  ///     for each.
  public static func files(
    matching pattern: String, configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) -> LiveCollection<Element> {
    MatchingFiles.elements(of: PathPattern(pathOrPattern: ByteString(pattern)), shownAs: pattern) {
      JSONFileDataSource(
        path: $0, key: nil, decoding: ElementDecoding(configuring: configure), group: $1)
    }
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
  ///   - pointer: The place of the array in the document, as a JSON pointer (RFC 6901), such as `/items`. The members of an
  ///     object at this place are elements `{"key": …, "value": …}`. By default, the document is the array.
  public convenience init(path: String, at pointer: String = "", key: String? = nil) {
    self.init(
      path: ByteString(path), key: key, at: .checked(pointer), decoding: ElementDecoding())
  }

  /// Creates a source of the elements of an array. A file of a group may contain one value instead. The path need not be
  /// UTF-8.
  package convenience init(
    path: ByteString, key: String?, at pointer: JSONPointer? = nil, spreadingMembers: Bool = false,
    group: ReadGroup? = nil
  ) {
    self.init(
      path: path, key: key, allowsSingleValue: group != nil && pointer == nil, at: pointer,
      spreadingMembers: spreadingMembers, decoding: ElementDecoding(), group: group)
  }
}

/// A file that contains one JSON array, or a document with an array in it.
private struct JSONFileFormat<Element: Differentiable & Sendable>: FileFormat {
  let path: ByteString
  let files: FileAccess
  let key: String?
  let allowsSingleValue: Bool
  let decoding: ElementDecoding<Element>
  /// The place of the array, or `nil` if the file is one.
  let pointer: JSONPointer?
  let spreadsMembers: Bool
  /// The last version that was loaded. Its elements are only in the collection.
  var document: JSONDocument?
  /// The text of the file, and the range of the array in it, if there is a pointer.
  var whole: (text: [UInt8], array: Range<Int>?)?

  mutating func read(
    _: FileChange?, after collection: LiveCollection<Element>?, waited _: Duration
  ) throws(ReadFailure) -> (SourceWriter<Element>.Contents, isComplete: Bool)? {
    var difference: FileDifference
    if collection == nil { (document, whole) = (nil, nil) }
    do throws(FileError) {
      difference = try FileDifference.read(
        path, comparingWith: pointer == nil ? document?.bytes : whole?.text, in: files)
    } catch {
      throw ReadFailure(error)
    }
    do throws(JSONElement.ParsingError) {
      guard let pointer else { return (try load(difference, after: collection), isComplete: true) }
      return (try load(difference, at: pointer, after: collection), isComplete: true)
    } catch {
      throw ReadFailure(error, path: path)
    }
  }

  /// Loads the array at a place in the document. A change in the array alone is read without the rest of the document.
  private mutating func load(
    _ difference: FileDifference, at pointer: JSONPointer,
    after collection: LiveCollection<Element>?
  ) throws(JSONElement.ParsingError) -> SourceWriter<Element>.Contents {
    let old = whole?.text ?? []
    let text: [UInt8]
    switch difference {
    case .same: return .same
    case .whole(let bytes): text = bytes
    case .between(let prefix, let suffix, let middle):
      text = Array([old[..<prefix], middle[...], old[(old.count - suffix)...]].joined())
      if let array = whole?.array, prefix > array.lowerBound, old.count - suffix < array.upperBound
      {
        let part = FileDifference.between(
          prefix: prefix - array.lowerBound, suffix: suffix - (old.count - array.upperBound), middle
        )
        // The error of a change that is not valid has the place in the whole document.
        if let contents = try? load(part, after: collection) {
          whole = (text, array.lowerBound..<(array.upperBound + text.count - old.count))
          return contents
        }
      }
    }
    let list = try pointer.list(in: text, spreadsMembers: spreadsMembers)
    do throws(JSONElement.ParsingError) {
      let contents = try load(.whole(list.text), after: collection)
      whole = (text, list.range)
      return contents
    } catch {
      throw error.moved(to: list.range?.lowerBound, in: text)
    }
  }

  private mutating func load(
    _ difference: FileDifference, after collection: LiveCollection<Element>?
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
    if let collection { change.pairUpdates(of: collection.snapshot) }
    return .changed(change.changeset, inserted: change.inserted, updated: change.updated)
  }
}
