/// A value of any type that differences can recognise, so that one collection can hold several types.
///
/// Values of different types are never the same, whatever their identities are. The type is the one that
/// the value has where it is wrapped; a value that is wrapped already is not wrapped once more.
///
/// ```swift
/// let old = [AnyDifferentiable("heading"), AnyDifferentiable(Row(id: 0, name: "zero"))]
/// let new = [AnyDifferentiable("heading"), AnyDifferentiable(Row(id: 0, name: "naught"))]
/// let change = Changeset(from: old, to: new)
/// // updates: [1->1]
/// ```
///
/// Copies of one wrapped value share it, and are found to be equal without asking it.
public struct AnyDifferentiable: Differentiable, Sendable {
  /// The identity of a wrapped value: that of the value, and its type.
  public struct Identifier: Hashable, Sendable {
    @usableFromInline let box: any AnyBox

    @inlinable
    init(box: any AnyBox) {
      self.box = box
    }

    /// Tells whether both are of one type and the same identity.
    @inlinable
    public static func == (lhs: Self, rhs: Self) -> Bool {
      lhs.box === rhs.box || lhs.box.isSame(as: rhs.box)
    }

    /// Feeds the value's identity to a hasher.
    @inlinable
    public func hash(into hasher: inout Hasher) { box.hash(into: &hasher) }
  }

  @usableFromInline let box: any AnyBox

  /// Wraps a value.
  ///
  /// - Parameter base: The value.
  /// - Complexity: O(1), one allocation.
  @inlinable
  public init<Base: Differentiable & Sendable>(_ base: Base) {
    // Decided by the compiler where it knows the type.
    if let wrapped = base as? AnyDifferentiable {
      self = wrapped
    } else {
      box = Box(base)
    }
  }

  /// The wrapped value.
  @inlinable
  public var base: any Differentiable & Sendable { box.value }

  /// The wrapped value's identity, together with its type.
  @inlinable
  public var differenceIdentifier: Identifier { Identifier(box: box) }

  /// Tells whether both wrap values of one type and equal content.
  @inlinable
  public func isContentEqual(to source: AnyDifferentiable) -> Bool {
    box === source.box || box.isContentEqual(to: source.box)
  }
}

extension AnyDifferentiable: CustomStringConvertible {
  /// The wrapped value's own description.
  public var description: String { String(describing: base) }
}

extension AnyDifferentiable.Identifier: CustomStringConvertible {
  /// The description of the wrapped value's identity.
  public var description: String { box.identityDescription }
}

/// What is asked of a value whose type is not known.
@usableFromInline
protocol AnyBox: AnyObject, Sendable {
  var value: any Differentiable & Sendable { get }
  var identityDescription: String { get }
  func isSame(as other: any AnyBox) -> Bool
  func isContentEqual(to source: any AnyBox) -> Bool
  func hash(into hasher: inout Hasher)
}

extension AnyBox {
  /// This box, if its value is of a certain type.
  func cast<Base>(to type: Box<Base>.Type) -> Box<Base>? {
    // Cheaper than `as?`. The class is final, so that nothing else than an equal type could be meant.
    Self.self == type ? unsafeDowncast(self, to: type) : nil
  }
}

/// A wrapped value.
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
    return sameIdentity(base.differenceIdentifier, other.base.differenceIdentifier)
  }

  @usableFromInline
  func isContentEqual(to source: any AnyBox) -> Bool {
    guard let source = source.cast(to: Box.self) else { return false }
    return sameContent(source.base, base)
  }

  @usableFromInline
  func hash(into hasher: inout Hasher) {
    // The type is not hashed: two types seldom share an identity, and then one comparison tells.
    hasher.combine(base.differenceIdentifier)
  }
}
