/// A set of numbers from 0 up to a bound, with one bit for each number.
///
/// It can also filter hashes. With eight bits for each hash in the set, it rejects all but one in
/// eight of the hashes that are not in the set. It then stays in the nearest caches even if a table
/// of the hashes does not.
@usableFromInline
struct BitSet: ~Copyable {
  @usableFromInline let words: UnsafeMutablePointer<UInt64>
  @usableFromInline let mask: Int

  /// Creates an empty set for at least the numbers from 0 up to a count.
  @inlinable
  init(count: Int) {
    var wordCount = 1
    while 64 * wordCount < count { wordCount *= 2 }
    mask = wordCount * 64 - 1
    words = .allocate(capacity: wordCount)
    words.initialize(repeating: 0, count: wordCount)
  }

  @inlinable
  deinit {
    words.deallocate()
  }

  @inlinable
  func contains(_ number: Int) -> Bool {
    words[number / 64] & (1 << UInt64(number % 64)) != 0
  }

  @inlinable
  func insert(_ number: Int) {
    words[number / 64] |= 1 << UInt64(number % 64)
  }

  @inlinable
  func mayContain(hash: UInt64) -> Bool {
    contains(Int(truncatingIfNeeded: hash >> 8) & mask)
  }

  @inlinable
  func insert(hash: UInt64) {
    insert(Int(truncatingIfNeeded: hash >> 8) & mask)
  }

  /// Returns the numbers that are not in the set, ascending.
  ///
  /// - Parameter count: The number of results. Further numbers are left out.
  @inlinable
  func missing(count: Int) -> [Int] {
    var result: [Int] = []
    guard count > 0 else { return result }
    result.reserveCapacity(count)
    for word in 0...mask / 64 {
      var open = ~words[word]
      while open != 0 {
        result.append(word * 64 + open.trailingZeroBitCount)
        if result.count == count { return result }
        open &= open - 1
      }
    }
    return result
  }
}
