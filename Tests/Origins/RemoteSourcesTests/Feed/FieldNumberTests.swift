@testable import RemoteSources
import Testing

/// Arithmetic modulo 2^255 - 19. The expected numbers come from the integers of Python.
@Suite struct FieldNumberTests {
  /// The numbers at the ends of ranges and representations.
  private static let edges: [[UInt64]] = [
    [0, 0, 0, 0],
    [1, 0, 0, 0],
    [2, 0, 0, 0],
    [18, 0, 0, 0],
    [19, 0, 0, 0],
    [.max - 19, .max, .max, .max >> 1],  // The modulus minus 1.
    [.max - 20, .max, .max, .max >> 1],
    [.max - 18, .max, .max, .max >> 1],  // The modulus.
    [.max - 17, .max, .max, .max >> 1],
    [.max - 19, .max, .max, .max >> 1],
    [0, 0, 0, 1 << 63],
    [18, 0, 0, 1 << 63],
    [.max, .max, .max, .max],
    [.max - 37, .max, .max, .max],  // Twice the modulus.
    [.max, 0, 0, 0],
    [0, 1, 0, 0],
    [.max, .max, 0, 0],
    [0, 0, 0, 1],
    [0, .max, .max, .max >> 1],
  ]

  @Test func `sums and products of edge values are right`() {
    var results: [UInt8] = []
    for x in Self.edges.map(number) {
      for y in Self.edges.map(number) {
        results += bytes(x + y)
        results += bytes(x * y)
        results += bytes(.sumOfProducts(x, y, x + y, x * x))
      }
    }
    let expected: [UInt64] = [
      0xcfcf_d60b_15c6_244e, 0x9cdd_4fe5_9e01_7a8f, 0x7f23_e8e3_6849_6f10, 0x3828_3a33_e6a2_d359,
      0xe5bc_07d5_cfab_863f, 0x6232_7f44_cc88_e828, 0xb245_9e60_06c5_26f2, 0xafd2_fda5_3ad8_b5c1,
    ]
    #expect(BLAKE2b.withDigest(of: results) { words in (0..<8).map { words[$0] } } == expected)
  }

  @Test func `a number and the number plus the modulus have the same canonical form`() {
    #expect(number([.max - 18, .max, .max, .max >> 1]).canonical == [0, 0, 0, 0])
    #expect(number([.max - 37, .max, .max, .max]).canonical == [0, 0, 0, 0])
    #expect(number([.max, .max, .max, .max >> 1]).canonical == [18, 0, 0, 0])
    #expect(number([0, 0, 0, 1 << 63]).canonical == [19, 0, 0, 0])
    #expect(number([.max, .max, .max, .max]).canonical == [37, 0, 0, 0])
    #expect(
      number([.max - 19, .max, .max, .max >> 1]).canonical == [.max - 19, .max, .max, .max >> 1])
  }

  @Test func `products of large numbers are right`() {
    let least = number([.max - 19, .max, .max, .max >> 1])
    #expect((least * least).canonical == [1, 0, 0, 0])
    let largest = number([.max, .max, .max, .max])
    #expect((largest * largest).canonical == [0x559, 0, 0, 0])
    let x = number([
      0x44b0_26b7_4216_712d, 0xf532_acfb_a97c_6201, 0xdbc4_3c90_b10f_53c8, 0x8148_1a92_1787_2502,
    ])
    let y = number([
      0x88ff_5438_36e4_fca1, 0x00d6_7578_8e4b_ff8c, 0xf78c_2a41_9023_68c2, 0xfab0_4811_b1d0_379b,
    ])
    #expect(
      (x * y).canonical == [
        0x4f94_4ee4_c0d5_aab7, 0x7375_1051_7de7_8b13, 0xc78c_76cc_f708_3ed4, 0x0d3d_c609_e499_ac0b,
      ])
    #expect(
      (x + y).canonical == [
        0xcdaf_7aef_78fb_6df4, 0xf609_2274_37c8_618d, 0xd350_66d2_4132_bc8a, 0x7bf8_62a3_c957_5c9e,
      ])
  }

  private func number(_ digits: [UInt64]) -> FieldNumber {
    FieldNumber(digits[0], digits[1], digits[2], digits[3])
  }

  private func bytes(_ number: FieldNumber) -> [UInt8] {
    number.canonical.flatMap { digit in (0..<8).map { UInt8(truncatingIfNeeded: digit >> (8 * $0)) }
    }
  }
}
