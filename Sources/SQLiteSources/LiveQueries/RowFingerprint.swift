/// A 128-bit hash of the stored values of a row, which finds changed rows without decoding.
struct RowFingerprint: Hashable {
  fileprivate var low: UInt64 = 0
  fileprivate var high: UInt64 = 0

  init() {}

  static func == (left: RowFingerprint, right: RowFingerprint) -> Bool {
    left.low == right.low && left.high == right.high
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(low)
  }
}

/// Computes the fingerprint of a row, value by value.
///
/// The hash has two lanes of multiply-and-fold over words of eight bytes, and random seeds in each
/// process. No one who fills the database can prepare rows with equal hashes. For many rows, copy
/// one new hasher, because creating one checks a lazy global.
struct RowHasher {
  private(set) var fingerprint = RowFingerprint()
  private let factors: (UInt64, UInt64)

  private static let seeds = (
    UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max),
    UInt64.random(in: .min ... .max) | 1, UInt64.random(in: .min ... .max) | 1
  )

  init() {
    let seeds = RowHasher.seeds
    fingerprint.low = seeds.0
    fingerprint.high = seeds.1
    factors = (seeds.2, seeds.3)
  }

  @inline(__always)
  mutating func combine(_ value: StoredValue) {
    switch value {
    case .integer(let number):
      add(1)
      add(UInt64(bitPattern: number))
    case .real(let number):
      add(2)
      add(number.bitPattern)
    case .text(let bytes): combine(tag: 3, bytes)
    case .blob(let bytes): combine(tag: 4, bytes)
    case .null:
      add(5)
      add(0)
    }
  }

  mutating func combine(_ statement: SQLiteStatement, _ positions: Range<Int>) {
    for position in positions { combine(statement.storedValue(at: position)) }
  }

  /// Adds a type and bytes. The length is included, so bytes cannot move between neighboring
  /// values.
  private mutating func combine(tag: UInt64, _ bytes: UnsafeRawBufferPointer) {
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

  private mutating func add(_ word: UInt64) {
    fingerprint.low = RowHasher.fold(fingerprint.low ^ word, factors.0) &+ word
    fingerprint.high = RowHasher.fold(fingerprint.high &+ word, factors.1) ^ word
  }

  private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
  }
}
