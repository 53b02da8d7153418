/// 128 bits that stand for the stored bytes of one row, so that rows that did not change are told
/// without decoding them.
///
/// Two lanes of multiply-and-fold over words of eight bytes, begun with numbers drawn anew by each
/// process: whoever fills the database cannot prepare rows that look alike.
struct RowFingerprint: Hashable {
  private var low: UInt64
  private var high: UInt64

  private static let seeds = (
    UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max),
    UInt64.random(in: .min ... .max) | 1, UInt64.random(in: .min ... .max) | 1
  )

  /// The fingerprint of no columns.
  init() {
    (low, high, _, _) = RowFingerprint.seeds
  }

  /// Adds a value of eight bytes and a type.
  mutating func combine(tag: UInt64, _ word: UInt64) {
    add(tag)
    add(word)
  }

  /// Adds bytes and a type; the length counts, so that neighbours cannot trade bytes.
  mutating func combine(tag: UInt64, _ bytes: UnsafeRawBufferPointer) {
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
    low = RowFingerprint.fold(low ^ word, RowFingerprint.seeds.2) &+ word
    high = RowFingerprint.fold(high &+ word, RowFingerprint.seeds.3) ^ word
  }

  private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
  }

  /// Equal where all 128 bits are.
  static func == (left: RowFingerprint, right: RowFingerprint) -> Bool {
    left.low == right.low && left.high == right.high
  }

  /// Uses what is mixed already.
  func hash(into hasher: inout Hasher) {
    hasher.combine(low)
  }
}
