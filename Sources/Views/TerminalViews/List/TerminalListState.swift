public import Diffing
public import ObservableCollections

/// The state of a list on a terminal: its contents, its visible part, and the selection.
///
/// Events and commands change the state, and ``frame(status:cursorColumn:)`` returns the frame to
/// show. The state performs no I/O. Therefore, you can test it, and draw the frame by any means.
///
/// ```swift
/// var list = TerminalListState(columns: [TerminalColumn("Name") { (name: String) in name }])
/// list.resize(to: TerminalSize(rows: 24, columns: 80))
/// list.apply(.initial(Snapshot(["a", "b"]), revision: 0))
/// list.perform(.down)
/// let frame = list.frame(status: TerminalLine("two names"))
/// ```
///
/// At first, the list stays at its top when it changes. As soon as a command has chosen a row, the
/// selected row stays on its line of the screen. If it is not visible, the first visible row stays
/// instead. With ``staysAtTop``, the first row stays visible if possible. The row is followed
/// through the offsets of each change, also through a swap. If its element is deleted, the next
/// element takes the line. If the element returns, it is selected again, unless another row was
/// chosen meanwhile.
public struct TerminalListState<Element: Differentiable & Sendable>: Sendable {
  /// A command of the user that moves in the list.
  public enum Command: Sendable, Hashable {
    /// Select the row above.
    case up
    /// Select the row below.
    case down
    /// Scroll up by a page.
    case pageUp
    /// Scroll down by a page.
    case pageDown
    /// Select the first row.
    case home
    /// Select the last row.
    case end
    /// Scroll left by a column.
    case left
    /// Scroll right by a column.
    case right

    /// Creates the command of a key, or returns `nil` if the key does not move in a list.
    ///
    /// The keys are the arrows, Page Up, Page Down, Home and End.
    public init?(_ key: TerminalKey) {
      let commands: [TerminalKey: Self] = [
        .up: .up, .down: .down, .pageUp: .pageUp, .pageDown: .pageDown, .home: .home, .end: .end,
        .left: .left, .right: .right,
      ]
      guard let command = commands[key] else { return nil }
      self = command
    }
  }

  /// The contents of the list.
  public private(set) var contents = Snapshot<Element>()
  /// The revision of the contents.
  public private(set) var revision = 0
  /// The size of the screen, or of the part of it that the list takes.
  public private(set) var size = TerminalSize(rows: 0, columns: 0)
  /// A Boolean value that indicates whether the last line is reserved for a status.
  public private(set) var hasStatus = true
  /// The time for which a changed row is marked, and the cells in it that changed are bold.
  public var markDuration: Duration
  /// The columns.
  public var columns: [TerminalColumn<Element>] {
    didSet { resetColumns() }
  }

  /// A closure that returns the text of a row that takes the whole line, or `nil` for a row with cells.
  var header: @Sendable (Element) -> String? = { _ in nil }

  /// A closure that indicates whether a row has a star before it, or `nil` if there is no room for stars.
  package var hasStar: (@Sendable (Element) -> Bool)? {
    didSet { if (oldValue == nil) != (hasStar == nil) { measure() } }
  }

  private var window = ListWindow()
  /// The chosen element and the elements that took its place, in the order of their deletion.
  private var missingElements: [Element] = []
  private var marks = RowMarks<Element>()
  private var widths = ColumnWidths()
  private var firstColumn = 0
  private var pinnedColumns: [Int] = []

  /// Creates an empty list.
  ///
  /// - Parameters:
  ///   - columns: The columns.
  ///   - markDuration: The time for which a changed row is marked. Zero disables marks.
  public init(columns: [TerminalColumn<Element>], markDuration: Duration = .milliseconds(1500)) {
    self.columns = columns
    self.markDuration = markDuration
    resetColumns()
  }

  /// The offset of the selected row, or `nil` if the list is empty.
  public var selection: Int? { window.selection }

  /// The element of the selected row, or `nil` if the list is empty.
  public var selectedElement: Element? { selection.map { contents[$0] } }

  /// A Boolean value that indicates whether the selected row stays on its line.
  ///
  /// If it is `false`, the visible part and the selection keep their offsets. Therefore, a list that
  /// is sorted by a changing value stays at its top. A command that selects a row, and
  /// ``select(_:)``, set this property to `true`. The start of a new list sets it to `false`.
  public var keepsSelectedRow: Bool {
    get { window.isRowChosen }
    set {
      window.isRowChosen = newValue
      missingElements = []
    }
  }

