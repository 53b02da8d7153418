/// Computes the bytes that turn the frame on a terminal into the next one.
///
/// The writer remembers the last frame and sends only the differences: the columns that changed,
/// and a command to scroll lines that moved. It is a value and performs no I/O:
///
/// ```swift
/// var writer = FrameWriter()
/// try terminal.write(writer.bytes(for: frame))
/// ```
///
/// The writer assumes the default modes of a terminal. Automatic wrapping may be on or off, because
/// no line is longer than a row. After a character of ambiguous width, the writer positions the
/// cursor explicitly. Therefore, such a character cannot displace the following ones.
package struct FrameWriter: Sendable {
  private let isColorless: Bool
  private var shown: Shown?

  private struct Shown {
    let size: TerminalSize
    var lines: [TerminalLine]
    /// The layout of each line, or `nil` if it has not been needed yet.
    var rows: [ScreenLine?]
    var cursor: Cursor
  }

  private enum Cursor: Equatable {
    case unknown
    case hidden
    case shown(TerminalFrame.Position)
  }

  /// Creates a writer that assumes nothing about the contents of the screen.
  ///
  /// - Parameter isColorless: A Boolean value that indicates whether to omit colors. Bold, faint,
  ///   underlined and reversed text is sent in any case.
  package init(isColorless: Bool = false) {
    self.isColorless = isColorless
  }

  /// Forgets the contents of the screen. The next frame clears the screen and is drawn completely.
  mutating func forget() {
    shown = nil
  }

  /// Returns the bytes to send to show a frame, and remembers the frame as shown.
  ///
  /// The result is empty if the screen shows the frame already.
  ///
  /// - Complexity: O(n) in the text of the lines that differ, O(r²) in the number of rows from the
  ///   first to the last of them.
  package mutating func bytes(for frame: TerminalFrame) -> [UInt8] {
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
        rows: Array(repeating: ScreenLine(), count: count), cursor: .unknown)
    }
    var after = draw(frame.lines, over: before, &output)
    place(frame.cursor, &after, &output)
    shown = after
    return output.bytes
  }

  /// Draws lines over the shown ones, and scrolls lines that moved if that takes fewer bytes.
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
        shift.apply(to: &shifted.rows, blank: ScreenLine())
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

  /// Moves rows by deleting or inserting rows within a scrolling region that ends where the shift
  /// ends.
  private func send(_ shifts: [ScreenShift], rows: Int, _ output: inout ScreenOutput) {
    var hasRegion = false
    for shift in shifts {
      // Without a region, the rows below would move as well. Setting a region moves the cursor.
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

  private func row(_ line: TerminalLine, _ size: TerminalSize) -> ScreenLine {
    ScreenLine(line, columns: size.columns, isColorless: isColorless)
  }

  private func rewrite(
    _ new: ScreenLine, over old: ScreenLine, at row: Int, columns: Int, _ output: inout ScreenOutput
  ) {
    guard new.cells != old.cells else { return }
    let end = new.cells.count
    if new.isAmbiguous || old.isAmbiguous {
      // The end of the old characters on the terminal is uncertain: rewrite the whole row.
      output.move(toRow: row, column: 0)
      output.eraseRest()
      write(new, 0..<end, columns: columns, &output)
      // A terminal that measures the last character as wider may have drawn beyond the end.
      if end < columns, new.lastCharacter?.isAmbiguous == true { output.eraseRest() }
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
    for range in ScreenLine.differences(old, new) {
      move(to: range.lowerBound)
      write(new, range, columns: columns, &output)
      position = range.upperBound
    }
    if old.cells.count > max(end, position ?? 0) {
      move(to: end)
      output.eraseRest()
    }
  }

  private func write(
    _ row: ScreenLine, _ range: Range<Int>, columns: Int, _ output: inout ScreenOutput
  ) {
    var column = range.lowerBound
    while column < range.upperBound {
      let cell = row[column]
      output.write(cell)
      repeat { column += 1 } while !row.isStart(column)
      if row.isAmbiguous, column < columns, cell.isAmbiguous { output.move(toColumn: column) }
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
