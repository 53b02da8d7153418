import SwappablePrimitives

/// Functions that read and write canonical JSON text, which is known to be valid.
package enum JSONText {
  /// Returns the offset of the first byte after the byte order marks at the start of a text.
  ///
  /// There are several if files were put together and one of them had nothing but its mark.
  package static func bodyStart(of text: ArraySlice<UInt8>) -> Int {
    var rest = text
    while rest.first == 0xEF, rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    return rest.startIndex
  }

  /// Returns a Boolean value that indicates whether a line contains only byte order marks and white space.
  package static func isBlank(line: ArraySlice<UInt8>) -> Bool {
    line[bodyStart(of: line)...].allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
  }

  static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

  /// Returns the letter of the two-character escape of a control character, or `nil` if there is none.
  static func shortEscape(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x08: UInt8(ascii: "b")
    case 0x09: UInt8(ascii: "t")
    case 0x0A: UInt8(ascii: "n")
    case 0x0C: UInt8(ascii: "f")
    case 0x0D: UInt8(ascii: "r")
    default: nil
    }
  }

  /// Appends a string with quotes and the shortest escapes.
  package static func append(_ string: some StringProtocol, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    appendContents(string, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  private static func appendContents(_ string: some StringProtocol, to bytes: inout [UInt8]) {
    for byte in string.utf8 {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      } else if byte >= 0x20 {
        bytes.append(byte)
      } else if let letter = shortEscape(byte) {
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(letter)
      } else {
        bytes += [0x5C, 0x75, 0x30, 0x30, hexDigit(byte >> 4), hexDigit(byte & 0xF)]
      }
    }
  }

  /// Appends a string that need not be UTF-8. Different bytes become different strings.
  ///
  /// A byte that is not UTF-8 becomes the escape of the lone surrogate U+DC00 plus the byte, as in the error
  /// handler `surrogateescape` of Python. No valid text contains it.
  package static func append(bytes text: [UInt8], to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for part in ByteString(bytes: text).parts {
      switch part {
      case .text(let text):
        appendContents(text, to: &bytes)
      case .byte(let byte):
        bytes += [0x5C, 0x75, 0x64, 0x63, hexDigit(byte >> 4), hexDigit(byte & 0xF)]
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Returns the offset after the value that begins at an offset.
  static func endOfValue(in bytes: [UInt8], at start: Int) -> Int {
    var position = start
    var depth = 0
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position = endOfString(in: bytes, at: position)
        if depth == 0 { return position }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        // The end of an array or object whose last value is a number or a literal.
        if depth == 0 { return position }
        depth -= 1
        position += 1
        if depth == 0 { return position }
      case UInt8(ascii: ","):
        if depth == 0 { return position }
        position += 1
      default:
        position += 1
      }
    }
    return position
  }

  static func endOfString(in bytes: [UInt8], at start: Int) -> Int {
    var position = start + 1
    while position < bytes.count {
      if bytes[position] == UInt8(ascii: "\"") { return position + 1 }
      position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    return bytes.count
  }

  /// Decodes a string, whose quotes are included in the bytes.
  ///
  /// A surrogate without its partner is decoded as U+FFFD.
  static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    let body = bytes.dropFirst().dropLast()
    guard body.contains(UInt8(ascii: "\\")) else { return String(decoding: body, as: UTF8.self) }
    var result: [UInt8] = []
    result.reserveCapacity(body.count)
    var position = body.startIndex
    while position < body.endIndex {
      guard body[position] == UInt8(ascii: "\\"), position + 1 < body.endIndex else {
        result.append(body[position])
        position += 1
        continue
      }
      let letter = body[position + 1]
      position += 2
      switch letter {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "u"):
        let digits = String(decoding: body[position...].prefix(4), as: UTF8.self)
        let scalar = UInt32(digits, radix: 16).flatMap { Unicode.Scalar($0) } ?? "\u{FFFD}"
        result += Array(String(Character(scalar)).utf8)
        position += 4
      default: result.append(letter)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Hashes the value that begins at an offset. The order of the members of an object does not matter.
  ///
  /// Values with equal normal forms have equal hashes.
  ///
  /// - Returns: The offset after the value.
  static func hash(_ bytes: [UInt8], at start: Int, into hasher: inout Hasher) -> Int {
    let isObject = bytes[start] == UInt8(ascii: "{")
    guard isObject || bytes[start] == UInt8(ascii: "[") else {
      let end = endOfValue(in: bytes, at: start)
      ByteComparison.hash(bytes, start..<end, into: &hasher)
      return end
    }
    let close = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
    hasher.combine(close)
    // A sum of the hashes of all members is independent of their order.
    var sum = 0
    var position = start + 1
    while position < bytes.count, bytes[position] != close {
      if bytes[position] == UInt8(ascii: ",") { position += 1 }
      if isObject {
        var member = Hasher()
        let end = endOfString(in: bytes, at: position)
        ByteComparison.hash(bytes, position..<end, into: &member)
        position = hash(bytes, at: end + 1, into: &member)
        sum &+= member.finalize()
      } else {
        position = hash(bytes, at: position, into: &hasher)
        sum += 1
      }
    }
    hasher.combine(sum)
    return position + 1
  }

  /// Returns the value with the members of all objects sorted by the bytes of their names.
  ///
  /// Members with the same name keep their order, because the last one counts.
  static func normalForm(of bytes: [UInt8]) -> [UInt8] {
    guard let first = bytes.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
      return bytes
    }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    _ = appendNormalForm(of: bytes, at: 0, to: &result)
    return result
  }

  private static func appendNormalForm(
    of bytes: [UInt8], at start: Int, to result: inout [UInt8]
  ) -> Int {
    let close: UInt8
    switch bytes[start] {
    case UInt8(ascii: "{"): close = UInt8(ascii: "}")
    case UInt8(ascii: "["): close = UInt8(ascii: "]")
    default:
      let end = endOfValue(in: bytes, at: start)
      result += bytes[start..<end]
      return end
    }
    result.append(bytes[start])
    let bodyStart = result.count
    // The ranges of the members and their names in the result.
    var members: [(name: Range<Int>, whole: Range<Int>)] = []
    var position = start + 1
    while position < bytes.count, bytes[position] != close {
      if bytes[position] == UInt8(ascii: ",") {
        result.append(UInt8(ascii: ","))
        position += 1
      }
      let memberStart = result.count
      var name = memberStart..<memberStart
      if close == UInt8(ascii: "}") {
        let end = endOfString(in: bytes, at: position)
        result += bytes[position...end]
        name = memberStart..<(result.count - 1)
        position = end + 1
      }
      position = appendNormalForm(of: bytes, at: position, to: &result)
      if close == UInt8(ascii: "}") { members.append((name, memberStart..<result.count)) }
    }
    sort(members, from: bodyStart, in: &result)
    result.append(close)
    return position + 1
  }

  private static func sort(
    _ members: [(name: Range<Int>, whole: Range<Int>)], from start: Int,
    in result: inout [UInt8]
  ) {
    func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
      result[left].lexicographicallyPrecedes(result[right])
    }
    let isSorted = zip(members, members.dropFirst()).allSatisfy { !precedes($1.name, $0.name) }
    if isSorted { return }
    let order = members.indices.sorted { left, right in
      if precedes(members[left].name, members[right].name) { return true }
      return !precedes(members[right].name, members[left].name) && left < right
    }
    var sorted: [UInt8] = []
    sorted.reserveCapacity(result.count - start)
    for index in order {
      if !sorted.isEmpty { sorted.append(UInt8(ascii: ",")) }
      sorted += result[members[index].whole]
    }
    result.replaceSubrange(start..., with: sorted)
  }
}

/// The ranges of an array's values, or of an object's names and values, in valid text.
package struct JSONMemberRanges: Sequence, IteratorProtocol {
  private let bytes: [UInt8]
  private let isObject: Bool
  private var position: Int
  /// The offset of the closing bracket.
  private let end: Int

  package init(_ element: JSONElement) {
    self.init(element.storage.bytes)
  }

  init(_ bytes: [UInt8]) { self.init(bytes, in: bytes.indices) }

  /// - Parameters:
  ///   - bytes: A text.
  ///   - span: The range of a value in it. A value that is no array and no object has no parts.
  package init(_ bytes: [UInt8], in span: Range<Int>) {
    let first = span.isEmpty ? nil : bytes[span.lowerBound]
    isObject = first == UInt8(ascii: "{")
    self.bytes = bytes
    position = span.lowerBound + 1
    end = isObject || first == UInt8(ascii: "[") ? span.upperBound - 1 : 0
  }

  package mutating func next() -> (name: Range<Int>?, value: Range<Int>)? {
    skip(UInt8(ascii: ","))
    guard position < end else { return nil }
    var name: Range<Int>?
    if isObject {
      let end = JSONText.endOfString(in: bytes, at: position)
      name = position..<end
      position = end
      skip(UInt8(ascii: ":"))
    }
    let start = position
    position = JSONText.endOfValue(in: bytes, at: start)
    var valueEnd = position
    while valueEnd > start, Self.isSpace(bytes[valueEnd - 1]) { valueEnd -= 1 }
    return (name, start..<valueEnd)
  }

  /// Skips white space and a separator.
  private mutating func skip(_ separator: UInt8) {
    while position < end, bytes[position] == separator || Self.isSpace(bytes[position]) {
      position += 1
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }
}
