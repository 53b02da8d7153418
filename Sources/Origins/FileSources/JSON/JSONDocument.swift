import Diffing
import ObservableCollections

/// The text of a JSON array, and the ranges of its elements.
///
/// `update(for:decoding:)` replaces the document with its next version: `edit(for:)` computes the
/// difference, and `apply(_:)` applies it.
struct JSONDocument: Sendable {
  private(set) var bytes: [UInt8]
  /// The range of each element, without surrounding white space.
  private(set) var spans: [Range<Int>]
  /// The name of the member that identifies an element, if there is one.
  let key: String?
  /// A Boolean value that indicates whether a text that is not an array is its only element.
  let allowsSingleValue: Bool

  /// Parses a text.
  init(
    _ bytes: [UInt8], key: String?, allowsSingleValue: Bool = false
  ) throws(JSONElement.ParsingError) {
    self.bytes = bytes
    self.key = key
    self.allowsSingleValue = allowsSingleValue
    var spans: [Range<Int>] = []
    do throws(JSONElement.ParsingError) {
      try Self.parse(bytes, capacity: 0) { (scanner) throws(JSONScanner.ScanError) in
        if allowsSingleValue, scanner.next != UInt8(ascii: "[") {
          spans = [try scanner.scanElement(offset: 0)]
          scanner.skipSpace()
          try scanner.scanEnd(after: "value")
        } else {
          try Self.split(&scanner, into: &spans)
        }
      }
      self.spans = spans
    } catch {
      // Report the first error. An element before this one may lack its key.
      self.spans = spans
      if key != nil, let error = values.elements().error { throw self.error(error) }
      throw error
    }
  }

  /// A Boolean value that indicates whether the text is not an array.
  var isSingleValue: Bool {
    guard allowsSingleValue, let span = spans.first, spans.count == 1 else { return false }
    return !bytes[..<span.lowerBound].contains(UInt8(ascii: "["))
  }

  /// The elements, as values of the text.
  var values: JSONValues { JSONValues(text: bytes, spans: spans, key: key) }

  /// Adds the position in the text to the error of an element.
  func error(_ error: ElementDecodingError) -> JSONElement.ParsingError {
    JSONElement.ParsingError(
      code: error.code, reason: error.reason,
      position: JSONElement.ParsingError.Position(
        of: spans[error.offset].lowerBound, in: bytes[JSONText.bodyStart(of: bytes[...])...]),
      elementOffset: error.offset)
  }

  /// Splits the whole text into elements.
  private static func split(
    _ scanner: inout JSONScanner, into spans: inout [Range<Int>]
  ) throws(JSONScanner.ScanError) {
    guard try scanOpening(&scanner) else { return }
    repeat {
      if scanner.next == nil { throw scanner.truncated("array") }
      spans.append(try scanner.scanElement(offset: spans.count))
      scanner.skipSpace()
    } while try scanner.scanSeparator(closing: UInt8(ascii: "]"), of: "array")
    try scanner.scanEnd(after: "array")
  }

  /// Scans the opening bracket. If the array is empty, scans the whole array.
  ///
  /// - Returns: `true` if the array has elements.
  static func scanOpening(_ scanner: inout JSONScanner) throws(JSONScanner.ScanError) -> Bool {
    let start = scanner.position
    guard let first = scanner.next, first == UInt8(ascii: "[") else {
      let kind = JSONElement.Kind(startingWith: scanner.next)
      var noKey: JSONScanner.KeyMatch?
      try scanner.scanValue(depth: 0, key: &noKey)
      throw JSONScanner.ScanError(
        code: .notAnArray, offset: start,
        reason: "\(kind.described) is at the top level instead of an array; "
          + "put [ and ] around the elements")
    }
    scanner.advance()
    scanner.skipSpace()
    guard scanner.next == UInt8(ascii: "]") else { return true }
    scanner.advance()
    try scanner.scanEnd(after: "array")
    return false
  }
}

