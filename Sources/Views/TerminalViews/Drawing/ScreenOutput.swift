/// A buffer of bytes for a terminal.
///
/// The buffer tracks the style that the terminal has after these bytes, and therefore writes a style
/// only if it changes.
struct ScreenOutput {
  private(set) var bytes: [UInt8] = []
  private var style = TerminalStyle.plain

  /// Appends a control sequence, given without its introducer `ESC [`.
  mutating func control(_ sequence: String) {
    bytes += [0x1B, UInt8(ascii: "[")]
    bytes += sequence.utf8
  }

  /// Moves the cursor.
  mutating func move(toRow row: Int, column: Int) {
    switch (row, column) {
    case (0, 0): control("H")
    case (_, 0): control("\(row + 1)H")
    default: control("\(row + 1);\(column + 1)H")
    }
  }

  /// Moves the cursor within its row.
  mutating func move(toColumn column: Int) {
    control(column == 0 ? "G" : "\(column + 1)G")
  }

  /// Erases the rest of the cursor's row.
  mutating func eraseRest() {
    // Many terminals erase to the current background color.
    set(.plain)
    control("K")
  }

  /// Writes the contents of a cell.
  mutating func write(_ cell: ScreenCell) {
    if cell.text == " " {
      // A space needs no change of style if it looks the same in the current style.
      if ScreenLine.visibleStyle(ofSpaceIn: style) != cell.style { set(cell.style) }
    } else {
      set(cell.style)
    }
    assert(
      ScreenOutput.isHarmless(cell.text),
      "a cell cannot hold control characters, but holds \(cell.text.debugDescription)")
    bytes += cell.text.utf8
  }

  /// Sets the style of the following text: changes the current style or resets it, whichever is
  /// shorter.
  mutating func set(_ new: TerminalStyle) {
    guard new != style else { return }
    let change = ScreenOutput.codes(from: style, to: new)
    let reset = ["0"] + ScreenOutput.codes(from: .plain, to: new)
    let isPlain = new == .plain
    let shorter = isPlain ? [] : change.joined().count < reset.joined().count ? change : reset
    control(shorter.joined(separator: ";") + "m")
    style = new
  }

  private static func codes(from old: TerminalStyle, to new: TerminalStyle) -> [String] {
    var codes: [String] = []
    // Code 22 ends both bold and faint.
    let endsWeight = old.isBold && !new.isBold || old.isFaint && !new.isFaint
    if endsWeight { codes.append("22") }
    if new.isBold, endsWeight || !old.isBold { codes.append("1") }
    if new.isFaint, endsWeight || !old.isFaint { codes.append("2") }
    if new.isUnderlined != old.isUnderlined { codes.append(new.isUnderlined ? "4" : "24") }
    if new.isReversed != old.isReversed { codes.append(new.isReversed ? "7" : "27") }
    if new.foreground != old.foreground { codes.append(code(new.foreground, from: 30)) }
    if new.background != old.background { codes.append(code(new.background, from: 40)) }
    return codes
  }

  private static func code(_ color: TerminalColor?, from first: Int) -> String {
    guard let color else { return "\(first + 9)" }
    let number = Int(color.rawValue)
    return "\(number < 8 ? first + number : first + 60 + number - 8)"
  }

  private static func isHarmless(_ text: String) -> Bool {
    !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}

/// The contents of a whole screen, as a value that you can compare, test and draw.
public struct TerminalFrame: Sendable, Hashable {
  /// A position on the screen. The top left is row 0, column 0.
  public struct Position: Sendable, Hashable {
    /// The row.
    public var row: Int
    /// The column.
    public var column: Int

    /// Creates a position.
    public init(row: Int, column: Int) {
      self.row = row
      self.column = column
    }
  }

  /// The size of the screen that the frame is for.
  public let size: TerminalSize
  /// The lines, one for each row. A line that is wider than the screen is clipped when it is drawn.
  public let lines: [TerminalLine]
  /// The position of the cursor, or `nil` if the cursor is hidden.
  public let cursor: Position?

  /// Creates a frame.
  ///
  /// - Parameters:
  ///   - size: The size of the screen.
  ///   - lines: The lines from the top. Lines beyond the last row are omitted; empty lines fill the
  ///     rest.
  ///   - cursor: The position of the cursor, or `nil` to hide it.
  public init(size: TerminalSize, lines: [TerminalLine], cursor: Position? = nil) {
    self.size = size
    let fitting = lines.prefix(size.rows)
    self.lines =
      Array(fitting) + repeatElement(TerminalLine(), count: max(0, size.rows - fitting.count))
    self.cursor = cursor
  }
}

/// The size of a terminal or of a part of it, in characters.
public struct TerminalSize: Sendable, Hashable {
  /// The number of lines.
  public var rows: Int
  /// The number of narrow characters that fit into a line.
  public var columns: Int

  /// Creates a size. A negative number counts as zero.
  public init(rows: Int, columns: Int) {
    self.rows = max(0, rows)
    self.columns = max(0, columns)
  }
}
