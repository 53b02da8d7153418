public import Diffing
import FileWatching
public import Foundation
public import ObservableCollections
package import SwappablePrimitives

/// A live collection of the rows in a file of comma-separated values (CSV) or tab-separated values.
///
/// The first row is the header, which names the columns. Each row after it is an element.
///
/// ```swift
/// struct Item: Codable, Hashable, Identifiable, Sendable, Differentiable {
///   var id: Int
///   var name: String
///   var price: Double?
/// }
/// let stock = CSVFileDataSource<Item>(path: "stock.csv")
/// let rows = CSVFileDataSource(path: "stock.tsv", delimiter: "\t", key: "id")  // JSON elements
/// ```
///
/// The file is UTF-8 in the form of RFC 4180, with or without a byte order mark:
///
/// - A row ends in a line feed, or in a carriage return and a line feed. The last row needs no line break. Empty lines
///   are ignored.
/// - A field that begins with a quote ends with the next single quote. In between, two quotes are a quote, and the
///   delimiter and line breaks are text. In other fields, a quote is text. Spaces belong to fields.
/// - A row has at most 16 MiB.
///
/// A row has the same number of fields as the header. Other rows, and rows that are not valid or cannot be decoded, are
/// skipped, and the diagnostic `malformed-lines` counts them and names the line of the latest one. The status of a source
/// whose `isStrict` is `true` becomes `failed` instead. A header with two equal names, or with a name that is empty, and a
/// row that is too long because a quote is not closed, are always failures, and the last valid contents stay.
///
/// Each save is one change, as with ``JSONLinesDataSource``: rows that are appended are read by themselves. After any
/// other change, the file is read from the start. The rows at the start and at the end of the file whose bytes are the same
/// are not parsed again, in parts of 256 KiB. The source keeps its elements in memory, but not the text of the file.
public final class CSVFileDataSource<Element: Differentiable & Sendable>: DataSource {
  /// The treatment of the rows of a file that rotates. Each file has its own header.
  public typealias Rotation = JSONLinesDataSource<Element>.Rotation

  /// The absolute path of the file. A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  public let path: String
  private let reader: PolledDataSource<PolledFile<LinesFormat<Element>>>

  /// Creates a source of elements that a closure decodes.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file may be missing.
  ///   - delimiter: The ASCII character between two fields, such as a tab.
  ///   - hasNumbers: A Boolean value that indicates whether fields that are JSON numbers become numbers. Fields in
  ///     quotes stay strings.
  ///   - isStrict: A Boolean value that indicates whether the status becomes `failed` at the first malformed row.
  ///     Otherwise, the source skips malformed rows and reports them by a diagnostic.
  ///   - rotation: The treatment of the rows when another file takes the path, or the file is truncated.
  ///   - decode: A closure that returns the element for a row, which is an object. The source calls it on its queue. If
  ///     the closure throws, the row is malformed.
  public convenience init(
    path: String, delimiter: Character = ",", hasNumbers: Bool = false, isStrict: Bool = false,
    rotation: Rotation = .replace, decode: @escaping @Sendable (JSONElement) throws -> Element
  ) {
    self.init(
      path: ByteString(path), form: CSVForm(delimiter: delimiter, hasNumbers: hasNumbers), key: nil,
      isStrict: isStrict, rotation: rotation, decoding: ElementDecoding(each: decode))
  }

  init(
    path: ByteString, form: CSVForm, key: String?, isStrict: Bool = false,
    rotation: Rotation = .replace, decoding: ElementDecoding<Element>,
    system: WatchSystem = .live, timing: FileTiming = FileTiming(), group: ReadGroup? = nil
  ) {
    let path = path.absolutePath
    self.path = path.description
    reader = PolledFile(
      path: path, system: system, timing: timing,
      format: LinesFormat(
        files: system.files, timing: timing,
        reader: LinesReader(
          path: path, form: .csv(form), key: key, decoding: decoding, isStrict: isStrict),
        rotation: rotation),
      group: group
    ).dataSource(of: CSVFileDataSource.self)
  }

  public func start() { reader.start() }

  public var collection: LiveCollection<Element> { reader.collection }
}

extension CSVFileDataSource where Element: Decodable {
  /// Creates a source of elements that `JSONDecoder` decodes.
  ///
  /// The type of a property tells how its field is read: a number from its digits, a Boolean value from `true` or
  /// `false`. An empty field is `nil` if the property is optional. A property that is read neither from a string nor from
  /// a number or a Boolean value, such as an array, is read from JSON in the field.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file may be missing.
  ///   - delimiter: The ASCII character between two fields, such as a tab.
  ///   - isStrict: A Boolean value that indicates whether the status becomes `failed` at the first malformed row.
  ///     Otherwise, the source skips malformed rows and reports them by a diagnostic.
  ///   - rotation: The treatment of the rows when another file takes the path, or the file is truncated.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time, and the closure is called
  ///     for each.
  public convenience init(
    path: String, delimiter: Character = ",", isStrict: Bool = false, rotation: Rotation = .replace,
    configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) {
    self.init(
      path: ByteString(path), form: CSVForm(delimiter: delimiter), key: nil,
      isStrict: isStrict, rotation: rotation, decoding: ElementDecoding(rowsConfiguring: configure))
  }

