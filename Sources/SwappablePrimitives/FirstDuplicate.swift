extension RandomAccessCollection {
  /// Returns the offsets of the first element whose key an earlier element has, and of this earlier element.
  ///
  /// A table of all keys would be larger than most keys. This method first records one bit for each hash.
  /// Only keys whose bit was set before are compared.
  ///
  /// - Parameter key: A closure that returns the key of an element.
  /// - Returns: The two offsets, or `nil` if all keys are unique.
  /// - Complexity: O(*n*) time, and at most twelve bytes of memory for each element.
  @inlinable
  package func firstDuplicate<Key: Hashable>(by key: (Element) -> Key) -> (Int, Int)? {
    var sieve = HashSieve(capacity: count)
    var hashes: [Int] = []
    hashes.reserveCapacity(count)
    var repeated: Set<Int> = []
    for element in self {
      let hash = key(element).hashValue
      hashes.append(hash)
      if sieve.insert(hash) { repeated.insert(hash) }
    }
    if repeated.isEmpty { return nil }
    var seen: [Key: Int] = [:]
    for (offset, hash) in hashes.enumerated() where repeated.contains(hash) {
      let key = key(self[index(startIndex, offsetBy: offset)])
      if let first = seen.updateValue(offset, forKey: key) { return (first, offset) }
    }
    return nil
  }
}

/// A set of bits that finds the hashes that may occur more than once.
@usableFromInline
package struct HashSieve {
  private var bits: [UInt64]
  private let mask: Int

  /// Creates a set with at least sixteen bits for each hash.
  @usableFromInline
  package init(capacity: Int) {
    let wordCount = 1 << (Int.bitWidth - (capacity / 4).leadingZeroBitCount)
    bits = Array(repeating: 0, count: wordCount)
    mask = wordCount * 64 - 1
  }

  /// Sets the bit of a hash.
  ///
  /// - Returns: A Boolean value that indicates whether the bit was set before. It is also true for about one in
  ///   thirty of the hashes that were not inserted.
  @usableFromInline
  package mutating func insert(_ hash: Int) -> Bool {
    let bit = hash & mask
    let value: UInt64 = 1 << (bit & 63)
    let wasSet = bits[bit >> 6] & value != 0
    bits[bit >> 6] |= value
    return wasSet
  }
}
