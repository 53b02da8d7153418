import FileSources
import SwappablePrimitives

/// A JSON value in the text of a file, with the bytes and the layout that its writer chose.
struct WrittenValue {
  /// A member of an object, an item of an array, or a line of JSON Lines.
  struct Part {
    /// The name of the member, or the identity of the item.
    let id: ByteString
    /// The name of the member and the colon, as they are written.
    let prefix: ArraySlice<UInt8>
    let value: WrittenValue

    var span: Range<Int> { (value.span.lowerBound - prefix.count)..<value.span.upperBound }
  }

  let text: [UInt8]
  let span: Range<Int>
  let element: JSONElement
  /// A Boolean value that indicates whether the value is a text of JSON Lines, and not an array.
  let isLines: Bool

  var bytes: ArraySlice<UInt8> { text[span] }

  /// Parses a text with one value.
  init(json text: [UInt8]) throws(JSONElement.ParsingError) {
    element = try JSONElement(parsing: text)
    let rest = text[JSONText.bodyStart(of: text[...])...]
    let start = rest.firstIndex { !Self.isSpace($0) } ?? rest.endIndex
    let end = rest.lastIndex { !Self.isSpace($0) }.map { $0 + 1 } ?? start
    (self.text, span, isLines) = (text, start..<end, false)
  }

  /// Parses a text with one value on each line.
  init(lines text: [UInt8]) throws(JSONElement.ParsingError) {
    var items: [JSONElement] = []
    for line in Self.lines(of: text) { items.append(try JSONElement(parsing: Array(text[line]))) }
    element = JSONElement(items: items)
    (self.text, span, isLines) = (text, text.indices, true)
  }

  private init(_ text: [UInt8], _ span: Range<Int>, _ element: JSONElement) {
    (self.text, self.span, self.element, isLines) = (text, span, element, false)
  }

  /// Returns the members or items.
  ///
  /// - Parameter key: The member that identifies the items of an array.
  /// - Returns: The parts in order, or `nil` if the value has no parts, or if they cannot be told apart.
  func parts(key: String?) -> [Part]? {
    guard let values = element.identifiedParts(key: key) else { return nil }
    let spans =
      isLines
      ? Self.lines(of: text).map { ($0.lowerBound, $0) }
      : JSONMemberRanges(text, in: span).map {
        ($0.name?.lowerBound ?? $0.value.lowerBound, $0.value)
      }
    return zip(values, spans).map { value, span in
      let (start, span) = span
      return Part(
        id: value.id, prefix: text[start..<span.lowerBound],
        value: WrittenValue(text, span, value.value))
    }
  }

  private static func lines(of text: [UInt8]) -> [Range<Int>] {
    text[JSONText.bodyStart(of: text[...])...].split(separator: UInt8(ascii: "\n")).compactMap {
      line in
      guard let start = line.firstIndex(where: { !isSpace($0) }),
        let end = line.lastIndex(where: { !isSpace($0) })
      else { return nil }
      return start..<(end + 1)
    }
  }

  static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}

extension JSONElement {
  /// Returns the members of an object by their names, or the items of an array by a key.
  ///
  /// - Returns: The parts in order, or `nil` if the value has no parts, or if they cannot be told apart.
  func identifiedParts(key: String?) -> [(id: ByteString, value: JSONElement)]? {
    let parts: [(id: ByteString, value: JSONElement)]?
    if let members {
      parts = members.map { (ByteString($0.name), $0.value) }
    } else if let key, let items = try? items(key: key) {
      parts = items.map { (ByteString(bytes: $0.differenceIdentifier.utf8), $0) }
    } else {
      parts = nil
    }
    guard let parts, Set(parts.map(\.id)).count == parts.count else { return nil }
    return parts
  }
}
