import Testing

@testable import SwapDemo

@Suite struct SwapDemoTextTests {
  @Test func whatWouldDoMoreThanShowBecomesAQuestionMark() {
    #expect(
      Text.printable("a\u{1B}[2J\r\n\t\u{0}\u{7F}\u{9B}\u{2028}\u{202E}b") == "a?[2J????????b")
    #expect(Text.printable("é 漢 👩‍👧 ü") == "é 漢 👩‍👧 ü")
  }

  @Test func widthCountsColumns() {
    #expect(Text.width("") == 0)
    #expect(Text.width("Bread") == 5)
    #expect(Text.width("e\u{301}") == 1)
    #expect(Text.width("漢字") == 4)
    #expect(Text.width("👩‍👧") == 2)
  }

  @Test func textIsNeverCutInTheMiddleOfACharacter() {
    #expect(Text.clipped("漢字", to: 3) == "漢")
    #expect(Text.clipped("ab", to: 0) == "")
    #expect(Text.padded("漢字", to: 3) == "漢 ")
    #expect(Text.padded("7", to: 3, atStart: true) == "  7")
  }

  @Test func linesAreBrokenAtSpacesAndDotsTellOfTheRest() {
    #expect(Text.wrapped("one two three", to: 7, limit: 3) == ["one two", "three"])
    #expect(Text.wrapped("one two three four", to: 7, limit: 2) == ["one two", "thre..."])
    #expect(Text.wrapped("longer", to: 4, limit: 2) == ["long"])
    #expect(Text.wrapped("", to: 4, limit: 2) == [""])
    for width in 1..<12 {
      for line in Text.wrapped("one two three four 漢字", to: width, limit: 3) {
        #expect(Text.width(line) <= width)
      }
    }
  }
}
