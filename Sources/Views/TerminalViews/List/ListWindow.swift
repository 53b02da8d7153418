import Diffing

/// The visible part of a list, and its selected row, as offsets that follow their elements.
///
/// Until a row is chosen, the window stays where it is when rows are inserted, deleted or moved.
/// Afterwards, the anchor row stays on its line of the screen. The anchor is the selected row if it
/// is visible, and the first visible row otherwise. If `staysAtTop` is `true`, the window instead
/// stays as close to the first row as the selected row permits, until the user scrolls.
struct ListWindow: Sendable, Hashable {
  /// The number of rows of the list.
  private(set) var count = 0
  /// The number of rows that fit on the screen.
  private(set) var height = 0
  /// The offset of the first visible row.
  private(set) var top = 0
  /// The offset of the selected row, or `nil` if the list is empty.
  private(set) var selection: Int?
  /// A Boolean value that indicates whether the offsets follow their elements, because a row was
  /// chosen.
  var isRowChosen = false
  /// A Boolean value that indicates whether the first row stays visible if the selected row fits.
  var staysAtTop = false {
    didSet { if staysAtTop != oldValue { isScrolled = top > 0 } }
  }
  private var isScrolled = false

  /// The offsets of the visible rows.
  var visible: Range<Int> { top..<min(count, top + height) }

  /// Shows the start of a new list.
  mutating func reset(count: Int) {
    self.count = count
    top = 0
    selection = count > 0 ? 0 : nil
    (isRowChosen, isScrolled) = (false, false)
  }

  /// Changes the number of rows that fit on the screen. A visible selected row stays visible.
  mutating func resize(height: Int) {
    // With a height of 0, no row was visible. Treat the selected row as if it were.
    let isSelectionShown = selection.map { self.height == 0 || visible.contains($0) } ?? false
    self.height = max(0, height)
    if isAtTop { top = 0 }
    if isSelectionShown { reveal() }
    clamp()
  }

  private var isAtTop: Bool { staysAtTop && !isScrolled }

  /// Adjusts the offsets to a change of the list.
  mutating func follow(_ map: OffsetMap, newCount: Int) {
    guard isRowChosen, newCount > 0 else {
      count = newCount
      selection = count > 0 ? min(selection ?? 0, count - 1) : nil
      isRowChosen = false
      if count == 0 { isScrolled = false }
      return clamp()
    }
    let anchor = selection.flatMap { visible.contains($0) ? $0 : nil } ?? top
    let line = anchor - top
    let newAnchor = map.nearest(to: anchor, count: count)
    selection = selection.flatMap { map.nearest(to: $0, count: count) }
    count = newCount
    if selection == nil { selection = 0 }
    top = isAtTop ? 0 : (newAnchor ?? 0) - line
    clamp()
    if isAtTop { reveal() }
  }

  /// Chooses a row and scrolls to it.
  ///
  /// - Parameter offset: The offset of the row. An offset out of range selects the first or last row.
  mutating func select(_ offset: Int) {
    let previousTop = top
    choose(offset)
    noteScrolling(from: previousTop)
  }

  /// Selects the chosen row again, which has returned.
  mutating func selectAgain(_ offset: Int) {
    (isRowChosen, selection) = (true, offset)
    if isAtTop { top = 0 }
    reveal()
  }

  /// Moves the selection by a number of rows.
  mutating func move(by rows: Int) {
    select((selection ?? 0) + rows)
  }

  /// Scrolls by a number of pages, and moves the selection by the same number of rows.
  mutating func turn(pages: Int) {
    let rows = pages * max(1, height - 1)
    let previousTop = top
    top += rows
    clamp()
    choose((selection ?? 0) + rows)
    noteScrolling(from: previousTop)
  }

  private mutating func choose(_ offset: Int) {
    isRowChosen = count > 0
    selection = count > 0 ? min(max(0, offset), count - 1) : nil
    reveal()
  }

  /// Records whether a command has scrolled the first row away.
  private mutating func noteScrolling(from previousTop: Int) {
    if top == 0 || height == 0 {
      isScrolled = false
    } else if top != previousTop {
      isScrolled = true
    }
  }

  private mutating func reveal() {
    guard let selection, height > 0 else { return }
    top = min(max(top, selection - height + 1), selection)
    clamp()
  }

  private mutating func clamp() {
    top = max(0, min(top, count - height))
  }
}
