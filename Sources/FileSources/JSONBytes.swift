import Foundation

/// Bytes compared and hashed in place.
enum JSONBytes {
  /// One `memcmp`, which is about ten times as fast as comparing slices.
  static func areEqual(
    _ left: [UInt8], _ leftRange: Range<Int>, _ right: [UInt8], _ rightRange: Range<Int>
  ) -> Bool {
    guard leftRange.count == rightRange.count else { return false }
    return left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        // Slicing checks the bounds.
        let (left, right) = (left[leftRange], right[rightRange])
        guard let first = UnsafeRawBufferPointer(rebasing: left).baseAddress,
          let second = UnsafeRawBufferPointer(rebasing: right).baseAddress
        else { return true }
        return memcmp(first, second, left.count) == 0
      }
    }
  }

  static func hash(_ bytes: [UInt8], _ range: Range<Int>, into hasher: inout Hasher) {
    bytes.withUnsafeBytes { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[range])) }
  }
}
