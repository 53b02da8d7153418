import SwappablePrimitives

/// The number of columns that characters take.
///
/// The width of a single character follows UAX #11, and the width of emoji follows UTS #51.
/// `isAmbiguous` indicates the characters that some terminals measure differently.
enum CharacterWidth {
  /// Returns the number of columns of a grapheme cluster.
  ///
  /// The width is zero only if the cluster consists of combining or invisible characters.
  static func width(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    var width = 0
    /// The last scalar that takes columns, and its width.
    var base: (scalar: Unicode.Scalar, width: Int)?
    var previous: Unicode.Scalar?
    for scalar in scalars {
      defer { previous = scalar }
      switch scalar.value {
      case 0xFE0F:
        // This selector requests the emoji instead of the text symbol.
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

  /// Returns a Boolean value that indicates whether a scalar is drawn as part of the previous
  /// emoji.
  private static func isPart(
    _ scalar: Unicode.Scalar, of base: Unicode.Scalar, isJoined: Bool
  ) -> Bool {
    if isSkinTone(scalar, of: base) { return true }
    return isJoined && isJoinableEmoji(scalar) && isJoinableEmoji(base)
  }

  /// Returns a Boolean value that indicates whether a scalar sets the skin tone of its base.
  static func isSkinTone(_ scalar: Unicode.Scalar, of base: Unicode.Scalar) -> Bool {
    skinTones.contains(scalar.value) && base.properties.isEmojiModifierBase
  }

  static let skinTones: ClosedRange<UInt32> = 0x1F3FB...0x1F3FF
  private static let regionalIndicators: ClosedRange<UInt32> = 0x1F1E6...0x1F1FF

  /// Returns a Boolean value that indicates whether a scalar is an emoji that can be joined to
  /// others.
  ///
  /// Unicode counts digits as emoji, but they cannot be joined.
  static func isJoinableEmoji(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value > 0x2000 && scalar.properties.isEmoji
      && !regionalIndicators.contains(scalar.value) && !skinTones.contains(scalar.value)
  }

  /// Returns a Boolean value that indicates whether a scalar is a Hangul vowel or final consonant.
  ///
  /// Such a scalar becomes part of the syllable before it.
  static func isTrailingJamo(_ value: UInt32) -> Bool {
    (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value)
  }

  /// Returns a Boolean value that indicates whether a scalar can precede a Hangul vowel or final
  /// consonant.
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

  /// Returns a Boolean value that indicates whether terminals measure a character differently.
  ///
  /// These are sequences of several scalars other than a letter with marks, characters without a
  /// width of their own, spacing marks, and characters that the table of an older terminal lacks.
  static func isAmbiguous(_ character: Character) -> Bool {
    let scalars = character.unicodeScalars
    guard let first = scalars.first, first.value >= 0x80 || scalars.count > 1 else { return false }
    if scalars.dropFirst().contains(where: { !isPlainMark($0) }) { return true }
    switch first.value {
    case regionalIndicators, 0xE000...0xF8FF, 0xF0000...0x10FFFD: return true
    // Wide since Unicode 16, or only in some terminals.
    case 0x2630...0x2637, 0x268A...0x268F, 0x3248...0x324F, 0x4DC0...0x4DFF, 0x1D300...0x1D376:
      return true
    default: break
    }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .spacingMark: return true
    default: return isTrailingJamo(first.value) || isRecent(first)
    }
  }

  /// Returns a Boolean value that indicates whether a scalar takes no columns in any terminal and
  /// does not change the width of others.
  private static func isPlainMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark: !(0xFE00...0xFE0F).contains(scalar.value) && !isRecent(scalar)
    default: false
    }
  }

  /// Returns a Boolean value that indicates whether the tables of some terminals lack a scalar.
  ///
  /// Unicode 9, of 2016, is the first version that gives emoji two columns.
  private static func isRecent(_ scalar: Unicode.Scalar) -> Bool {
    guard let age = scalar.properties.age else { return true }
    return age.major >= 9
  }
}

/// The set of characters that take two columns.
///
/// These are the characters with the East Asian width W or F in Unicode 17, and the unassigned code
/// points of blocks in which all characters are wide.
private enum WideCharacters {
  static func contains(_ value: UInt32) -> Bool {
    guard value >= bounds[0] else { return false }
    // Bounds alternate between first and last. If the first bound that is not less than the value
    // has an odd position, it is the last character of a range that contains the value.
    let position = bounds.partitioningIndex { $0 >= value }
    return position < bounds.count && (!position.isMultiple(of: 2) || bounds[position] == value)
  }

