import DataSourceTesting

/// Random texts for tests.
enum RandomText {
  /// Characters of all kinds, mostly those of typical lists.
  private static let characters: [String] =
    "abcdefghij 0123456789 .,-    ".map(String.init)
    + ["漢", "字", "ｱ", "한", "é", "e\u{301}", "o\u{308}\u{304}", "😀", "⌚", "█", "\u{1B}", "\t"]

  private static let ambiguous = [
    "👩‍👧", "👍", "\u{1F3FD}", "❤\u{FE0F}", "👍🏽", "🇩🇪", "🇩", "1\u{FE0F}\u{20E3}", "कि", "क्ष", "☃",
    "\u{E000}",
    "\u{1112}\u{1161}\u{11AB}", "😀\u{FE0E}",
  ]

  private static let parts = [
    "\u{200D}", "\u{200C}", "\u{FE0F}", "\u{FE0E}", "\u{301}", "\u{20E3}", "\u{1F3FD}", "\u{1F1E9}",
    "\u{E0067}", "\u{E007F}", "🏴", "\u{1161}", "\u{11AB}", "\u{1112}", "\u{93F}", "\u{94D}", "क",
    "\u{202E}", "\u{9B}", "\u{1B}[2J", "\r\n", "\u{7F}", "\u{2028}", "ا", "❤", "👩", "1", "#", " ",
    "\u{303F}", "\u{E33}", "ก", "\u{FEFF}", "\u{600}", "🔥", "☝", "漢", "a",
  ]

  /// Returns a text as a typical list contains it.
  static func usual(count: Int, _ random: inout SeededGenerator) -> String {
    String((0..<count).flatMap { _ in characters.randomElement(using: &random) ?? "" })
  }

  /// Returns a text that also contains characters of ambiguous width.
  static func mixed(count: Int, _ random: inout SeededGenerator) -> String {
    (0..<count).map { _ in
      let all = Int.random(in: 0..<6, using: &random) == 0 ? ambiguous : characters
      return all.randomElement(using: &random) ?? ""
    }.joined()
  }

  /// Returns an arbitrary sequence of scalars, including control characters and broken sequences.
  static func hostile(count: Int, _ random: inout SeededGenerator) -> String {
    (0..<count).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
  }
}
