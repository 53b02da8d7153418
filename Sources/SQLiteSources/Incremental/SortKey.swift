/// The values that a row is ordered by, as bytes that compare as SQLite compares the values.
///
/// The first eight bytes stand in place, where most comparisons end; the rest stands in an arena.
struct SortKey: Sendable {
  var prefix: UInt64 = 0
  /// Where the rest begins in the arena, and in the lower bits how long it is.
  private var rest: UInt64 = 0

  private static let countBits: UInt64 = 30

  /// The key of a row that is ordered by its rowid alone.
  init() {}

  /// - Returns: `nil` where it is larger than any that can be kept.
  init?(prefix: UInt64, restStart: Int, restCount: Int) {
    guard restCount < 1 << SortKey.countBits, restStart < 1 << (64 - SortKey.countBits) else {
      return nil
    }
    self.prefix = prefix
    rest = UInt64(restStart) << SortKey.countBits | UInt64(restCount)
  }

  var restCount: Int { Int(rest & ((1 << SortKey.countBits) - 1)) }
  var restStart: Int { Int(rest >> SortKey.countBits) }
}

/// Holds what does not fit into the keys themselves.
struct SortKeyArena: Sendable {
  private(set) var bytes: [UInt8] = []
  /// How many of the bytes belong to keys that are in use.
  private(set) var usedCount = 0

  /// Whether most of it is left over from keys that are gone.
  var isWasteful: Bool { bytes.count > 2 * usedCount + 1 << 16 }

  /// Keeps a key, which is not in use yet; `nil` where it is too large.
  mutating func add(_ key: borrowing SortKeyWriter) -> SortKey? {
    guard
      let added = SortKey(
        prefix: key.prefix, restStart: bytes.count, restCount: max(0, key.bytes.count - 8))
    else { return nil }
    key.bytes.withUnsafeBytes { key in
      if key.count > 8 { bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: key[8...])) }
    }
    return added
  }

  /// Keeps a key of another arena, which is not in use yet.
  mutating func add(_ key: SortKey, of other: SortKeyArena) -> SortKey? {
    guard
      let added = SortKey(
        prefix: key.prefix, restStart: bytes.count, restCount: key.restCount)
    else { return nil }
    bytes.append(contentsOf: other.bytes[key.restStart..<key.restStart + key.restCount])
    return added
  }

  /// Counts a key as in use.
  mutating func use(_ key: SortKey) {
    usedCount += key.restCount
  }

  /// Counts all keys as gone.
  mutating func useNothing() {
    usedCount = 0
  }

  /// Counts a key as gone.
  mutating func remove(_ key: SortKey) {
    usedCount -= key.restCount
  }

  /// Below 0, 0 or above, as `one` stands before, with or behind `other`.
  func compare(_ one: SortKey, _ other: SortKey) -> Int {
    if one.prefix != other.prefix { return one.prefix < other.prefix ? -1 : 1 }
    let (left, right) = (one.restCount, other.restCount)
    guard left > 0, right > 0 else { return left - right }
    return bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return 0 }
      let result = System.compare(
        base + one.restStart, base + other.restStart, count: min(left, right))
      return result != 0 ? result : left - right
    }
  }

  /// How many of their first bytes all keys have in common, beyond those in place; 0 where not even
  /// those.
  func sharedCount(_ keys: some Collection<SortKey>) -> Int {
    guard let first = keys.first else { return 0 }
    var shared = first.restCount
    for key in keys {
      if key.prefix != first.prefix { return 0 }
      shared = min(shared, key.restCount)
      var count = 0
      while count < shared, bytes[first.restStart + count] == bytes[key.restStart + count] {
        count += 1
      }
      shared = count
    }
    return 8 + shared
  }

  /// Eight bytes of a key from `offset` on, which is 0 or at least 8, filled up by zeros.
  func word(of key: SortKey, at offset: Int) -> UInt64 {
    guard offset >= 8 else { return key.prefix }
    var word: UInt64 = 0
    let start = key.restStart + offset - 8
    let end = key.restStart + key.restCount
    for place in start..<start + 8 { word = word << 8 | (place < end ? UInt64(bytes[place]) : 0) }
    return word
  }
}
