import SwappablePrimitives

/// The place of a value in a JSON document: a JSON pointer (RFC 6901).
package struct JSONPointer: Sendable, Hashable {
  /// The pointer, such as `/items`. The empty text is the whole document.
  package let text: String
  /// The names of members, and the offsets of items, on the way.
  private let steps: [String]

  /// Parses a pointer, or returns `nil` if it is not valid.
  package init?(_ text: String) {
    guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { return nil }
    self.text = text
    var steps: [String] = []
    for part in text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .dropFirst()
    {
      var step: [UInt8] = []
      var rest = part
      while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "~") else {
          step.append(byte)
          continue
        }
        switch rest.popFirst() {
        case UInt8(ascii: "0"): step.append(UInt8(ascii: "~"))
        case UInt8(ascii: "1"): step.append(UInt8(ascii: "/"))
        default: return nil
        }
      }
      steps.append(String(decoding: step, as: UTF8.self))
    }
    self.steps = steps
  }

  /// Returns a pointer that a program has written, or `nil` for the whole document.
  static func checked(_ text: String) -> JSONPointer? {
    guard let pointer = JSONPointer(text) else {
      preconditionFailure("a JSON pointer is empty or begins with a slash, but is \"\(text)\"")
    }
    return text.isEmpty ? nil : pointer
  }

  /// Returns the array at the place in a document.
  ///
  /// If the value is an object, its members become the elements, each `{"key": …, "value": …}`.
  ///
  /// - Parameters:
  ///   - document: The text of the document.
  ///   - spreadsMembers: A Boolean value that indicates whether the members of an object beside `"key"` are those of its
  ///     value.
  /// - Returns: The text of the array, and its range in the document if it is a part of it.
  /// - Throws: An error if the document is not valid, or if there is no such array or object.
  package func list(
    in document: [UInt8], spreadsMembers: Bool = false
  ) throws(JSONElement.ParsingError) -> (text: [UInt8], range: Range<Int>?) {
    var span = try JSONDocument.parse(document, capacity: 0) {
      (scanner) throws(JSONScanner.ScanError) in
      let start = scanner.position
      var noKey: JSONScanner.KeyMatch?
      try scanner.scanValue(depth: 0, key: &noKey)
      let end = scanner.position
      try scanner.scanEnd(after: "value")
      return start..<end
    }
    for (depth, step) in steps.enumerated() { span = try value(step, depth, in: document, span) }
    switch JSONElement.Kind(startingWith: document[span.lowerBound]) {
    case .array: return (Array(document[span]), span)
    case .object: return (Self.elements(ofObject: document, span, spreadsMembers), nil)
    case let kind:
      throw JSONElement.ParsingError(
        code: .notFound,
        reason: "\(kind.described) is at #\(text) instead of an array or an object")
    }
  }

  /// Returns the span of a member or an item.
  private func value(
    _ step: String, _ depth: Int, in document: [UInt8], _ span: Range<Int>
  ) throws(JSONElement.ParsingError) -> Range<Int> {
    let parts = Array(JSONMemberRanges(document, in: span))
    let place =
      depth == 0 ? "in the document" : "at #" + steps[..<depth].map { "/\($0)" }.joined()
    let reason: String
    switch JSONElement.Kind(startingWith: document[span.lowerBound]) {
    case .object:
      let names = parts.map { Self.name($0.name, in: document) }
      if let found = names.lastIndex(where: { $0.utf8.elementsEqual(step.utf8) }) {
        return parts[found].value
      }
      let known = names.prefix(20).joined(separator: ", ")
      reason =
        "there is no \"\(step)\" \(place); "
        + (names.isEmpty ? "the object is empty" : "the members are \(known)")
    case .array:
      if let offset = Int(step), String(offset) == step, parts.indices.contains(offset) {
        return parts[offset].value
      }
      reason = "there is no item \(step) \(place), which has \(parts.count) items"
    case let kind: reason = "\(kind.described) is \(place), so there is no \"\(step)\""
    }
    throw JSONElement.ParsingError(code: .notFound, reason: reason)
  }

  /// Returns the name of a member, which may have any escapes.
  private static func name(_ range: Range<Int>?, in document: [UInt8]) -> String {
    guard let range else { return "" }
    return (try? JSONElement(parsing: Array(document[range])))?.string ?? ""
  }

  private static func elements(
    ofObject document: [UInt8], _ span: Range<Int>, _ spreadsMembers: Bool
  ) -> [UInt8] {
    var text = [UInt8(ascii: "[")]
    for (name, value) in JSONMemberRanges(document, in: span) {
      guard let name else { continue }
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      text += Array(#"{"key":"#.utf8) + document[name]
      let names = JSONMemberRanges(document, in: value).map { self.name($0.name, in: document) }
      // A member "key" of the value would take the place of the name.
      if spreadsMembers, document[value.lowerBound] == UInt8(ascii: "{"), !names.contains("key") {
        text += (names.isEmpty ? [] : [UInt8(ascii: ",")]) + document[value].dropFirst()
      } else {
        text += Array(#","value":"#.utf8) + document[value] + [UInt8(ascii: "}")]
      }
    }
    return text + [UInt8(ascii: "]")]
  }
}
