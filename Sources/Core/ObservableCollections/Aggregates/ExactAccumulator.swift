/// An exact sum, to which numbers are added and from which they are subtracted in any order.
@usableFromInline
protocol ExactAccumulator<Number>: Sendable {
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

/// An exact number with a fixed binary point: a signed integer of many words.
///
/// Sums of floating-point numbers are exact if the number has a bit for each power of two of their
/// exponent range. This is the small superaccumulator of Kulisch and Miranker, "The Arithmetic of the
/// Digital Computer: A New Approach" (1986), in two's complement, so equal sums have equal words.
@usableFromInline
struct FixedPointNumber: Sendable {
  /// The words in two's complement, the lowest first.
  private var words: [UInt64]

  /// Creates a number that is zero.
  ///
  /// - Parameter bitCount: The number of bits that are needed, without the sign.
  @usableFromInline
  init(bitCount: Int) {
    // Adding accesses two words.
    words = Array(repeating: 0, count: bitCount / 64 + 2)
  }

  /// Adds or subtracts `magnitude` times two to the power of `offset`.
  ///
  /// - Complexity: O(1). At most all words change.
  @usableFromInline
  mutating func add(_ magnitude: UInt64, at offset: Int, isNegative: Bool) {
    let shift = UInt64(truncatingIfNeeded: offset & 63)
    let low = magnitude &<< shift
    let high = (magnitude &>> 1) &>> (63 &- shift)
    words.withUnsafeMutableBufferPointer { words in
      func add(_ value: UInt64, at index: Int, _ carry: Bool) -> Bool {
        let word = words[index]
        let (part, first) =
          isNegative
          ? word.subtractingReportingOverflow(value) : word.addingReportingOverflow(value)
        let second: Bool
        (words[index], second) =
          isNegative
          ? part.subtractingReportingOverflow(carry ? 1 : 0)
          : part.addingReportingOverflow(carry ? 1 : 0)
        return first || second
      }
      var index = offset / 64
      var carry = add(low, at: index, false)
      carry = add(high, at: index + 1, carry)
      index += 2
      while carry, index < words.count {
        carry = add(0, at: index, true)
        index += 1
      }
    }
  }

  /// A number `significand` times two to the power of `exponent`, positive or negative.
  @usableFromInline
  struct Rounded {
    @usableFromInline var isNegative = false
    @usableFromInline var significand: UInt64 = 0
    @usableFromInline var exponent = 0
  }

  /// Returns the quotient of this number and a divisor, rounded once to the nearest number, ties to even.
  ///
  /// - Parameters:
  ///   - precision: The maximum number of bits of the significand, in `1...64`.
  ///   - divisor: The divisor, which is positive.
  /// - Returns: The quotient. The exponent is not negative. If it is positive, the significand has exactly
  ///   `precision` bits.
  /// - Complexity: O(1) in the number of values that were added.
  @usableFromInline
  func rounded(toPrecision precision: Int, dividedBy divisor: UInt64 = 1) -> Rounded {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: words.count) { buffer in
      let isNegative = (words.last ?? 0) >> 63 == 1
      var magnitude = Magnitude(words: buffer, count: words.count)
      for (index, word) in words.enumerated() { buffer[index] = isNegative ? ~word : word }
      if isNegative { magnitude.increment() }
      magnitude.trim()
      let remainder = divisor == 1 ? 0 : magnitude.divide(by: divisor)
      var rounded = magnitude.rounded(
        toPrecision: precision, rest: Rest(remainder, dividedBy: divisor))
      rounded.isNegative = isNegative
      return rounded
    }
  }

  /// The part of a quotient below its lowest bit.
  private enum Rest {
    case zero
    case belowHalf
    case half
    case aboveHalf

    init(_ remainder: UInt64, dividedBy divisor: UInt64) {
      let complement = divisor - remainder
      self =
        remainder == 0
        ? .zero
        : remainder < complement ? .belowHalf : remainder == complement ? .half : .aboveHalf
    }
  }

  /// A number without a sign, in memory that it does not own.
  private struct Magnitude {
    let words: UnsafeMutableBufferPointer<UInt64>
    /// The number of words, without zeros at the top.
    var count: Int

    mutating func increment() {
      var index = 0
      var carry = true
      while carry, index < count {
        (words[index], carry) = words[index].addingReportingOverflow(1)
        index += 1
      }
    }

    mutating func trim() {
      while count > 0, words[count - 1] == 0 { count -= 1 }
    }

    /// Divides, and returns the remainder.
    mutating func divide(by divisor: UInt64) -> UInt64 {
      var remainder: UInt64 = 0
      for index in (0..<count).reversed() {
        (words[index], remainder) = divisor.dividingFullWidth((remainder, words[index]))
      }
      trim()
      return remainder
    }

    /// Returns up to 64 bits, beginning with a bit.
    func bits(from offset: Int, count bitCount: Int) -> UInt64 {
      let (index, shift) = (offset / 64, UInt64(offset % 64))
      let low = index < count ? words[index] : 0
      let high = index + 1 < count ? words[index + 1] : 0
      let bits = low &>> shift | (high &<< 1) &<< (63 &- shift)
      return bitCount == 64 ? bits : bits & (1 &<< UInt64(bitCount) &- 1)
    }

    /// Returns whether a bit below an offset is set.
    func hasBit(below offset: Int) -> Bool {
      for index in 0..<min(count, offset / 64) where words[index] != 0 { return true }
      return offset % 64 > 0 && bits(from: offset / 64 * 64, count: offset % 64) != 0
    }

    func rounded(toPrecision precision: Int, rest: Rest) -> Rounded {
      let bitCount = count == 0 ? 0 : count * 64 - words[count - 1].leadingZeroBitCount
      let exponent = max(0, bitCount - precision)
      var result = Rounded()
      result.significand = bits(from: exponent, count: precision)
      result.exponent = exponent
      let isUp: Bool
      let isOdd = result.significand & 1 == 1
      if exponent > 0 {
        let isHalf = bits(from: exponent - 1, count: 1) == 1
        isUp = isHalf && (isOdd || rest != .zero || hasBit(below: exponent - 1))
      } else {
        isUp = rest == .aboveHalf || (rest == .half && isOdd)
      }
      if isUp {
        let isOverflow: Bool
        (result.significand, isOverflow) = result.significand.addingReportingOverflow(1)
        if isOverflow || (precision < 64 && result.significand == 1 &<< UInt64(precision)) {
          // All bits were set.
          result.significand = 1 &<< UInt64(precision - 1)
          result.exponent += 1
        }
      }
      return result
    }
  }
}
