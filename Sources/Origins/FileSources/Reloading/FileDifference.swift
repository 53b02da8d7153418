import FileWatching
import Foundation
import SwappablePrimitives

/// The bytes of a file, relative to the bytes of its previous version.
enum FileDifference: Sendable {
  /// All bytes are the same.
  case same
  /// The lengths of the unchanged prefix and suffix, and the new bytes between them.
  case between(prefix: Int, suffix: Int, [UInt8])
  /// All bytes of the file.
  case whole([UInt8])

  /// The number of times that a file that changes meanwhile is read.
  static let maximumAttempts = 4
  /// The size of the chunk that is read at once: small enough to be compared while it is in the processor's cache.
  static let chunkSize = 1 << 17

  /// Reads a file and compares it with the bytes of its previous version, if there are any.
  ///
  /// If the file changes meanwhile, it is read again, up to four times. It is not mapped into memory,
  /// because truncating a mapped file crashes the process.
  ///
  /// - Complexity: O(n) in the bytes of the file. It needs memory for a chunk and the difference,
  ///   or for the whole file if much of it differs.
  static func read(
    _ path: ByteString, comparingWith known: [UInt8]?, in files: FileAccess
  ) throws(FileError) -> FileDifference {
    let file = try files.open(path).get()
    for _ in 0..<maximumAttempts {
      let before = try file.stamp().get()
      let size = Int(clamping: min(before.size, Int64.max - 1))
      let difference =
        if let known {
          try compare(file, size: size, with: known)
        } else {
          try wholeContents(of: file, size: size)
        }
      let after = try file.stamp().get()
      if let difference, !after.differsInContents(from: before) { return difference }
    }
    throw .unstable(path: path)
  }

  /// Reads the whole file, or up to the first chunk with a zero byte, which no JSON text contains.
  ///
  /// A sparse file consists of zeros that take no space on disk, and would fill the memory.
  ///
  /// - Returns: The bytes, or `nil` if the size of the file has changed.
  private static func wholeContents(
    of file: OpenedFile, size: Int
  ) throws(FileError) -> FileDifference? {
    var hasZero = false
    // Read one byte more than the size, to notice growth.
    let bytes = try file.bytes(from: 0, count: size + 1, chunkSize: chunkSize) { chunk in
      hasZero = chunk.baseAddress.flatMap { memchr($0, 0, chunk.count) } != nil
      return !hasZero
    }.get()
    return bytes.count == size || hasZero ? .whole(bytes) : nil
  }

  /// - Returns: The difference, or `nil` if the file ends before its size.
  private static func compare(
    _ file: OpenedFile, size: Int, with known: [UInt8]
  ) throws(FileError) -> FileDifference? {
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkSize, alignment: 8)
    defer { chunk.deallocate() }
    let prefix = try commonPrefix(of: file, size: size, and: known, chunk)
    if prefix == size, size == known.count { return .same }
    // The prefix and the suffix must not overlap.
    let suffix = try commonSuffix(
      of: file, size: size, and: known, limit: min(size, known.count) - prefix, chunk)
    let count = size - prefix - suffix
    // If this much differs, reading the whole file costs less than patching the old bytes.
    if count > size / 8 { return try wholeContents(of: file, size: size) }
    let bytes = try file.bytes(from: prefix, count: count).get()
    return bytes.count == count ? .between(prefix: prefix, suffix: suffix, bytes) : nil
  }

  private static func commonPrefix(
    of file: OpenedFile, size: Int, and known: [UInt8], _ chunk: UnsafeMutableRawBufferPointer
  ) throws(FileError) -> Int {
    let limit = min(size, known.count)
    var offset = 0
    while offset < limit {
      let wanted = min(chunk.count, limit - offset)
      let part = UnsafeMutableRawBufferPointer(rebasing: chunk[..<wanted])
      let count = try file.read(offset, part).get()
      let common = known.withUnsafeBytes { known in
        ByteComparison.commonPrefix(
          UnsafeRawBufferPointer(rebasing: part[..<count]),
          UnsafeRawBufferPointer(rebasing: known[offset...]))
      }
      offset += common
      if common < wanted { break }
    }
    return offset
  }

  private static func commonSuffix(
    of file: OpenedFile, size: Int, and known: [UInt8], limit: Int,
    _ chunk: UnsafeMutableRawBufferPointer
  ) throws(FileError) -> Int {
    var length = 0
    while length < limit {
      let wanted = min(chunk.count, limit - length)
      let part = UnsafeMutableRawBufferPointer(rebasing: chunk[..<wanted])
      guard try file.read(size - length - wanted, part).get() == wanted else { break }
      let common = known.withUnsafeBytes { known in
        ByteComparison.commonSuffix(
          UnsafeRawBufferPointer(part),
          UnsafeRawBufferPointer(rebasing: known[..<(known.count - length)]))
      }
      length += common
      if common < wanted { break }
    }
    return length
  }
}

/// Functions that compare and hash bytes in place, at the speed of memory.
enum ByteComparison {
  /// The number of bytes to compare at once before locating a difference.
  private static let blockSize = 1_024

  /// Returns the number of equal bytes at the starts of two texts.
  static func commonPrefix(
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
  static func commonSuffix(
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

  /// Returns a Boolean value that indicates whether two parts have the same bytes.
  ///
  /// One `memcmp` is faster than the comparison of slices.
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

  private static func word(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
  }
}
