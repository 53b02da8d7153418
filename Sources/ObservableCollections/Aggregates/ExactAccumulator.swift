/// An exact sum, to which numbers are added and from which they are subtracted in any order.
@usableFromInline
package protocol ExactAccumulator<Number>: Sendable {
  /// The type of the numbers.
  associatedtype Number: Equatable & Sendable
  /// The type of an average.
  associatedtype Average: Equatable & Sendable

  /// Creates an empty sum.
  init()

  mutating func add(_ number: Number)

  /// Subtracts a number that was added.
  mutating func subtract(_ number: Number)

  /// The sum, rounded once to the type of the numbers.
  var sum: Number { get }

  /// Returns the sum divided by a positive count, rounded once.
  func average(of count: Int) -> Average
}

/// An exact sum of integers. It has 64 bits more than the integers.
@usableFromInline
package struct IntegerSum<Number: FixedWidthInteger & Sendable>: ExactAccumulator,
  @unchecked Sendable
{
  // Sendable: one thread at a time uses a sum, and `low` shares nothing.

  /// The low part of the sum, and the rest in units of two to the power of the width of `low`.
  @usableFromInline var low: Number.Magnitude = 0
  @usableFromInline var high = 0

  @inlinable
  package init() {}

  @inlinable
  package mutating func add(_ number: Number) {
    let carry: Bool
    (low, carry) = low.addingReportingOverflow(Number.Magnitude(truncatingIfNeeded: number))
    high &+= (carry ? 1 : 0) &- (number < 0 ? 1 : 0)
  }

  @inlinable
  package mutating func subtract(_ number: Number) {
    let borrow: Bool
    (low, borrow) = low.subtractingReportingOverflow(Number.Magnitude(truncatingIfNeeded: number))
    high &-= (borrow ? 1 : 0) &- (number < 0 ? 1 : 0)
  }

  /// The sum, or the nearest number of the type if the sum is out of its range.
  @inlinable package var sum: Number {
    let number = Number(truncatingIfNeeded: low)
    if high == (number < 0 ? -1 : 0) { return number }
    return high < 0 ? .min : .max
  }

  @inlinable
  package func average(of count: Int) -> Double {
    // If the quotient is not zero, it has more than 53 bits, because the count has less than 64.
    let point = 128
    let width = Number.Magnitude.bitWidth
    var exact = FixedPointNumber(bitCount: point + width + 64)
    var offset = point
    for word in low.words {
      exact.add(UInt64(word), at: offset, isNegative: false)
      offset += UInt.bitWidth
    }
    exact.add(UInt64(high.magnitude), at: point + width, isNegative: high < 0)
    let rounded = exact.rounded(toPrecision: 53, dividedBy: UInt64(count))
    let magnitude = Double(
      sign: .plus, exponent: rounded.exponent - point, significand: Double(rounded.significand))
    return rounded.isNegative ? -magnitude : magnitude
  }
}

/// An exact sum of floating-point numbers, which is rounded once when it is read.
@usableFromInline
package struct FloatingPointSum<Number: BinaryFloatingPoint & Sendable>: ExactAccumulator {
  /// The sum of the finite numbers, in units of the least positive number.
  @usableFromInline var finite: FixedPointNumber
  @usableFromInline var nanCount = 0
  @usableFromInline var positiveInfinityCount = 0
  @usableFromInline var negativeInfinityCount = 0

  @inlinable
  package init() {
    precondition(
      Number.significandBitCount < 64 && Number.exponentBitCount <= 16,
      "a significand may have at most 64 bits, and an exponent 16, but \(Number.self) has more")
    // The sum of fewer than 2⁶⁴ numbers.
    finite = FixedPointNumber(
      bitCount: 1 << Number.exponentBitCount + Number.significandBitCount + 64)
  }

  @inlinable
  package mutating func add(_ number: Number) { add(number, isNegative: false, count: 1) }

  @inlinable
  package mutating func subtract(_ number: Number) { add(number, isNegative: true, count: -1) }

  @inlinable
  mutating func add(_ number: Number, isNegative: Bool, count: Int) {
    if number.isFinite {
      var significand = UInt64(number.significandBitPattern)
      var offset = 0
      if number.isNormal {
        significand |= 1 &<< UInt64(Number.significandBitCount)
        offset = Int(number.exponentBitPattern) - 1
      }
      finite.add(significand, at: offset, isNegative: (number.sign == .minus) != isNegative)
    } else if number.isNaN {
      nanCount += count
    } else if number.sign == .minus {
      negativeInfinityCount += count
    } else {
      positiveInfinityCount += count
    }
  }

  @inlinable package var sum: Number { quotient(by: 1) }

  @inlinable
  package func average(of count: Int) -> Number { quotient(by: UInt64(count)) }

  @inlinable
  func quotient(by divisor: UInt64) -> Number {
    let isInfinite = (positiveInfinityCount > 0, negativeInfinityCount > 0)
    if nanCount > 0 || isInfinite == (true, true) { return .nan }
    if isInfinite.0 { return .infinity }
    if isInfinite.1 { return -.infinity }
    let precision = Number.significandBitCount + 1
    let rounded = finite.rounded(toPrecision: precision, dividedBy: divisor)
    // Zero is positive, whatever was rounded to it.
    if rounded.significand == 0 { return 0 }
    let leadingBit: UInt64 = 1 &<< UInt64(Number.significandBitCount)
    // A number without the leading bit is subnormal. It has the unit of the least normal numbers.
    let exponent = rounded.significand & leadingBit == 0 ? 0 : rounded.exponent + 1
    let magnitude =
      exponent >= 1 << Number.exponentBitCount - 1
      ? Number.infinity
      : Number(
        sign: .plus, exponentBitPattern: Number.RawExponent(exponent),
        significandBitPattern: Number.RawSignificand(rounded.significand & (leadingBit - 1)))
    return rounded.isNegative ? -magnitude : magnitude
  }
}
