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
    // Comparing a few short names takes less than hashing one.
    if names.count <= 8, let position = names.firstIndex(of: name) { return position }
    if let position = positions[name] { return position }
    return names.firstIndex { SQLText.isSameName($0, name) }
  }

  /// The first name that two columns have, in SQL's eyes.
  var duplicate: String? {
    var seen: Set<String> = []
    return names.first { !seen.insert(SQLText.lowered($0)).inserted }
  }

  static func == (left: SQLiteColumns, right: SQLiteColumns) -> Bool {
    left === right || left.names == right.names
  }
}