  /// A Boolean value that indicates whether the first row stays visible if the selected row fits.
  ///
  /// By default, the selected row stays on its line, and rows that are inserted above it hide the
  /// first row. If the value is `true`, a change moves the selected row on the screen instead. The list
  /// scrolls only as far as the selected row needs to stay visible, and returns when it can. If a
  /// command has scrolled the first row away, the selected row stays on its line until a command
  /// returns to the first row. This is useful for a ranking, for example of processes.
  public var staysAtTop: Bool {
    get { window.staysAtTop }
    set { window.staysAtTop = newValue }
  }

  /// The offsets of the visible rows.
  public var visibleRows: Range<Int> { window.visible }

  /// The position in the list, as text for a status line.
  ///
  /// The text is, for example, `row 12 of 345, 5 above, 320 below`. It counts the rows above and
  /// below the visible ones, if there are any.
  public var position: String {
    guard let selection else { return "no rows" }
    let hidden = [
      (visibleRows.lowerBound, "above"), (contents.count - visibleRows.upperBound, "below"),
    ]
    return "row \(selection + 1) of \(contents.count)"
      + hidden.filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
  }

  /// Returns the mark of a row, if it has one.
  package func mark(ofRow offset: Int) -> RowMark? { marks[offset] }

  /// The time when the next mark expires, or `nil` if no row is marked.
  ///
  /// The time has the same origin as the times that you pass to ``apply(_:at:)``.
  public var nextMarkEnd: Duration? { marks.nextEnd }

  /// Applies an event.
  ///
  /// - Parameters:
  ///   - event: The event. Pass the events of one observation in their order.
  ///   - now: The current time, as a duration since an arbitrary but fixed origin.
  /// - Complexity: O(k log k) for k operations.
  public mutating func apply(_ event: CollectionEvent<Element>, at now: Duration = .zero) {
    revision = event.revision
    switch event {
    case .initial(let snapshot, _):
      contents = snapshot
      window.reset(count: snapshot.count)
      missingElements = []
      marks.removeAll()
    case .change(let change):
      let changeset = change.changeset
      let isFirstLoad = contents.isEmpty
      let map = OffsetMap(changeset)
      contents = change.after
      follow(change, map)
      _ = marks.expire(at: now)
      marks.follow(map)
      // In a list that was empty, all rows are new, and marks would carry no information.
      if !isFirstLoad { mark(change, until: now + markDuration) }
    }
    measure()
  }

  /// Moves the window to the rows of a change, and selects the chosen element if it returns.
  private mutating func follow(_ change: CollectionChange<Element>, _ map: OffsetMap) {
    if keepsSelectedRow, let selection, map[selection] == nil {
      missingElements = missingElements.prefix(15) + [change.before[selection]]
    }
    window.follow(map, newCount: contents.count)
    if missingElements.isEmpty { return }
    let ranks = Dictionary(
      missingElements.enumerated().map { ($1.differenceIdentifier, $0) }, uniquingKeysWith: min)
    // An update may give the identity to another element (rule C9).
    let new = change.changeset.insertions + change.changeset.updates.map(\.to)
    let returned = new.compactMap { offset in
      ranks[contents[offset].differenceIdentifier].map { (rank: $0, offset: offset) }
    }
    guard let first = returned.min(by: { $0.rank < $1.rank }) else { return }
    missingElements.removeSubrange(first.rank...)
    window.selectAgain(first.offset)
  }

  /// Removes expired marks.
  ///
  /// - Parameter now: The current time, as in ``apply(_:at:)``.
  /// - Returns: A Boolean value that indicates whether a mark was removed.
  @discardableResult
  public mutating func expireMarks(at now: Duration) -> Bool { marks.expire(at: now) }

  /// Changes the size of the screen, or of the part of it that the list takes.
  ///
  /// - Parameters:
  ///   - size: The size.
  ///   - hasStatus: A Boolean value that indicates whether the last line is reserved for a status.
  public mutating func resize(to size: TerminalSize, hasStatus: Bool = true) {
    guard size != self.size || hasStatus != self.hasStatus else { return }
    (self.size, self.hasStatus) = (size, hasStatus)
    window.resize(height: layout.listRows.count)
    measure()
  }

  /// Performs a command of the user.
  public mutating func perform(_ command: Command) {
    if command != .left, command != .right { missingElements = [] }
    switch command {
    case .left: scroll(by: -1)
    case .right: scroll(by: 1)
    case .up: window.move(by: -1)
    case .down: window.move(by: 1)
    case .pageUp: window.turn(pages: -1)
    case .pageDown: window.turn(pages: 1)
    case .home: window.select(0)
    case .end: window.select(contents.count - 1)
    }
    measure()
  }

