/// What is known in memory of a row that holds an element of a list.
struct StoredRow: Sendable, Hashable {
  /// Which versions of a list a row belongs to, while a push is pending. Without one there is only the
  /// newer version.
  enum Mark: Int64, Sendable {
    /// The newer one, and the older one if there is one.
    case all = 0
    case newerOnly = 1
    case olderOnly = 2
  }

  var id: Int64
  /// Rows of one version stand in ascending order of it.
  var rank: Int64
  var mark: Mark
  /// A checksum of rank and element.
  var check: UInt64

  static func check(rank: Int64, element: String) -> UInt64 {
    var sum = Checksum()
    withUnsafeBytes(of: rank.littleEndian) { sum.add($0) }
    sum.add(element.utf8)
    return sum.value
  }
}

/// What tells a list of rows from one that was damaged: their number, and the sum of their checksums.
struct ListCheck: Codable, Hashable, Sendable {
  var count = 0
  var sum: UInt64 = 0

  init() {}

  init(_ rows: some Sequence<StoredRow>) {
    for row in rows { add(row.check) }
  }

  mutating func add(_ check: UInt64) {
    count += 1
    sum &+= check
  }
}
