import DataSourceTesting
import TerminalViews
import TestSupport
import Testing

@Suite struct TerminalTextTests {
  private static let widths: [(String, Int)] = [
    ("", 0), ("Bread", 5), ("é", 1), ("e\u{301}", 1), ("ﬁ", 1), ("漢字", 4), ("ｶﾅ", 2), ("ＡＢ", 4),
    ("한글", 4), ("\u{1112}\u{1161}\u{11AB}", 2), ("ไทย", 3), ("ที่", 1), ("שָׁלוֹם", 4), ("कि", 2),
    ("क्ष", 2), ("…", 1), ("│─┼", 3), ("█", 1), ("→", 1), ("☃", 1), ("⌚", 2), ("😀", 2),
    ("❤", 1), ("❤\u{FE0F}", 2), ("😀\u{FE0E}", 1), ("👩‍👧", 2), ("👨‍👩‍👧‍👦", 2), ("❤️‍🔥", 2), ("🏳️‍🌈", 2),
    ("👍🏽", 2), ("☝🏽", 2), ("👩🏽‍🤝‍👨🏿", 2), ("⛹🏽‍♂️", 2), ("🇩🇪", 2), ("🇩🇪🇫🇷", 4), ("🇩", 1),
    ("1\u{FE0F}\u{20E3}", 2), ("🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", 2),
    ("𠀋", 2), ("\u{3000}", 2), ("ヷ", 2), ("゙", 0), ("‘’“”", 4), ("ß", 1), ("\u{A0}", 1), ("Ω", 1),
    ("\u{25CC}\u{301}", 1), ("𝄞", 1), ("\u{1FAE0}", 2), ("a\u{20DD}", 1), ("مرحبا", 5),
    ("می\u{200C}خواهم", 7), ("𝒜", 1), ("䷀", 2), ("␛", 1), ("\u{FFFD}", 1),
  ]

  @Test(arguments: widths)
  func `the width is the number of columns`(text: String, width: Int) {
    #expect(TerminalText.width(text) == width, "\(text.debugDescription)")
  }

  /// Ranges in which the two width tables differ.
  private static let exceptions: [ClosedRange<UInt32>] = [
    // Wide since Unicode 16, or only in one of the two tables.
    0x2630...0x2637, 0x268A...0x268F, 0x3248...0x324F, 0x4DC0...0x4DFF, 0x1D300...0x1D376,
    // Conjoining characters without a width in the system's table.
    0xA960...0xA97C, 0x303F...0x303F,
  ]

  @Test func `each character has the width that the C library gives`() {
    var differing: [String] = []
    var count = 0
    for value in 0x20..<0x110000 as Range<UInt32> {
      guard let scalar = Unicode.Scalar(value), scalar.properties.generalCategory != .unassigned,
        !TerminalTextTests.exceptions.contains(where: { $0.contains(value) }),
        TerminalText.printable(String(scalar)).unicodeScalars.elementsEqual([scalar])
      else { continue }
      let width = CharacterMeasure.width(of: scalar)
      guard width >= 0 else { continue }
      count += 1
      if TerminalText.width(String(scalar)) != width {
        differing.append(
          "U+\(String(value, radix: 16)): \(TerminalText.width(String(scalar))), \(width)")
      }
    }
    #expect(differing.isEmpty)
    #expect(count > 100_000)
  }