  private mutating func scroll(by step: Int) {
    var next = firstColumn + step
    // A pinned column takes its place in both cases, before it is scrolled past and afterwards.
    while columns.indices.contains(next - 1), columns[next - 1].isPinned { next += step }
    firstColumn = max(0, min(next, columns.count - 1))
  }

  /// Selects a row and scrolls to it. From then on, the row stays on its line.
  ///
  /// - Parameter offset: The offset of the row. An offset out of range selects the first or last
  ///   row.
  public mutating func select(_ offset: Int) {
    missingElements = []
    window.select(offset)
    measure()
  }

  /// Scrolls to the first of several columns, unless one of them is visible.
  package mutating func reveal(anyColumnOf columns: [Int]) {
    guard let column = columns.first, !columns.contains(where: isVisible) else { return }
    let isLeft = column < firstColumn
    firstColumn = column
    measure()
    // Scroll to the right by as few columns as possible.
    while !isLeft, firstColumn > 0 {
      firstColumn -= 1
      measure()
      if isVisible(column) { continue }
      firstColumn += 1
      return
    }
  }

  private func isVisible(_ column: Int) -> Bool {
    widths.shows(column, among: shownColumns, in: size.columns - signWidth)
  }

  /// The number of columns of the terminal before the first column of the list.
  private var signWidth: Int { hasStar == nil ? 2 : 3 }

  private mutating func resetColumns() {
    firstColumn = min(firstColumn, max(0, columns.count - 1))
    pinnedColumns = columns.indices.filter { columns[$0].isPinned }
    widths = ColumnWidths(columns)
    measure()
  }

  private mutating func mark(_ change: CollectionChange<Element>, until end: Duration) {
    guard markDuration > .zero else { return }
    let changeset = change.changeset
    // A change with more rows than marks marks the rows near the visible ones only.
    let isFew = changeset.changeCount <= RowMarks<Element>.limit
    let near = window.top - window.height..<window.top + 2 * max(1, window.height)
    func mark(_ offset: Int, _ mark: RowMark, insteadOf old: Element? = nil) {
      if isFew || near.contains(offset) {
        marks.mark(offset, mark, until: end, insteadOf: old)
      }
    }
    for move in changeset.moves { mark(move.to, .moved) }
    for update in changeset.updates {
      mark(update.to, .updated, insteadOf: change.before[update.from])
    }
    for insertion in changeset.insertions { mark(insertion, .inserted) }
  }

  /// The columns that can be visible, from the left.
  private var shownColumns: [Int] {
    let end = ColumnWidths.end(from: firstColumn, of: columns.count, in: size.columns)
    return pinnedColumns.filter { $0 < firstColumn } + Array(firstColumn..<max(firstColumn, end))
  }

  /// Records the widths of the visible texts.
  private mutating func measure() {
    let shown = shownColumns
    for row in visibleRows {
      let element = contents[row]
      if header(element) != nil { continue }
      for number in shown {
        widths.record(visiblePart(of: columns[number].text(element)), in: number)
      }
    }
  }

  /// Returns the part of a text that can be visible.
  ///
  /// A text can be very long, and its width is measured after each key.
  private func visiblePart(of text: String) -> String {
    // This is enough for a full line with several combining marks on each letter.
    let limit = 16 * size.columns
    guard text.utf8.count > limit else { return text }
    return String(text.unicodeScalars.prefix(limit))
  }
}

// MARK: Drawing

extension TerminalListState {
  /// The lines of the screen that the headings, the rows and the status take.
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

  /// Returns the frame to show: the headings, and as many rows as fit.
  ///
  /// If ``hasStatus`` is `true`, the last line is the status.
  ///
  /// - Parameters:
  ///   - status: The last line, if one is reserved for it. By default, it shows the ``position``.
  ///   - cursorColumn: The column of the cursor in the last line, or `nil` to hide the cursor.
  /// - Complexity: O(r) for r visible rows, plus the calls of the columns' closures for these rows.
  public func frame(
    status: TerminalLine? = nil, cursorColumn: Int? = nil
  ) -> TerminalFrame {
    let layout = layout
    let shown = shownColumns
    let widths = zip(shown, widths.fitted(shown, into: size.columns - signWidth))
      .map { (column: $0, width: $1) }
    var lines: [TerminalLine] = []
    if layout.hasHeadings { lines.append(headings(widths)) }
    lines += visibleRows.map { line(ofRow: $0, widths) }
    lines += repeatElement(TerminalLine(), count: max(0, layout.listRows.upperBound - lines.count))
    if layout.hasStatus {
      lines.append((status ?? TerminalLine(position)).fitted(to: size.columns))
    }
    let cursor = cursorColumn.flatMap { column in
      layout.hasStatus && column < size.columns
        ? TerminalFrame.Position(row: size.rows - 1, column: max(0, column)) : nil
    }
    return TerminalFrame(size: size, lines: lines, cursor: cursor)
  }

