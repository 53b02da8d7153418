import DataSourceTesting
import TerminalViews
import Testing

@Suite struct TerminalKeyParserTests {
  private static let table: [(String, [TerminalKey])] = [
    ("aZ1 ", [.character("a"), .character("Z"), .character("1"), .character(" ")]),
    ("é漢😀", [.character("é"), .character("漢"), .character("😀")]),
    ("\r\n\t\u{7F}\u{8}", [.enter, .enter, .tab, .backspace, .backspace]),
    (
      "\u{1}\u{3}\u{1A}\u{0}\u{1C}",
      [
        .control("a"), .control("c"), .control("z"), .control(" "), .control("\\"),
      ]
    ),
    ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D\u{1B}[H\u{1B}[F", [.up, .down, .right, .left, .home, .end]),
    ("\u{1B}OA\u{1B}OB\u{1B}OC\u{1B}OD\u{1B}OH\u{1B}OF", [.up, .down, .right, .left, .home, .end]),
    (
      "\u{1B}[1~\u{1B}[2~\u{1B}[3~\u{1B}[4~\u{1B}[5~\u{1B}[6~\u{1B}[7~\u{1B}[8~",
      [
        .home, .insert, .delete, .end, .pageUp, .pageDown, .home, .end,
      ]
    ),
    ("\u{1B}[1;5A\u{1B}[1;2D\u{1B}[3;5~\u{1B}[Z", [.up, .left, .delete, .backTab]),
    (
      "\u{1B}OP\u{1B}[11~\u{1B}[15~\u{1B}[24~\u{1B}[[A\u{1B}[[E\u{1B}[1;2P",
      [
        .function(1), .function(1), .function(5), .function(12), .function(1), .function(5),
        .function(1),
      ]
    ),
    ("\u{1B}a\u{1B}é\u{1B} ", [.alternate("a"), .alternate("é"), .alternate(" ")]),
    ("\u{1B}\u{1B}[A", [.escape, .up]), ("\u{1B}\r", [.escape, .enter]),
    ("\u{1B}OM\u{1B}Op\u{1B}Oj", [.enter, .character("0"), .character("*")]),
    // Skipped completely: mouse reports, responses, and unknown sequences.
    (
      "\u{1B}[<0;10;20Ma\u{1B}[Mabcb\u{1B}[?1;2cc",
      [.character("a"), .character("b"), .character("c")]
    ),
    ("\u{1B}[5;7Rx\u{1B}[99~y\u{1B}[1;2;3Az", [.character("x"), .character("y"), .character("z")]),
    (
      "\u{1B}]0;title\u{7}a\u{1B}P1$r0m\u{1B}\\b\u{1B}_x\u{1B}\\c",
      [
        .character("a"), .character("b"), .character("c"),
      ]
    ),
    // A sequence that a key interrupts.
    ("\u{1B}[1\u{3}a", [.control("c"), .character("a")]), ("\u{1B}[\u{1B}[A", [.up]),
    (
      "\u{1B}[200~two\r\nlines\u{1B}[31m\u{3}\u{1B}[201~q",
      [
        .pasted("two\nlines\u{1B}[31m\u{3}"), .character("q"),
      ]
    ),
    ("\u{1B}[200~\u{1B}[201~\u{1B}[201~q", [.character("q")]),
    ("\u{85}\u{9B}a", [.character("a")]),
  ]

  @Test(arguments: table)
  func `bytes are parsed into keys`(text: String, keys: [TerminalKey]) {
    var parser = TerminalKeyParser()
    #expect(parser.parse(text.utf8) == keys, "\(text.debugDescription)")
    #expect(!parser.isWaiting)
    #expect(parser.flush().isEmpty)
  }

  @Test(arguments: [
    ("\u{1B}", TerminalKey.escape), ("\u{1B}[", .alternate("[")), ("\u{1B}O", .alternate("O")),
    ("\u{1B}]", .alternate("]")), ("\u{1B}P", .alternate("P")),
  ])
  func `the start of a sequence is a key if nothing follows`(text: String, key: TerminalKey) {
    var parser = TerminalKeyParser()
    #expect(parser.parse(text.utf8).isEmpty)
    #expect(parser.isWaiting)
    #expect(parser.flush() == [key])
    #expect(!parser.isWaiting)
    #expect(parser.parse("a".utf8) == [.character("a")])
  }

  @Test func `invalid bytes are skipped`() {
    var parser = TerminalKeyParser()
    #expect(
      parser.parse([0xFF, 0x61, 0xC3, 0x61, 0xE6, 0xBC, 0x1B, 0x5B, 0x41, 0xED, 0xA0, 0x80, 0x62])
        == [.character("a"), .character("a"), .up, .character("b")])
    _ = parser.parse([0xE6])
    #expect(parser.isWaiting)
    #expect(parser.flush().isEmpty)
    #expect(parser.parse([0x61]) == [.character("a")])
  }

  @Test func `bytes can arrive in pieces of any size`() {
    let all =
      TerminalKeyParserTests.table.map { Array($0.0.utf8) } + [[0xFF], [0xC3], [0x1B], [0x5B]]
    for seed in 0..<2000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let bytes = (0..<8).flatMap { _ in all.randomElement(using: &random) ?? [] }
      var whole = TerminalKeyParser()
      let keys = whole.parse(bytes) + whole.flush()
      var parser = TerminalKeyParser()
      var cut: [TerminalKey] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = min(rest.count, Int.random(in: 1...5, using: &random))
        cut += parser.parse(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      #expect(cut + parser.flush() == keys, "seed \(seed)")
    }
  }

  @Test func `a character of several scalars is completed in a string`() {
    var parser = TerminalKeyParser()
    var text = ""
    for key in parser.parse("👩‍👧e\u{301}".utf8) {
      if case .character(let character) = key { text.append(character) }
    }
    #expect(Array(text) == ["👩‍👧", "e\u{301}"])
  }

  @Test func `the memory of an unterminated sequence is bounded`() {
    var parser = TerminalKeyParser()
    #expect(parser.parse(Array("\u{1B}[".utf8) + Array(repeating: 0x31, count: 1_000_000)).isEmpty)
    #expect(parser.parse("~a".utf8) == [.character("a")])
    #expect(parser.parse(Array("\u{1B}]".utf8) + Array(repeating: 0x31, count: 5000)).count > 100)
    let paste = String(repeating: "漢字\r", count: 100_000)
    var pasted = ""
    for key in parser.parse("\u{1B}[200~\(paste)\u{1B}[201~".utf8) {
      guard case .pasted(let piece) = key else {
        Issue.record("\(key)")
        continue
      }
      #expect(piece.utf8.count <= 140_000)
      pasted += piece
    }
    #expect(pasted == paste.replacing("\r", with: "\n"))
    #expect(parser.parse("q".utf8) == [.character("q")])
  }
}
