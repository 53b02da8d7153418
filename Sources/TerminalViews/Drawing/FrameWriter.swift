/// Turns frames into what a terminal has to be sent, knowing what it shows already.
///
/// Only what differs is sent: of a line the columns that changed, of lines that moved the command to
/// move them. A frame that is shown already takes nothing. It is a value that does no I/O:
///
/// ```swift
/// var writer = FrameWriter()
/// try terminal.write(writer.bytes(for: frame))
/// ```
///
/// It relies on a screen whose modes are the usual ones; whether lines wrap is of no matter, as no
/// line is longer than a row. After characters whose width terminals do not agree upon, the cursor is
/// placed anew, so that nothing else is out of place.
public struct FrameWriter: Sendable {
  private let isColorless: Bool
  private var shown: Shown?

  private struct Shown {
    let size: TerminalSize
    var lines: [TerminalLine]
    /// What is known of each line's columns; the others are laid out when they are needed.
    var rows: [ScreenRow?]
    var cursor: Cursor
  }

  private enum Cursor: Equatable {
    case unknown
    case hidden
    case shown(TerminalFrame.Position)
  }

  /// Creates one that knows nothing of the screen.
  ///
  /// - Parameter isColorless: Whether no colours are to be sent; bold, faint, underlined and reversed
  ///   letters are.
  public init(isColorless: Bool = false) {
    self.isColorless = isColorless
  }

  /// Forgets what is shown: the next frame is drawn in full, after the screen was cleared.
  public mutating func forget() {
    shown = nil
  }

  /// What to send so that the frame is shown, from now on taken for sent; empty where it is shown.
  ///
  /// - Complexity: O(n) in the text of the lines that differ, O(r²) in the rows r from the first to the
  ///   last of them.
  public mutating func bytes(for frame: TerminalFrame) -> [UInt8] {
    guard frame.size.rows > 0, frame.size.columns > 0 else { return [] }
    var output = ScreenOutput()
    var before: Shown
    if let shown, shown.size == frame.size {
      before = shown
    } else {
      for sequence in ["m", "r", "H", "2J"] { output.control(sequence) }
      let count = frame.size.rows
      before = Shown(
        size: frame.size, lines: Array(repeating: TerminalLine(), count: count),
        rows: Array(repeating: ScreenRow(), count: count), cursor: .unknown)
    }
    var after = draw(frame.lines, over: before, &output)
    place(frame.cursor, &after, &output)
    shown = after
    return output.bytes
  }

  /// Draws lines over others, moving what can be moved where that takes less.
  private func draw(
    _ lines: [TerminalLine], over before: Shown, _ output: inout ScreenOutput
  ) -> Shown {
    var (plain, costs) = (output, [Int]())
    let after = rewrite(lines, over: before, &plain, &costs)
    let shifts = ScreenShift.shifts(from: before.lines, to: lines, costs: costs)
    if !shifts.isEmpty {
      var (shifting, shifted) = (output, before)
      send(shifts, rows: before.size.rows, &shifting)
      for shift in shifts {
        shift.apply(to: &shifted.lines, blank: TerminalLine())
        shift.apply(to: &shifted.rows, blank: ScreenRow())
      }
      let after = rewrite(lines, over: shifted, &shifting, &costs)
      if shifting.bytes.count < plain.bytes.count {
        output = shifting
        return after
      }
    }
    output = plain
    return after
  }

  /// Moves rows by deleting or inserting some, within a region that ends where the shift ends.
  private func send(_ shifts: [ScreenShift], rows: Int, _ output: inout ScreenOutput) {
    var hasRegion = false
    for shift in shifts {
      // Without a region what is below would move as well. To set one moves the cursor.
      let needsRegion = shift.bottom < rows - 1
      if needsRegion {
        output.control("\(shift.top + 1);\(shift.bottom + 1)r")
      } else if hasRegion {
        output.control("r")
      }
      hasRegion = needsRegion
      output.move(toRow: shift.top, column: 0)
      let count = abs(shift.distance)
      output.control((count == 1 ? "" : "\(count)") + (shift.distance < 0 ? "M" : "L"))
    }
    if hasRegion { output.control("r") }
  }

  private func rewrite(
    _ lines: [TerminalLine], over before: Shown, _ output: inout ScreenOutput, _ costs: inout [Int]
  ) -> Shown {
    var after = before
    after.lines = lines
    costs = Array(repeating: 0, count: lines.count)
    for (index, line) in lines.enumerated() where line != before.lines[index] {
      let start = output.bytes.count
      let new = row(line, before.size)
      let old = before.rows[index] ?? row(before.lines[index], before.size)
      rewrite(new, over: old, at: index, columns: before.size.columns, &output)
      after.rows[index] = new
      costs[index] = output.bytes.count - start
    }
    output.set(.plain)
    return after
  }

  private func row(_ line: TerminalLine, _ size: TerminalSize) -> ScreenRow {
    ScreenRow(line, columns: size.columns, isColorless: isColorless)
  }

  private func rewrite(
    _ new: ScreenRow, over old: ScreenRow, at row: Int, columns: Int, _ output: inout ScreenOutput
  ) {
    guard new.cells != old.cells else { return }
    let end = new.cells.count
    if new.isDoubtful || old.isDoubtful {
      // Where the old characters end is not known for sure, nor what half of one leaves behind.
      output.move(toRow: row, column: 0)
      output.eraseRest()
      write(new, 0..<end, columns: columns, &output)
      // A terminal that takes the last character for wider shows as much of it as it was given room.
      if end < columns, new.lastCharacter?.isDoubtful == true { output.eraseRest() }
      return
    }
    var position: Int?
    func move(to column: Int) {
      guard column != position else { return }
      if position == nil {
        output.move(toRow: row, column: column)
      } else {
        output.move(toColumn: column)
      }
    }
    for stretch in ScreenRow.differences(old, new) {
      move(to: stretch.lowerBound)
      write(new, stretch, columns: columns, &output)
      position = stretch.upperBound
    }
    if old.cells.count > max(end, position ?? 0) {
      move(to: end)
      output.eraseRest()
    }
  }

  private func write(
    _ row: ScreenRow, _ stretch: Range<Int>, columns: Int, _ output: inout ScreenOutput
  ) {
    var column = stretch.lowerBound
    while column < stretch.upperBound {
      let cell = row[column]
      output.write(cell)
      repeat { column += 1 } while !row.isStart(column)
      if row.isDoubtful, column < columns, cell.isDoubtful { output.move(toColumn: column) }
    }
  }

  private func place(
    _ cursor: TerminalFrame.Position?, _ after: inout Shown, _ output: inout ScreenOutput
  ) {
    guard let cursor else {
      if after.cursor != .hidden { output.control("?25l") }
      after.cursor = .hidden
      return
    }
    let position = TerminalFrame.Position(
      row: min(max(0, cursor.row), after.size.rows - 1),
      column: min(max(0, cursor.column), after.size.columns - 1))
    if !output.bytes.isEmpty || after.cursor != .shown(position) {
      output.move(toRow: position.row, column: position.column)
    }
    if case .shown = after.cursor {} else { output.control("?25h") }
    after.cursor = .shown(position)
  }
}
