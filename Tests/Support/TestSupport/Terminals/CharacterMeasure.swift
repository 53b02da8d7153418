import Foundation

/// The widths of characters according to the C library, which has its own tables.
package enum CharacterMeasure {
  /// Returns the width of one scalar, or -1 if it cannot be shown or is unknown.
  package static func width(of scalar: Unicode.Scalar) -> Int {
    guard let locale, let measure else { return -1 }
    let old = uselocale(locale)
    defer { uselocale(old) }
    return Int(measure(wchar_t(scalar.value)))
  }

  // Created once, and only read.
  nonisolated(unsafe) private static let locale: locale_t? =
    newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) ?? newlocale(LC_CTYPE_MASK, "en_US.UTF-8", nil)

  /// The function `wcwidth`, which the headers declare only for some extensions.
  private static let measure: (@convention(c) (wchar_t) -> Int32)? =
    dlsym(dlopen(nil, RTLD_NOW), "wcwidth").map {
      unsafeBitCast($0, to: (@convention(c) (wchar_t) -> Int32).self)
    }

  /// Returns the number of columns of a text whose scalars are combined as usual.
  package static func width(of text: String) -> Int {
    var width = 0
    var part = ""
    for scalar in text.unicodeScalars {
      if part.isEmpty || !joins(scalar, to: part) {
        width += part.isEmpty ? 0 : widthOfPart(part)
        part = ""
      }
      part.unicodeScalars.append(scalar)
    }
    return width + (part.isEmpty ? 0 : widthOfPart(part))
  }

  /// Returns whether a scalar is combined with the scalar before it.
  static func joins(_ scalar: Unicode.Scalar, to part: String) -> Bool {
    if width(of: scalar) == 0 { return true }
    let scalars = part.unicodeScalars
    guard let first = scalars.first, let last = scalars.last else { return false }
    if last == "\u{200D}" { return isPicture(first) && isPicture(scalar) }
    if isIndicator(scalar) { return scalars.count == 1 && isIndicator(first) }
    return scalar.properties.isEmojiModifier
      && scalars.contains { $0.properties.isEmojiModifierBase }
  }

  /// Returns the width of combined scalars.
  static func widthOfPart(_ part: String) -> Int {
    let scalars = Array(part.unicodeScalars)
    let first = scalars[0]
    let others = scalars.dropFirst()
    if others.first == "\u{FE0F}", first.properties.isEmoji { return 2 }
    if others.first == "\u{FE0E}", first.properties.isEmojiPresentation { return 1 }
    return others.contains { width(of: $0) > 0 } ? 2 : width(of: first)
  }

  private static func isPicture(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value > 0x2000 && scalar.properties.isEmoji && !isIndicator(scalar)
      && !scalar.properties.isEmojiModifier
  }

  private static func isIndicator(_ scalar: Unicode.Scalar) -> Bool {
    (0x1F1E6...0x1F1FF).contains(scalar.value)
  }
}
