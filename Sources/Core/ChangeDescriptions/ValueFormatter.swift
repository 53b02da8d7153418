/// A namespace for functions that format values as short text without control characters.
package enum ValueFormatter {
  /// The maximum depth of nested values. Objects may refer to each other in a cycle.
  private static let depthLimit = 4

  /// Returns the text of a value, with quoted strings, and without `Optional(…)` around wrapped
  /// values.
  package static func text(of value: Any, depth: Int = 0) -> String {
    switch value {
    case let string as any StringProtocol: return String(string).debugDescription
    case let character as Character: return String(character).debugDescription
    // An optional is tested before `CustomStringConvertible`, because its own description contains
    // `Optional(…)`.
    case let optional as any OptionalValue:
      return optional.wrapped.map { text(of: $0, depth: depth) } ?? "nil"
    case let describable as any CustomStringConvertible: return describable.description
    default: return plainText(of: value, depth)
    }
  }

  /// Returns the type and the fields of a value without a description of its own.
  private static func plainText(of value: Any, _ depth: Int) -> String {
    switch Mirror(reflecting: value).displayStyle {
    case .struct, .class: break
    default: return String(describing: value)
    }
    guard depth < depthLimit else { return "\(type(of: value))(…)" }
    let fields = ReflectedFields.fields(of: value).map { field in
      "\(field.name): \(text(of: field.value, depth: depth + 1))"
    }
    return "\(type(of: value))(\(fields.joined(separator: ", ")))"
  }

  // MARK: Escaping and shortening

  /// Returns the beginning of a text, escaped.
  package static func shortened(_ text: String, to length: Int) -> String {
    escaped(text, from: 0, to: length)
  }

  /// Returns the parts of two texts around their first difference, escaped.
  package static func shortened(_ old: String, _ new: String, to length: Int) -> (String, String) {
    var start = 0
    if old.utf8.count > length || new.utf8.count > length {
      let common = zip(old.unicodeScalars, new.unicodeScalars).prefix { $0 == $1 }.count
      // Skip most of the common prefix, and keep a part of it as context.
      if common > length / 2 { start = common - length / 4 }
    }
    // Escape all non-ASCII scalars if the strings are canonically equal, because they look alike.
    let isASCII = old == new
    return (
      escaped(old, from: start, to: length, isASCII: isASCII),
      escaped(new, from: start, to: length, isASCII: isASCII)
    )
  }

  private static func escaped(
    _ text: String, from start: Int, to length: Int, isASCII: Bool = false
  ) -> String {
    if start == 0 {
      // Most texts are printable ASCII. One pass over the bytes is enough for them.
      let bytes = text.utf8.prefix(length)
      if bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) {
        return bytes.count == text.utf8.count ? text : String(Substring(bytes)) + "…"
      }
    }
    var result = start > 0 ? "…" : ""
    var rest = text.unicodeScalars.dropFirst(start)
    var count = 0
    while count < length, let scalar = rest.popFirst() {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where acts(scalar) || isASCII && !scalar.isASCII:
        result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: result.unicodeScalars.append(scalar)
      }
      count += 1
    }
    return rest.isEmpty ? result : result + "…"
  }

  /// Returns a Boolean value that indicates whether a scalar is invisible, or affects the text
  /// around it or a terminal.
  private static func acts(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x7F { return scalar.value < 0x20 }
    return switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    // Joiners are part of letters and emoji, so they are not escaped.
    case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
    default: false
    }
  }
}

/// A type-erased optional.
protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  var wrapped: Any? { self }
}
