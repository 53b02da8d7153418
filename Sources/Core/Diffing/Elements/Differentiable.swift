/// A value with an identity and a content, which differences can recognize and compare.
///
/// The *identity* of a value determines which thing it is. The *content* is the state of that
/// thing. If both versions contain a value with the same identity, the element was kept. If its
/// content differs, it was updated.
///
/// Most types conform with an empty extension:
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
/// | `Identifiable` only | its `id` | implement `isContentEqual(to:)` |
///
/// Identity and content must both be equivalence relations. Values with identical bytes count as
/// equal without a comparison, so a row that contains a NaN does not differ from itself.
public protocol Differentiable {
  /// The type of the identity.
  // Not `Sendable`: a conditional conformance cannot require a sendable identity.
  associatedtype DifferenceIdentifier: Hashable

  /// The identity of this value among the elements of a collection, and across versions.
  var differenceIdentifier: DifferenceIdentifier { get }

  /// Returns whether this value has the same content as another value of the same identity.
  ///
  /// - Parameter source: The earlier value.
  /// - Returns: `false` if the change from the earlier value is an update.
  func isContentEqual(to source: Self) -> Bool

  /// Returns whether this value and all that belongs to it equal another value of the same identity.
  ///
  /// The default is `isContentEqual(to:)`. A section also compares its elements, which are not its own content. Lists
  /// use this method: a write that only changes the elements of a section is an update.
  ///
  /// - Parameter source: The earlier value.
  func isWholeContentEqual(to source: Self) -> Bool

  /// Returns the difference between two versions, which are memory bound to this type.
  ///
  /// Do not implement or call this method. Use ``Changeset/init(from:to:)`` instead.
  // A requirement, because generic code reaches the specialized code through it. The parameters do
  // not mention `Self`, because otherwise a class that is not final could not conform.
  static func _difference(
    from old: UnsafeRawBufferPointer, to new: UnsafeRawBufferPointer
  ) -> Changeset
}

extension Differentiable {
  @inlinable
  public static func _difference(
    from old: UnsafeRawBufferPointer, to new: UnsafeRawBufferPointer
  ) -> Changeset {
    Changeset(
      between: old.assumingMemoryBound(to: Self.self), and: new.assumingMemoryBound(to: Self.self),
      using: EqualityComparison<Self>.self)
  }

  /// A Boolean value that indicates whether identities are compared byte by byte.
  ///
  /// - Complexity: O(1), with a lookup of the conformance at run time.
  package static var hasBitwiseIdentity: Bool {
    DifferenceIdentifier.self is any _BitwiseIdentity.Type
  }
}

extension Differentiable where DifferenceIdentifier: _BitwiseIdentity {
  @inlinable
  public static func _difference(
    from old: UnsafeRawBufferPointer, to new: UnsafeRawBufferPointer
  ) -> Changeset {
    Changeset(
      between: old.assumingMemoryBound(to: Self.self), and: new.assumingMemoryBound(to: Self.self),
      using: BytewiseComparison<Self>.self)
  }
}

extension Differentiable {
  /// Returns whether this value has the same content as another value of the same identity.
  @inlinable
  public func isWholeContentEqual(to source: Self) -> Bool { isContentEqual(to: source) }
}

extension Differentiable where Self: Equatable {
  /// Returns a Boolean value that indicates whether this value equals another value.
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

// Prefers the `id` over the value itself.
extension Differentiable where Self: Identifiable, Self: Hashable {
  /// The value's `id`.
  @inlinable
  public var differenceIdentifier: ID { id }
}

/// An identity that is equal to another one exactly if all bytes are equal.
///
/// Differences compare and hash such an identity byte by byte. This is several times as fast as
/// `==` and `hash(into:)`. Integers conform. A type of your own can conform if it stores only such
/// values, has no padding between them, and uses the synthesized `==`.
public protocol _BitwiseIdentity: Hashable {}

extension Bool: _BitwiseIdentity {}
extension Int: _BitwiseIdentity {}
extension Int8: _BitwiseIdentity {}
extension Int16: _BitwiseIdentity {}
extension Int32: _BitwiseIdentity {}
extension Int64: _BitwiseIdentity {}
extension Int128: _BitwiseIdentity {}
extension UInt: _BitwiseIdentity {}
extension UInt8: _BitwiseIdentity {}
extension UInt16: _BitwiseIdentity {}
extension UInt32: _BitwiseIdentity {}
extension UInt64: _BitwiseIdentity {}
extension UInt128: _BitwiseIdentity {}
extension Unicode.Scalar: _BitwiseIdentity {}
extension ObjectIdentifier: _BitwiseIdentity {}
