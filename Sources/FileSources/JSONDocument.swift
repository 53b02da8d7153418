/// The text of a JSON array, and the ranges of its elements.
///
/// `edit(for:)` computes the next version without changing the document. `apply(_:)` applies it.
struct JSONDocument: Sendable {
  private(set) var bytes: [UInt8]
  /// The range of each element, without surrounding white space.
  private(set) var spans: [Range<Int>]
  /// The name of the member that identifies an element, if there is one.
  let key: String?

  /// Parses a text.
  init(_ bytes: [UInt8], key: String?) throws(JSONError) {
    self.bytes = bytes
    self.key = key
    var spans: [Range<Int>] = []
    do throws(JSONError) {
      try JSONElement.parse(bytes, capacity: 0) { (scanner) throws(JSONScanner.Fault) in
        try Self.split(&scanner, into: &spans)
      }
      self.spans = spans
    } catch {
      // Report the first fault. An element before this one may lack its key.
      self.spans = spans
      do throws(UndecodableElement) {
        if key != nil { _ = try values.elements() }
      } catch {
        throw self.error(error)
      }
      throw error
    }
  }

  /// The elements, as values of the text.
  var values: JSONValues { JSONValues(text: bytes, spans: spans, key: key) }

  /// Creates an error from the fault of an element, with its position in the text.
  func error(_ fault: UndecodableElement) -> JSONError {
    JSONError(
      code: fault.code, reason: fault.reason,
      position: JSONError.Position(
        of: spans[fault.offset].lowerBound, in: bytes[JSONElement.bodyStart(of: bytes)...]),
      elementOffset: fault.offset)
  }

  /// Splits the whole text into elements.
  private static func split(
    _ scanner: inout JSONScanner, into spans: inout [Range<Int>]
  ) throws(JSONScanner.Fault) {
    guard try scanOpening(&scanner) else { return }
    repeat {
      if scanner.next == nil { throw scanner.truncated("array") }
      spans.append(try scanner.scanElement(offset: spans.count))
      scanner.skipSpace()
    } while try scanner.scanSeparator(closing: UInt8(ascii: "]"), of: "array")
    try JSONElement.scanEnd(&scanner, after: "array")
  }

  /// Scans the opening bracket. If the array is empty, scans the whole array.
  ///
  /// - Returns: `true` if the array has elements.
  static func scanOpening(_ scanner: inout JSONScanner) throws(JSONScanner.Fault) -> Bool {
    let start = scanner.position
    guard let first = scanner.next, first == UInt8(ascii: "[") else {
      let kind = JSONElement.Kind(startingWith: scanner.next)
      var noKey: JSONScanner.KeyMatch?
      try scanner.scanValue(depth: 0, key: &noKey)
      throw JSONScanner.Fault(
        code: .notAnArray, offset: start,
        reason: "\(kind.described) stands at the top level; an array is expected: "
          + "put [ and ] around the elements")
    }
    scanner.advance()
    scanner.skipSpace()
    guard scanner.next == UInt8(ascii: "]") else { return true }
    scanner.advance()
    try JSONElement.scanEnd(&scanner, after: "array")
    return false
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
  /// Checks an element of the outermost array.
  ///
  /// - Parameter offset: The number of elements before it.
  mutating func scanElement(offset: Int) throws(Fault) -> Range<Int> {
    let start = position
    var noKey: KeyMatch?
    do throws(Fault) {
      try scanValue(depth: 1, key: &noKey)
    } catch {
      var fault = error
      fault.elementOffset = offset
      throw fault
    }
    return start..<position
  }
}

extension Range<Int> {
  func shifted(by distance: Int) -> Range<Int> {
    Range(uncheckedBounds: (lowerBound + distance, upperBound + distance))
  }
}

extension JSONElement {
  /// Scans a text, and converts the offsets of faults to lines and columns.
  ///
  /// - Parameters:
  ///   - capacity: The length of the longest value that the scanner copies, or 0 if it copies none.
  ///   - isWhole: A Boolean value that indicates whether the text begins at the start of the file. Only
  ///     there, a byte order mark is skipped and the encoding is checked.
  static func parse<Value>(
    _ bytes: [UInt8], capacity: Int, isWhole: Bool = true,
    _ body: (inout JSONScanner) throws(JSONScanner.Fault) -> Value
  ) throws(JSONError) -> Value {
    let start = isWhole ? bodyStart(of: bytes) : 0
    do throws(JSONScanner.Fault) {
      if isWhole, isUTF16(bytes) {
        throw JSONScanner.Fault(
          code: .encoding, offset: 0, reason: "the text is UTF-16 or UTF-32; save it as UTF-8")
      }
      return try JSONScanner.withScanner(of: bytes, from: start, capacity: capacity) {
        (scanner) throws(JSONScanner.Fault) in
        scanner.skipSpace()
        if scanner.next == nil {
          throw scanner.fault(.empty, "the text is empty; write [] for a list of nothing")
        }
        return try body(&scanner)
      }
    } catch {
      throw JSONError(
        code: error.code, reason: error.reason,
        position: JSONError.Position(of: error.offset, in: bytes[start...]),
        elementOffset: error.elementOffset)
    }
  }

  /// Returns the offset of the first byte after a byte order mark.
  static func bodyStart(of bytes: [UInt8]) -> Int {
    bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  /// Returns a Boolean value that indicates whether a text is UTF-16 or UTF-32.
  ///
  /// JSON begins with an ASCII character. A zero byte next to it, or the byte order mark of another
  /// encoding, indicates UTF-16 or UTF-32.
  static func isUTF16(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
      || bytes.count > 1 && (bytes[0] == 0) != (bytes[1] == 0)
      || bytes.starts(with: [0, 0, 0xFE, 0xFF]) || bytes.starts(with: [0, 0, 0])
  }

  static func scanEnd(
    _ scanner: inout JSONScanner, after what: String
  ) throws(JSONScanner.Fault) {
    scanner.skipSpace()
    if scanner.next != nil {
      throw scanner.unexpected(expecting: "the end of the text after the \(what)")
    }
  }
}
