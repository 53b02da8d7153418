import FileSources
import Foundation
import ObservableCollections
import SwappablePrimitives

/// A comparison of a field of elements, such as `stock<10` or `version~deb12`.
///
/// - `=` and `!=` compare values of any kind. `<`, `<=`, `>` and `>=` are false if the kinds differ.
///   Numbers are compared exactly, and strings in the order of their Unicode characters. Two strings are equal if
///   they have the same bytes.
/// - `~` and `!~` test whether the text of the field contains the value, without regard to case. A value
///   `/…/` is a regular expression.
/// - A value that is not JSON is a string. If the field is a string, other values are compared with it as
///   texts. Only `null` is not.
/// - A field that is missing is `null`. The text of `null` is empty.
struct ElementCondition: Sendable {
  /// The condition, as it was given.
  private let source: String
  /// The name of a member, or the names on the path to a nested member, separated by points.
  let field: String
  private let comparison: Comparison
  /// The value, or `nil` if it is not JSON.
  private let json: JSONElement?
  /// The characters of the value, if it is a string, and its JSON text otherwise.
  private let text: String
  private let number: DecimalNumber?
  private let pattern: ViewPattern

  private enum Comparison {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual, contains, containsNot
  }

  /// The operators. One that begins with another one precedes it.
  private static let operators: [(text: String, comparison: Comparison)] = [
    ("!=", .notEqual), ("!~", .containsNot), ("<=", .lessOrEqual), (">=", .greaterOrEqual),
    ("==", .equal), ("=", .equal), ("<", .less), (">", .greater), ("~", .contains),
  ]

  /// Parses `FIELD OPERATOR VALUE`, with or without white space around the operator.
  ///
  /// - Parameter condition: The text. A field whose name contains an operator is in quotation marks.
  init(_ condition: String) throws(LivelistError) {
    let line = condition.trimmingCharacters(in: .whitespaces)
    source = line
    let quoted = ElementCondition.quotedField(in: line)
    let isOpen = line.utf8.first == UInt8(ascii: "\"") && quoted == nil
    let start = quoted?.end ?? line.startIndex
    guard !isOpen, let (place, comparison) = ElementCondition.firstOperator(in: line, from: start)
    else {
      throw .usage(
        "\"\(condition)\" is not a condition; use FIELD=VALUE, or !=, <, <=, >, >=, ~ or !~ "
          + "instead of =")
    }
    let between = line[start..<place.lowerBound].trimmingCharacters(in: .whitespaces)
    let isField = quoted == nil ? !between.isEmpty : between.isEmpty
    guard isField else {
      throw .usage(
        "the condition \"\(condition)\" needs one field before \(line[place]); "
          + "use FIELD\(line[place])VALUE"
      )
    }
    field = quoted?.name ?? between
    if quoted == nil, between.hasSuffix("!") {
      let wrong = "!\(line[place])"
      throw .usage(
        "\"\(condition)\" is not a condition; \(ElementCondition.advice(insteadOf: wrong)), or put "
          + "the field in quotation marks")
    }
    self.comparison = comparison
    let value = line[place.upperBound...].trimmingCharacters(in: .whitespaces)
    json = try? JSONElement(parsing: value)
    // Signs that are not in quotation marks, such as `5 && size<3`, are hardly a part of a value.
    if json == nil, value.contains(/\s(&&|\|\|)\s.*[=<>~]/) {
      throw .usage(
        "\"\(condition)\" has several comparisons; join them with and or or instead of && or ||, or put "
          + "the value in quotation marks")
    }
    if let mistake = ElementCondition.mistake(in: line[place], comparison, value) {
      throw .usage("\"\(condition)\" is not a condition; \(mistake)")
    }
    text = json?.string ?? value
    number = json?.kind == .number ? DecimalNumber(value) : nil
    let isPattern = json == nil && (comparison == .contains || comparison == .containsNot)
    pattern = isPattern ? try ViewPattern(parsing: text) : ViewPattern(text)
  }

  /// Returns what to use in place of an operator or a quotation of other languages, or `nil`.
  private static func mistake(
    in operation: Substring, _ comparison: Comparison, _ value: String
  ) -> String? {
    // An operator of another language, such as `<<`, begins with an operator. A path may begin with
    // `~/`, and a text that a field contains may begin with `<` or `!`.
    let marks = comparison == .contains || comparison == .containsNot ? "=~" : "=!<>~"
    if let first = value.first, marks.contains(first), !value.hasPrefix("~/") {
      let rest = value.prefix { "=!<>~".contains($0) }
      return "\(advice(insteadOf: operation + rest)), or put the value in quotation marks"
    }
    if value.isEmpty, [.less, .lessOrEqual, .greater, .greaterOrEqual].contains(comparison) {
      return "a value is missing after \(operation); use FIELD\(operation)VALUE"
    }
    if value.count > 1, value.hasPrefix("'"), value.hasSuffix("'") {
      return "put the text in double quotation marks, or in none"
    }
    if value.hasPrefix("\""), (try? JSONElement(parsing: value)) == nil {
      return "a value that begins with a quotation mark is a JSON string; end it with one, and put "
        + "\\ before each one in it"
    }
    return nil
  }

