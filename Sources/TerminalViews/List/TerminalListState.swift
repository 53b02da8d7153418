public import Diffing
public import ObservableCollections

/// A list on a terminal as a value: what it holds, what is shown of it, and what is selected.
///
/// Events and commands change it; ``frame(status:cursorColumn:)`` says what the screen should show. It neither
/// reads nor writes anything, so that it can be tested, and drawn wherever one likes.
///
/// ```swift
/// var list = TerminalListState(columns: [TerminalColumn("Name") { (name: String) in name }])
/// list.resize(to: TerminalSize(rows: 24, columns: 80))
/// list.apply(.initial(Snapshot(["a", "b"]), revision: 0))
/// list.perform(.down)
/// let frame = list.frame(status: TerminalLine("two names"))
/// ```
///
/// The line that one looks at stays where it is: the selected row while it is in sight, otherwise the
/// first row on the screen. It follows its element by the changes' own offsets, so that it does so
/// through a swap as well. Where the element is deleted, the next one takes its line.
public struct TerminalListState<Element: Differentiable & Sendable>: Sendable {
  /// What a user can do in a list.
  public enum Command: Sendable, Hashable {
    /// Select the row above.
    case up
    /// Select the row below.
    case down
    /// Go on by a screen, up.
    case pageUp
    /// Go on by a screen, down.
    case pageDown
    /// Select the first row.
    case home
    /// Select the last row.
    case end
    /// Show the columns further left.
    case left
    /// Show the columns further right.
    case right
  }

  /// What the list holds.
  public private(set) var contents = Snapshot<Element>()
  /// The revision of the contents.
  public private(set) var revision = 0
  /// The size of the screen, or of the list's part of it.
  public private(set) var size = TerminalSize(rows: 0, columns: 0)
  /// Whether the last line is left for a status.
  public private(set) var hasStatus = true
  /// How long a changed row stays marked.
  public var markDuration: Duration
  /// The columns.
  public var columns: [TerminalColumn<Element>] {
    didSet { resetColumns() }
  }

  private var window = ListWindow()
  private var marks = RowMarks()
  private var widths = ColumnWidths()
  private var firstColumn = 0

  /// Creates an empty list.
  ///
  /// - Parameters:
  ///   - columns: What is shown of each element.
  ///   - markDuration: How long a changed row stays marked; zero for no marks.
  public init(columns: [TerminalColumn<Element>], markDuration: Duration = .milliseconds(1500)) {
    self.columns = columns
    self.markDuration = markDuration
    resetColumns()
  }

  /// The offset of the selected row; nil in an empty list.
  public var selection: Int? { window.selection }

  /// The element of the selected row; nil in an empty list.
  public var selectedElement: Element? { selection.map { contents[$0] } }

  /// The offsets of the rows that are on the screen.
  public var visibleRows: Range<Int> { window.visible }

  /// The mark of a row, if it has one.
  public func mark(ofRow offset: Int) -> RowMark? { marks[offset] }

  /// When the next mark ends, in the time of ``apply(_:at:)``; nil where no row is marked.
  public var nextMarkEnd: Duration? { marks.nextEnd }

  /// Takes an event in.
  ///
  /// - Parameters:
  ///   - event: The event; those of one observation, in order.
  ///   - now: The time, since any moment that stays the same.
  /// - Complexity: O(k log k) for k operations.
  public mutating func apply(_ event: CollectionEvent<Element>, at now: Duration = .zero) {
    revision = event.revision
    switch event {
    case .initial(let snapshot, _):
      contents = snapshot
      window.reset(count: snapshot.count)
      marks.removeAll()
    case .change(let change):
      let changeset = change.changeset
      let isFirstLoad = contents.isEmpty
      let map = OffsetMap(changeset)
      contents = change.after
      window.follow(map, newCount: contents.count)
      _ = marks.expire(at: now)
      marks.follow(map)
      // What comes to an empty list is all new, and marks would say nothing.
      if !isFirstLoad { mark(changeset, until: now + markDuration) }
    }
    measure()
  }

  /// Lets go of marks whose time is over.
  ///
  /// - Parameter now: The time, as in ``apply(_:at:)``.
  /// - Returns: Whether a mark has gone.
  @discardableResult
  public mutating func expireMarks(at now: Duration) -> Bool { marks.expire(at: now) }

  /// Shows the list on a screen, or on a part of one, of another size.
  ///
  /// - Parameters:
  ///   - size: The size.
  ///   - hasStatus: Whether the last line is left for a status.
  public mutating func resize(to size: TerminalSize, hasStatus: Bool = true) {
    guard size != self.size || hasStatus != self.hasStatus else { return }
    (self.size, self.hasStatus) = (size, hasStatus)
    window.resize(height: layout.listRows.count)
    measure()
  }

  /// Does what a user asks for.
  public mutating func perform(_ command: Command) {
    switch command {
    case .up: window.move(by: -1)
    case .down: window.move(by: 1)
    case .pageUp: window.turn(pages: -1)
    case .pageDown: window.turn(pages: 1)
    case .home: window.select(0)
    case .end: window.select(contents.count - 1)
    case .left: firstColumn = max(0, firstColumn - 1)
    case .right: firstColumn = min(max(0, columns.count - 1), firstColumn + 1)
    }
    measure()
  }

