extension String: Differentiable {}
extension Substring: Differentiable {}
extension Character: Differentiable {}
extension Unicode.Scalar: Differentiable {}
extension Bool: Differentiable {}

extension Int: Differentiable {}
extension Int8: Differentiable {}
extension Int16: Differentiable {}
extension Int32: Differentiable {}
extension Int64: Differentiable {}
extension Int128: Differentiable {}
extension UInt: Differentiable {}
extension UInt8: Differentiable {}
extension UInt16: Differentiable {}
extension UInt32: Differentiable {}
extension UInt64: Differentiable {}
extension UInt128: Differentiable {}

extension Duration: Differentiable {}
extension ObjectIdentifier: Differentiable {}

extension Set: Differentiable {}
extension Dictionary: Differentiable where Value: Hashable {}
extension Range: Differentiable where Bound: Hashable {}
extension ClosedRange: Differentiable where Bound: Hashable {}

extension Optional: Differentiable where Wrapped: Differentiable {
  /// The identity of the wrapped value, or `nil`.
  @inlinable
  public var differenceIdentifier: Wrapped.DifferenceIdentifier? {
    switch self {
    case .some(let wrapped): wrapped.differenceIdentifier
    case .none: nil
    }
  }

  /// Returns whether both are `nil`, or wrap values with equal content.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool {
    switch (self, source) {
    case (.some(let value), .some(let other)): other.hasSameContent(as: value)
    case (.none, .none): true
    default: false
    }
  }
}

extension Array: Differentiable where Element: Differentiable {
  /// The identities of the elements, in order.
  @inlinable
  public var differenceIdentifier: [Element.DifferenceIdentifier] {
    map(\.differenceIdentifier)
  }

  /// Returns a Boolean value that indicates whether both have equal contents in the same order.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { hasSameContents(as: source) }
}

extension ArraySlice: Differentiable where Element: Differentiable {
  /// The identities of the elements, in order.
  @inlinable
  public var differenceIdentifier: [Element.DifferenceIdentifier] {
    map(\.differenceIdentifier)
  }

  /// Returns a Boolean value that indicates whether both have equal contents in the same order.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { hasSameContents(as: source) }
}

extension ContiguousArray: Differentiable where Element: Differentiable {
  /// The identities of the elements, in order.
  @inlinable
  public var differenceIdentifier: [Element.DifferenceIdentifier] {
    map(\.differenceIdentifier)
  }

  /// Returns a Boolean value that indicates whether both have equal contents in the same order.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { hasSameContents(as: source) }
}

/// The identity of a floating-point number.
///
/// Unlike the number's own `==`, this is an equivalence relation. A NaN is the same as a NaN with
/// the same bits. Zero and negative zero are the same.
public struct FloatingPointIdentity<Value: BinaryFloatingPoint & Sendable>: Hashable, Sendable {
  /// The number.
  public let value: Value

  /// The bits of the number. Negative zero has the bits of zero.
  @usableFromInline let bits: UInt64

  @inlinable
  init(_ value: Value, bits: UInt64) {
    self.value = value
    self.bits = value == 0 ? 0 : bits
  }

  /// Returns a Boolean value that indicates whether both are equal numbers or have the same bits.
  @inlinable
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.bits == rhs.bits }

  /// Hashes the bits.
  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(bits) }
}

extension FloatingPointIdentity: CustomStringConvertible {
  /// The description of the number.
  public var description: String { "\(value)" }
}

extension Double: Differentiable {
  /// The identity of the number. A NaN is the same as itself.
  @inlinable
  public var differenceIdentifier: FloatingPointIdentity<Double> {
    FloatingPointIdentity(self, bits: bitPattern)
  }

  /// Returns a Boolean value that indicates whether both are equal numbers or have the same bits.
  @inlinable
  public func isContentEqual(to source: Double) -> Bool {
    self == source || bitPattern == source.bitPattern
  }
}

extension Float: Differentiable {
  /// The identity of the number. A NaN is the same as itself.
  @inlinable
  public var differenceIdentifier: FloatingPointIdentity<Float> {
    FloatingPointIdentity(self, bits: UInt64(bitPattern))
  }

  /// Returns a Boolean value that indicates whether both are equal numbers or have the same bits.
  @inlinable
  public func isContentEqual(to source: Float) -> Bool {
    self == source || bitPattern == source.bitPattern
  }
}
