public import ObservableCollections

extension TerminalColumn {
  /// The number of levels that a row is indented by, at most. Deeper rows are indented like these.
  private static var maximumIndentation: Int { 64 }

  /// Creates the column of an outline that shows the tree.
  ///
  /// ```swift
  /// let rows = folders.outline(parent: \.parentID, isExpanded: expansion)
  /// let list = TerminalListView(rows, columns: [TerminalColumn(outline: "Folder") { $0.name }]) { … }
  /// ```
  ///
  /// Each text is indented by two columns of the terminal for each level, up to 64 levels. Before the text of an element
  /// with children is the marker `▾` if they are shown, and `▸` if they are not.
  ///
  /// - Parameters:
  ///   - title: The heading.
  ///   - maximumWidth: The maximum width in columns of the terminal. A value below 1 counts as 1.
  ///   - style: A closure that returns the style of an element's text. By default, the text is plain.
  ///   - text: A closure that returns the text of an element. It is called for the visible elements.
  public init<Item>(
    outline title: String, maximumWidth: Int = .max,
    style: @escaping @Sendable (Item) -> TerminalStyle = { _ in .plain },
    text: @escaping @Sendable (Item) -> String
  ) where Element == OutlineRow<Item> {
    self.init(title, maximumWidth: maximumWidth, style: { style($0.element) }) { row in
      let marker = row.hasChildren ? (row.isExpanded ? "▾ " : "▸ ") : "  "
      let level = min(row.depth, TerminalColumn.maximumIndentation)
      return String(repeating: "  ", count: level) + marker + text(row.element)
    }
  }
}

extension TerminalListState {
  /// Performs a command of the user in an outline.
  ///
  /// | command | the selected row | what happens |
  /// |---|---|---|
  /// | `right` | is collapsed | it is expanded |
  /// | | is expanded | its first child is selected |
  /// | `left` | is expanded | it is collapsed |
  /// | | otherwise | its parent is selected |
  ///
  /// The rows change when the source of the list has applied the expansion.
  ///
  /// - Parameters:
  ///   - command: The command. All others do what they do in ``perform(_:)``.
  ///   - expansion: The expanded elements.
  /// - Complexity: O(r) for r rows between the selected one and its parent.
  public mutating func perform<Item>(
    _ command: Command, expanding expansion: inout OutlineRow<Item>.Expansion
  ) where Element == OutlineRow<Item> {
    if let (identifier, isExpanded) = performInOutline(command) {
      expansion[identifier] = isExpanded
    }
  }

  /// Performs a command in an outline.
  ///
  /// - Returns: The element to expand or to collapse, or `nil` if the command is done.
  mutating func performInOutline<Item>(
    _ command: Command
  ) -> (identifier: Item.DifferenceIdentifier, isExpanded: Bool)?
  where Element == OutlineRow<Item> {
    switch command {
    case .right:
      guard let selection, let row = selectedElement, row.hasChildren else { return nil }
      keepsSelectedRow = true
      if !row.isExpanded { return (row.differenceIdentifier, true) }
      select(selection + 1)
    case .left:
      guard let selection, let row = selectedElement else { return nil }
      keepsSelectedRow = true
      if row.isExpanded { return (row.differenceIdentifier, false) }
      let parent = contents[..<selection].lastIndex { $0.depth < row.depth }
      if let parent { select(parent) }
    default:
      perform(command)
    }
    return nil
  }
}
