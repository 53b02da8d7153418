import Diffing

/// What has lately become of a row of a terminal list.
public enum RowMark: Sendable, Hashable {
  /// It came.
  case inserted
  /// Its content changed.
  case updated
  /// It came from elsewhere in the list.
  case moved

  /// The sign in front of the row, so that it is seen without colours as well.
  var sign: String {
    switch self {
    case .inserted: "+"
    case .updated: "~"
    case .moved: "^"
    }
  }

  /// The colour of the row.
  var color: TerminalColor {
    switch self {
    case .inserted: .green
    case .updated: .yellow
    case .moved: .cyan
    }
  }
}

/// The marks of rows, each for a while.
struct RowMarks: Sendable {
  /// No more are kept: who sees so many rows change looks at none of them.
  static let limit = 4096

  private struct Entry: Sendable {
    var mark: RowMark
    var end: Duration
  }

  private var entries: [Int: Entry] = [:]

  /// The mark of the row at an offset.
  subscript(offset: Int) -> RowMark? { entries[offset]?.mark }

  /// When the next mark ends; nil where there is none.
  var nextEnd: Duration? { entries.values.lazy.map(\.end).min() }

  /// Lets go of the marks whose time is over.
  ///
  /// - Returns: Whether there was one.
  mutating func expire(at now: Duration) -> Bool {
    let count = entries.count
    entries = entries.filter { $0.value.end > now }
    return entries.count != count
  }

  mutating func removeAll() { entries = [:] }

  /// Takes the marks along in a change.
  mutating func follow(_ map: OffsetMap) {
    guard !entries.isEmpty else { return }
    var followed: [Int: Entry] = [:]
    for (offset, entry) in entries { map[offset].map { followed[$0] = entry } }
    entries = followed
  }

  /// Marks a row until a time.
  mutating func mark(_ offset: Int, _ mark: RowMark, until end: Duration) {
    guard entries.count < RowMarks.limit || entries[offset] != nil else { return }
    entries[offset] = Entry(mark: mark, end: end)
  }
}
