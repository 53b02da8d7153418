import FileSources
import ObservableCollections

/// A text or a regular expression to find in the visible text of elements, without regard to case.
struct ViewPattern: Sendable {
  private let text: String
  /// The lowercase bytes that the JSON of each matching element contains, or `nil` if JSON can
  /// escape them.
  private let bytes: [UInt8]?
  private let expression: Expression?

  /// A regular expression.
  // Sendable: it is made from text. Therefore, it has no closures, which are all that is not sendable in it.
  private struct Expression: @unchecked Sendable {
    let regex: Regex<AnyRegexOutput>
  }

  init(_ text: String) {
    self.text = text.lowercased()
    expression = nil
    let bytes = Array(text.utf8)
    let isPlain = bytes.allSatisfy {
      (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    self.bytes = isPlain ? bytes.map(ViewPattern.lowercase) : nil
  }

  /// The start of the message for a regular expression that is not valid.
  static let mistakePrefix = "the regular expression"

  /// Creates a pattern from a text, or from a regular expression between slashes.
  init(parsing text: String) throws(LivelistError) {
    guard ViewPattern.endOfExpression(in: text[...]) == text.endIndex else {
      self.init(text)
      return
    }
    do {
      let regex = try Regex(String(text.dropFirst().dropLast())).ignoresCase()
      self.init(text: text, bytes: nil, expression: Expression(regex: regex))
    } catch {
      throw .usage("\(ViewPattern.mistakePrefix) \(text) is not valid: \(error)")
    }
  }

  private init(text: String, bytes: [UInt8]?, expression: Expression?) {
    (self.text, self.bytes, self.expression) = (text, bytes, expression)
  }

  /// Returns the end of a regular expression between slashes with which a text begins, or `nil`.
  ///
  /// It ends at a slash that no backslash precedes, and that the end, a space or a parenthesis follows.
  static func endOfExpression(in text: Substring) -> String.Index? {
    guard text.first == "/" else { return nil }
    var isEscaped = false
    for index in text.indices.dropFirst(2) {
      let next = text.index(after: index)
      let isEnd = next == text.endIndex || text[next].isWhitespace || text[next] == ")"
      isEscaped = !isEscaped && text[text.index(before: index)] == "\\"
      if text[index] == "/", !isEscaped, isEnd { return next }
    }
    return nil
  }

  /// Returns the effect if a filter by this pattern becomes a filter by another one.
  func effect(of new: ViewPattern) -> FilterEffect {
    if expression != nil || new.expression != nil {
      return text.isEmpty ? .narrowing : new.text.isEmpty ? .widening : .any
    }
    if text.isEmpty { return .narrowing }
    if new.text.isEmpty { return .widening }
    // A pattern with bytes does not find letters that only the conversion to lowercase makes equal,
    // such as the sign of the unit kelvin.
    guard (bytes == nil) == (new.bytes == nil) else { return .any }
    if new.text.contains(text) { return .narrowing }
    return text.contains(new.text) ? .widening : .any
  }

  /// Returns a Boolean value that indicates whether the visible text of an element contains the
  /// pattern.
  func matches(_ element: JSONElement) -> Bool {
    if text.isEmpty { return true }
    // The bytes decide for most elements, without parsing them.
    if let bytes, let isMatch = ViewPattern.matches(bytes, element) { return isMatch }
    guard let members = element.members else { return matches(ViewColumns.text(of: element)) }
    return members.contains { matches(ViewColumns.text(of: $0.value)) }
  }

  func matches(_ text: String) -> Bool {
    if let expression { return text.contains(expression.regex) }
    return text.lowercased().contains(self.text)
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }

  /// Returns a Boolean value that indicates whether the values of an element contain a pattern, or
  /// `nil` if their bytes are not sufficient to tell.
  private static func matches(_ pattern: [UInt8], _ element: JSONElement) -> Bool? {
    let bytes = element.utf8
    // Most elements do not contain the bytes at all.
    guard offset(of: pattern, in: bytes, 0..<bytes.count) != nil else { return false }
    guard element.kind == .object else { return matches(pattern, bytes, value: 0..<bytes.count) }
    var result: Bool? = false
    for member in JSONMemberRanges(element) {
      let isMatch = matches(pattern, bytes, value: member.value)
      if isMatch == true { return true }
      if isMatch == nil { result = nil }
    }
    return result
  }

  private static func matches(
    _ pattern: [UInt8], _ bytes: [UInt8], value: Range<Int>
  ) -> Bool? {
    let isString = bytes[value.lowerBound] == UInt8(ascii: "\"")
    let text = isString ? value.lowerBound + 1..<value.upperBound - 1 : value
    guard let start = offset(of: pattern, in: bytes, text) else { return false }
    // The bytes can be a part of an escape, or belong to a character with a combining mark.
    if isString, bytes[text].contains(UInt8(ascii: "\\")) { return nil }
    let end = start + pattern.count
    let isSeparate =
      (start == text.lowerBound || bytes[start - 1] < 0x80)
      && (end == text.upperBound || bytes[end] < 0x80)
    return isSeparate ? true : nil
  }

  private static func offset(
    of pattern: [UInt8], in bytes: [UInt8], _ range: Range<Int>
  ) -> Int? {
    guard let first = pattern.first else { return range.lowerBound }
    guard range.count >= pattern.count else { return nil }
    for start in range.lowerBound...range.upperBound - pattern.count
    where lowercase(bytes[start]) == first {
      var length = 1
      while length < pattern.count, lowercase(bytes[start + length]) == pattern[length] {
        length += 1
      }
      if length == pattern.count { return start }
    }
    return nil
  }
}

extension ViewPattern: Equatable {
  static func == (left: ViewPattern, right: ViewPattern) -> Bool {
    left.text == right.text && (left.expression == nil) == (right.expression == nil)
  }
}

/// The search for rows that contain a text.
enum ViewSearch {
  struct Match: Sendable {
    let offset: Int
    let line: ViewLine.Identifier
    /// A Boolean value that indicates whether the search passed the end of the list.
    let isWrapped: Bool
  }

  /// Returns the next row that contains a text.
  ///
  /// The search continues at the other end of the list, and tests the start row last. It runs
  /// outside the main actor. If its task is canceled, it returns `nil`.
  @concurrent
  static func find(
    _ text: String, in contents: Snapshot<ViewLine>, from start: Int, isBackward: Bool
  ) async -> Match? {
    let count = contents.count
    let pattern = ViewPattern(text)
    for step in 1...max(1, count) where count > 0 {
      if step.isMultiple(of: 1000), Task.isCancelled { return nil }
      let offset = (start + (isBackward ? count - step : step)) % count
      guard let row = contents[offset].row else { continue }
      if pattern.matches(row.element) {
        let isWrapped = isBackward ? offset >= start : offset <= start
        return Match(
          offset: offset, line: contents[offset].differenceIdentifier,
          isWrapped: isWrapped && step < count)
      }
    }
    return nil
  }
}
