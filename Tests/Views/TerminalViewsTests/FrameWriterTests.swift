import DataSourceTesting
import TerminalViews
import TestSupport
import Testing

@Suite struct FrameWriterTests {
  private let size = TerminalSize(rows: 50, columns: 100)

  /// A typical list: headings, rows and a status line.
  private func list(_ rows: some Sequence<Int>, status: String = "50 rows") -> TerminalFrame {
    var lines = [TerminalLine("  Name                 Count   Shelf", TerminalStyle(isBold: true))]
    for row in rows.prefix(48) {
      var line = TerminalLine("  ")
      line.append("item number \(row)", TerminalStyle(foreground: .green))
      line.append("      \(row &* 7919 % 1000)      shelf \(row % 7)")
      lines.append(line.fitted(to: 100))
    }
    lines += Array(repeating: TerminalLine(), count: max(0, 49 - lines.count))
    lines.append(TerminalLine(status, TerminalStyle(isReversed: true)).fitted(to: 100))
    return TerminalFrame(size: size, lines: lines)
  }

  private func bytes(from old: TerminalFrame, to new: TerminalFrame) -> Int {
    var writer = FrameWriter()
    var model = TerminalModel(rows: old.size.rows, columns: old.size.columns)
    model.show(writer.bytes(for: old))
    let bytes = writer.bytes(for: new)
    model.show(bytes)
    #expect(model.complaints.isEmpty)
    #expect(Drawing.visible(model.cells) == Drawing.cells(of: new), "\(model.text)")
    return bytes.count
  }

  @Test func `a frame that is shown already takes no bytes`() {
    var writer = FrameWriter()
    #expect(!writer.bytes(for: list(0..<50)).isEmpty)
    #expect(writer.bytes(for: list(0..<50)).isEmpty)
    var frame = list(0..<50)
    frame = TerminalFrame(size: size, lines: frame.lines, cursor: .init(row: 3, column: 4))
    #expect(!writer.bytes(for: frame).isEmpty)
    #expect(writer.bytes(for: frame).isEmpty)
  }

  @Test(arguments: [
    // Characters of Unicode 9, 12, 14, 16 and 17, which the tables of some terminals lack.
    ("🥐", 2), ("🧇", 2), ("🫠", 2), ("\u{1FAE9}", 2), ("\u{1FAC8}", 2), ("\u{1CC00}", 1),
    ("\u{18D09}", 2), ("a\u{1DFA}", 1),
    // Spacing marks, of which some do not belong to the cluster of their letter.
    ("क\u{93F}", 2), ("\u{1000}\u{102B}", 2), ("\u{1000}\u{1038}", 2), ("\u{AB5}\u{ABE}", 2),
    // Sequences.
    ("☝🏽", 2), ("🕵🏿", 2), ("👯🏻", 2), ("☀🏽", 3), ("🏳️‍🌈", 2), ("1\u{FE0F}\u{20E3}", 2), ("🇩", 1),
  ])
  func `text after a character that terminals measure differently has a position of its own`(
    text: String, width: Int
  ) {
    #expect(TerminalText.width(text) == width)
    #expect(TerminalText.printable(text) == text)
    var writer = FrameWriter()
    let line = TerminalLine(text + "x")
    let bytes = writer.bytes(
      for: TerminalFrame(size: TerminalSize(rows: 1, columns: 20), lines: [line]))
    let output = String(decoding: bytes, as: UTF8.self)
    let last = text.unicodeScalars.last.map { String($0) } ?? ""
    // By scalars, because the last one may belong to a cluster.
    let expected = Array("\(last)\u{1B}[\(width + 1)Gx".unicodeScalars)
    #expect(output.unicodeScalars.contains(expected), "\(output.debugDescription)")
  }

  @Test func `one changed row takes less than 200 bytes`() {
    var rows = Array(0..<48)
    rows[20] = 98765
    let count = bytes(from: list(0..<48), to: list(rows))
    #expect(count < 60)
    // A row without any common columns.
    var lines = list(0..<48).lines
    lines[20] = TerminalLine(String(repeating: "#", count: 100), TerminalStyle(foreground: .red))
    #expect(bytes(from: list(0..<48), to: TerminalFrame(size: size, lines: lines)) < 130)
  }

  @Test func `an insertion that scrolls takes less than 300 bytes`() {
    for place in [0, 1, 20, 40, 46, 47] {
      var rows = Array(0..<49)
      rows.insert(1000, at: place)
      let count = bytes(from: list(0..<49), to: list(rows, status: "51 rows"))
      #expect(count < 110, "at \(place)")
    }
  }

  @Test func `a deletion draws only the row that appears`() {
    for place in [0, 1, 20, 40, 46, 47] {
      var rows = Array(0..<60)
      rows.remove(at: place)
      #expect(bytes(from: list(0..<60), to: list(rows)) < 110, "at \(place)")
    }
  }

  @Test func `a move draws only the moved row`() {
    for (from, to) in [(0, 47), (47, 0), (10, 30), (30, 10)] {
      var rows = Array(0..<48)
      rows.insert(rows.remove(at: from), at: to)
      #expect(bytes(from: list(0..<48), to: list(rows)) < 110, "from \(from) to \(to)")
    }
  }

