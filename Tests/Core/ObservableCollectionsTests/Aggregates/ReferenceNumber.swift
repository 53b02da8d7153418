/// An exact number with all bits that a sum of doubles can have, as digits in base 2³².
///
/// This reference is slow and simple: it knows no rounding, and only adds, multiplies and compares.
struct ReferenceNumber {
  /// The digits in units of the least positive double, the lowest first. The last one has the sign.
  private var digits: [Int64]

  /// Creates an exact number from a finite double.
  init(_ value: Double = 0) {
    digits = Array(repeating: 0, count: 72)
    if value == 0 { return }
    // At least 0, because no double has a smaller unit than the least positive one.
    let offset = Int(value.ulp.exponent) + 1_074
    var rest = UInt64((value.magnitude / value.ulp).rounded())
    // In parts of 16 bits, which are shifted without loss.
    var position = offset
    while rest > 0 {
      let part = Int64(rest & 0xFFFF) << Int64(position % 32)
      digits[position / 32] += value < 0 ? -part : part
      rest >>= 16
      position += 16
    }
    normalize()
  }

  /// Carries what exceeds a digit to the next one.
  private mutating func normalize() {
    var carry: Int64 = 0
    for index in digits.indices.dropLast() {
      let digit = digits[index] + carry
      digits[index] = digit & 0xFFFF_FFFF
      carry = digit >> 32
    }
    digits[digits.count - 1] += carry
  }

  /// -1, 0 or 1.
  var sign: Int {
    if digits[digits.count - 1] < 0 { return -1 }
    return digits.allSatisfy { $0 == 0 } ? 0 : 1
  }

  static func + (one: Self, other: Self) -> Self {
    var sum = one
    for index in sum.digits.indices { sum.digits[index] += other.digits[index] }
    sum.normalize()
    return sum
  }

  static func - (one: Self, other: Self) -> Self { one + other * -1 }

  static func * (one: Self, factor: Int) -> Self {
    var product = one
    for index in product.digits.indices { product.digits[index] *= Int64(factor) }
    product.normalize()
    return product
  }

  static func += (one: inout Self, other: Self) { one = one + other }
  static func -= (one: inout Self, other: Self) { one = one - other }

  /// Returns whether a number is the quotient of this number and a divisor, rounded to the nearest, ties to
  /// even.
  func isRounded<Number: BinaryFloatingPoint>(to number: Number, dividedBy divisor: Int = 1) -> Bool
  {
    if number.isNaN { return false }
    if sign < 0 { return (self * -1).isRounded(to: -number, dividedBy: divisor) }
    if number.sign == .minus, number != 0 { return false }
    let greatest = Number.greatestFiniteMagnitude
    if number.isInfinite {
      let limit = ReferenceNumber(Double(greatest)) * 2 + ReferenceNumber(Double(greatest.ulp))
      return (self * 2 - limit * divisor).sign >= 0
    }
    let isEven = number.significandBitPattern & 1 == 0
    let twice = (self - ReferenceNumber(Double(number)) * divisor) * 2
    let above = ReferenceNumber(Double(number.ulp)) * divisor - twice
    let below = ReferenceNumber(Double(number - number.nextDown)) * divisor + twice
    return above.sign >= (isEven ? 0 : 1) && below.sign >= (isEven ? 0 : 1)
  }
}