  @Test(arguments: [
    ("plain", "plain"), ("a\u{1B}[2Jb", "a␛[2Jb"), ("\r\n\t\u{0}\u{7F}", "␍␊␉␀␡"),
    ("\u{9B}2J\u{85}", "\u{FFFD}2J\u{FFFD}"), ("a\u{2028}b\u{2029}", "a␤b␤"),
    ("\u{202E}abc\u{202C}\u{2066}\u{200F}", "\u{FFFD}abc\u{FFFD}\u{FFFD}\u{FFFD}"),
    ("\u{FEFF}a\u{200B}b\u{2060}\u{AD}", "\u{FFFD}a\u{FFFD}b\u{FFFD}\u{FFFD}"),
    ("👩‍👧", "👩‍👧"), ("👩\u{200D}", "👩\u{FFFD}"), ("a\u{200D}b", "a\u{FFFD}b"),
    ("\u{200D}👩", "\u{FFFD}👩"), ("می\u{200C}خواهم", "می\u{200C}خواهم"), ("❤\u{FE0F}", "❤\u{FE0F}"),
    ("❤\u{FE0F}\u{FE0F}", "❤\u{FE0F}"), ("\u{FE0F}a", "\u{FFFD}a"),
    ("\u{301}a", "\u{25CC}\u{301}a"),
    ("\u{1161}", "\u{25CC}\u{1161}"),
    ("\u{1F3FD}a", "\u{25CC}\u{1F3FD}a"), ("\u{3164}\u{115F}", "\u{FFFD}\u{FFFD}"),
    ("🏴\u{E0067}\u{E0062}\u{E007F}", "🏴\u{E0067}\u{E0062}\u{E007F}"),
    ("🏴\u{E0067}", "🏴\u{FFFD}"), ("\u{E0041}", "\u{FFFD}"), ("\u{378}\u{FFFF}", "\u{FFFD}\u{FFFD}"),
    ("é 漢 ü", "é 漢 ü"), ("\u{E000}", "\u{E000}"), ("\n\u{301}", "␊\u{301}"),
  ])
  func `characters that are not simply shown are replaced`(text: String, expected: String) {
    let printable = TerminalText.printable(text)
    #expect(
      printable.unicodeScalars.elementsEqual(expected.unicodeScalars),
      "\(printable.debugDescription)")
  }

  @Test func `tall stacks of marks are shortened`() {
    let tower = "a" + String(repeating: "\u{301}", count: 1000) + "b"
    #expect(TerminalText.printable(tower).unicodeScalars.count == 8)
    let family = String(repeating: "👩\u{200D}", count: 1000) + "👩"
    #expect(TerminalText.printable(family).reduce(0) { max($0, $1.utf8.count) } < 100)
    let syllable = "\u{1112}" + String(repeating: "\u{1161}", count: 1000)
    #expect(TerminalText.printable(syllable).unicodeScalars.count == 7)
  }

  @Test func `random text is printable and has the measured width`() {
    for seed in 0..<2000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let text = RandomText.hostile(count: 40, &random)
      let printable = TerminalText.printable(text)
      #expect(TerminalText.printable(printable) == printable, "seed \(seed)")
      var model = TerminalModel(rows: 2, columns: 200)
      model.show(printable)
      #expect(model.complaints.isEmpty, "seed \(seed): \(text.debugDescription)")
      #expect(
        model.column == TerminalText.width(printable), "seed \(seed): \(text.debugDescription)")
      for columns in [0, 1, 2, 3, 7, 20] {
        let clipped = TerminalText.clipped(printable, to: columns)
        #expect(printable.hasPrefix(clipped), "seed \(seed)")
        let rest = printable.dropFirst(clipped.count)
        let next = rest.first.map { TerminalText.width(String($0)) } ?? columns
        #expect(TerminalText.width(clipped) <= columns, "seed \(seed)")
        #expect(TerminalText.width(clipped) + next > columns || rest.isEmpty, "seed \(seed)")
        for alignment in TerminalAlignment.allCases {
          let padded = TerminalText.padded(printable, to: columns, alignment: alignment)
          #expect(TerminalText.width(padded) == columns, "seed \(seed)")
        }
        #expect(TerminalText.width(TerminalText.truncated(printable, to: columns)) <= columns)
      }
    }
  }

  @Test func `text is clipped between characters`() {
    #expect(TerminalText.clipped("漢字", to: 3) == "漢")
    #expect(TerminalText.clipped("ab", to: 0) == "")
    #expect(TerminalText.clipped("ab", to: -1) == "")
    #expect(TerminalText.clipped("👩‍👧👩‍👧", to: 3) == "👩‍👧")
    #expect(TerminalText.clipped("e\u{301}e\u{301}", to: 1) == "e\u{301}")
    #expect(TerminalText.truncated("Bread", to: 5) == "Bread")
    #expect(TerminalText.truncated("Bread", to: 4) == "Bre…")
    #expect(TerminalText.truncated("漢字", to: 3) == "漢…")
    #expect(TerminalText.truncated("Bread", to: 0) == "")
    #expect(TerminalText.padded("漢字", to: 3) == "漢 ")
    #expect(TerminalText.padded("7", to: 3, alignment: .trailing) == "  7")
    #expect(TerminalText.padded("7", to: 4, alignment: .center) == " 7  ")
  }

  @Test func `lines break at spaces and dots stand for omitted text`() {
    #expect(TerminalText.wrapped("one two three", to: 7) == ["one two", "three"])
    #expect(TerminalText.wrapped("one two three four", to: 7, limit: 2) == ["one two", "three…"])
    #expect(TerminalText.wrapped("one two three four", to: 5, limit: 2) == ["one", "two…"])
    #expect(TerminalText.wrapped("seventh day", to: 7, limit: 1) == ["sevent…"])
    #expect(TerminalText.wrapped("longer", to: 4) == ["long", "er"])
    #expect(TerminalText.wrapped("a longer one", to: 4) == ["a", "long", "er", "one"])
    #expect(TerminalText.wrapped("漢字漢", to: 5) == ["漢字", "漢"])
    #expect(TerminalText.wrapped("a漢b", to: 1) == ["a", "b"])
    #expect(TerminalText.wrapped("  ", to: 4) == [""])
    #expect(TerminalText.wrapped("ab", to: 0) == [""])
    #expect(TerminalText.wrapped("one two", to: 3, limit: 0) == [])
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `wrapped text fits and is complete`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let text = TerminalText.printable(RandomText.mixed(count: 60, &random))
    for columns in 1...20 {
      let lines = TerminalText.wrapped(text, to: columns)
      #expect(lines.allSatisfy { TerminalText.width($0) <= columns }, "seed \(seed)")
      let words = lines.joined().filter { $0 != " " }
      let fitting = text.filter { $0 != " " && TerminalText.width(String($0)) <= columns }
      #expect(words == fitting, "seed \(seed)")
      for limit in 1...3 {
        let few = TerminalText.wrapped(text, to: columns, limit: limit)
        #expect(few.count == min(limit, lines.count), "seed \(seed)")
        #expect(few.allSatisfy { TerminalText.width($0) <= columns }, "seed \(seed)")
        #expect((few == lines) == (lines.count <= limit), "seed \(seed)")
      }
    }
  }

  @Test func `folded text keeps its spaces`() {
    #expect(TerminalText.folded("one two three", to: 8) == ["one two ", "three"])
    #expect(TerminalText.folded("one  two   three", to: 3) == ["one  ", "two   ", "thr", "ee"])
    #expect(TerminalText.folded("  ab", to: 3) == ["  ", "ab"])
    #expect(TerminalText.folded("longer", to: 4) == ["long", "er"])
    #expect(TerminalText.folded("漢字漢", to: 5) == ["漢字", "漢"])
    #expect(TerminalText.folded("a 漢字", to: 3) == ["a ", "漢", "字"])
    #expect(TerminalText.folded("", to: 4) == [""])
    #expect(TerminalText.folded("ab", to: 0) == ["a", "b"])
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `folded text fits and is complete`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let text = TerminalText.printable(RandomText.mixed(count: 60, &random))
    for columns in 2...20 {
      let lines = TerminalText.folded(text, to: columns)
      #expect(lines.joined() == text, "seed \(seed)")
      for line in lines {
        let visible = line.reversed().drop { $0 == " " }.reversed()
        let isFitting = TerminalText.width(String(visible)) <= columns
        #expect(isFitting || visible.count == 1, "seed \(seed): \(line.debugDescription)")
      }
    }
  }
}
