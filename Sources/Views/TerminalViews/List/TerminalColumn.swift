/// A column of a terminal list: a heading, and a closure that returns the text of each element.
///
/// ```swift
/// TerminalColumn<Package>("Size", alignment: .trailing) { "\($0.size)" }
/// ```
public struct TerminalColumn<Element>: Sendable {
  /// The heading.
  public var title: String
  /// The alignment of the text within the column.
  public var alignment: TerminalAlignment
  /// The maximum width in columns of the terminal.
  public var maximumWidth: Int
  /// A Boolean value that indicates whether the column stays at the left edge.
  public var isPinned: Bool
  /// A closure that returns the text of an element. The list converts the text to printable text.
  public var text: @Sendable (Element) -> String
  /// A closure that returns the style of an element's text.
  ///
  /// Its foreground color replaces the color of a mark.
  public var style: @Sendable (Element) -> TerminalStyle

  /// Creates a column.
  ///
  /// - Parameters:
  ///   - title: The heading.
  ///   - alignment: The alignment of the text within the column.
  ///   - maximumWidth: The maximum width in columns of the terminal. A value below 1 counts as 1.
  ///   - isPinned: A Boolean value that indicates whether the column stays at the left edge when the
  ///     user has scrolled past it, for example because it identifies the rows.
  ///   - style: A closure that returns the style of an element's text. By default, the text is
  ///     plain. A foreground color replaces the color of a mark.
  ///   - text: A closure that returns the text of an element. It is called for the visible
  ///     elements.
  public init(
    _ title: String, alignment: TerminalAlignment = .leading, maximumWidth: Int = .max,
    isPinned: Bool = false,
    style: @escaping @Sendable (Element) -> TerminalStyle = { _ in .plain },
    text: @escaping @Sendable (Element) -> String
  ) {
    self.title = title
    self.alignment = alignment
    self.maximumWidth = max(1, maximumWidth)
    (self.isPinned, self.style, self.text) = (isPinned, style, text)
  }
}

/// The widths of the columns of a terminal list.
///
/// A column is as wide as the widest text that it has shown so far. Therefore, the widths do not
/// change when the user scrolls back.
struct ColumnWidths: Sendable, Hashable {
  /// The number of spaces between two columns.
  static let gap = 2

  private var widest: [Int] = []
  private var maximums: [Int] = []

  init() {}

  /// Starts with the widths of the titles.
  ///
  /// - Parameters:
  ///   - columns: The columns.
  ///   - limit: The maximum width of each column, besides its own.
  init<Element>(_ columns: [TerminalColumn<Element>], limit: Int = .max) {
    widest = Array(repeating: 0, count: columns.count)
    maximums = columns.map { min($0.maximumWidth, limit) }
    for (number, column) in columns.enumerated() { record(column.title, in: number) }
  }

  subscript(column: Int) -> Int { widest[column] }

  /// Widens a column for a text.
  mutating func record(_ text: String, in column: Int) {
    guard widest[column] < maximums[column], !text.isEmpty else { return }
    let width = TerminalText.width(TerminalText.printable(text))
    widest[column] = max(widest[column], min(width, maximums[column]))
  }

  /// Returns the end of the columns that can be visible. The gaps alone fill the room before that
  /// column.
  static func end(from first: Int, of count: Int, in room: Int) -> Int {
    min(count, first + room / gap + 1)
  }

  /// Returns the widths of the columns that fit into a line.
  ///
  /// If the room is insufficient, each column first gets at most a third of it, but at least 12.
  /// The remaining room is then distributed from the left to the columns that were reduced. Columns
  /// that still do not fit are omitted on the right.
  ///
  /// - Parameters:
  ///   - columns: The columns from the left.
  ///   - room: The available columns of the terminal.
  func fitted(_ columns: [Int], into room: Int) -> [Int] {
    let wanted = columns.map { widest[$0] }
    let gaps = max(0, wanted.count - 1) * ColumnWidths.gap
    guard wanted.reduce(gaps, +) > room else { return wanted }
    let limit = ColumnWidths.limit(in: room)
    var fitted: [Int] = []
    var left = room
    for width in wanted where left > 0 {
      let taken = min(width, limit, left)
      fitted.append(taken)
      left -= taken + ColumnWidths.gap
    }
    // The last column has no gap after it.
    left += ColumnWidths.gap
    for (number, width) in wanted.prefix(fitted.count).enumerated() where left > 0 {
      let more = min(width - fitted[number], left)
      fitted[number] += more
      left -= more
    }
    return fitted
  }

  /// The width that a column has at least if it fits into a line with other ones.
  private static func limit(in room: Int) -> Int { max(12, room / 3) }

  /// Returns a Boolean value that indicates whether a line has enough room for a column.
  func shows(_ column: Int, among columns: [Int], in room: Int) -> Bool {
    guard let place = columns.firstIndex(of: column) else { return false }
    let fitted = fitted(columns, into: room)
    return place < fitted.count
      && fitted[place] >= min(widest[column], ColumnWidths.limit(in: room), room)
  }
}
