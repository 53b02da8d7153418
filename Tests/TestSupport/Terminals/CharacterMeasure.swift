import Foundation

/// How wide characters are by the C library, which has tables of its own.
package enum CharacterMeasure {
  /// What the system says of one scalar: -1 where it cannot be shown, or is not known.
  package static func width(of scalar: Unicode.Scalar) -> Int {
    guard let locale, let measure else { return -1 }
    let old = uselocale(locale)
    defer { uselocale(old) }
    return Int(measure(wchar_t(scalar.value)))
  }

  // Made once and only read.
  nonisolated(unsafe) private static let locale: locale_t? =
    newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) ?? newlocale(LC_CTYPE_MASK, "en_US.UTF-8", nil)

  /// `wcwidth`, which the headers show to few.
  private static let measure: (@convention(c) (wchar_t) -> Int32)? =
    dlsym(dlopen(nil, RTLD_NOW), "wcwidth").map {
      unsafeBitCast($0, to: (@convention(c) (wchar_t) -> Int32).self)
    }

  /// The columns of a text whose parts are shown as one where that is usual.
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

  /// Whether a scalar is shown in the place of what stands before it.
  static func joins(_ scalar: Unicode.Scalar, to part: String) -> Bool {
    if width(of: scalar) == 0 { return true }
    let scalars = part.unicodeScalars
    guard let first = scalars.first, let last = scalars.last else { return false }
    if last == "\u{200D}" { return isPicture(first) && isPicture(scalar) }
    if isIndicator(scalar) { return scalars.count == 1 && isIndicator(first) }
    return scalar.properties.isEmojiModifier
      && scalars.contains { $0.properties.isEmojiModifierBase }
  }

  /// The width of scalars that join one another.
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
