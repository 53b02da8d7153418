import DataSourceTesting
import Foundation
import TestSupport
import TestTags
import Testing

@testable import TerminalViews

@Suite struct FrameWriterRandomTests {
  /// A screen that changes at random.
  private struct RandomScreen {
    var random: SeededGenerator
    var size: TerminalSize
    var lines: [TerminalLine] = []
    let isMixed: Bool

    static let edits = Coverage.Cases([
      "insertion", "removal", "move", "new line", "new style", "blank line", "character", "size",
    ])

    init(seed: UInt64, isMixed: Bool) {
      random = SeededGenerator(seed: seed)
      size = TerminalSize(rows: 12, columns: 30)
      self.isMixed = isMixed
      lines = (0..<12).map { _ in line() }
    }

    mutating func line() -> TerminalLine {
      var line = TerminalLine()
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let count = Int.random(in: 0...12, using: &random)
        let text =
          isMixed
          ? RandomText.mixed(count: count, &random) : RandomText.usual(count: count, &random)
        line.append(text, style())
      }
      return Bool.random(using: &random) ? line : line.fitted(to: size.columns)
    }

    mutating func style() -> TerminalStyle {
      func rarely(_ random: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<4, using: &random) == 0
      }
      guard Bool.random(using: &random) else { return .plain }
      return TerminalStyle(
        foreground: rarely(&random) ? TerminalColor.allCases.randomElement(using: &random) : nil,
        background: rarely(&random) ? TerminalColor.allCases.randomElement(using: &random) : nil,
        isBold: rarely(&random), isFaint: rarely(&random), isUnderlined: rarely(&random),
        isReversed: rarely(&random))
    }

    /// Changes some lines, and sometimes the size.
    ///
    /// - Returns: A Boolean value that indicates whether the size changed.
    mutating func edit() -> Bool {
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<lines.count, using: &random)
        let count = min(Int.random(in: 1...3, using: &random), lines.count - place)
        switch Int.random(in: 0..<7, using: &random) {
        case 0:
          Coverage.note("insertion")
          lines.insert(line(), at: place)
        case 1 where lines.count > 4:
          Coverage.note("removal")
          lines.removeSubrange(place..<(place + count))
        case 1: break
        case 2:
          Coverage.note("move")
          let moved = lines[place..<(place + count)]
          lines.removeSubrange(place..<(place + count))
          lines.insert(contentsOf: moved, at: Int.random(in: 0...lines.count, using: &random))
        case 3:
          Coverage.note("new line")
          lines[place] = line()
        case 4:
          Coverage.note("new style")
          lines[place] = lines[place].restyled { [style = style()] _ in style }
        case 5:
          Coverage.note("blank line")
          lines[place] = TerminalLine()
        default:
          var text = Array(lines[place].text)
          guard !text.isEmpty else { break }
          Coverage.note("character")
          text[Int.random(in: text.indices, using: &random)] = "x"
          lines[place] = TerminalLine(String(text), lines[place].spans[0].style)
        }
      }
      guard Int.random(in: 0..<20, using: &random) == 0 else { return false }
      let old = size
      size = TerminalSize(
        rows: Int.random(in: 1...15, using: &random),
        columns: Int.random(in: 1...40, using: &random))
      if size != old { Coverage.note("size") }
      return size != old
    }

    mutating func frame() -> TerminalFrame {
      let cursor =
        Int.random(in: 0..<3, using: &random) == 0
        ? TerminalFrame.Position(row: Int.random(in: 0..<size.rows, using: &random), column: 0)
        : nil
      return TerminalFrame(size: size, lines: lines, cursor: cursor)
    }
  }

  /// The seeds: a few by default, and many with `SWAPPABLE_LONG=1`.
  private static let seeds: Range<UInt64> =
    0..<(TestRun.isLong ? 5000 : 12)

  @Test(
    .reaches(RandomScreen.edits),
    arguments: [(false, false), (false, true), (true, false), (true, true)])
  func `after any change the screen shows the frame`(isMixed: Bool, isColorless: Bool) {
    for seed in FrameWriterRandomTests.seeds {
      var screen = RandomScreen(seed: seed, isMixed: isMixed)
      var writer = FrameWriter(isColorless: isColorless)
      var model = TerminalModel(rows: screen.size.rows, columns: screen.size.columns)
      for step in 0..<60 {
        let frame = screen.frame()
        model.show(writer.bytes(for: frame))
        let cells = Drawing.visible(model.cells)
        guard cells == Drawing.cells(of: frame, isColorless: isColorless),
          model.complaints.isEmpty, model.isPlain, model.region == 0..<frame.size.rows,
          model.isCursorShown == (frame.cursor != nil),
          frame.cursor == nil || (model.row, model.column) == (frame.cursor?.row, 0)
        else {
          Issue.record(
            "seed \(seed), step \(step): \(model.complaints)\n\(model.text)\n-- not --\n\(frame.lines.map(\.text).joined(separator: "\n"))"
          )
          return
        }
        #expect(writer.bytes(for: frame).isEmpty, "seed \(seed), step \(step)")
        if screen.edit() {
          model.resize(rows: screen.size.rows, columns: screen.size.columns)
          model.damage()
        } else if step % 17 == 16 {
          model.damage()
          writer.forget()
        }
      }
    }
  }

  @Test(.reaches(RandomScreen.edits))
  func `a terminal that measures characters differently displaces no others`() {
    for seed in FrameWriterRandomTests.seeds {
      var screen = RandomScreen(seed: seed, isMixed: true)
      var writer = FrameWriter()
      var model = TerminalModel(rows: 12, columns: 30, isSimple: true)
      for step in 0..<40 {
        let frame = screen.frame()
        guard frame.size == TerminalSize(rows: 12, columns: 30) else { break }
        model.show(writer.bytes(for: frame))
        // Only ambiguous characters may be partly hidden or extend into blank cells.
        let cells = Drawing.visible(model.cells)
        let expected = Drawing.cells(of: frame)
        for row in 0..<12 {
          let unambiguous = (0..<30).filter { column in
            let text = expected[row][column].text
            return text != " " && !text.isEmpty && !text.contains { CharacterWidth.isAmbiguous($0) }
          }
          guard unambiguous.allSatisfy({ cells[row][$0] == expected[row][$0] }) else {
            Issue.record(
              "seed \(seed), step \(step), row \(row): \(model.lines[row]), not \(frame.lines[row].text)"
            )
            return
          }
        }
        _ = screen.edit()
      }
    }
  }
}
