/// A type-erased value, which allows one collection to contain elements of different types.
///
/// Values of different types are never the same, even if their identities are equal. The type is
/// the static type at the time of wrapping. A value that is already wrapped is not wrapped again.
///
/// ```swift
/// let old = [AnyDifferentiable("heading"), AnyDifferentiable(Row(id: 0, name: "zero"))]
/// let new = [AnyDifferentiable("heading"), AnyDifferentiable(Row(id: 0, name: "naught"))]
/// let change = Changeset(from: old, to: new)
/// // updates: [1->1]
/// ```
///
/// Copies share the wrapped value, and are compared by address first.
public struct AnyDifferentiable: Differentiable, Sendable {
  /// The identity of a wrapped value: the identity and the type of the value.
  public struct Identifier: Hashable, Sendable {
    @usableFromInline let box: any AnyBox

    @inlinable
    init(box: any AnyBox) {
      self.box = box
    }

    /// Returns whether both have the same type and the same identity.
    @inlinable
    public static func == (lhs: Self, rhs: Self) -> Bool {
      lhs.box === rhs.box || lhs.box.isSame(as: rhs.box)
    }

    /// Hashes the identity of the value.
    @inlinable
    public func hash(into hasher: inout Hasher) { box.hash(into: &hasher) }
  }

  @usableFromInline let box: any AnyBox

  /// Creates a type-erased value.
  ///
  /// - Parameter base: The value to wrap.
  /// - Complexity: O(1), with one allocation.
  @inlinable
  public init<Base: Differentiable & Sendable>(_ base: Base) {
    // The compiler decides this if it knows the type.
    if let wrapped = base as? AnyDifferentiable {
      self = wrapped
    } else {
      box = Box(base)
    }
  }

  /// The wrapped value.
  @inlinable
  public var base: any Differentiable & Sendable { box.value }

  /// The identity of the wrapped value, together with its type.
  @inlinable
  public var differenceIdentifier: Identifier { Identifier(box: box) }

  /// Returns whether both wrap values of the same type with equal content.
  @inlinable
  public func isContentEqual(to source: AnyDifferentiable) -> Bool {
    box === source.box || box.isContentEqual(to: source.box)
  }

  /// Returns whether both wrap values of the same type that are equal with all that belongs to them.
  @inlinable
  public func isWholeContentEqual(to source: AnyDifferentiable) -> Bool {
    box === source.box || box.isWholeContentEqual(to: source.box)
  }
}

extension AnyDifferentiable: CustomStringConvertible {
  /// The description of the wrapped value.
  public var description: String { String(describing: base) }
}

extension AnyDifferentiable.Identifier: CustomStringConvertible {
  /// The description of the identity of the wrapped value.
  public var description: String { box.identityDescription }
}

/// The operations on a value of unknown type.
@usableFromInline
protocol AnyBox: AnyObject, Sendable {
  var value: any Differentiable & Sendable { get }
  var identityDescription: String { get }
  func isSame(as other: any AnyBox) -> Bool
  func isContentEqual(to source: any AnyBox) -> Bool
  func isWholeContentEqual(to source: any AnyBox) -> Bool
  func hash(into hasher: inout Hasher)
}

extension AnyBox {
  /// Returns this box, or `nil` if its value has a different type.
  func cast<Base>(to type: Box<Base>.Type) -> Box<Base>? {
    // Cheaper than `as?`. The class is final, so equal types are the only match.
    Self.self == type ? unsafeDowncast(self, to: type) : nil
  }
}

@usableFromInline
final class Box<Base: Differentiable & Sendable>: AnyBox {
  @usableFromInline let base: Base

  @inlinable
  init(_ base: Base) {
    self.base = base
  }

  @usableFromInline var value: any Differentiable & Sendable { base }

  @usableFromInline var identityDescription: String {
    String(describing: base.differenceIdentifier)
  }

  @usableFromInline
  func isSame(as other: any AnyBox) -> Bool {
    guard let other = other.cast(to: Box.self) else { return false }
    return base.hasSameIdentity(as: other.base)
  }

  @usableFromInline
  func isContentEqual(to source: any AnyBox) -> Bool {
    guard let source = source.cast(to: Box.self) else { return false }
    return base.hasSameOwnContent(as: source.base)
  }

  @usableFromInline
  func isWholeContentEqual(to source: any AnyBox) -> Bool {
    guard let source = source.cast(to: Box.self) else { return false }
    return base.hasSameContent(as: source.base)
  }

  @usableFromInline
  func hash(into hasher: inout Hasher) {
    // The type is not hashed. Values of two types rarely have equal identities, and then `==`
    // distinguishes them.
    hasher.combine(base.differenceIdentifier)
  }
}
