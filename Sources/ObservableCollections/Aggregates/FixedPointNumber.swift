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
      var index = offset / 64
      var carry: Bool
      if isNegative {
        (words[index], carry) = words[index].subtractingReportingOverflow(low)
        index += 1
        let (difference, borrow) = words[index].subtractingReportingOverflow(high)
        let isBorrowed: Bool
        (words[index], isBorrowed) = difference.subtractingReportingOverflow(carry ? 1 : 0)
        carry = borrow || isBorrowed
        index += 1
        while carry, index < words.count {
          (words[index], carry) = words[index].subtractingReportingOverflow(1)
          index += 1
        }
      } else {
        (words[index], carry) = words[index].addingReportingOverflow(low)
        index += 1
        let (sum, overflow) = words[index].addingReportingOverflow(high)
        let isCarried: Bool
        (words[index], isCarried) = sum.addingReportingOverflow(carry ? 1 : 0)
        carry = overflow || isCarried
        index += 1
        while carry, index < words.count {
          (words[index], carry) = words[index].addingReportingOverflow(1)
          index += 1
        }
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
