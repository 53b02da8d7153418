public import Diffing

/// A pair of elements that a join has found.
///
/// The identity consists of the identities of both elements.
public struct JoinedPair<Left: Differentiable & Sendable, Right: Differentiable & Sendable>:
  Differentiable, Sendable
{
  /// The element of the first collection.
  public var left: Left
  /// The element of the second collection. The right side of ``DataSource/leftJoined(with:on:)`` is optional.
  public var right: Right

  /// Creates a pair.
  @inlinable
  public init(left: Left, right: Right) {
    self.left = left
    self.right = right
  }

  /// The identity of a pair.
  public struct Identifier: Hashable {
    /// The identity of the element of the first collection.
    public let left: Left.DifferenceIdentifier
    /// The identity of the element of the second collection.
    public let right: Right.DifferenceIdentifier

    @inlinable
    init(_ left: Left.DifferenceIdentifier, _ right: Right.DifferenceIdentifier) {
      self.left = left
      self.right = right
    }
  }

  /// The identities of both elements.
  @inlinable public var differenceIdentifier: Identifier {
    Identifier(left.differenceIdentifier, right.differenceIdentifier)
  }

  /// Returns whether both elements have the same contents as the elements of another pair.
  @inlinable
  public func isContentEqual(to source: JoinedPair) -> Bool {
    left.hasSameContent(as: source.left) && right.hasSameContent(as: source.right)
  }
}

extension JoinedPair.Identifier: Sendable
where Left.DifferenceIdentifier: Sendable, Right.DifferenceIdentifier: Sendable {}
extension JoinedPair: Equatable where Left: Equatable, Right: Equatable {}
extension JoinedPair: Hashable where Left: Hashable, Right: Hashable {}

extension DataSource {
  /// Derives the pairs of elements of this collection and of another one whose keys are equal.
  ///
  ///     let visits = guests.joined(with: hotels, on: \.city, equals: \.city)
  ///
  /// The pairs are in the order of this collection, and pairs with the same element of it are in the order of the other
  /// collection. These lines give the same result:
  ///
  ///     Array(source).flatMap { left in
  ///       Array(other).filter { key(left) != nil && key(left) == otherKey($0) }
  ///         .map { JoinedPair(left: left, right: $0) }
  ///     }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete | insert or delete of the pairs with the element |
  /// | update | update of its pairs; if its key changes, delete of the old pairs and insert of the new ones |
  /// | move | move of its pairs, or nothing |
  ///
  /// An element whose key is `nil`, or not equal to itself, such as a NaN, is in no pair. If several elements have one
  /// key, there is a pair for each combination. Both collections may be the same one.
  ///
  /// The result has loaded once both collections have.
  ///
  /// - Parameters:
  ///   - other: The other collection.
  ///   - key: A key path or closure that returns the key of an element of this collection. It is called once for each
  ///     inserted or updated element.
  ///   - otherKey: A key path or closure that returns the key of an element of the other collection.
  /// - Complexity: O(k log n + m log n) for a change of k of n elements, which are in m pairs. The first element of this
  ///   collection that has another number of pairs than all others takes O(n), once.
  @inlinable
  public func joined<Other: Differentiable & Sendable, Key: Hashable & SendableMetatype>(
    with other: some DataSource<Other>, on key: @escaping @Sendable (Element) -> Key?,
    equals otherKey: @escaping @Sendable (Other) -> Key?
  ) -> LiveCollection<JoinedPair<Element, Other>> {
    LiveCollection { inputs in
      JoinOperator(
        left: inputs.collection(self), right: inputs.collection(other), leftKey: key,
        rightKey: otherKey, side: { $0 }, match: { $0 }, missing: nil)
    }
  }

