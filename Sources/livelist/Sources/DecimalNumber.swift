/// A number with all digits of its text, because a `Double` keeps only about sixteen.
struct DecimalNumber: Sendable, Comparable, Hashable {
  private let isNegative: Bool
  /// The digits after the point of 0.ddd × 10ⁿ. The first and the last one are not zero.
  private let digits: [UInt8]
  private let exponent: Int

  /// Creates a number from the text of a JSON number.
  init(_ text: String) {
    let parts = text.utf8.split { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
    let number = parts.first.map { $0.filter { $0 != UInt8(ascii: "-") } } ?? []
    let whole = number.prefix { $0 != UInt8(ascii: ".") }
    let all = number.filter { $0 != UInt8(ascii: ".") }
    let rest = all.drop { $0 == UInt8(ascii: "0") }
    let end = rest.lastIndex { $0 != UInt8(ascii: "0") } ?? rest.startIndex - 1
    digits = Array(rest[...end])
    isNegative = text.utf8.first == UInt8(ascii: "-") && !digits.isEmpty
    // No list has numbers with larger exponents, and the sum below cannot overflow.
    let limit = Int.max / 2
    let power = parts.count > 1 ? String(decoding: Array(parts[1]), as: UTF8.self) : "0"
    let scale = Int(power) ?? (power.hasPrefix("-") ? -limit : limit)
    exponent =
      digits.isEmpty
      ? .min : max(-limit, min(scale, limit)) + whole.count - (all.count - rest.count)
  }

  static func < (left: DecimalNumber, right: DecimalNumber) -> Bool {
    if left.isNegative != right.isNegative { return left.isNegative }
    let (small, large) = left.isNegative ? (right, left) : (left, right)
    if small.exponent != large.exponent { return small.exponent < large.exponent }
    return small.digits.lexicographicallyPrecedes(large.digits)
  }
}