  /// Returns a live list of the elements of all files whose paths match a pattern, in the order of the paths.
  ///
  /// Apart from the format, it is the same as ``JSONFileDataSource/files(matching:configure:)``.
  ///
  /// - Parameters:
  ///   - pattern: A path with the wildcards `*`, `?` and `[…]` of a shell, absolute, or relative to the current working
  ///     directory. A wildcard matches no slash, and no dot at the start of a name.
  ///   - delimiter: The ASCII character between two fields, such as a tab.
  ///   - isStrict: A Boolean value that indicates whether the status becomes `failed` at the first malformed row.
  ///     Otherwise, malformed rows are skipped.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time, and the closure is called
  ///     for each.
  public static func files(
    matching pattern: String, delimiter: Character = ",", isStrict: Bool = false,
    configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) -> LiveCollection<Element> {
    let form = CSVForm(delimiter: delimiter)
    return MatchingFiles.elements(
      of: PathPattern(pathOrPattern: ByteString(pattern)), shownAs: pattern
    ) {
      CSVFileDataSource(
        path: $0, form: form, key: nil, isStrict: isStrict,
        decoding: ElementDecoding(rowsConfiguring: configure), group: $1)
    }
  }
}

extension CSVFileDataSource where Element == JSONElement {
  /// Creates a source of the rows themselves, as objects of strings.
  ///
  /// - Parameters:
  ///   - path: The path of the file: absolute, or relative to the current working directory. The file may be missing.
  ///   - delimiter: The ASCII character between two fields, such as a tab.
  ///   - key: The name of the column that identifies a row. Without a key, the whole row identifies it.
  ///   - hasNumbers: A Boolean value that indicates whether fields that are JSON numbers become numbers, exactly as they
  ///     are written. Fields in quotes stay strings.
  ///   - isStrict: A Boolean value that indicates whether the status becomes `failed` at the first malformed row.
  ///     Otherwise, the source skips malformed rows and reports them by a diagnostic.
  ///   - rotation: The treatment of the rows when another file takes the path, or the file is truncated.
  public convenience init(
    path: String, delimiter: Character = ",", key: String? = nil, hasNumbers: Bool = false,
    isStrict: Bool = false, rotation: Rotation = .replace
  ) {
    self.init(
      path: ByteString(path), delimiter: delimiter, key: key, hasNumbers: hasNumbers,
      isStrict: isStrict, rotation: rotation)
  }

  /// Creates a source of the rows themselves. The path need not be UTF-8.
  package convenience init(
    path: ByteString, delimiter: Character, key: String?, hasNumbers: Bool, isStrict: Bool,
    rotation: Rotation = .replace, group: ReadGroup? = nil
  ) {
    self.init(
      path: path, form: CSVForm(delimiter: delimiter, hasNumbers: hasNumbers), key: key,
      isStrict: isStrict, rotation: rotation, decoding: ElementDecoding(), group: group)
  }
}

/// A parser of rows that arrive in parts, such as from a pipe.
package struct CSVStream {
  private let reader: LinesReader<JSONElement>
  private var columns: [[UInt8]]?
  private var lineCount = 0
  /// A byte that the rest of the row contains, and the number of bytes before the rest.
  private var expected = (byte: UInt8(ascii: "\n"), from: 0)
  /// The rows that were skipped.
  package private(set) var skipped = SkippedLines()

  /// Creates a parser before the header.
  package init(delimiter: Character, key: String?, hasNumbers: Bool, isStrict: Bool) {
    reader = LinesReader(
      path: "", form: .csv(CSVForm(delimiter: delimiter, hasNumbers: hasNumbers)), key: key,
      decoding: ElementDecoding(), isStrict: isStrict)
  }

  /// Removes the complete rows from a text, and returns their elements.
  ///
  /// - Parameters:
  ///   - bytes: The text after the previous rows.
  ///   - isAtEnd: A Boolean value that indicates whether the text is complete, so its last row needs no line break.
  package mutating func takeElements(
    from bytes: inout [UInt8], isAtEnd: Bool
  ) throws(JSONElement.ParsingError) -> [JSONElement] {
    let maximum = CSVForm.maximumRowLength
    if !isAtEnd, bytes.count <= maximum, !bytes[expected.from...].contains(expected.byte) {
      expected.from = bytes.count
      return []
    }
    let batch = reader.form.batch(
      of: bytes, columns: columns, key: reader.key, linesBefore: lineCount, isWhole: isAtEnd,
      isStrict: reader.isStrict)
    if bytes.count - batch.end > maximum {
      throw reader.lengthError(batch, maximum, linesBefore: lineCount + batch.lineCount)
    }
    expected = (UInt8(ascii: batch.openQuote == nil ? "\n" : "\""), bytes.count - batch.end)
    do throws(LineBatch.LineError) {
      let decoded = try reader.decode(batch, isStrict: reader.isStrict)
      skipped.append(decoded.skipped)
      columns = batch.columns
      lineCount += batch.lineCount
      bytes.removeSubrange(..<batch.end)
      return decoded.elements
    } catch {
      throw error.error
    }
  }
}
