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

  static func nearest(to typed: String, among words: [String]) -> String? {
    let mistyped = Array(typed.lowercased())
    let letters = mistyped.count { $0 != "-" }
    guard letters >= 2, letters <= 40 else { return nil }
    let distances = words.map { (word: $0, distance: distance(mistyped, Array($0))) }
    if let near = distances.min(by: { $0.distance < $1.distance }),
      near.distance <= max(1, letters / 3)
    {
      return near.word
    }
    return words.first { $0.hasPrefix(String(mistyped)) }
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
