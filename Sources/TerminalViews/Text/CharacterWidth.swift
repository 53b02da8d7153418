/// How many columns characters take.
///
/// The rules are those of UAX #11 for single characters and of UTS #51 for emoji. Where a terminal
/// measures otherwise, `isDoubtful` says so.
enum CharacterWidth {
  /// The columns of a grapheme cluster; zero only where nothing of it has a place of its own.
  static func width(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    var width = 0
    /// The last scalar that takes room, and how much.
    var base: (scalar: Unicode.Scalar, width: Int)?
    var previous: Unicode.Scalar?
    for scalar in scalars {
      defer { previous = scalar }
      switch scalar.value {
      case 0xFE0F:
        // The picture instead of the letter.
        if let last = base, last.scalar == previous, last.width == 1,
          last.scalar.properties.isEmoji
        {
          width += 1
          base = (last.scalar, 2)
        }
      case 0xFE0E:
        if let last = base, last.scalar == previous, last.width == 2,
          last.scalar.properties.isEmojiPresentation
        {
          width -= 1
          base = (last.scalar, 1)
        }
      default:
        if let last = base,
          isPart(scalar, of: last.scalar, isJoined: previous == "\u{200D}")
        {
          width += 2 - last.width
          base = (last.scalar, 2)
        } else {
          let own = self.width(of: scalar)
          width += own
          if own > 0 { base = (scalar, own) }
        }
      }
    }
    return width
  }

  /// Whether a scalar is drawn into the picture that stands before it.
  private static func isPart(
    _ scalar: Unicode.Scalar, of base: Unicode.Scalar, isJoined: Bool
  ) -> Bool {
    if isSkinTone(scalar, of: base) { return true }
    return isJoined && isPicture(scalar) && isPicture(base)
  }

  /// Whether a scalar colours the one before it.
  static func isSkinTone(_ scalar: Unicode.Scalar, of base: Unicode.Scalar) -> Bool {
    skinTones.contains(scalar.value) && base.properties.isEmojiModifierBase
  }

  static let skinTones: ClosedRange<UInt32> = 0x1F3FB...0x1F3FF
  private static let regionalIndicators: ClosedRange<UInt32> = 0x1F1E6...0x1F1FF

  /// Whether a scalar can be joined to others: digits are emoji as well, but no pictures.
  static func isPicture(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value > 0x2000 && scalar.properties.isEmoji
      && !regionalIndicators.contains(scalar.value) && !skinTones.contains(scalar.value)
  }

  /// Whether a scalar is a Hangul vowel or final consonant, which the syllable before it takes in.
  static func isTrailingJamo(_ value: UInt32) -> Bool {
    (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value)
  }

  /// Whether a scalar is one that a vowel or a final consonant belongs to.
  static func isHangul(_ value: UInt32) -> Bool {
    (0x1100...0x11FF).contains(value) || (0xA960...0xA97C).contains(value)
      || (0xAC00...0xD7FF).contains(value)
  }

  static func width(of scalar: Unicode.Scalar) -> Int {
    let value = scalar.value
    if value < 0x300 { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    if isTrailingJamo(value) { return 0 }
    return WideCharacters.contains(value) ? 2 : 1
  }

  /// Whether terminals are known to differ over the width of a character.
  static func isDoubtful(_ character: Character) -> Bool {
    let scalars = character.unicodeScalars
    guard let first = scalars.first, first.value >= 0x80 || scalars.count > 1 else { return false }
    if scalars.dropFirst().contains(where: { !isPlainMark($0) }) { return true }
    switch first.value {
    case regionalIndicators, 0xE000...0xF8FF, 0xF0000...0x10FFFD: return true
    // Not wide before Unicode 16, or in some terminals only.
    case 0x2630...0x2637, 0x268A...0x268F, 0x3248...0x324F, 0x4DC0...0x4DFF, 0x1D300...0x1D376:
      return true
    default: return isPlainMark(first) || isTrailingJamo(first.value)
    }
  }

  /// Whether a scalar takes no room in any terminal, and gives none to others.
  private static func isPlainMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark: !(0xFE00...0xFE0F).contains(scalar.value)
    default: false
    }
  }
}