  /// Returns the advice to use another operator.
  private static func advice(insteadOf wrong: some StringProtocol) -> String {
    let wrong = String(wrong)
    if operators.contains(where: { $0.text == wrong }) { return "write \(wrong) without a space" }
    let others = [
      "=>": ">=", "=<": "<=", "<>": "!=", "><": "!=", "=!": "!=", "!==": "!=", "===": "=",
      "<=>": "=", "=~": "~", "==~": "~", "~=": "~", "~~": "~", "!=~": "!~", "!~~": "!~",
      "!<": ">=", "!>": "<=", "!<=": ">", "!>=": "<", "<<": "<", ">>": ">",
    ]
    let right = others[wrong] ?? "=, !=, <, <=, >, >=, ~ or !~"
    return "use \(right) instead of \(wrong)"
  }

  /// Returns the name in quotation marks with which a text begins, and the end of it.
  private static func quotedField(
    in text: some StringProtocol
  ) -> (name: String, end: String.Index)? {
    let bytes = text.utf8
    guard bytes.first == UInt8(ascii: "\"") else { return nil }
    var isEscaped = false
    for index in bytes.indices.dropFirst() {
      if !isEscaped, bytes[index] == UInt8(ascii: "\"") {
        let end = bytes.index(after: index)
        return (try? JSONElement(parsing: String(text[..<end])))?.string.map { ($0, end) }
      }
      isEscaped = !isEscaped && bytes[index] == UInt8(ascii: "\\")
    }
    return nil
  }

  /// Returns the place of the operator in a text that begins with a comparison.
  static func operatorPlace(in text: Substring) -> Range<String.Index>? {
    let text = text.drop(while: \.isWhitespace)
    let start = quotedField(in: text)?.end
    return firstOperator(in: text, from: start ?? text.startIndex)?.place
  }

  // Compare bytes: a combining mark after an operator would make it a different character.
  private static func firstOperator(
    in text: some StringProtocol, from start: String.Index
  ) -> (place: Range<String.Index>, comparison: Comparison)? {
    let bytes = text.utf8[start...]
    for index in bytes.indices {
      for (name, comparison) in operators where bytes[index...].starts(with: name.utf8) {
        return (index..<bytes.index(index, offsetBy: name.utf8.count), comparison)
      }
    }
    return nil
  }
}

// MARK: Explaining

extension ElementCondition {
  /// Returns what the condition means for the values of some elements, if that is hardly intended.
  ///
  /// No value may be of a kind that can be compared, and texts of numbers are compared as texts.
  ///
  /// - Complexity: O(1) for a field whose first value is compared as its kind suggests; otherwise
  ///   O(*n*).
  func remark(on elements: some Sequence<JSONElement>) -> String? {
    if comparison == .contains || comparison == .containsNot { return nil }
    if json?.kind == .null, ![.less, .greater].contains(comparison) { return nil }
    var kinds: [String] = []
    var hasTexts = false
    for element in elements {
      guard let member = ViewColumns.value(of: element, in: field), member.kind != .null else {
        continue
      }
      if isComparable(with: member) {
        if number == nil || member.kind != .string { return nil }
        if let remark = remark(onText: member) { return remark }
        hasTexts = true
        continue
      }
      let kind = ElementCondition.plural(member.kind)
      if !kinds.contains(kind) { kinds.append(kind) }
    }
    return hasTexts || kinds.isEmpty
      ? nil
      : "\(comparison == .notEqual ? "each" : "no") element meets \"\(source)\": the values of "
        + "\"\(field)\" are \(kinds.joined(separator: " and ")), and \(valueDescription(among: kinds))"
  }

  /// Returns a Boolean value that indicates whether the order of a member and the value is defined.
  private func isComparable(with member: JSONElement) -> Bool {
    switch member.kind {
    case .string: json?.kind != .null
    case .number: number != nil
    case .bool: json?.kind == .bool
    case .null, .array, .object:
      json?.kind == member.kind && ![.less, .greater].contains(comparison)
    }
  }