  /// The first and the last character of each range, in ascending order.
  private static let bounds: [UInt32] = [
    0x1100, 0x115F, 0x231A, 0x231B, 0x2329, 0x232A, 0x23E9, 0x23EC, 0x23F0, 0x23F0,
    0x23F3, 0x23F3, 0x25FD, 0x25FE, 0x2614, 0x2615, 0x2630, 0x2637, 0x2648, 0x2653,
    0x267F, 0x267F, 0x268A, 0x268F, 0x2693, 0x2693, 0x26A1, 0x26A1, 0x26AA, 0x26AB,
    0x26BD, 0x26BE, 0x26C4, 0x26C5, 0x26CE, 0x26CE, 0x26D4, 0x26D4, 0x26EA, 0x26EA,
    0x26F2, 0x26F3, 0x26F5, 0x26F5, 0x26FA, 0x26FA, 0x26FD, 0x26FD, 0x2705, 0x2705,
    0x270A, 0x270B, 0x2728, 0x2728, 0x274C, 0x274C, 0x274E, 0x274E, 0x2753, 0x2755,
    0x2757, 0x2757, 0x2795, 0x2797, 0x27B0, 0x27B0, 0x27BF, 0x27BF, 0x2B1B, 0x2B1C,
    0x2B50, 0x2B50, 0x2B55, 0x2B55, 0x2E80, 0x2E99, 0x2E9B, 0x2EF3, 0x2F00, 0x2FD5,
    0x2FF0, 0x303E, 0x3041, 0x3096, 0x3099, 0x30FF, 0x3105, 0x312F, 0x3131, 0x318E,
    0x3190, 0x31E5, 0x31EF, 0x321E, 0x3220, 0x3247, 0x3250, 0xA48C, 0xA490, 0xA4C6,
    0xA960, 0xA97C, 0xAC00, 0xD7A3, 0xF900, 0xFAFF, 0xFE10, 0xFE19, 0xFE30, 0xFE52,
    0xFE54, 0xFE66, 0xFE68, 0xFE6B, 0xFF01, 0xFF60, 0xFFE0, 0xFFE6, 0x16FE0, 0x16FE4,
    0x16FF0, 0x16FF6, 0x17000, 0x18CD5, 0x18CFF, 0x18D1E, 0x18D80, 0x18DF2, 0x1AFF0, 0x1AFF3,
    0x1AFF5, 0x1AFFB, 0x1AFFD, 0x1AFFE, 0x1B000, 0x1B122, 0x1B132, 0x1B132, 0x1B150, 0x1B152,
    0x1B155, 0x1B155, 0x1B164, 0x1B167, 0x1B170, 0x1B2FB, 0x1D300, 0x1D356, 0x1D360, 0x1D376,
    0x1F004, 0x1F004, 0x1F0CF, 0x1F0CF, 0x1F18E, 0x1F18E, 0x1F191, 0x1F19A, 0x1F200, 0x1F202,
    0x1F210, 0x1F23B, 0x1F240, 0x1F248, 0x1F250, 0x1F251, 0x1F260, 0x1F265, 0x1F300, 0x1F320,
    0x1F32D, 0x1F335, 0x1F337, 0x1F37C, 0x1F37E, 0x1F393, 0x1F3A0, 0x1F3CA, 0x1F3CF, 0x1F3D3,
    0x1F3E0, 0x1F3F0, 0x1F3F4, 0x1F3F4, 0x1F3F8, 0x1F43E, 0x1F440, 0x1F440, 0x1F442, 0x1F4FC,
    0x1F4FF, 0x1F53D, 0x1F54B, 0x1F54E, 0x1F550, 0x1F567, 0x1F57A, 0x1F57A, 0x1F595, 0x1F596,
    0x1F5A4, 0x1F5A4, 0x1F5FB, 0x1F64F, 0x1F680, 0x1F6C5, 0x1F6CC, 0x1F6CC, 0x1F6D0, 0x1F6D2,
    0x1F6D5, 0x1F6D8, 0x1F6DC, 0x1F6DF, 0x1F6EB, 0x1F6EC, 0x1F6F4, 0x1F6FC, 0x1F7E0, 0x1F7EB,
    0x1F7F0, 0x1F7F0, 0x1F90C, 0x1F93A, 0x1F93C, 0x1F945, 0x1F947, 0x1F9FF, 0x1FA70, 0x1FA7C,
    0x1FA80, 0x1FA8A, 0x1FA8E, 0x1FAC6, 0x1FAC8, 0x1FAC8, 0x1FACD, 0x1FADC, 0x1FADF, 0x1FAEA,
    0x1FAEF, 0x1FAF8, 0x20000, 0x2FFFD, 0x30000, 0x3FFFD,
  ]
}
