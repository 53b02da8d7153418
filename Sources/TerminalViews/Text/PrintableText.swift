/// Makes text printable, scalar by scalar.
struct PrintableText {
  /// As many marks as any writing piles up; more would reach into other lines.
  private static let mostMarks = 6
  /// The longest families of emoji have three.
  private static let mostJoiners = 7
  /// Stands for what cannot be shown.
  private static let unknown: Unicode.Scalar = "\u{FFFD}"
  /// What marks stand on that have nothing else.
  private static let stand: Unicode.Scalar = "\u{25CC}"

  private var result = String.UnicodeScalarView()
  private var last: Unicode.Scalar?
  /// The last one that is no mark.
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
        // The flag of a region, which tags name.
        for tag in scalars[index..<end] { printable.put(tag) }
        index = end
      }
    }
    return String(printable.result)
  }

  private mutating func append(_ scalar: Unicode.Scalar, before next: Unicode.Scalar?) {
    let properties = scalar.properties
    switch properties.generalCategory {
    case .control: putBase(PrintableText.picture(of: scalar))
    case .lineSeparator, .paragraphSeparator: putBase("\u{2424}")
    case .unassigned, .surrogate: putBase(PrintableText.unknown)
    case .format: putFormat(scalar, before: next)
    case .nonspacingMark, .enclosingMark, .spacingMark:
      if properties.isVariationSelector {
        // One chooses the look; what others behind it would do is unknown.
        if base == nil {
          putBase(PrintableText.unknown)
        } else if last?.properties.isVariationSelector == false {
          putMark(scalar)
        }
      } else if properties.isDefaultIgnorableCodePoint {
        putBase(PrintableText.unknown)
      } else {
        putMark(scalar)
      }
    default:
      if CharacterWidth.isTrailingJamo(scalar.value), !properties.isDefaultIgnorableCodePoint {
        if let last, last != PrintableText.stand, !CharacterWidth.isHangul(last.value) {
          putBase(PrintableText.stand)
        }
        putMark(scalar)
      } else {
        putBase(properties.isDefaultIgnorableCodePoint ? PrintableText.unknown : scalar)
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
      // It must not colour what stands before the text.
      putBase(PrintableText.stand)
    }
    if last != "\u{200D}" { joiners = 0 }
    put(scalar)
    base = scalar
    marks = 0
  }

  private mutating func putMark(_ scalar: Unicode.Scalar) {
    if base == nil { putBase(PrintableText.stand) }
    marks += 1
    if marks <= PrintableText.mostMarks { put(scalar) }
  }

  private mutating func putFormat(_ scalar: Unicode.Scalar, before next: Unicode.Scalar?) {
    let isJoiner = scalar == "\u{200D}"
    if let base, let next, let last, isJoiner || scalar == "\u{200C}" {
      let isBetweenLetters =
        base.value > 0x7F && base.properties.isAlphabetic && next.value > 0x7F
        && next.properties.isAlphabetic && !CharacterWidth.isTrailingJamo(next.value)
      let isBetweenPictures =
        isJoiner && CharacterWidth.isPicture(base) && CharacterWidth.isPicture(next)
        && joiners < PrintableText.mostJoiners
      if last != "\u{200D}", last != "\u{200C}", isBetweenLetters || isBetweenPictures {
        joiners += 1
        return put(scalar)
      }
    }
    putBase(PrintableText.unknown)
  }

  private static func picture(of control: Unicode.Scalar) -> Unicode.Scalar {
    switch control.value {
    case 0..<0x20: Unicode.Scalar(0x2400 + control.value) ?? unknown
    case 0x7F: "\u{2421}"
    default: unknown
    }
  }

  /// The end of the tags that a text begins with, if they are those of a flag.
  private static func endOfTags(_ text: Substring.UnicodeScalarView) -> String.Index? {
    let tags = text.prefix(8).prefix { (0xE0030...0xE007A).contains($0.value) }
    guard !tags.isEmpty, tags.endIndex < text.endIndex, text[tags.endIndex] == "\u{E007F}" else {
      return nil
    }
    return text.index(after: tags.endIndex)
  }
}
