/// A value that a difference can recognise and compare.
///
/// A value has an *identity*, which says which thing it is, and *content*, which says what is known of
/// it. When a value of the same identity is found on both sides of a difference, it was kept, and it
/// was updated if its content differs.
///
/// Most types conform by one empty extension:
///
/// ```swift
/// struct Row: Identifiable, Equatable, Sendable {
///   let id: Int
///   var name: String
/// }
/// extension Row: Differentiable {}
/// ```
///
/// | the type is | identity | content |
/// |---|---|---|
/// | `Identifiable` and `Equatable` | its `id` | `==` |
/// | `Identifiable` and `Hashable` | its `id` | `==` |
/// | `Hashable` | the value itself | `==` |
/// | `Identifiable` only | its `id` | to be written |
///
/// Identity and content must both be equivalence relations. Values of identical bytes count as equal
/// without being asked, so that a field that is not a number does not make a row differ from itself.
public protocol Differentiable {
  /// What an identity is told by.
  // Not `Sendable`: a conformance that depends on a type parameter cannot ask for that.
  associatedtype DifferenceIdentifier: Hashable

  /// Which thing this value is, among the elements of a collection and from one version to the next.
  var differenceIdentifier: DifferenceIdentifier { get }

  /// Tells whether this value shows the same as another one of the same identity.
  ///
  /// - Parameter source: The earlier value.
  /// - Returns: `false` if the change from one to the other is an update.
  func isContentEqual(to source: Self) -> Bool

  /// Whether identities are told by their bytes; see ``BitwiseIdentity``, from which it follows.
  static var hasBitwiseIdentity: Bool { get }

  /// Finds what changed between two versions.
  ///
  /// Not to be written nor called: ``Changeset/init(from:to:)`` calls it. It is a requirement so that
  /// generic code far away from the element's type runs what was compiled for that type.
  // Of memory that is known to hold values of this type: a class that is not final could not conform if
  // its parameters were made of `Self`.
  static func difference(
    from old: UnsafeRawBufferPointer, to new: UnsafeRawBufferPointer
  ) -> Changeset
}

extension Differentiable {
  @inlinable
  public static var hasBitwiseIdentity: Bool { false }

  @inlinable
  public static func difference(
    from old: UnsafeRawBufferPointer, to new: UnsafeRawBufferPointer
  ) -> Changeset {
    Changeset(
      between: old.assumingMemoryBound(to: Self.self), and: new.assumingMemoryBound(to: Self.self))
  }
}

extension Differentiable where DifferenceIdentifier: BitwiseIdentity {
  @inlinable
  public static var hasBitwiseIdentity: Bool { true }
}

extension Differentiable where Self: Equatable {
  /// Tells whether this value equals another one.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { self == source }
}

extension Differentiable where Self: Hashable {
  /// The value itself.
  @inlinable
  public var differenceIdentifier: Self { self }
}

extension Differentiable where Self: Identifiable {
  /// The value's `id`.
  @inlinable
  public var differenceIdentifier: ID { id }
}

// Decides for the `id` where both of the above would do.
extension Differentiable where Self: Identifiable, Self: Hashable {
  /// The value's `id`.
  @inlinable
  public var differenceIdentifier: ID { id }
}