  @Test func `a new page takes the bytes of the page`() {
    #expect(bytes(from: list(0..<48), to: list(100..<148)) < 50 * 60)
    #expect(bytes(from: list(0..<48), to: list(10..<58)) < 10 * 60)
  }

  @Test func `several deletions or insertions do not redraw the rows between them`() {
    let places = [40, 25, 10]
    var (fewer, more) = (Array(0..<60), Array(0..<60))
    for place in places {
      fewer.removeSubrange(place..<(place + 2))
      more.insert(contentsOf: [1000 + place, 1001 + place], at: place)
    }
    #expect(bytes(from: list(0..<60), to: list(fewer)) < 6 * 60 + 3 * 20)
    #expect(bytes(from: list(0..<60), to: list(more)) < 6 * 60 + 3 * 20)
  }

  @Test func `deletions and insertions in several places are separate shifts`() {
    var rows = Array(0..<48)
    rows.remove(at: 40)
    rows.insert(1000, at: 30)
    rows.remove(at: 20)
    rows.insert(1001, at: 5)
    #expect(bytes(from: list(0..<48), to: list(rows)) < 250)
  }

  @Test func `frames without colors keep all other styles`() {
    var writer = FrameWriter(isColorless: true)
    let style = TerminalStyle(
      foreground: .red, background: .brightBlue, isBold: true, isFaint: true, isUnderlined: true,
      isReversed: true)
    let frame = TerminalFrame(
      size: TerminalSize(rows: 2, columns: 10), lines: [TerminalLine("text", style)])
    let text = String(decoding: writer.bytes(for: frame), as: UTF8.self)
    #expect(
      text == "\u{1B}[m\u{1B}[r\u{1B}[H\u{1B}[2J\u{1B}[H\u{1B}[1;2;4;7mtext\u{1B}[m\u{1B}[?25l")
    // A difference in colors only is no difference.
    let other = TerminalFrame(
      size: TerminalSize(rows: 2, columns: 10),
      lines: [
        TerminalLine("text").restyled { _ in
          var other = style
          other.foreground = .green
          return other
        }
      ])
    #expect(writer.bytes(for: other).isEmpty)
  }

  @Test func `each color has its code`() {
    for color in TerminalColor.allCases {
      var (writer, model) = (FrameWriter(), TerminalModel(rows: 1, columns: 3))
      let line = TerminalLine("a", TerminalStyle(foreground: color, background: color))
      model.show(
        writer.bytes(
          for: TerminalFrame(size: TerminalSize(rows: 1, columns: 3), lines: [line])))
      #expect(model.cells[0][0].style.foreground == Int(color.rawValue))
      #expect(model.cells[0][0].style.background == Int(color.rawValue))
      #expect(model.isPlain)
    }
  }

  @Test func `every small edit is drawn correctly`() {
    // Each text over a few narrow, wide and combining characters, changed to each other text.
    let characters = ["a", "漢", "e\u{301}", " "]
    var texts = [""]
    for _ in 0..<3 { texts += texts.flatMap { text in characters.map { text + $0 } } }
    texts = Array(Set(texts)).sorted()
    let size = TerminalSize(rows: 1, columns: 4)
    for old in texts {
      for new in texts {
        var (writer, model) = (FrameWriter(), TerminalModel(rows: 1, columns: 4))
        for text in [old, new] {
          let frame = TerminalFrame(size: size, lines: [TerminalLine(text)])
          model.show(writer.bytes(for: frame))
          #expect(
            model.cells == Drawing.cells(of: frame),
            "\(old.debugDescription) to \(new.debugDescription)")
        }
        #expect(model.complaints.isEmpty, "\(old.debugDescription) to \(new.debugDescription)")
      }
    }
  }

  @Test func `every order of a few lines is drawn correctly`() {
    // All lists of five lines over four texts, changed to other ones.
    let texts = ["", "one one one one one", "two two two two two", "three three three three"]
    var lists: [[String]] = [[]]
    for _ in 0..<5 { lists = lists.flatMap { list in texts.map { list + [$0] } } }
    let size = TerminalSize(rows: 5, columns: 20)
    let frames = lists.map { list in
      TerminalFrame(size: size, lines: list.map { TerminalLine($0) })
    }
    let cells = frames.map { Drawing.cells(of: $0) }
    var random = SeededGenerator(seed: 5)
    for old in frames.indices {
      var (writer, model) = (FrameWriter(), TerminalModel(rows: 5, columns: 20))
      model.show(writer.bytes(for: frames[old]))
      // A sample of the other lists: there are a million pairs.
      for _ in 0..<(TestRun.isLong ? 12 : 4) {
        let new = Int.random(in: frames.indices, using: &random)
        var (writer, model) = (writer, model)
        model.show(writer.bytes(for: frames[new]))
        #expect(model.cells == cells[new], "\(lists[old]) to \(lists[new])")
        #expect(model.complaints.isEmpty)
      }
    }
  }
}
