#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Functions that compare bytes at the speed of memory.
package enum ByteComparison {
  /// The number of bytes to compare at once before locating a difference.
  private static let blockSize = 1_024

  /// Returns the number of equal bytes at the starts of two texts.
  package static func commonPrefix(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
  ) -> Int {
    let count = min(left.count, right.count)
    guard count > 0, let leftStart = left.baseAddress, let rightStart = right.baseAddress else {
      return 0
    }
    var offset = 0
    // Most different texts differ in their first bytes.
    while offset + 8 <= min(count, 64) {
      if word(left, at: offset) != word(right, at: offset) { break }
      offset += 8
    }
    if offset == 64 {
      while offset + blockSize <= count,
        memcmp(leftStart + offset, rightStart + offset, blockSize) == 0
      {
        offset += blockSize
      }
    }
    while offset + 8 <= count {
      let difference = word(left, at: offset) ^ word(right, at: offset)
      if difference != 0 { return offset + difference.trailingZeroBitCount >> 3 }
      offset += 8
    }
    while offset < count, left[offset] == right[offset] { offset += 1 }
    return offset
  }

  /// Returns the number of equal bytes at the ends of two texts.
  package static func commonSuffix(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
  ) -> Int {
    let count = min(left.count, right.count)
    guard count > 0, let leftStart = left.baseAddress, let rightStart = right.baseAddress else {
      return 0
    }
    let (leftEnd, rightEnd) = (leftStart + left.count, rightStart + right.count)
    var length = 0
    while length + blockSize <= count,
      memcmp(leftEnd - length - blockSize, rightEnd - length - blockSize, blockSize) == 0
    {
      length += blockSize
    }
    while length < count, left[left.count - length - 1] == right[right.count - length - 1] {
      length += 1
    }
    return length
  }

  private static func word(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
  }
}
