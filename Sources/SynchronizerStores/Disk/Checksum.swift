/// A running 64-bit sum of bytes (Fowler, Noll and Vo, variant 1a), by which damage is noticed.
///
/// No change of a single byte escapes it. It is no defence against someone who means to deceive.
struct Checksum: Sendable {
  private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }

  static func of(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var sum = Checksum()
    sum.add(bytes)
    return sum.value
  }

  /// Always 16 digits, in lower case.
  static func digits(_ value: UInt64) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