  /// Selects a row and brings it into sight.
  ///
  /// - Parameter offset: The row; the first or last one where there is none.
  public mutating func select(_ offset: Int) {
    window.select(offset)
    measure()
  }

  private mutating func resetColumns() {
    firstColumn = min(firstColumn, max(0, columns.count - 1))
    widths.reset(titles: columns.map(\.title))
    measure()
  }

  private mutating func mark(_ changeset: Changeset, until end: Duration) {
    guard markDuration > .zero else { return }
    // Those in sight first: there may be more than are kept.
    let isFew = changeset.changeCount <= RowMarks.limit
    let near = window.top - window.height..<window.top + 2 * max(1, window.height)
    func mark(_ offset: Int, _ mark: RowMark) {
      if isFew || near.contains(offset) { marks.mark(offset, mark, until: end) }
    }
    for move in changeset.moves { mark(move.to, .moved) }
    for update in changeset.updates { mark(update.to, .updated) }
    for insertion in changeset.insertions { mark(insertion, .inserted) }
  }

  /// Takes note of how wide the texts are that are shown now.
  private mutating func measure() {
    let shown =
      firstColumn..<ColumnWidths.end(from: firstColumn, of: columns.count, in: size.columns)
    for row in visibleRows {
      let element = contents[row]
      for number in shown {
        let text = TerminalText.printable(shownText(columns[number], element))
        widths.note(TerminalText.width(text), in: number, maximum: columns[number].maximumWidth)
      }
    }
  }

  /// A text as far as it may be seen: it can be as long as a book, and is looked at with each key.
  private func shownText(_ column: TerminalColumn<Element>, _ element: Element) -> String {
    let text = column.text(element)
    // Enough for the widest screen with a few marks on each letter.
    let limit = 16 * size.columns
    guard text.utf8.count > limit else { return text }
    return String(text.unicodeScalars.prefix(limit))
  }
}

extension TerminalListState {
  /// Which lines of the screen are what.
  private struct Layout {
    var hasHeadings: Bool
    var listRows: Range<Int>
    var hasStatus: Bool
  }

  private var layout: Layout {
    let hasStatus = hasStatus && size.rows > 1
    let hasHeadings = size.rows > (hasStatus ? 2 : 1)
    let start = hasHeadings ? 1 : 0
    return Layout(
      hasHeadings: hasHeadings, listRows: start..<max(start, size.rows - (hasStatus ? 1 : 0)),
      hasStatus: hasStatus)
  }

  /// What the screen should show: headings, and as many rows as fit.
  ///
  /// Where ``hasStatus``, there is a status line at the bottom.
  ///
  /// - Parameters:
  ///   - status: The last line, where one is left for it.
  ///   - cursorColumn: Where in the last line the cursor stands; nil where it is hidden.
  /// - Complexity: O(r) for r rows on the screen, and what the columns' closures take for them.
  public func frame(
    status: TerminalLine = TerminalLine(), cursorColumn: Int? = nil
  ) -> TerminalFrame {
    let layout = layout
    let widths = widths.fitted(from: firstColumn, into: size.columns - 2)
    var lines: [TerminalLine] = []
    if layout.hasHeadings { lines.append(headings(widths)) }
    lines += visibleRows.map { line(ofRow: $0, widths) }
    lines += repeatElement(TerminalLine(), count: max(0, layout.listRows.upperBound - lines.count))
    if layout.hasStatus { lines.append(status.fitted(to: size.columns)) }
    let cursor = cursorColumn.flatMap { column in
      layout.hasStatus && column < size.columns
        ? TerminalFrame.Position(row: size.rows - 1, column: max(0, column)) : nil
    }
    return TerminalFrame(size: size, lines: lines, cursor: cursor)
  }

  private func headings(_ widths: [Int]) -> TerminalLine {
    let style = TerminalStyle(isBold: true)
    var line = TerminalLine("  ", style)
    append(to: &line, widths, from: firstColumn) { column in (column.title, style) }
    return line
  }

  private func line(ofRow row: Int, _ widths: [Int]) -> TerminalLine {
    let element = contents[row]
    let mark = marks[row]
    let base = TerminalStyle(foreground: mark?.color)
    var line = TerminalLine((row == selection ? ">" : " ") + (mark?.sign ?? " "), base)
    append(to: &line, widths, from: firstColumn) { column in
      var style = column.style(element)
      style.foreground = mark?.color ?? style.foreground
      return (shownText(column, element), style)
    }
    guard row == selection else { return line }
    return line.fitted(to: size.columns).restyled { style in
      var style = style
      style.isReversed = true
      return style
    }
  }

  /// Appends the cells of the columns from `first` on.
  func append(
    to line: inout TerminalLine, _ widths: [Int], from first: Int = 0,
    _ cell: (TerminalColumn<Element>) -> (text: String, style: TerminalStyle)
  ) {
    for (number, width) in widths.enumerated() {
      let column = columns[first + number]
      let (text, style) = cell(column)
      if number > 0 { line.append(String(repeating: " ", count: ColumnWidths.gap)) }
      let shown = TerminalText.truncated(TerminalText.printable(text), to: width)
      let space = String(repeating: " ", count: max(0, width - TerminalText.width(shown)))
      line.append(column.alignment == .trailing ? space + shown : shown + space, style)
    }
  }
}