  /// Derives the pairs of elements of this collection and the elements of another one to which they refer.
  ///
  ///     let rows = orders.joined(with: customers, on: \.customerID)
  ///
  /// This is the join of ``joined(with:on:equals:)`` whose second key is the identity.
  ///
  /// - Parameters:
  ///   - other: The other collection.
  ///   - key: A key path or closure that returns an identity of the other collection, or `nil`. It is called once for each
  ///     inserted or updated element.
  /// - Complexity: O(k log n + m log n) for a change of k of n elements, which are in m pairs. The first element of this
  ///   collection that has another number of pairs than all others takes O(n), once.
  @inlinable
  public func joined<Other: Differentiable & Sendable>(
    with other: some DataSource<Other>,
    on key: @escaping @Sendable (Element) -> Other.DifferenceIdentifier?
  ) -> LiveCollection<JoinedPair<Element, Other>> {
    LiveCollection { inputs in
      JoinOperator(
        left: inputs.collection(self), right: inputs.collection(other), leftKey: key,
        rightKey: { $0.differenceIdentifier }, side: { $0 }, match: { $0 }, missing: nil)
    }
  }

  /// Derives the pairs of elements of this collection and of another one with equal keys, or with `nil`.
  ///
  /// An element of this collection without a match is in a pair with `nil`.
  /// These lines give the same result:
  ///
  ///     Array(source).flatMap { left in
  ///       let matches: [Other?] = Array(other).filter { key(left) != nil && key(left) == otherKey($0) }
  ///       return (matches.isEmpty ? [nil] : matches).map { JoinedPair(left: left, right: $0) }
  ///     }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete in this collection | insert or delete of the pairs with the element |
  /// | insert in the other collection | insert of the pairs with it; the first match replaces the pair with `nil` |
  /// | delete in the other collection | delete of the pairs with it; a pair with `nil` replaces the last match |
  /// | update | update of its pairs; if its key changes, delete of the old pairs and insert of the new ones |
  /// | move | move of its pairs, or nothing |
  ///
  /// The result has loaded once this collection has, and the other one has loaded or failed.
  ///
  /// - Parameters:
  ///   - other: The other collection.
  ///   - key: A key path or closure that returns the key of an element of this collection. It is called once for each
  ///     inserted or updated element.
  ///   - otherKey: A key path or closure that returns the key of an element of the other collection.
  /// - Complexity: O(k log n + m log n) for a change of k of n elements, which are in m pairs. The first element of this
  ///   collection that has another number of pairs than all others takes O(n), once.
  @inlinable
  public func leftJoined<Other: Differentiable & Sendable, Key: Hashable & SendableMetatype>(
    with other: some DataSource<Other>, on key: @escaping @Sendable (Element) -> Key?,
    equals otherKey: @escaping @Sendable (Other) -> Key?
  ) -> LiveCollection<JoinedPair<Element, Other?>> {
    LiveCollection { inputs in
      JoinOperator(
        left: inputs.collection(self), right: inputs.collection(other, isRequired: false),
        leftKey: key, rightKey: otherKey, side: { $0 }, match: { $0 }, missing: .some(nil))
    }
  }

  /// Derives the pairs of elements of this collection and the elements to which they refer, or `nil`.
  ///
  /// An element of this collection that refers to no element of the other one is in a pair with `nil`.
  ///
  ///     let rows = orders.leftJoined(with: customers, on: \.customerID)
  ///
  /// This is the join of ``leftJoined(with:on:equals:)`` whose second key is the identity.
  ///
  /// - Parameters:
  ///   - other: The other collection.
  ///   - key: A key path or closure that returns an identity of the other collection, or `nil`. It is called once for each
  ///     inserted or updated element.
  /// - Complexity: O(k log n + m log n) for a change of k of n elements, which are in m pairs. The first element of this
  ///   collection that has another number of pairs than all others takes O(n), once.
  @inlinable
  public func leftJoined<Other: Differentiable & Sendable>(
    with other: some DataSource<Other>,
    on key: @escaping @Sendable (Element) -> Other.DifferenceIdentifier?
  ) -> LiveCollection<JoinedPair<Element, Other?>> {
    LiveCollection { inputs in
      JoinOperator(
        left: inputs.collection(self), right: inputs.collection(other, isRequired: false),
        leftKey: key, rightKey: { $0.differenceIdentifier }, side: { $0 }, match: { $0 },
        missing: .some(nil))
    }
  }
}
