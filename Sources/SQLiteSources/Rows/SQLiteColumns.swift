/// The names of a result's columns, shared by its rows.
final class SQLiteColumns: Sendable, Equatable {
  let names: [String]
  private let positions: [String: Int]

  init(_ names: [String]) {
    self.names = names
    positions = Dictionary(zip(names, names.indices)) { first, _ in first }
  }

  /// The position of the column `name`: as written, else without regard to ASCII case.
  func position(of name: String) -> Int? {
    if let position = positions[name] { return position }
    return names.firstIndex { SQLiteColumns.isEqualIgnoringCase($0, name) }
  }

  /// The first name that two columns have, in SQL's eyes.
  var duplicate: String? {
    var seen: Set<String> = []
    return names.first { !seen.insert($0.lowercased()).inserted }
  }

  static func == (left: SQLiteColumns, right: SQLiteColumns) -> Bool {
    left === right || left.names == right.names
  }

  private static func isEqualIgnoringCase(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count
      && zip(left.utf8, right.utf8).allSatisfy { lowered($0) == lowered($1) }
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
