/// A number with all digits of its text, because a `Double` keeps only about sixteen.
///
/// All comparisons of JSON numbers use this type: conditions, orders, groups and warnings of keys.
struct DecimalNumber: Sendable, Hashable {
  /// The nearest `Double`, which decides most comparisons: a smaller number has no larger one.
  private let approximation: Double
  private let isNegative: Bool
  /// The digits after the point of 0.ddd × 10ⁿ. The first and the last one are not zero.
  private let digits: [UInt8]
  private let exponent: Int

  /// Creates a number from the text of a JSON number.
  init(_ text: String) {
    approximation = Double(text) ?? 0
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
}

extension DecimalNumber: Comparable {
  static func < (left: DecimalNumber, right: DecimalNumber) -> Bool {
    let (one, other) = (left.approximation, right.approximation)
    if one != other { return one < other }
    if left.isNegative != right.isNegative { return left.isNegative }
    let (small, large) = left.isNegative ? (right, left) : (left, right)
    if small.exponent != large.exponent { return small.exponent < large.exponent }
    return small.digits.lexicographicallyPrecedes(large.digits)
  }
}

extension DecimalNumber: CustomStringConvertible {
  /// The text that all texts of an equal number have in common, such as `1` for `1.0` and `10e-1`.
  var description: String {
    let (sign, text) = (isNegative ? "-" : "", String(decoding: digits, as: UTF8.self))
    switch exponent {
    case .min: return "0"
    case -5...0: return "\(sign)0.\(String(repeating: "0", count: -exponent))\(text)"
    case 1...21:
      let zeros = String(repeating: "0", count: max(0, exponent - text.count))
      let fraction = text.count > exponent ? "." + text.dropFirst(exponent) : ""
      return sign + text.prefix(exponent) + zeros + fraction
    default:
      let fraction = text.count > 1 ? "." + text.dropFirst() : ""
      return "\(sign)\(text.prefix(1))\(fraction)e\(exponent - 1)"
    }
  }
}
