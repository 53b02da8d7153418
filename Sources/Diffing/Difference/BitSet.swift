/// A set of numbers from 0 up to a bound, with one bit for each number.
@usableFromInline
struct BitSet: Sendable {
  @usableFromInline var words: [UInt64]

  /// Creates an empty set for the numbers from 0 up to a count.
  @inlinable
  init(count: Int) {
    words = Array(repeating: 0, count: (count + 63) / 64)
  }

  @inlinable
  func contains(_ number: Int) -> Bool {
    words[number / 64] & (1 << UInt64(number % 64)) != 0
  }

  @inlinable
  mutating func insert(_ number: Int) {
    words[number / 64] |= 1 << UInt64(number % 64)
  }

  /// Returns the numbers that are not in the set, ascending.
  ///
  /// - Parameter count: The number of results. Further numbers are left out.
  @inlinable
  func missing(count: Int) -> [Int] {
    var result: [Int] = []
    guard count > 0 else { return result }
    result.reserveCapacity(count)
    for word in words.indices {
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
