/// The text of a JSON array, and where its elements stand in it.
///
/// The next version of the text is told by what differs: `edit(for:)` says what becomes of the
/// elements, and changes nothing, so that a version may still be refused; `apply(_:)` makes it so.
struct JSONDocument: Sendable {
  private(set) var bytes: [UInt8]
  /// Where each element stands, without white space around it.
  private(set) var spans: [Range<Int>]
  /// The name of the member by which elements are known, if there is one.
  let key: String?

  /// Reads a text.
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
      // The first fault counts: an element before this one may be without its key.
      self.spans = spans
      do throws(UndecodableElement) {
        if key != nil { _ = try values.elements() }
      } catch {
        throw self.error(error)
      }
      throw error
    }
  }

  /// The elements as values of a text.
  var values: JSONValues { JSONValues(text: bytes, spans: spans, key: key) }

  /// Says of an element's fault where in the text it is.
  func error(_ fault: UndecodableElement) -> JSONError {
    JSONError(
      code: fault.code, reason: fault.reason,
      position: JSONError.Position(
        of: spans[fault.offset].lowerBound, in: bytes[JSONElement.bodyStart(of: bytes)...]),
      elementOffset: fault.offset)
  }

  /// Passes over the whole text.
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

  /// Passes the opening bracket, and an array of nothing as a whole.
  ///
  /// - Returns: whether there are elements.
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
  /// Puts a version in the place of this one.
  ///
  /// - Complexity: O(n) in small integers behind the first change, and in bytes behind it where their
  ///   number changes.
  mutating func apply(_ edit: JSONDocumentEdit) {
    guard let replaced = edit.replaced else {
      bytes = edit.text
      spans = edit.spans
      return
    }
    let count = bytes.count - replaced.count + edit.text.count
    // Not twice the size of a large file, but not a copy at each insertion either.
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
  /// - Parameter offset: how many elements are before it.
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
