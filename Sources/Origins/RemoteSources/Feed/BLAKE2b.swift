/// The hash function BLAKE2b without a key (RFC 7693, 2015).
///
/// The digest of bytes is the same in each process, unlike the hash values of `Hasher`.
enum BLAKE2b {
  /// A digest of up to 64 bytes, as words in little-endian order.
  typealias Words = UnsafePointer<UInt64>

  /// Returns the digest of bytes.
  ///
  /// - Parameters:
  ///   - bytes: The bytes.
  ///   - count: The length of the digest in bytes, in `1...64`.
  static func digest(of bytes: [UInt8], count: Int = 64) -> [UInt8] {
    withDigest(of: bytes, count: count) { words in
      (0..<count).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> (8 * UInt64($0 % 8))) }
    }
  }

  /// Passes the digest of bytes to a closure, without allocating memory.
  ///
  /// - Parameters:
  ///   - bytes: The bytes.
  ///   - count: The length of the digest in bytes, in `1...64`.
  ///   - body: A closure that receives eight words. The digest is their first `count` bytes.
  static func withDigest<Result>(
    of bytes: [UInt8], count: Int = 64, _ body: (Words) -> Result
  ) -> Result {
    precondition(count >= 1 && count <= 64, "count must be in 1...64, but is \(count)")
    return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 8) { buffer in
      initialWords.withUnsafeBufferPointer { _ = buffer.initialize(from: $0) }
      buffer[0] ^= 0x0101_0000 ^ UInt64(count)
      guard let state = buffer.baseAddress else { preconditionFailure("a buffer has no memory") }
      bytes.withUnsafeBytes { absorb($0, into: state) }
      return body(state)
    }
  }

  /// Compresses all blocks of bytes. There is at least one block, and the last block ends with zeros.
  private static func absorb(
    _ bytes: UnsafeRawBufferPointer, into state: UnsafeMutablePointer<UInt64>
  ) {
    rounds.withUnsafeBufferPointer { rounds in
      var start = 0
      while bytes.count - start > blockSize {
        let block = UnsafeRawBufferPointer(rebasing: bytes[start..<start + blockSize])
        start += blockSize
        compress(block, into: state, length: start, isLast: false, rounds)
      }
      withUnsafeTemporaryAllocation(byteCount: blockSize, alignment: 8) { block in
        block.initializeMemory(as: UInt8.self, repeating: 0)
        block.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start...]))
        compress(
          UnsafeRawBufferPointer(block), into: state, length: bytes.count, isLast: true, rounds)
      }
    }
  }

  /// Updates the state with one block.
  ///
  /// - Parameters:
  ///   - block: The block.
  ///   - state: Eight words.
  ///   - length: The number of bytes up to the end of the block, without the zeros after the last byte.
  ///   - isLast: A Boolean value that indicates whether the block is the last one.
  ///   - rounds: The order of the words of the block in each round.
  private static func compress(
    _ block: UnsafeRawBufferPointer, into state: UnsafeMutablePointer<UInt64>, length: Int,
    isLast: Bool, _ rounds: UnsafeBufferPointer<UInt8>
  ) {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 16) { work in
      for index in 0..<8 {
        work[index] = state[index]
        work[index + 8] = initialWords[index]
      }
      work[12] ^= UInt64(length)
      if isLast { work[14] = ~work[14] }
      for round in 0..<12 {
        let order = round % 10 * 16
        func word(_ position: Int) -> UInt64 {
          let offset = 8 &* Int(rounds[order &+ position])
          return UInt64(
            littleEndian: block.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        // The columns, and then the diagonals.
        mix(work, 0, 4, 8, 12, word(0), word(1))
        mix(work, 1, 5, 9, 13, word(2), word(3))
        mix(work, 2, 6, 10, 14, word(4), word(5))
        mix(work, 3, 7, 11, 15, word(6), word(7))
        mix(work, 0, 5, 10, 15, word(8), word(9))
        mix(work, 1, 6, 11, 12, word(10), word(11))
        mix(work, 2, 7, 8, 13, word(12), word(13))
        mix(work, 3, 4, 9, 14, word(14), word(15))
      }
      for index in 0..<8 { state[index] ^= work[index] ^ work[index + 8] }
    }
  }

  /// Mixes two words of a block into four words.
  @inline(__always)
  private static func mix(
    _ work: UnsafeMutableBufferPointer<UInt64>, _ a: Int, _ b: Int, _ c: Int, _ d: Int,
    _ first: UInt64, _ second: UInt64
  ) {
    work[a] = work[a] &+ work[b] &+ first
    work[d] = rotate(work[d] ^ work[a], by: 32)
    work[c] = work[c] &+ work[d]
    work[b] = rotate(work[b] ^ work[c], by: 24)
    work[a] = work[a] &+ work[b] &+ second
    work[d] = rotate(work[d] ^ work[a], by: 16)
    work[c] = work[c] &+ work[d]
    work[b] = rotate(work[b] ^ work[c], by: 63)
  }

  /// Rotates the bits of a word to the right.
  @inline(__always)
  private static func rotate(_ word: UInt64, by count: UInt64) -> UInt64 {
    word &>> count | word &<< (64 &- count)
  }

  private static let blockSize = 128

  /// The fractional parts of the square roots of the first eight primes.
  private static let initialWords: [UInt64] = [
    0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1,
    0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B, 0x5BE0_CD19_137E_2179,
  ]

  /// The order of the words of a block in ten rounds. The last two of the twelve rounds repeat the first two.
  private static let rounds: [UInt8] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3,
    11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4,
    7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8,
    9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13,
    2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9,
    12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11,
    13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10,
    6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5,
    10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0,
  ]
}
