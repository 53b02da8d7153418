import Diffing

/// Which part of a list is shown, and which row is selected: by offsets that follow their elements.
///
/// The row that one looks at stays on its line of the screen while others come, go and move around it:
/// the selected row where it is shown, else the first one that is.
struct ListWindow: Sendable, Hashable {
  /// How many rows the list has.
  private(set) var count = 0
  /// How many rows are shown at once.
  private(set) var height = 0
  /// The offset of the first row that is shown.
  private(set) var top = 0
  /// The offset of the selected row; nil in an empty list.
  private(set) var selection: Int?

  /// The offsets of the rows that are shown.
  var visible: Range<Int> { top..<min(count, top + height) }

  /// Shows the start of another list.
  mutating func reset(count: Int) {
    self.count = count
    top = 0
    selection = count > 0 ? 0 : nil
  }

  /// Shows more or fewer rows at once; the selected one stays in sight.
  mutating func resize(height: Int) {
    // Without any height nothing was in sight, nor could a command bring it there.
    let isSelectionShown = selection.map { self.height == 0 || visible.contains($0) } ?? false
    self.height = max(0, height)
    if isSelectionShown { reveal() }
    clamp()
  }

  /// Follows a change of the list.
  mutating func follow(_ map: OffsetMap, newCount: Int) {
    let anchor = selection.flatMap { visible.contains($0) ? $0 : nil } ?? top
    let line = anchor - top
    let newAnchor = map.nearest(to: anchor, count: count)
    selection = selection.flatMap { map.nearest(to: $0, count: count) }
    count = newCount
    if selection == nil, count > 0 { selection = 0 }
    top = (newAnchor ?? 0) - line
    clamp()
  }

  /// Selects a row and brings it into sight.
  ///
  /// - Parameter offset: The row; the first or last one where there is none.
  mutating func select(_ offset: Int) {
    selection = count > 0 ? min(max(0, offset), count - 1) : nil
    reveal()
  }

  /// Selects a row so many further on.
  mutating func move(by rows: Int) {
    select((selection ?? 0) + rows)
  }

  /// Scrolls by so many pages, and the selection with it.
  mutating func turn(pages: Int) {
    let rows = pages * max(1, height - 1)
    top += rows
    clamp()
    move(by: rows)
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
