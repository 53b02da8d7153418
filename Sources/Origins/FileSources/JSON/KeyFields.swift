/// A key that is no member: a path into an element, or several names or paths.
package struct KeyFields: Sendable {
  /// The names of the members on each path.
  private let paths: [[String]]
  private let text: String

  /// Parses a text, or returns `nil` if it is a plain name.
  ///
  /// Names are separated by dots, and paths by commas. A name in double quotes, as in JSON, may have both.
  package init?(_ text: String) {
    var paths: [[String]] = []
    var path: [String] = []
    var rest = Array(text.utf8)[...]
    // A path may begin with a dot, as in jq.
    if rest.first == UInt8(ascii: ".") { rest.removeFirst() }
    while true {
      let name: [UInt8]
      if rest.first == UInt8(ascii: "\"") {
        let bytes = Array(rest)
        guard bytes.dropFirst().contains(UInt8(ascii: "\"")) else { return nil }
        let end = JSONText.endOfString(in: bytes, at: 0)
        guard end <= bytes.count,
          let string = try? JSONElement(parsing: Array(bytes[..<end])).string
        else { return nil }
        name = Array(string.utf8)
        rest = bytes[end...]
      } else {
        name = Array(rest.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ",") })
        rest = rest.dropFirst(name.count)
      }
      guard !name.isEmpty else { return nil }
      path.append(String(decoding: name, as: UTF8.self))
      let separator = rest.popFirst()
      if separator == UInt8(ascii: ".") { continue }
      guard separator == nil || separator == UInt8(ascii: ",") else { return nil }
      paths.append(path)
      path = []
      if separator == nil { break }
      if rest.first == UInt8(ascii: ".") { rest.removeFirst() }
    }
    if paths.count == 1, paths[0].count == 1, paths[0][0].utf8.elementsEqual(text.utf8) {
      return nil
    }
    (self.paths, self.text) = (paths, text)
  }

  /// Returns a Boolean value that indicates whether each field is a column.
  ///
  /// - Parameter names: The names of the columns, as JSON strings.
  func areColumns(of names: [[UInt8]]) -> Bool {
    paths.allSatisfy { $0.count == 1 && names.contains(JSONElement.quoted($0[0])) }
  }

  /// Returns an element that the fields identify.
  ///
  /// - Throws: An error if a field is missing, or is an array or an object.
  func identified(_ bytes: [UInt8]) throws(JSONElement.ParsingError) -> JSONElement {
    var ranges: [Range<Int>] = []
    for path in paths { ranges.append(try range(at: path, in: bytes)) }
    if ranges.count == 1 { return JSONElement(canonical: bytes, key: ranges[0]) }
    let values = ranges.map { bytes[$0] }.joined(separator: [UInt8(ascii: ",")])
    return JSONElement(
      canonical: bytes, identity: [UInt8(ascii: "[")] + values + [UInt8(ascii: "]")])
  }

  private func range(
    at path: [String], in bytes: [UInt8]
  ) throws(JSONElement.ParsingError) -> Range<Int> {
    var range = bytes.indices
    for name in path {
      let quoted = JSONElement.quoted(name)
      let members = Array(JSONMemberRanges(bytes, in: range))
      guard
        let member = members.last(where: { member in
          member.name.map { bytes[$0] == quoted[...] } ?? false
        })
      else {
        guard bytes[range.lowerBound] == UInt8(ascii: "{") else {
          throw .missingKey(text, in: JSONElement.Kind(startingWith: bytes[range.lowerBound]))
        }
        let names = members.map { $0.name.map { JSONText.decoded(bytes[$0]) } ?? "" }
        throw .missingKey(text, among: names)
      }
      range = member.value
    }
    let kind = JSONElement.Kind(startingWith: bytes[range.lowerBound])
    guard kind != .object, kind != .array else {
      throw JSONElement.ParsingError(
        code: .invalidKey,
        reason:
          "the key \(text) is \(kind.described); use a string, a number, true, false or null as the key"
      )
    }
    return range
  }
}
