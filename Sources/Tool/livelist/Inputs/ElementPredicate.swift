import FileSources
import ObservableCollections

/// A condition on elements: a comparison, or several that are joined by `and`, `or`, `not` and parentheses.
///
/// `not` binds more closely than `and`, and `and` more closely than `or`. The value of a comparison extends to
/// the next `and` or `or` that another comparison follows. Therefore, a text may contain these words.
indirect enum ElementPredicate: Sendable, Equatable {
  case comparison(ElementCondition)
  case all([ElementPredicate])
  case any([ElementPredicate])
  case not(ElementPredicate)

  /// Parses a condition, such as `a = 1 and not (b ~ x or c < 3)`.
  init(_ text: String) throws(LivelistError) {
    var parser = PredicateParser(text)
    self = try parser.predicate()
  }

  func matches(_ element: JSONElement) -> Bool {
    switch self {
    case .comparison(let condition): condition.matches(element)
    case .all(let parts): parts.allSatisfy { $0.matches(element) }
    case .any(let parts): parts.contains { $0.matches(element) }
    case .not(let part): !part.matches(element)
    }
  }

  /// The comparisons, in their order.
  var comparisons: [ElementCondition] {
    switch self {
    case .comparison(let condition): [condition]
    case .all(let parts), .any(let parts): parts.flatMap(\.comparisons)
    case .not(let part): part.comparisons
    }
  }

  /// Returns the effect if a filter by this condition becomes a filter by another one.
  func effect(of new: ElementPredicate) -> FilterEffect {
    guard case .comparison(let old) = self, case .comparison(let new) = new else { return .any }
    return old.effect(of: new)
  }
}

/// A parser of conditions. It reads from the start of the rest of a text.
private struct PredicateParser {
  private let text: String
  private var rest: Substring
  /// The number of parentheses around the rest.
  private var depth = 0
  /// The number of operands around the rest, and the most of them.
  private var level = 0
  private static let maximumLevel = 100

  init(_ text: String) {
    self.text = text
    rest = text[...]
  }

  mutating func predicate() throws(LivelistError) -> ElementPredicate {
    let result = try alternatives()
    skipSpace()
    if rest.isEmpty { return result }
    throw mistake(
      rest.first == ")" ? "there is no ( for each )" : "put and or or before \"\(rest)\"")
  }

  private func mistake(_ message: String) -> LivelistError {
    .usage("\"\(text)\" is not a condition; \(message)")
  }

  private mutating func alternatives() throws(LivelistError) -> ElementPredicate {
    var parts = [try conjunction()]
    while take("or") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func conjunction() throws(LivelistError) -> ElementPredicate {
    var parts = [try operand()]
    while take("and") { parts.append(try operand()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func operand() throws(LivelistError) -> ElementPredicate {
    level += 1
    defer { level -= 1 }
    if level > Self.maximumLevel { throw mistake("it is nested too deeply") }
    skipSpace()
    if rest.first == "!" { throw mistake("write not instead of !") }
    // A field may have the name `not`.
    let isField = rest.dropFirst(3).first { !$0.isWhitespace }.map("=!<>~".contains) ?? true
    if !isField, take("not") { return .not(try operand()) }
    guard rest.first == "(" else {
      let end = endOfComparison()
      let comparison = String(rest[..<end])
      rest = rest[end...]
      return .comparison(try ElementCondition(comparison))
    }
    rest.removeFirst()
    depth += 1
    let result = try alternatives()
    skipSpace()
    guard rest.first == ")" else { throw mistake("a parenthesis is not closed; add )") }
    rest.removeFirst()
    depth -= 1
    return result
  }

  private mutating func skipSpace() { rest = rest.drop(while: \.isWhitespace) }

  /// Removes a word, unless it is a part of a longer one.
  private mutating func take(_ word: String) -> Bool {
    let start = rest.drop(while: \.isWhitespace)
    guard let end = Self.end(of: word, in: start) else { return false }
    rest = start[end...]
    return true
  }

  /// Returns the end of a word with which a text begins, or `nil`.
  private static func end(of word: String, in text: Substring) -> String.Index? {
    guard text.prefix(word.count).lowercased() == word else { return nil }
    let end = text.index(text.startIndex, offsetBy: word.count)
    return end == text.endIndex || text[end].isWhitespace || text[end] == "(" ? end : nil
  }

  /// Returns the end of the comparison with which the rest begins.
  private func endOfComparison() -> String.Index {
    guard let place = ElementCondition.operatorPlace(in: rest) else { return rest.endIndex }
    var index = rest[place.upperBound...].firstIndex { !$0.isWhitespace } ?? rest.endIndex
    index = endOfEnclosedValue(from: index, isPattern: rest[place].hasSuffix("~"))
    var open = 0
    while index < rest.endIndex {
      switch rest[index] {
      case "(" where depth > 0: open += 1
      case ")" where depth > 0:
        if open == 0 { return index }
        open -= 1
      case let character where character.isWhitespace && isConnective(after: index): return index
      default: break
      }
      index = rest.index(after: index)
    }
    return index
  }

  /// Returns a Boolean value that indicates whether a space, `and` or `or`, and a comparison follow.
  private func isConnective(after space: String.Index) -> Bool {
    let next = rest[space...].drop(while: \.isWhitespace)
    guard let end = Self.end(of: "and", in: next) ?? Self.end(of: "or", in: next) else {
      return false
    }
    var operand = next[end...].drop { $0.isWhitespace || $0 == "(" }
    while let end = Self.end(of: "not", in: operand) {
      operand = operand[end...].drop { $0.isWhitespace || $0 == "(" }
    }
    guard let place = ElementCondition.operatorPlace(in: operand) else { return false }
    let field = operand[..<place.lowerBound]
    // In `title = this and that and a = 1`, the first `and` belongs to the text.
    return field.contains { !$0.isWhitespace }
      && (field.first == "\"" || !field.contains(/\s(and|or)\s/.ignoresCase()))
  }

  /// Returns the end of a JSON value or of a pattern `/…/`, in which words and parentheses mean nothing.
  private func endOfEnclosedValue(from start: String.Index, isPattern: Bool) -> String.Index {
    let value = rest[start...]
    if isPattern, let end = ViewPattern.endOfExpression(in: value) { return end }
    guard let first = value.first, "\"[{".contains(first) else { return start }
    var (depth, isInString, isEscaped) = (0, false, false)
    for index in value.indices {
      let character = value[index]
      if isInString {
        isInString = isEscaped || character != "\""
        isEscaped = !isEscaped && character == "\\"
      } else if character == "\"" {
        isInString = true
      } else if "[{".contains(character) {
        depth += 1
      } else if "]}".contains(character) {
        depth -= 1
      }
      if depth == 0, !isInString { return value.index(after: index) }
    }
    return start
  }
}
