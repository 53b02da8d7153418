import DataSourceTesting
import ObservableCollections
import TestSupport
import TestTags
import Testing

/// Rule O9: sums and averages are exact, and rounded once.
@Suite struct ExactSumTests {
  /// Random doubles of all kinds: of all magnitudes, subnormal, near each other, and powers of two.
  private static func double(_ random: inout SeededGenerator) -> Double {
    let sign: Double = random.oneIn(2) ? 1 : -1
    switch random.below(6) {
    case 0: return sign * Double(bitPattern: random.next() >> 12)
    case 1: return sign * Double.random(in: 0..<1, using: &random)
    case 2: return sign * Double(sign: .plus, exponent: random.below(2_098) - 1_074, significand: 1)
    case 3: return sign * Double(random.below(1_000)) / 100
    case 4: return sign * .greatestFiniteMagnitude
    default:
      let number = Double(bitPattern: random.next())
      return number.isFinite ? number : 0
    }
  }

  @Test(.reaches("addition", "subtraction", "infinite sum"))
  func `sums of random doubles are rounded correctly after each edit`() {
    for seed in UInt64(0)..<20 {
      var random = SeededGenerator(seed: seed)
      var (sum, exact) = (FloatingPointSum<Double>(), ReferenceNumber())
      var numbers: [Double] = []
      for step in 0..<100 {
        if !numbers.isEmpty, random.oneIn(3) {
          let number = numbers.remove(at: random.below(numbers.count))
          sum.subtract(number)
          exact -= ReferenceNumber(number)
          Coverage.note("subtraction")
        } else {
          let number = Self.double(&random)
          numbers.append(number)
          sum.add(number)
          exact += ReferenceNumber(number)
          Coverage.note("addition")
        }
        if sum.sum.isInfinite { Coverage.note("infinite sum") }
        #expect(exact.isRounded(to: sum.sum), "seed \(seed), step \(step): \(numbers)")
        let count = numbers.isEmpty ? 1 : numbers.count
        #expect(
          exact.isRounded(to: sum.average(of: count), dividedBy: count),
          "seed \(seed), step \(step): \(numbers)")
      }
      for number in numbers { sum.subtract(number) }
      #expect(sum.sum.bitPattern == 0, "seed \(seed)")
    }
  }

  @Test func `sums of random floats of other sizes are rounded correctly`() {
    #if !(os(macOS) && arch(x86_64))
      check(seed: 1) { Float16(bitPattern: UInt16(truncatingIfNeeded: $0)) }
    #endif
    check(seed: 2) { Float(bitPattern: UInt32(truncatingIfNeeded: $0)) }
  }

  private func check<Number: BinaryFloatingPoint & Sendable>(
    seed: UInt64, _ make: (UInt64) -> Number
  ) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let numbers = (0..<3).map { _ in make(random.next()) }.filter(\.isFinite)
      if numbers.isEmpty { continue }
      var (sum, exact) = (FloatingPointSum<Number>(), ReferenceNumber())
      for number in numbers {
        sum.add(number)
        exact += ReferenceNumber(Double(number))
        #expect(exact.isRounded(to: sum.sum), "\(numbers)")
      }
      for count in [2, 3, 7, 1_000] {
        #expect(exact.isRounded(to: sum.average(of: count), dividedBy: count), "\(numbers)")
      }
    }
  }

  @Test func `ties are rounded to even`() {
    var sum = FloatingPointSum<Double>()
    sum.add(0x1p53)
    sum.add(1)
    #expect(sum.sum == 0x1p53)
    sum.add(2)
    #expect(sum.sum == 0x1p53 + 4)
    sum.add(.leastNonzeroMagnitude)
    #expect(sum.sum == 0x1p53 + 4)
    sum.subtract(2)
    // More than half by the least number.
    #expect(sum.sum == 0x1p53 + 2)
  }

  @Test func `cancellation leaves the rest exactly`() {
    var sum = FloatingPointSum<Double>()
    for number in [1e308, 1e-308, .leastNonzeroMagnitude, -1e308, 1, -1, -1e-308] {
      sum.add(number)
    }
    #expect(sum.sum == .leastNonzeroMagnitude)
    sum.subtract(.leastNonzeroMagnitude)
    #expect(sum.sum.bitPattern == 0)
  }

  @Test func `a sum of zero is positive`() {
    var sum = FloatingPointSum<Double>()
    #expect(sum.sum.bitPattern == 0)
    sum.add(-0.0)
    #expect(sum.sum.bitPattern == 0)
    sum.add(-.leastNonzeroMagnitude)
    #expect(sum.average(of: 4).bitPattern == 0)
    #expect(sum.sum == -.leastNonzeroMagnitude)
  }

  @Test func `a sum out of range is infinite and comes back`() {
    var sum = FloatingPointSum<Double>()
    for _ in 0..<3 { sum.add(.greatestFiniteMagnitude) }
    #expect(sum.sum == .infinity)
    #expect(sum.average(of: 3) == .greatestFiniteMagnitude)
    for _ in 0..<5 { sum.subtract(.greatestFiniteMagnitude) }
    #expect(sum.sum == -.infinity)
    sum.add(.greatestFiniteMagnitude)
    #expect(sum.sum == -.greatestFiniteMagnitude)
    // Less than half a unit more is rounded down, and half a unit is not.
    sum.subtract(Double.greatestFiniteMagnitude.ulp / 4)
    #expect(sum.sum == -.greatestFiniteMagnitude)
    sum.subtract(Double.greatestFiniteMagnitude.ulp / 4)
    #expect(sum.sum == -.infinity)
  }

  @Test func `NaN and infinities are counted`() {
    var sum = FloatingPointSum<Double>()
    sum.add(1)
    sum.add(.infinity)
    sum.add(.infinity)
    #expect(sum.sum == .infinity && sum.average(of: 3) == .infinity)
    sum.add(-.infinity)
    #expect(sum.sum.isNaN && sum.average(of: 4).isNaN)
    sum.subtract(.infinity)
    sum.subtract(.infinity)
    #expect(sum.sum == -.infinity)
    sum.add(.nan)
    sum.add(.signalingNaN)
    sum.subtract(-.infinity)
    #expect(sum.sum.isNaN)
    sum.subtract(.nan)
    sum.subtract(.nan)
    #expect(sum.sum == 1)
  }

  #if arch(x86_64) && !os(Windows) && !os(Android)
    @Test func `sums of extended numbers are exact`() {
      var sum = FloatingPointSum<Float80>()
      let numbers: [Float80] = [
        .greatestFiniteMagnitude, 1, .leastNonzeroMagnitude, .leastNormalMagnitude, 0x1p-64, 3,
      ]
      for number in numbers { sum.add(number) }
      #expect(sum.sum == .greatestFiniteMagnitude)
      sum.subtract(.greatestFiniteMagnitude)
      sum.subtract(3)
      // Half a unit of 1, and more.
      #expect(sum.sum == Float80(1).nextUp)
      sum.subtract(1)
      sum.subtract(0x1p-64)
      #expect(sum.sum == .leastNormalMagnitude + .leastNonzeroMagnitude)
      #expect(sum.average(of: 2) == .leastNormalMagnitude / 2)
      sum.subtract(.leastNormalMagnitude)
      #expect(sum.sum == .leastNonzeroMagnitude)
    }
  #endif

  // MARK: Integers

  @Test(.reaches("addition", "subtraction", "clamped sum"))
  func `sums of integers are exact or the nearest number`() {
    var random = SeededGenerator(seed: 3)
    var (sum, exact) = (IntegerSum<Int>(), Int128(0))
    var numbers: [Int] = []
    for step in 0..<20_000 {
      if !numbers.isEmpty, random.oneIn(3) {
        let number = numbers.remove(at: random.below(numbers.count))
        sum.subtract(number)
        exact -= Int128(number)
        Coverage.note("subtraction")
      } else {
        let number = Int(bitPattern: UInt(random.next())) >> random.below(64)
        numbers.append(number)
        sum.add(number)
        exact += Int128(number)
        Coverage.note("addition")
      }
      if Int(exactly: exact) == nil { Coverage.note("clamped sum") }
      #expect(sum.sum == Int(clamping: exact), "step \(step)")
      // `Double` rounds once, too.
      #expect(sum.average(of: 1) == Double(exact), "step \(step)")
    }
  }

  @Test func `averages of small integers are rounded once`() {
    for total in -300...300 {
      var sum = IntegerSum<Int16>()
      sum.add(Int16(total))
      for count in 1...40 { #expect(sum.average(of: count) == Double(total) / Double(count)) }
    }
  }

  @Test func `an overflow is the nearest number and never traps`() {
    var small = IntegerSum<Int8>()
    for _ in 0..<3 { small.add(100) }
    #expect(small.sum == .max && small.average(of: 3) == 100)
    for _ in 0..<6 { small.add(.min) }
    #expect(small.sum == .min)
    for _ in 0..<4 { small.subtract(.min) }
    #expect(small.sum == 44)

    var unsigned = IntegerSum<UInt64>()
    for _ in 0..<3 { unsigned.add(.max) }
    #expect(unsigned.sum == .max && unsigned.average(of: 3) == 0x1p64)
    for _ in 0..<2 { unsigned.subtract(.max) }
    unsigned.subtract(1)
    #expect(unsigned.sum == UInt64.max - 1)

    var wide = IntegerSum<Int128>()
    for _ in 0..<2 { wide.add(.min) }
    #expect(wide.sum == .min && wide.average(of: 2) == -0x1p127)
    for _ in 0..<2 { wide.add(.max) }
    #expect(wide.sum == -2 && wide.average(of: 4) == -0.5)
  }

  // MARK: A long run

  /// Ten million edits with `SWAPPABLE_LONG=1`, and a hundred thousand otherwise.
  @Test func `the sum does not drift over many edits`() {
    let steps = TestRun.isLong ? 10_000_000 : 100_000
    let seed = TestRun.seed ?? 9
    var random = SeededGenerator(seed: seed)
    var sum = FloatingPointSum<Double>()
    var numbers = (0..<1_000).map { _ in Self.double(&random) }
    for number in numbers { sum.add(number) }
    for step in 1...steps {
      let index = random.below(numbers.count)
      sum.subtract(numbers[index])
      numbers[index] = Self.double(&random)
      sum.add(numbers[index])
      guard step.isMultiple(of: steps / 20) else { continue }
      var exact = ReferenceNumber()
      var fresh = FloatingPointSum<Double>()
      for number in numbers {
        exact += ReferenceNumber(number)
        fresh.add(number)
      }
      #expect(exact.isRounded(to: sum.sum), "seed \(seed), step \(step)")
      #expect(sum.sum.bitPattern == fresh.sum.bitPattern, "seed \(seed), step \(step)")
    }
  }
}
