import Swappable

/// An element of the measured lists.
struct Row: Sendable, Hashable, Identifiable, Differentiable {
  let id: Int
  /// A random number in `0..<Row.values`.
  var value: Int
  var title: String

  /// The number of values. Values that are equal are rare.
  static let values = 1 << 40

  /// A Boolean value that indicates whether filters keep the row: they keep half of all rows.
  var passes: Bool { value < Row.values / 2 }

  /// The number of groups.
  static let groups = 1_024

  /// The group of the row, in `0..<Row.groups`.
  var group: Int { value / (Row.values / Row.groups) }

  /// Makes filters drop a row that they kept, or the other way around, moves it far away in sorted lists, and changes
  /// its group.
  mutating func change() { value ^= Row.values / 2 }
}

/// A source of rows that are the same in each run.
struct RowGenerator {
  private var state: UInt64 = 1
  private var nextID = 0
  /// A text that each title begins with. A title of more than 15 bytes has memory of its own.
  private let prefix: String

  init(hasLongTitles: Bool) {
    prefix = hasLongTitles ? "A title that is not stored inline " : "Row "
  }

  /// Returns a random number in `0..<limit`.
  mutating func number(below limit: Int) -> Int {
    // Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
    state &+= 0x9e37_79b9_7f4a_7c15
    var bits = state
    bits = (bits ^ bits >> 30) &* 0xbf58_476d_1ce4_e5b9
    bits = (bits ^ bits >> 27) &* 0x94d0_49bb_1331_11eb
    return Int((bits ^ bits >> 31).multipliedFullWidth(by: UInt64(limit)).high)
  }

  /// Returns a title that no row had before.
  mutating func title() -> String {
    nextID += 1
    return "\(prefix)\(nextID)"
  }

  /// Returns a row that is not in any list.
  mutating func row() -> Row {
    let value = number(below: Row.values)
    let title = title()
    return Row(id: nextID, value: value, title: title)
  }

  /// Returns a row that filters keep, and that is not in any list.
  mutating func passingRow() -> Row {
    var row = row()
    if !row.passes { row.change() }
    return row
  }
}
