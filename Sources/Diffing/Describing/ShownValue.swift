/// Turns values into short text that does no harm.
package enum ShownValue {
  /// How deep values of values are written: objects may hold one another in a circle.
  private static let depthLimit = 4

  /// A value as a person knows it: strings in quotes, nothing wrapped in `Optional`.
  static func text(of value: Any, depth: Int = 0) -> String {
    switch value {
    case let string as any StringProtocol: return String(string).debugDescription
    case let character as Character: return String(character).debugDescription
    // Before its description, which is that of a wrapped value.
    case let optional as any OptionalValue:
      return optional.wrapped.map { text(of: $0, depth: depth) } ?? "nil"
    case let describable as any CustomStringConvertible: return describable.description
    default: return plainText(of: value, depth)
    }
  }

  /// The type and the fields of a value that has no description of its own.
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

  /// The beginning of a text, escaped.
  package static func shortened(_ text: String, to length: Int) -> String {
    escaped(text, from: 0, to: length)
  }

  /// What of two texts shows how they differ, escaped.
  package static func shortened(_ old: String, _ new: String, to length: Int) -> (String, String) {
    var start = 0
    if old.utf8.count > length || new.utf8.count > length {
      let common = zip(old.unicodeScalars, new.unicodeScalars).prefix { $0 == $1 }.count
      // What is in front of the difference is shown as far as the difference is still well visible.
      if common > length / 2 { start = common - length / 4 }
    }
    // Canonically equal strings of other scalars look alike.
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
      // Most texts are ASCII that can be seen: one pass over a few bytes.
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

  /// Whether a scalar would not be seen, or would act on what is around it or on a terminal.
  private static func acts(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x7F { return scalar.value < 0x20 }
    return switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    // All but the joiners, of which letters and pictures are composed.
    case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
    default: false
    }
  }
}

/// An optional of any type.
protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  var wrapped: Any? { self }
}
