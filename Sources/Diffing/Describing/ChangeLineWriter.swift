/// Writes the lines of a description.
struct ChangeLineWriter {
  let style: ChangeDescription.Style

  private enum Colour: String {
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
  }

  private static let colours: [String: Colour] = ["-": .red, "+": .green, "~": .yellow, ">": .blue]

  /// An element that came or went.
  func line(_ sign: String, _ place: String, _ element: Any) -> String {
    var text = ""
    if let element = element as? any ChangeDescribable {
      if let label = element.changeLabel { text = shown(label) + ": " }
      text += shown(element.changeText)
    } else {
      text = shown(ShownValue.text(of: element))
    }
    return coloured("\(sign) \(place) \(text)", Self.colours[sign])
  }

  /// An element that is elsewhere.
  func moveLine(_ sign: String, _ place: String, _ element: Any) -> String {
    let text =
      if let element = element as? any ChangeDescribable {
        element.changeLabel ?? element.changeText
      } else {
        ShownValue.text(of: element)
      }
    return "\(coloured("\(sign) \(place)", Self.colours[sign])) \(shown(text))"
  }

  /// An element that has other content.
  func updateLine<Element>(
    _ sign: String, _ place: String, _ old: Element, _ new: Element
  ) -> String {
    let label: String?
    let fields: [FieldChange]
    if let element = new as? any ChangeDescribable {
      (label, fields) = (element.changeLabel, changedFields(of: element, from: old))
    } else {
      label = (new as? any Differentiable).flatMap { identity(of: $0) }
      fields = ReflectedFields.changes(from: old, to: new)
    }
    var text = coloured("\(sign) \(place)", Self.colours[sign]) + " "
    if let label { text += shown(label) + ": " }
    return text + (fields.isEmpty ? wholeChange(old, new) : list(fields))
  }

  private func changedFields<Element: ChangeDescribable>(
    of element: Element, from old: Any
  ) -> [FieldChange] {
    (old as? Element).map { element.changedFields(from: $0) } ?? []
  }

  /// What an element is known by, unless that is all of it.
  private func identity<Element: Differentiable>(of element: Element) -> String? {
    let identity = element.differenceIdentifier
    return identity is Element ? nil : ShownValue.text(of: identity)
  }

  private func list(_ fields: [FieldChange]) -> String {
    let told = fields.prefix(style.fieldLimit).map { field in
      "\(shown(field.name)): \(pair(field.old ?? "none", field.new ?? "none"))"
    }
    let rest = fields.count - told.count
    return told.joined(separator: ", ") + (rest > 0 ? ", and \(rest) more" : "")
  }

  /// An element of which no field is known to differ.
  private func wholeChange(_ old: Any, _ new: Any) -> String {
    func text(_ element: Any) -> String {
      (element as? any ChangeDescribable)?.changeText ?? ShownValue.text(of: element)
    }
    let (old, new) = (text(old), text(new))
    // Canonically equal strings of other scalars differ here.
    let isSame = old.utf8.elementsEqual(new.utf8)
    return isSame ? shown(new) + ", which looks as before" : pair(old, new)
  }

  // MARK: Text

  private func pair(_ old: String, _ new: String) -> String {
    let (old, new) = ShownValue.shortened(old, new, to: style.valueLength)
    return "\(coloured(old, .red)) → \(coloured(new, .green))"
  }

  private func shown(_ text: String) -> String {
    ShownValue.shortened(text, to: style.valueLength)
  }

  private func coloured(_ text: String, _ colour: Colour?) -> String {
    guard style.isColoured, let colour else { return text }
    return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
  }
}