extension JSONDocument {
  /// Scans a text, and converts the offsets of faults to lines and columns.
  ///
  /// - Parameters:
  ///   - capacity: The length of the longest value that the scanner copies, or 0 if it copies none.
  ///   - isWhole: A Boolean value that indicates whether the text begins at the start of the file. Only
  ///     there, a byte order mark is skipped and the encoding is checked.
  ///   - maximumDepth: The maximum number of nested arrays and objects.
  static func parse<Value>(
    _ bytes: [UInt8], capacity: Int, isWhole: Bool = true,
    maximumDepth: Int = JSONScanner.maximumDepth,
    _ body: (inout JSONScanner) throws(JSONScanner.ScanError) -> Value
  ) throws(JSONElement.ParsingError) -> Value {
    let start = isWhole ? JSONText.bodyStart(of: bytes[...]) : 0
    do throws(JSONScanner.ScanError) {
      if isWhole, isUTF16(bytes) {
        throw JSONScanner.ScanError(
          code: .encoding, offset: 0, reason: "the text is UTF-16 or UTF-32; save it as UTF-8")
      }
      return try JSONScanner.withScanner(
        of: bytes, from: start, capacity: capacity, maximumDepth: maximumDepth
      ) { (scanner) throws(JSONScanner.ScanError) in
        scanner.skipSpace()
        if scanner.next == nil {
          throw scanner.error(.empty, "the text is empty; write [] for an empty list")
        }
        return try body(&scanner)
      }
    } catch {
      throw JSONElement.ParsingError(
        code: error.code, reason: error.reason,
        position: JSONElement.ParsingError.Position(of: error.offset, in: bytes[start...]),
        elementOffset: error.elementOffset)
    }
  }

  /// Returns a Boolean value that indicates whether a text is UTF-16 or UTF-32.
  ///
  /// JSON begins with an ASCII character. Zero bytes next to it, or the byte order mark of another
  /// encoding, indicate UTF-16 or UTF-32. Only zeros are the start of a sparse file.
  static func isUTF16(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
      || bytes.count > 1 && (bytes[0] == 0) != (bytes[1] == 0)
      || bytes.starts(with: [0, 0, 0xFE, 0xFF])
      || bytes.starts(with: [0, 0, 0]) && !bytes.starts(with: [0, 0, 0, 0])
  }
}

extension JSONDocument {
  /// Replaces this version with the next one.
  ///
  /// - Complexity: O(n) in the elements after the first change, and in the bytes after it if their
  ///   number changes.
  mutating func apply(_ edit: JSONDocumentEdit) {
    guard let replaced = edit.replaced else {
      bytes = edit.text
      spans = edit.spans
      return
    }
    let count = bytes.count - replaced.count + edit.text.count
    // Do not double the memory of a large file, and do not copy it at each insertion.
    if count > bytes.capacity { bytes.reserveCapacity(count + count / 32) }
    bytes.replaceSubrange(replaced, with: edit.text)
    let (start, shift) = (replaced.lowerBound, edit.text.count - replaced.count)
    let isSameCount = edit.spans.count == edit.elements.count
    if isSameCount {
      for (offset, span) in edit.spans.enumerated() {
        spans[edit.elements.lowerBound + offset] = span.shifted(by: start)
      }
    } else {
      spans.replaceSubrange(edit.elements, with: edit.spans.lazy.map { $0.shifted(by: start) })
    }
    if shift == 0 { return }
    for offset in (edit.elements.lowerBound + edit.spans.count)..<spans.count {
      spans[offset] = spans[offset].shifted(by: shift)
    }
  }
}

extension JSONScanner {
  /// Skips white space, and throws an error if the text continues.
  mutating func scanEnd(after value: String) throws(ScanError) {
    skipSpace()
    if next != nil { throw unexpected(expecting: "the end of the text after the \(value)") }
  }

