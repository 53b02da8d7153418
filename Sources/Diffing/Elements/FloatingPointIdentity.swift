/// The identity of a floating-point number.
///
/// Unlike the number's own `==`, this is an equivalence relation: something that is not a number is
/// the same as another of the same bits. Zero and negative zero are the same.
public struct FloatingPointIdentity<Value: BinaryFloatingPoint & Sendable>: Hashable, Sendable {
  /// The number.
  public let value: Value

  /// The bits, those of zero for negative zero.
  @usableFromInline let bits: UInt64

  @inlinable
  init(_ value: Value, bits: UInt64) {
    self.value = value
    self.bits = value == 0 ? 0 : bits
  }

  /// Tells whether both are equal numbers, or the same bits.
  @inlinable
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.bits == rhs.bits }

  /// Feeds the bits to a hasher.
  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(bits) }
}

extension FloatingPointIdentity: CustomStringConvertible {
  /// The number, as it is printed.
  public var description: String { "\(value)" }
}

extension Double: Differentiable {
  /// The number, such that what is not a number is the same as itself.
  @inlinable
  public var differenceIdentifier: FloatingPointIdentity<Double> {
    FloatingPointIdentity(self, bits: bitPattern)
  }

  /// Tells whether both are equal numbers, or the same bits.
  @inlinable
  public func isContentEqual(to source: Double) -> Bool {
    self == source || bitPattern == source.bitPattern
  }
}

extension Float: Differentiable {
  /// The number, such that what is not a number is the same as itself.
  @inlinable
  public var differenceIdentifier: FloatingPointIdentity<Float> {
    FloatingPointIdentity(self, bits: UInt64(bitPattern))
  }

  /// Tells whether both are equal numbers, or the same bits.
  @inlinable
  public func isContentEqual(to source: Float) -> Bool {
    self == source || bitPattern == source.bitPattern
  }
}