  /// Returns a remark if the comparison of a text has another result than that of its number.
  private func remark(onText member: JSONElement) -> String? {
    guard let string = member.string, let number,
      let digits = try? JSONElement(parsing: string), digits.kind == .number,
      isMet(by: ComparisonResult(DecimalNumber(string), number)) != isMet(by: order(of: member))
    else { return nil }
    return "\"\(source)\" compares texts, character by character: the value of \"\(field)\" is the "
      + "text \(member) in at least one element, and not a number"
  }

  private static func plural(_ kind: JSONElement.Kind) -> String {
    switch kind {
    case .string: "texts"
    case .number: "numbers"
    case .bool: "true or false"
    case .array: "arrays"
    case .object: "objects"
    case .null: "null"
    }
  }

  /// Returns the value and its kind.
  ///
  /// - Parameter kinds: The kinds of the other values. If they are the same, the value has no order.
  private func valueDescription(among kinds: [String]) -> String {
    if let kind = json?.kind, kinds.contains(ElementCondition.plural(kind)) {
      return "\(ElementCondition.plural(kind)) have no order; use = or !="
    }
    switch json?.kind {
    case nil, .string:
      let isNumber = (try? JSONElement(parsing: text))?.kind == .number
      return "\(json?.description ?? "\"\(text)\"") is a text"
        + (isNumber ? "; leave out its quotation marks" : "")
    case .number: return "\(text) is a number"
    case .bool: return "\(text) is true or false"
    case .array: return "\(text) is an array"
    case .object: return "\(text) is an object"
    case .null: return "null has no order; use = or !="
    }
  }
}

extension ElementCondition: Equatable {
  /// Returns a Boolean value that indicates whether two conditions have the same bytes.
  static func == (left: ElementCondition, right: ElementCondition) -> Bool {
    left.field.hasSameBytes(as: right.field) && left.comparison == right.comparison
      && left.json == right.json && left.text.hasSameBytes(as: right.text)
  }
}

// MARK: Matching

extension ElementCondition {
  /// Returns a Boolean value that indicates whether an element meets the condition.
  ///
  /// An element without members is compared as the field `value`.
  func matches(_ element: JSONElement) -> Bool {
    let member = ViewColumns.value(of: element, in: field) ?? .null
    switch comparison {
    case .contains: return contains(member)
    case .containsNot: return !contains(member)
    default: return isMet(by: order(of: member))
    }
  }

  /// Returns a Boolean value that indicates whether a comparison of order is true.
  ///
  /// - Parameter order: The order of a member relative to the value, or `nil` if it has none.
  private func isMet(by order: ComparisonResult?) -> Bool {
    switch comparison {
    case .equal: order == .orderedSame
    case .notEqual: order != .orderedSame
    case .less: order == .orderedAscending
    case .greater: order == .orderedDescending
    case .lessOrEqual: order == .orderedAscending || order == .orderedSame
    case .greaterOrEqual: order == .orderedDescending || order == .orderedSame
    case .contains, .containsNot: false
    }
  }

  /// Returns a Boolean value that indicates whether the field is in a column with one of the titles.
  func isInColumn(of titles: [String]) -> Bool {
    ViewColumns.isField(field, inColumnOf: titles)
  }

  /// Returns the effect if a filter by this condition becomes a filter by another one.
  func effect(of new: ElementCondition) -> FilterEffect {
    guard field.hasSameBytes(as: new.field), comparison == .contains, new.comparison == .contains
    else {
      return .any
    }
    return pattern.effect(of: new.pattern)
  }

  private func contains(_ member: JSONElement) -> Bool {
    member.kind == .null ? pattern.matches("") : pattern.matches(member)
  }

  /// Returns the order of a member relative to the value, or `nil` if it has none.
  private func order(of member: JSONElement) -> ComparisonResult? {
    switch member.scalar {
    case .string(let string):
      if json?.kind == .null { return nil }
      if string.hasSameBytes(as: text) {
        // Each lone surrogate is read as U+FFFD.
        guard text.unicodeScalars.contains("\u{FFFD}") else { return .orderedSame }
        let value = json?.kind == .string ? json : try? JSONElement(.string(text))
        return value.map {
          ComparisonResult(ByteString(bytes: member.utf8), ByteString(bytes: $0.utf8))
        }
      }
      return string.precedes(text) ? .orderedAscending : .orderedDescending
    case .number(let digits):
      return number.map { ComparisonResult(DecimalNumber(digits), $0) }
    case .bool(let value):
      guard case .bool(let other) = json?.scalar else { return nil }
      return ComparisonResult(value ? 1 : 0, other ? 1 : 0)
    case .null, nil:
      return member == json ? .orderedSame : nil
    }
  }
}

extension ComparisonResult {
  fileprivate init<Value: Comparable>(_ one: Value, _ other: Value) {
    self = one == other ? .orderedSame : one < other ? .orderedAscending : .orderedDescending
  }
}
