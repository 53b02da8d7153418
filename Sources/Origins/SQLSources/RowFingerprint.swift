/// A 128-bit hash of the stored values of a row, which finds changed rows without decoding.
@usableFromInline
package struct RowFingerprint: Hashable, Sendable {
  @usableFromInline var low: UInt64 = 0
  @usableFromInline var high: UInt64 = 0

  @inlinable package init() {}

  @inlinable
  package static func == (left: RowFingerprint, right: RowFingerprint) -> Bool {
    left.low == right.low && left.high == right.high
  }

  @inlinable
  package func hash(into hasher: inout Hasher) {
    hasher.combine(low)
  }
}

/// Computes the fingerprint of a row, value by value.
///
/// The hash has two lanes of multiply-and-fold over words of eight bytes, and random seeds in each
/// process. The seeds are to prevent that somebody prepares rows with equal hashes. There is no proof: the
/// hash is not a cryptographic one. For many rows, copy one new hasher, because creating one checks a
/// lazy global.
@usableFromInline
package struct RowHasher: Sendable {
  // Inlinable: the hash of each value of each row is computed here (`DatabaseBenchmarks`).
  @usableFromInline package internal(set) var fingerprint = RowFingerprint()
  @usableFromInline let factors: (UInt64, UInt64)

  private static let seeds = (
    UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max),
    UInt64.random(in: .min ... .max) | 1, UInt64.random(in: .min ... .max) | 1
  )

  package init() {
    let seeds = RowHasher.seeds
    fingerprint.low = seeds.0
    fingerprint.high = seeds.1
    factors = (seeds.2, seeds.3)
  }

  /// Adds a type and bytes. The length is included, so bytes cannot move between neighboring
  /// values.
  @inlinable package mutating func combine(tag: UInt64, _ bytes: UnsafeRawBufferPointer) {
    add(tag | UInt64(bytes.count) << 3)
    var offset = 0
    while offset + 8 <= bytes.count {
      add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    guard offset < bytes.count else { return }
    var word: UInt64 = 0
    for byte in bytes[offset...] { word = word << 8 | UInt64(byte) }
    add(word)
  }

  @inlinable package mutating func add(_ word: UInt64) {
    fingerprint.low = RowHasher.fold(fingerprint.low ^ word, factors.0) &+ word
    fingerprint.high = RowHasher.fold(fingerprint.high &+ word, factors.1) ^ word
  }

  @inlinable static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
  }
}

/// Finds each row of a new result in the previous result.
///
/// Most rows keep their position, or move by a few positions. The matcher finds them without a hash
/// table, and creates a table only if it misses many rows.
package struct RowMatcher {
  private static let lookAhead = 8
  private static let missesBeforeTable = 32

  private let old: [RowFingerprint]
  private var next = 0
  private var misses = 0
  private var table: [RowFingerprint: Int]?

  package init(_ old: [RowFingerprint]) {
    self.old = old
  }

  /// Returns the offset of a row with the same values in the previous result, or `nil` if no such row
  /// was found.
  package mutating func match(_ row: RowFingerprint) -> Int? {
    for offset in next..<min(next + RowMatcher.lookAhead, old.count) where old[offset] == row {
      next = offset + 1
      return offset
    }
    misses += 1
    guard misses > RowMatcher.missesBeforeTable, !old.isEmpty else { return nil }
    let table = table ?? Dictionary(zip(old, old.indices)) { first, _ in first }
    self.table = table
    guard let offset = table[row] else { return nil }
    next = offset + 1
    return offset
  }
}