  private func headings(_ widths: [(column: Int, width: Int)]) -> TerminalLine {
    let style = TerminalStyle(isBold: true)
    var line = TerminalLine(String(repeating: " ", count: signWidth), style)
    append(to: &line, widths) { _, column in (column.title, style) }
    return line
  }

  private func line(ofRow row: Int, _ widths: [(column: Int, width: Int)]) -> TerminalLine {
    let element = contents[row]
    let mark = marks[row]
    let base = TerminalStyle(foreground: mark?.color)
    let star = hasStar.map { $0(element) ? "*" : " " } ?? ""
    var line = TerminalLine((row == selection ? ">" : " ") + (mark?.sign ?? " ") + star, base)
    if let header = header(element) {
      let text = TerminalText.printable(visiblePart(of: header))
      let shown = TerminalText.truncated(text, to: max(0, size.columns - signWidth))
      line.append(shown, TerminalStyle(foreground: mark?.color, isBold: true))
    } else {
      // One element after the other, because the closures may keep the cells of the latest element.
      let old = marks.oldElements(of: row)
        .map { old in widths.map { columns[$0.column].text(old) } }
      append(to: &line, widths) { place, column in
        var style = column.style(element)
        style.foreground = style.foreground ?? mark?.color
        let text = column.text(element)
        if old.contains(where: { $0[place] != text }) { style.isBold = true }
        return (visiblePart(of: text), style)
      }
    }
    guard row == selection else { return line }
    return line.fitted(to: size.columns).restyled { style in
      var style = style
      style.isReversed = true
      return style
    }
  }

  /// Appends the cells of columns, each with its place among them.
  private func append(
    to line: inout TerminalLine, _ widths: [(column: Int, width: Int)],
    _ cell: (Int, TerminalColumn<Element>) -> (text: String, style: TerminalStyle)
  ) {
    for (place, (number, width)) in widths.enumerated() {
      let column = columns[number]
      let (text, style) = cell(place, column)
      if place > 0 { line.append(String(repeating: " ", count: ColumnWidths.gap)) }
      let shown = TerminalText.truncated(TerminalText.printable(text), to: width)
      line.append(TerminalText.padded(shown, to: width, alignment: column.alignment), style)
    }
  }

  /// Writes the whole list as plain lines, for an output that is not a terminal.
  ///
  /// The first line holds the headings, if there are columns. Each column is as wide as its widest text, but at most
  /// 200 columns of the terminal. A wider text is written in full, and displaces the rest of its line. The lines
  /// contain neither marks nor the selection.
  ///
  /// - Parameter write: A closure that receives each line, without a line break.
  /// - Complexity: O(*n*) in the text and the cells. The closure of each column is called twice for each element.
  public func writePlainLines(_ write: (String) throws -> Void) rethrows {
    // A wide text in one row would otherwise add as many spaces to all the others.
    var widths = ColumnWidths(columns, limit: 200)
    for element in contents where header(element) == nil {
      for number in columns.indices { widths.record(columns[number].text(element), in: number) }
    }
    if !columns.isEmpty { try write(plainLine(widths, \.title)) }
    for element in contents {
      let header = header(element).map { TerminalText.printable($0) }
      try write(header ?? plainLine(widths) { $0.text(element) })
    }
  }

  /// Returns the line of the texts of all columns, without spaces at its end.
  private func plainLine(
    _ widths: ColumnWidths, _ text: (TerminalColumn<Element>) -> String
  ) -> String {
    var line: [UInt8] = []
    /// The columns of the terminal that the line takes, and those before the current column.
    var (taken, start) = (0, 0)
    for (number, column) in columns.enumerated() {
      defer { start += widths[number] + ColumnWidths.gap }
      let text = text(column)
      if text.isEmpty { continue }
      let shown = TerminalText.truncated(
        TerminalText.printable(text), to: column.maximumWidth)
      let width = TerminalText.width(shown)
      let indent = column.alignment.indent(in: max(0, widths[number] - width))
      // After a text that was too wide, the line returns to its columns as soon as there is room.
      let spaces = max(start + indent - taken, number > 0 && taken > 0 ? ColumnWidths.gap : 0)
      line.append(contentsOf: repeatElement(UInt8(ascii: " "), count: spaces))
      line.append(contentsOf: shown.utf8)
      taken += spaces + width
    }
    while line.last == UInt8(ascii: " ") { line.removeLast() }
    return String(decoding: line, as: UTF8.self)
  }
}
