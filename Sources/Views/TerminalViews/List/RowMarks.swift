import Diffing

/// A recent change of a row in a terminal list.
package enum RowMark: String, Sendable, Hashable {
  /// The row was inserted.
  case inserted = "+"
  /// The content of the row changed.
  case updated = "~"
  /// The row moved within the list.
  case moved = "^"

  /// The sign before the row, which is visible without colors, too.
  package var sign: String { rawValue }

  package var color: TerminalColor {
    switch self {
    case .inserted: .green
    case .updated: .yellow
    case .moved: .cyan
    }
  }
}

/// The marks of rows, each with the time when it expires.
struct RowMarks<Element: Sendable>: Sendable {
  /// The maximum number of marks, which bounds the memory and the time of a large change.
  static var limit: Int { 4096 }

  private struct Entry: Sendable {
    var mark: RowMark
    var end: Duration
    /// The element before the first change since the row is marked, and before the latest one.
    var old: [Element]
  }

  private var entries: [Int: Entry] = [:]

  /// The mark of the row at an offset, if it has one.
  subscript(offset: Int) -> RowMark? { entries[offset]?.mark }

  /// Returns earlier elements of a marked row. A cell whose text is not the same in all of them has changed.
  func oldElements(of offset: Int) -> [Element] { entries[offset]?.old ?? [] }

  /// The time when the next mark expires, or `nil` if there are no marks.
  var nextEnd: Duration? { entries.values.lazy.map(\.end).min() }

  /// Removes expired marks.
  ///
  /// - Returns: A Boolean value that indicates whether a mark was removed.
  mutating func expire(at now: Duration) -> Bool {
    let count = entries.count
    entries = entries.filter { $0.value.end > now }
    return entries.count != count
  }

  mutating func removeAll() { entries = [:] }

  /// Moves the marks to the new offsets of their rows.
  mutating func follow(_ map: OffsetMap) {
    guard !entries.isEmpty else { return }
    var followed: [Int: Entry] = [:]
    for (offset, entry) in entries { map[offset].map { followed[$0] = entry } }
    entries = followed
  }

  /// Marks a row until a time.
  ///
  /// - Parameter old: The element before an update.
  mutating func mark(
    _ offset: Int, _ mark: RowMark, until end: Duration, insteadOf old: Element? = nil
  ) {
    guard entries.count < RowMarks.limit || entries[offset] != nil else { return }
    let known = entries[offset]?.old ?? []
    entries[offset] = Entry(
      mark: mark, end: end, old: old.map { Array(known.prefix(1)) + [$0] } ?? known)
  }
}
