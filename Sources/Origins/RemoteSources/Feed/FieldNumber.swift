/// A number modulo the prime 2^255 - 19.
///
/// Some numbers have two representations. Compare numbers by their ``canonical`` digits.
struct FieldNumber: Sendable {
  /// The digits in base 2^64, the lowest first. The number is below 2^255 + 2^11.
  private var limbs: (UInt64, UInt64, UInt64, UInt64)

  static let zero = FieldNumber(0, 0, 0, 0)
  static let one = FieldNumber(1, 0, 0, 0)

  /// Creates the residue of a number below 2^256 from its digits in base 2^64, the lowest first.
  init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
    self.init((first, second, third, fourth), excess: 0)
  }

  /// Creates the residue of a number below 2^262.
  ///
  /// - Parameters:
  ///   - limbs: The lowest four digits in base 2^64.
  ///   - excess: The fifth digit.
  private init(_ limbs: (UInt64, UInt64, UInt64, UInt64), excess: UInt64) {
    // 2^255 is congruent to 19. With an excess below 2^6, the result is below 2^255 + 2^11.
    self.limbs = limbs
    self.limbs.3 &= .max >> 1
    add((excess << 1 | limbs.3 >> 63) * 19)
  }

  /// Adds a number to the digits. The sum must be below 2^256.
  private mutating func add(_ number: UInt64) {
    var carry = number
    limbs.0 = sum(limbs.0, 0, &carry)
    limbs.1 = sum(limbs.1, 0, &carry)
    limbs.2 = sum(limbs.2, 0, &carry)
    limbs.3 = sum(limbs.3, 0, &carry)
  }

  /// The digits in base 2^64 of the number below 2^255 - 19, the lowest first.
  var canonical: [UInt64] {
    // The number is not canonical if it is at least 2^255 - 19: adding 19 then sets bit 255.
    var above = self
    above.add(19)
    let digits = above.limbs.3 >> 63 == 1 ? above.limbs : limbs
    return [digits.0, digits.1, digits.2, digits.3 & .max >> 1]
  }

  static func + (one: FieldNumber, other: FieldNumber) -> FieldNumber {
    let (sum, carry) = total(one.limbs, other.limbs, carry: 0)
    return FieldNumber(sum, excess: carry)
  }

  static func * (one: FieldNumber, other: FieldNumber) -> FieldNumber {
    let product = one.product(with: other)
    return reduced(low: product.low, high: product.high)
  }

  /// Returns the sum of two products. It is reduced once.
  static func sumOfProducts(
    _ one: FieldNumber, _ other: FieldNumber, _ third: FieldNumber, _ fourth: FieldNumber
  ) -> FieldNumber {
    // Each product is below 2^510 + 2^268. Their sum is below 2^512.
    let (first, second) = (one.product(with: other), third.product(with: fourth))
    let (low, carry) = total(first.low, second.low, carry: 0)
    let (high, _) = total(first.high, second.high, carry: carry)
    return reduced(low: low, high: high)
  }

  /// Returns the residue of `low` + 2^256 `high`.
  private static func reduced(low: Limbs, high: Limbs) -> FieldNumber {
    // 2^256 is congruent to 38.
    let product = row(38, high, adding: low)
    let limbs = (product.lowest, product.rest.0, product.rest.1, product.rest.2)
    return FieldNumber(limbs, excess: product.rest.3)
  }

  /// Returns the eight digits of a product.
  private func product(with other: FieldNumber) -> (low: Limbs, high: Limbs) {
    let first = row(limbs.0, other.limbs, adding: (0, 0, 0, 0))
    let second = row(limbs.1, other.limbs, adding: first.rest)
    let third = row(limbs.2, other.limbs, adding: second.rest)
    let fourth = row(limbs.3, other.limbs, adding: third.rest)
    return ((first.lowest, second.lowest, third.lowest, fourth.lowest), fourth.rest)
  }
}

private typealias Limbs = (UInt64, UInt64, UInt64, UInt64)

/// Returns the five digits of `digit` `number` + `added`.
@inline(__always)
private func row(
  _ digit: UInt64, _ number: Limbs, adding added: Limbs
) -> (lowest: UInt64, rest: Limbs) {
  var carry: UInt64 = 0
  let lowest = sumOfProduct(digit, number.0, added.0, &carry)
  let second = sumOfProduct(digit, number.1, added.1, &carry)
  let third = sumOfProduct(digit, number.2, added.2, &carry)
  let fourth = sumOfProduct(digit, number.3, added.3, &carry)
  return (lowest, (second, third, fourth, carry))
}

/// Returns the four digits of the sum of two numbers and a carry, and the new carry.
@inline(__always)
private func total(_ one: Limbs, _ other: Limbs, carry: UInt64) -> (sum: Limbs, carry: UInt64) {
  var carry = carry
  let first = sum(one.0, other.0, &carry)
  let second = sum(one.1, other.1, &carry)
  let third = sum(one.2, other.2, &carry)
  let fourth = sum(one.3, other.3, &carry)
  return ((first, second, third, fourth), carry)
}

/// Returns the low digit of the sum of two digits and a carry, and sets the carry to the high digit.
@inline(__always)
private func sum(_ one: UInt64, _ other: UInt64, _ carry: inout UInt64) -> UInt64 {
  let (part, isAbove) = one.addingReportingOverflow(other)
  let (sum, isSumAbove) = part.addingReportingOverflow(carry)
  carry = (isAbove ? 1 : 0) &+ (isSumAbove ? 1 : 0)
  return sum
}

/// Returns the low digit of `one` `other` + `added` + `carry`, and sets the carry to the high digit.
@inline(__always)
private func sumOfProduct(
  _ one: UInt64, _ other: UInt64, _ added: UInt64, _ carry: inout UInt64
) -> UInt64 {
  let product = one.multipliedFullWidth(by: other)
  let (part, isAbove) = product.low.addingReportingOverflow(added)
  let (sum, isSumAbove) = part.addingReportingOverflow(carry)
  // The product of two digits is at most (2^64 - 1)^2. Adding two digits gives at most 2^128 - 1.
  carry = product.high &+ (isAbove ? 1 : 0) &+ (isSumAbove ? 1 : 0)
  return sum
}
