/// Converts text to printable text, scalar by scalar.
struct PrintableText {
  /// The maximum number of marks on one character.
  ///
  /// No script uses more, and a taller stack would reach into other lines.
  private static let maximumMarks = 6
  /// The maximum number of joiners in one emoji. The longest family emoji have three.
  private static let maximumJoiners = 7
  /// The replacement for a character that cannot be shown.
  private static let replacement: Unicode.Scalar = "\u{FFFD}"
  /// The base character for a mark that has none.
  private static let dottedCircle: Unicode.Scalar = "\u{25CC}"

  private var result = String.UnicodeScalarView()
  private var last: Unicode.Scalar?
  /// The last scalar that is not a mark.
  private var base: Unicode.Scalar?
  private var marks = 0
  private var joiners = 0

  static func make(_ text: String) -> String {
    var printable = PrintableText()
    let scalars = text.unicodeScalars
    var index = scalars.startIndex
    while index < scalars.endIndex {
      let scalar = scalars[index]
      scalars.formIndex(after: &index)
      let next = index < scalars.endIndex ? scalars[index] : nil
      printable.append(scalar, before: next)
      if scalar == "\u{1F3F4}", let end = endOfTags(scalars[index...]) {
        // The flag of a region: tags follow that name it.
        for tag in scalars[index..<end] { printable.put(tag) }
        index = end
      }
    }
    return String(printable.result)
  }

  /// Returns a Boolean value that indicates whether a character acts on a terminal or on the text around
  /// it, instead of being shown. Joiners are part of letters and emoji.
  static func isAction(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
    default: false
    }
  }

  private mutating func append(_ scalar: Unicode.Scalar, before next: Unicode.Scalar?) {
    let properties = scalar.properties
    switch properties.generalCategory {
    case .control: putBase(PrintableText.picture(of: scalar))
    case .lineSeparator, .paragraphSeparator: putBase("\u{2424}")
    case .unassigned, .surrogate: putBase(PrintableText.replacement)
    case .format: putFormat(scalar, before: next)
    case .nonspacingMark, .enclosingMark, .spacingMark:
      if properties.isVariationSelector {
        // The first selector chooses the appearance. The effect of any further ones is undefined.
        if base == nil {
          putBase(PrintableText.replacement)
        } else if last?.properties.isVariationSelector == false {
          putMark(scalar)
        }
      } else if properties.isDefaultIgnorableCodePoint {
        putBase(PrintableText.replacement)
      } else {
        putMark(scalar)
      }
    default:
      if CharacterWidth.isTrailingJamo(scalar.value), !properties.isDefaultIgnorableCodePoint {
        if let last, last != PrintableText.dottedCircle, !CharacterWidth.isHangul(last.value) {
          putBase(PrintableText.dottedCircle)
        }
        putMark(scalar)
      } else {
        putBase(properties.isDefaultIgnorableCodePoint ? PrintableText.replacement : scalar)
      }
    }
  }

  private mutating func put(_ scalar: Unicode.Scalar) {
    result.append(scalar)
    last = scalar
  }

  private mutating func putBase(_ scalar: Unicode.Scalar) {
    if let base {
      if CharacterWidth.isSkinTone(scalar, of: base) { return putMark(scalar) }
    } else if CharacterWidth.skinTones.contains(scalar.value) {
      // Otherwise it would color the character before the text.
      putBase(PrintableText.dottedCircle)
    }
    if last != "\u{200D}" { joiners = 0 }
    put(scalar)
    base = scalar
    marks = 0
  }

  private mutating func putMark(_ scalar: Unicode.Scalar) {
    if base == nil { putBase(PrintableText.dottedCircle) }
    marks += 1
    if marks <= PrintableText.maximumMarks { put(scalar) }
  }

  private mutating func putFormat(_ scalar: Unicode.Scalar, before next: Unicode.Scalar?) {
    let isJoiner = scalar == "\u{200D}"
    if let base, let next, let last, isJoiner || scalar == "\u{200C}" {
      let isBetweenLetters =
        base.value > 0x7F && base.properties.isAlphabetic && next.value > 0x7F
        && next.properties.isAlphabetic && !CharacterWidth.isTrailingJamo(next.value)
      let isBetweenEmoji =
        isJoiner && CharacterWidth.isJoinableEmoji(base) && CharacterWidth.isJoinableEmoji(next)
        && joiners < PrintableText.maximumJoiners
      if last != "\u{200D}", last != "\u{200C}", isBetweenLetters || isBetweenEmoji {
        joiners += 1
        return put(scalar)
      }
    }
    putBase(PrintableText.replacement)
  }

  private static func picture(of control: Unicode.Scalar) -> Unicode.Scalar {
    switch control.value {
    case 0..<0x20: Unicode.Scalar(0x2400 + control.value) ?? replacement
    case 0x7F: "\u{2421}"
    default: replacement
    }
  }

  /// Returns the end of the tags at the start of a text, if they form the name of a flag.
  private static func endOfTags(_ text: Substring.UnicodeScalarView) -> String.Index? {
    let tags = text.prefix(8).prefix { (0xE0030...0xE007A).contains($0.value) }
    guard !tags.isEmpty, tags.endIndex < text.endIndex, text[tags.endIndex] == "\u{E007F}" else {
      return nil
    }
    return text.index(after: tags.endIndex)
  }
}
