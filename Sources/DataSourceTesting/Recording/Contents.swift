import Diffing
import ObservableCollections

/// Words for contents in messages, of bounded length whatever they hold.
enum Contents {
  /// The first of some elements, and how many there are besides.
  static func text<Element>(_ elements: some Collection<Element>) -> String {
    let texts = elements.prefix(8).map { text(of: $0) }
    let rest = elements.count - texts.count
    return "[\(texts.joined(separator: ", "))\(rest > 0 ? ", … \(rest) more" : "")]"
  }

  /// One element, as far as it is short.
  static func text(of element: Any) -> String {
    shortened(String(describing: element), 40)
  }

  /// What a changeset is, as far as it is short.
  static func text(_ changeset: Changeset) -> String {
    shortened(changeset.description, 200)
  }

  /// How contents differ from what they should be, a line for each element.
  ///
  /// What is missing is a deletion, what should not be there is an insertion.
  static func difference<Element: Differentiable & Sendable>(
    of contents: Snapshot<Element>, from expected: Snapshot<Element>
  ) -> String {
    let change = Changeset(from: expected, to: contents)
    // Where the elements' equality is at fault, a difference need not find what differs.
    guard !change.isEmpty else { return "\(text(contents)), not \(text(expected))" }
    let description = ChangeDescription(
      change, from: expected, to: contents, style: ChangeDescription.Style(lineLimit: 12))
    return """
      \(contents.count) elements, and \(expected.count) were expected; from these to what is there:
      \(description)
      """
  }

  private static func shortened(_ text: String, _ length: Int) -> String {
    text.unicodeScalars.count > length
      ? String(String.UnicodeScalarView(text.unicodeScalars.prefix(length))) + "…" : text
  }
}