  /// Checks an element of the outermost array.
  ///
  /// - Parameter offset: The number of elements before it.
  mutating func scanElement(offset: Int) throws(ScanError) -> Range<Int> {
    let start = position
    var noKey: KeyMatch?
    do throws(ScanError) {
      try scanValue(depth: 1, key: &noKey)
    } catch {
      var located = error
      located.elementOffset = offset
      throw located
    }
    return start..<position
  }
}

extension JSONDocument {
  /// A change of the elements from one version to the next.
  ///
  /// If the text of an element differs, the old element is deleted and a new one is inserted.
  struct Change<Element> {
    var changeset: Changeset
    /// The new elements, in the order of the insertions.
    var inserted: [Element]
    /// The new versions of the updated elements.
    var updated: [Element] = []
  }

  /// Parses a text and decodes all its elements.
  static func load<Element>(
    _ bytes: [UInt8], key: String?, allowsSingleValue: Bool = false,
    decoding: ElementDecoding<Element>
  ) throws(JSONElement.ParsingError) -> (document: JSONDocument, elements: [Element]) {
    let document = try JSONDocument(bytes, key: key, allowsSingleValue: allowsSingleValue)
    do throws(ElementDecodingError) {
      return (document, try decoding.decode(document.values))
    } catch {
      throw document.error(error)
    }
  }

  /// Reads the next version, and decodes only elements whose text is new.
  ///
  /// - Returns: The change, or `nil` if no byte differs.
  /// - Throws: The error of the next version. The document does not change.
  mutating func update<Element>(
    for difference: FileDifference, decoding: ElementDecoding<Element>
  ) throws(JSONElement.ParsingError) -> Change<Element>? {
    guard let edit = try self.edit(for: difference) else { return nil }
    let changeset = edit.changeset
    let start = edit.elements.lowerBound
    let values = JSONValues(
      text: edit.text, spans: changeset.insertions.map { edit.spans[$0 - start] }, key: key)
    let inserted: [Element]
    do throws(ElementDecodingError) {
      inserted = try decoding.decode(values)
    } catch {
      var next = self
      next.apply(edit)
      var located = error
      located.offset = changeset.insertions[error.offset]
      throw next.error(located)
    }
    apply(edit)
    return Change(changeset: changeset, inserted: inserted)
  }
}

extension JSONDocument.Change where Element: Differentiable & Sendable {
  /// Replaces a deletion and an insertion at the same place with an update if the elements have the same
  /// identity.
  ///
  /// Most elements change this way, and an update costs less.
  ///
  /// - Parameter old: The elements before the change.
  mutating func pairUpdates(of old: Snapshot<Element>) {
    // If other elements move, the places are not comparable.
    guard changeset.moves.isEmpty, changeset.updates.isEmpty else { return }
    let (oldDeletions, oldInsertions, oldInserted) =
      (changeset.deletions, changeset.insertions, inserted)
    var (deletions, insertions): ([Int], [Int]) = ([], [])
    var updates: [Changeset.Update] = []
    inserted = []
    var (deletion, insertion) = (0, 0)
    while deletion < oldDeletions.count, insertion < oldInsertions.count {
      let (from, to, element) =
        (oldDeletions[deletion], oldInsertions[insertion], oldInserted[insertion])
      // The number of kept elements before the element, in both versions.
      let (oldPlace, newPlace) = (from - deletion, to - insertion)
      let isUpdate =
        oldPlace == newPlace && old[from].differenceIdentifier == element.differenceIdentifier
      if isUpdate {
        updates.append(.init(from: from, to: to))
        updated.append(element)
      }
      if oldPlace <= newPlace {
        if !isUpdate { deletions.append(from) }
        deletion += 1
      }
      if oldPlace >= newPlace {
        if !isUpdate {
          insertions.append(to)
          inserted.append(element)
        }
        insertion += 1
      }
    }
    deletions += oldDeletions[deletion...]
    insertions += oldInsertions[insertion...]
    inserted += oldInserted[insertion...]
    changeset = Changeset(deletions: deletions, insertions: insertions, updates: updates)
  }
}
