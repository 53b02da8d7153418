/// The word that a mistyped word was probably meant to be.
enum NearestWord {
  /// Returns advice to use the nearest of some words, such as ` (did you mean watch?)`, or an empty text if none
  /// is near.
  ///
  /// A word is near if it begins with the mistyped one, which has at least 2 characters without dashes, or if at
  /// most a third of the characters, and at least one, must be inserted, deleted, replaced or swapped with their
  /// neighbors.
  static func advice(for typed: some CustomStringConvertible, among words: [String]) -> String {
    nearest(to: typed.description, among: words).map { " (did you mean \($0)?)" } ?? ""
  }

  private static func nearest(to typed: String, among words: [String]) -> String? {
    let letters = typed.count { $0 != "-" }
    guard letters >= 2, letters <= 40 else { return nil }
    return nearest(to: typed, among: words, edits: max(1, letters / 3))
      ?? words.first { $0.hasPrefix(typed.lowercased()) }
  }

  /// Returns the name that a misspelled name was probably meant to be, or `nil`.
  ///
  /// It differs by case, or by one edit if it has at least three characters. With more edits, `expires_at` and `expires_in`
  /// would be misspellings of each other.
  static func name(like typed: String, among names: [String]) -> String? {
    nearest(to: typed, among: names, edits: 3...40 ~= typed.count ? 1 : 0)
  }

  private static func nearest(
    to typed: String, among words: [String], edits limit: Int
  ) -> String? {
    let mistyped = Array(typed.lowercased())
    let distances = words.lazy.filter { $0.utf8.count <= 1000 }
      .map { (word: $0, distance: distance(mistyped, Array($0.lowercased()))) }
    return distances.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.word
  }

  /// Returns the number of edits between two words (the optimal string alignment distance).
  private static func distance(_ one: [Character], _ other: [Character]) -> Int {
    var rows = [Array(0...other.count)]
    for i in one.indices {
      var row = [i + 1]
      for j in other.indices {
        var least = min(rows[i][j + 1], row[j]) + 1
        least = min(least, rows[i][j] + (one[i] == other[j] ? 0 : 1))
        if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] {
          least = min(least, rows[i - 1][j - 1] + 1)
        }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[one.count][other.count]
  }
}
