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
  /// The identity of what is wrapped, or `nil`.
  @inlinable
  public var differenceIdentifier: Wrapped.DifferenceIdentifier? {
    switch self {
    case .some(let wrapped): wrapped.differenceIdentifier
    case .none: nil
    }
  }

  /// Tells whether both are `nil`, or wrap equal content.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool {
    switch (self, source) {
    case (.some(let value), .some(let other)): sameContent(value, other)
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

  /// Tells whether both hold equal contents in the same order.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { haveSameContents(self, source) }
}

extension ArraySlice: Differentiable where Element: Differentiable {
  /// The identities of the elements, in order.
  @inlinable
  public var differenceIdentifier: [Element.DifferenceIdentifier] {
    map(\.differenceIdentifier)
  }

  /// Tells whether both hold equal contents in the same order.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { haveSameContents(self, source) }
}

extension ContiguousArray: Differentiable where Element: Differentiable {
  /// The identities of the elements, in order.
  @inlinable
  public var differenceIdentifier: [Element.DifferenceIdentifier] {
    map(\.differenceIdentifier)
  }

  /// Tells whether both hold equal contents in the same order.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { haveSameContents(self, source) }
}
